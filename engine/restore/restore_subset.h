/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Some of the trees of an image, without the others: ranks that were on one node and are to
 * be on several.
 *
 * What only one of them has can be anywhere. What is shared between one that stays and one
 * that goes (memory, a table or description of files, a pipe) would become two things, and
 * refuses it (CKPT_R_RANKS_SHARE).
 */
#ifndef STILLPOINT_RESTORE_SUBSET_H
#define STILLPOINT_RESTORE_SUBSET_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "engine/core/engine.h"
#include "engine/core/state.h"

/**
 * struct restore_subset - which roots
 * @roots: those to restore, pids in the tree's namespace; each with all that descends from it
 * @others: those to leave out
 *
 * A root in neither list goes with the session leader in one of them that it has; without one it is
 * refused.
 */
struct restore_subset {
	const pid_t *roots;
	unsigned int nr_roots;
	const pid_t *others;
	unsigned int nr_others;
};

/**
 * restore_subset_make() - the records of @subset alone
 * @state: of @buf; its "user" words are used
 * @ret_buf: a stream of its own, to be freed; the records of @buf, but for the list of roots
 *	and for which file a content stands
 *
 * Return: 0; -EOPNOTSUPP with refusals; -ESRCH if a root is not in the image; -ENOMEM.
 */
int restore_subset_make(const struct state *state, const void *buf, size_t len,
			const struct restore_subset *subset, void **ret_buf, size_t *ret_len,
			struct ckpt_error *error);

#endif /* STILLPOINT_RESTORE_SUBSET_H */
