/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The marker of a level's directory: whose it is.
 *
 *	stillpoint level 1
 *	node NAME
 *	id 32 hex digits, random, made with the marker
 *
 * in the file .stillpoint-level, which appears at once and whole (link(2) of a synced
 * file) and never changes.  Two nodes that were given one directory by mistake find
 * each other's name; two daemons of one node find the lock; a directory that is not
 * the one of last time (its file system is not mounted) has no marker or another id.
 */
#ifndef STILLPOINT_LEVELS_MARKER_H
#define STILLPOINT_LEVELS_MARKER_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"

#define MARKER_NAME	".stillpoint-level"
#define MARKER_ID_CHARS	32
#define MARKER_NODE_MAX	63

struct marker {
	char node[MARKER_NODE_MAX + 1];
	char id[MARKER_ID_CHARS + 1];
};

bool marker_node_valid(const char *node);

/* -ENOENT: none; -EBADMSG: not one.  @path is for messages. */
int marker_read(int dir, const char *path, struct marker *ret_marker,
		struct ckpt_error *error);

/* Make a marker if there is none; @ret_marker is the one then there, maybe another node's. */
int marker_make(int dir, const char *path, const char *node, struct marker *ret_marker,
		struct ckpt_error *error);

/* Remove files of makers that died before linking; call only when there is a marker. */
void marker_sweep(int dir);

/*
 * Take the exclusive lock, for as long as @ret_fd is open.  -EBUSY: another process has it.
 * On a file system without locks @ret_fd is -1 and the return value 0.
 */
int marker_lock(int dir, const char *path, int *ret_fd, struct ckpt_error *error);

/*
 * marker_check() - check that the marker is @node's, and has the expected id
 * @id: NULL: any
 *
 * -ENOTUNIQ: another node's; -ESTALE: not the directory of that id.
 */
int marker_check(const struct marker *m, const char *path, const char *node,
		 const char *id, struct ckpt_error *error);

#endif /* STILLPOINT_LEVELS_MARKER_H */
