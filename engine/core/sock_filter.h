/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The classic filter of a socket (SO_ATTACH_FILTER), kept among its options: as many entries of
 * the level SOL_SOCKET and the name SO_ATTACH_FILTER as it takes, each with the next instructions.
 */
#ifndef STILLPOINT_SOCK_FILTER_H
#define STILLPOINT_SOCK_FILTER_H

#include "engine/core/engine_records.h"

#include <stdbool.h>

/* The number of entries that the filter of @fd takes; 0: it has none. Or -errno. */
int sock_filter_pieces(int fd);
/* Read the filter of @fd into @nr entries. Return: 0 or -errno; -EAGAIN: it has another length. */
int sock_filter_get(int fd, unsigned int nr, struct engine_sock_option *ret);
/* Is @option a part of a filter? */
bool sock_filter_is_piece(const struct engine_sock_option *option);
/*
 * Give @fd the filter of which parts are among @options, if there are any; what is then sent to
 * the socket has to pass. Return: 0 or -errno.
 */
int sock_filter_set(int fd, const struct engine_sock_option *options, unsigned int nr);

#endif /* STILLPOINT_SOCK_FILTER_H */
