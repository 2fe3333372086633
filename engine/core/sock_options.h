/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of sockets that an image keeps: one table for dump and restore.
 *
 * A dump keeps the options that differ from those of a new socket of the same kind, so a restore
 * sets these alone.  Setting some needs rights (RIGHTS_SOCKETS).
 */
#ifndef STILLPOINT_SOCK_OPTIONS_H
#define STILLPOINT_SOCK_OPTIONS_H

#include "engine/core/engine_records.h"

#include <stdbool.h>
#include <sys/socket.h>

#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK	72
#endif

/*
 * Beside the name of an option of one number: it was on when the socket was bound, and bind(2)
 * needs it, but it is off by now.
 */
#define SOCK_OPTION_WAS_ON	0x10000

#define SOCK_OPTIONS_MAX	80	/* entries that sock_options_get() fills at most */

/*
 * sock_options_get() - the options of @fd that differ from those of @fresh
 * @fresh: a new socket of the same family, type and protocol
 *
 * Return: the number of entries of @ret that are filled
 */
unsigned int sock_options_get(int fd, int fresh, struct engine_sock_option *ret);

/*
 * sock_options_set() - give @fd the options @options
 * @ret_bad: on failure the option that could not be set
 *
 * An option that this kernel lacks, or that is not in the table, is -EOPNOTSUPP. Those that were on
 * (SOCK_OPTION_WAS_ON) stay as they are.
 * Return: 0 or -errno
 */
int sock_options_set(int fd, const struct engine_sock_option *options, unsigned int nr,
		     const struct engine_sock_option **ret_bad);

/* Set those of @options alone that have to be set before bind(2). Return: 0 or -errno. */
int sock_options_set_early(int fd, const struct engine_sock_option *options, unsigned int nr);

/* Turn those of @options off that were on when the socket was bound. Return: 0 or -errno. */
int sock_options_set_late(int fd, const struct engine_sock_option *options, unsigned int nr);
/* Is the option @name of @level, of one number, off on @fd? Then *ret is that it was on. */
bool sock_option_was_on(int fd, int level, int name, struct engine_sock_option *ret);

/* Make room for any queue, whatever the limits of this node are, as far as our rights go. */
void sock_options_room(int fd);
/*
 * Give @fd the buffer sizes @sndbuf and @rcvbuf, as getsockopt(2) tells them, and if @locks is
 * not -1 the locks of SO_BUF_LOCK.
 */
int sock_options_buffers(int fd, int sndbuf, int rcvbuf, int locks);

#endif /* STILLPOINT_SOCK_OPTIONS_H */
