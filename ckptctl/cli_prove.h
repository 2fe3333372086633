/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The proof of who asks, for nodes that want one (munge = yes in their ckptd.conf): a credential
 * of munge's in the request. Where there is no munge, the request goes without it, and such a node
 * says that it lacks one.
 */
#ifndef STILLPOINT_CLI_PROVE_H
#define STILLPOINT_CLI_PROVE_H

#include <jansson.h>

/* For the verb run; @args are complete. */
void cli_prove_start(json_t *args);
/* For the verb restart. */
void cli_prove_restart(json_t *args);

#endif /* STILLPOINT_CLI_PROVE_H */
