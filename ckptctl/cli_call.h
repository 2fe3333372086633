/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The connection to ckptd, as the command line holds it.
 */
#ifndef STILLPOINT_CLI_CALL_H
#define STILLPOINT_CLI_CALL_H

#include "ckptctl/cli.h"
#include "engine/op/op.h"

/* The path of ckptd's socket, as the library takes it. */
const char *cli_socket_path(const struct cli *cli);
/* Open the connection on first use; NULL: *ret_outcome has the error. */
struct ckpt *cli_connect(struct cli *cli, json_t **ret_outcome);
void cli_disconnect(struct cli *cli);

/*
 * cli_wait() - wait until ckptd's socket is ready, as handle_wait_fn
 * @arg: the struct cli
 *
 * Tells the user if ckptd does not answer; a held signal may end this process.
 */
int cli_wait(int sock, short events, void *arg);
/* The wait is over: make a held signal pending again. */
void cli_wait_done(struct cli *cli);
/* Let @ms pass; false: a signal that is held ends this. */
bool cli_wait_pause(int ms);

/* Fill in the environment of in-process operations from the command line. */
void cli_op_env(struct cli *cli, struct op_env *ret_env);

#endif /* STILLPOINT_CLI_CALL_H */
