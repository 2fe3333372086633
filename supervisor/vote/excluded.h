/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of an image that does not count in a vote, as it differs between equal replicas.
 */
#ifndef STILLPOINT_VOTE_EXCLUDED_H
#define STILLPOINT_VOTE_EXCLUDED_H

#include <stddef.h>
#include <stdint.h>

#include "image/reader.h"

struct excluded;

/*
 * excluded_collect() - find what of the image does not count
 *
 * It is, in each process: the area that the kernel writes for each thread (rseq); the main stack
 * below the frame of the thread that is on it; and of an MPI rank what the glue lists as its own
 * (mpi-glue/own_table.h), and each aligned word that is an address of the lower half.
 *
 * Return: 0, -ENOMEM, -E2BIG, or image_reader_error() tells
 */
int excluded_collect(struct image_reader *r, struct excluded **ret_excluded);
/* Return the choices that the ranks have made: bits of enum own_choice. */
uint32_t excluded_choices(const struct excluded *excluded);
void excluded_free(struct excluded *excluded);
/* Put the same into @buf, memory of @pid at @base, wherever it does not count. */
void excluded_mask(const struct excluded *excluded, int32_t pid, uint64_t base, uint8_t *buf,
		   size_t len);

#endif /* STILLPOINT_VOTE_EXCLUDED_H */
