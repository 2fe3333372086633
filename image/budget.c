// SPDX-License-Identifier: GPL-2.0-only
/*
 * How the memory of an image under construction is shared out.
 *
 * Beside the writer's pieces memory is needed, in MiB: for each worker two rooms, the same for
 * compressed data, and zstd's 0.6; four more of both for the owner; four rooms of batches of pages
 * that are read ahead, and one of each file, unless they are pieces; 3.3 to find equal pages.  A
 * plain writer has no pieces, but 2 for each file.  tests/unit/test_image_budget.c counts whether
 * each row holds.  A budget above the first row gets the first row.
 */
#include "image/budget.h"

#include <errno.h>

#include "base/cleanup.h"
#include "image/writer.h"

static const struct budget {
	uint64_t bytes;		/* at most, the index left out */
	int workers;
	unsigned int pieces;	/* IMAGE_LENT_BYTES each */
} budgets[] = {
	{ IMAGE_MEMORY_DEFAULT, 4, 28 },
	{ 56U << 20, 3, 24 },
	{ 48U << 20, 2, 20 },
	{ IMAGE_MEMORY_MIN, 1, 12 },
};

int image_budget_share(uint64_t bytes, struct image_writer *w)
{
	if (!bytes)
		bytes = IMAGE_MEMORY_DEFAULT;
	for (unsigned int i = 0; i < ARRAY_SIZE(budgets); i++) {
		if (bytes < budgets[i].bytes)
			continue;
		if (w->ops->limit)
			w->ops->limit(w, budgets[i].pieces);
		return budgets[i].workers;
	}
	return -EINVAL;
}
