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

const char *layout_name(const struct layout *l, unsigned int file)
{
	static const char *const names[LAYOUT_FILES] = {
		"state", "index", "pages", "blobs", IMAGE_NAME_MANIFEST,
	};

	return l->parity ? IMAGE_NAME_PARITY : names[file];
}

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

int layout_init_kind(struct layout *l, const uint64_t len[LAYOUT_FILES], bool parity)
{
	unsigned int i;
	int err = layout_init(l, len);

	for (i = 1; !err && parity && i < LAYOUT_FILES; i++)
		err = len[i] ? -EINVAL : 0;
	if (!err && !len[parity ? 0 : LAYOUT_MANIFEST])
		err = -EINVAL;
	l->parity = !err && parity;
	return err;
}
