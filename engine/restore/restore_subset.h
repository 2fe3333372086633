/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reducing an image to some of its trees: ranks that were on one node and are to be on several.
 *
 * An object that only one tree has can be restored anywhere. An object that a tree of the
 * subset shares with another tree (memory, a descriptor table, an open file description, a pipe)
 * would become two objects on two nodes, and is refused (CKPT_R_RANKS_SHARE).
 */
#ifndef STILLPOINT_RESTORE_SUBSET_H
#define STILLPOINT_RESTORE_SUBSET_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "engine/core/engine.h"
#include "engine/core/state.h"

/**
 * struct restore_subset - the roots of the trees to restore
 * @roots: roots to restore, as pids of the tree's namespace; each with all its descendants
 * @others: roots that are not restored
 *
 * A root in neither list follows the leader of its session, if that is in a list; otherwise it
 * is refused.
 */
struct restore_subset {
	const pid_t *roots;
	unsigned int nr_roots;
	const pid_t *others;
	unsigned int nr_others;
};

/**
 * restore_subset_make() - make a stream with the records of @subset alone
 * @state: the model of @buf; its "user" words are overwritten
 * @ret_buf: the new stream, which the caller frees: records of @buf, in which only the list of
 *	roots and the file_id of a blob may differ
 *
 * Return: 0; -EOPNOTSUPP with refusals; -ESRCH if a root is not in the image; -ENOMEM.
 */
int restore_subset_make(const struct state *state, const void *buf, size_t len,
			const struct restore_subset *subset, void **ret_buf, size_t *ret_len,
			struct ckpt_error *error);

#endif /* STILLPOINT_RESTORE_SUBSET_H */
