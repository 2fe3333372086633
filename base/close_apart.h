/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Closing descriptors that came from another process.
 *
 * close(2) of such a descriptor may block for as long as that process likes (a TCP socket with
 * SO_LINGER, a file of a FUSE mount).  Closing a socket also closes the descriptors that lie
 * unread in it.
 */
#ifndef STILLPOINT_CLOSE_APART_H
#define STILLPOINT_CLOSE_APART_H

/*
 * close_apart() - close a descriptor without waiting for it
 * @fd: taken over; negative: nothing to do
 *
 * A thread of its own closes @fd.  If no thread can be started, or too many closing threads
 * hang already, the descriptor stays open: a leaked descriptor is better than a daemon that
 * hangs.
 */
void close_apart(int fd);

#endif /* STILLPOINT_CLOSE_APART_H */
