/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connection to ckptd, as the command line holds it.
 */
#ifndef STILLPOINT_CLI_CALL_H
#define STILLPOINT_CLI_CALL_H

#include "ckptctl/cli.h"
#include "engine/op/op.h"

/* Opens the connection on first use; NULL with an outcome that says why. */
struct ckpt *cli_connect(struct cli *cli, json_t **ret_outcome);
void cli_disconnect(struct cli *cli);

/*
 * cli_wait() - until ckptd can be read from or written to, as handle_wait_fn
 * @arg: the struct cli
 *
 * Says so if ckptd does not answer; a signal of those that are held may end this process.
 */
int cli_wait(int sock, short events, void *arg);
/* Nothing is waited for any more: a signal that was held is pending again. */
void cli_wait_done(struct cli *cli);

/* What the operations need to know of the command line. */
void cli_op_env(struct cli *cli, struct op_env *ret_env);

#endif /* STILLPOINT_CLI_CALL_H */
