/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connection to ckptd, as the command line holds it.
 */
#ifndef STILLPOINT_CLI_CALL_H
#define STILLPOINT_CLI_CALL_H

#include "ckptctl/cli.h"
#include "supervisor/op.h"

/* Opens the connection on first use; NULL with an outcome that says why. */
struct ckpt *cli_connect(struct cli *cli, json_t **ret_outcome);
void cli_disconnect(struct cli *cli);

/* What the operations need to know of the command line. */
void cli_op_env(struct cli *cli, struct op_env *ret_env);

#endif /* STILLPOINT_CLI_CALL_H */
