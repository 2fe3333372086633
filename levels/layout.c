// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where each file of an image begins in the stream that is copied and coded.
 *
 * Pure arithmetic.  The order of the files and the alignment are part of the format
 * of parity files (parity.h): with the lengths they say what a byte of parity is of,
 * so neither may ever change.
 */
#include <errno.h>

#include "image/format.h"
#include "levels/layout.h"

#define FILE_MAX	(1ULL << 60)

const char *const layout_names[LAYOUT_FILES] = {
	"state", "index", "pages", "blobs", IMAGE_NAME_MANIFEST,
};

int layout_init(struct layout *l, const uint64_t len[LAYOUT_FILES])
{
	struct layout new = {};
	unsigned int i;

	for (i = 0; i < LAYOUT_FILES; i++) {
		if (len[i] > FILE_MAX)
			return -EFBIG;
		new.len[i] = len[i];
		new.start[i] = new.total;
		new.bytes += len[i];
		new.total += (len[i] + LAYOUT_ALIGN - 1) & ~(uint64_t)(LAYOUT_ALIGN - 1);
	}
	*l = new;
	return 0;
}
