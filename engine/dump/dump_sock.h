/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sockets in a dump: those with an end outside of the tree, and the options of the others.
 *
 * Both functions run in the pause.
 */
#ifndef STILLPOINT_DUMP_SOCK_H
#define STILLPOINT_DUMP_SOCK_H

#include "base/error.h"

struct capture;
struct dump;

/*
 * dump_sockets.c: refuse sockets with an end outside, but idle clients of the node's services, and
 * sockets that no restore could make again; see capture_options.
 */
int dump_sockets_check(struct capture *cap, struct ckpt_error *error);
/* dump_sock.c: add a record of the options of each socket that is saved whole. */
int dump_records_socks(struct dump *d);

#endif /* STILLPOINT_DUMP_SOCK_H */
