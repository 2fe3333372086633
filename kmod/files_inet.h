/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between files_socket.c, which numbers the sockets of a tree, and files_inet.c, which reads those
 * of TCP and UDP.
 */
#ifndef _CKPT_FILES_INET_H
#define _CKPT_FILES_INET_H

#include <linux/types.h>

struct ckpt_collect;
struct ckpt_object;
struct sock;
struct task_struct;

/* files_socket.c */
/* The object of a socket, made if there is none; NULL without memory. */
struct ckpt_object *ckpt_sock_get(struct ckpt_collect *c, struct sock *sk,
				  struct task_struct *task);
/* The number that a refusal of the socket names. */
u64 ckpt_sock_object(const struct ckpt_object *obj);
/* Has somebody outside of the tree the socket, too? */
bool ckpt_sock_is_held(const struct ckpt_object *obj);
/* Why its filter cannot be saved; NULL: it can be, or there is none. */
const char *ckpt_sock_filter_unfit(struct ckpt_collect *c, const struct ckpt_object *obj);

/* files_inet.c */
/* Is it a socket of TCP or UDP? */
bool ckpt_inet_is_known(const struct sock *sk);
/* While sockets are numbered: find the other end, take what was sent, number what waits. */
int ckpt_inet_queue(struct ckpt_collect *c, struct ckpt_object *obj);
/* When all sockets have a number: write the records of one. */
int ckpt_inet_collect(struct ckpt_collect *c, struct ckpt_object *obj);
/* When all records are written: refuse connections of which an end has gone meanwhile. */
void ckpt_inet_check_pairs(struct ckpt_collect *c);

#endif /* _CKPT_FILES_INET_H */
