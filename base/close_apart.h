/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Closing what others gave us: a close may wait for as long as they like (a TCP socket with
 * SO_LINGER, a file of a FUSE mount), and that of a socket closes what lies unread in it.
 */
#ifndef STILLPOINT_CLOSE_APART_H
#define STILLPOINT_CLOSE_APART_H

/*
 * close_apart() - close a descriptor without waiting for it
 * @fd: taken over; negative: nothing to do
 *
 * In a thread of its own. Where none can be had, or too many hang already, the descriptor
 * stays open: better one that is lost than a daemon that stands still.
 */
void close_apart(int fd);

#endif /* STILLPOINT_CLOSE_APART_H */
