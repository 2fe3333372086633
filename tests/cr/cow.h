/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the copy-on-write tests: which frame a page is in, told by another
 * process of the tree through a file, so that sharing can be seen.
 */
#ifndef STILLPOINT_TESTS_CR_COW_H
#define STILLPOINT_TESTS_CR_COW_H

#include "tests/cr/phase.h"

static inline void cow_tell(const char *name, const uint8_t *mem, size_t pages)
{
	uint64_t *pfn = calloc(pages, 8);
	char tmp[64];

	for (size_t i = 0; i < pages; i++)
		pfn[i] = cr_pfn(mem + i * 4096);
	snprintf(tmp, sizeof(tmp), "%s.tmp", name);
	cr_write_file(cr_path(tmp), pfn, pages * 8);
	cr_sys(rename(cr_path(tmp), cr_path(name)));
	free(pfn);
}

/* number of pages from first on, of at most max, that the teller has in the same frame */
static inline size_t cow_shared(const char *name, const uint8_t *mem,
				size_t first, size_t max)
{
	uint64_t *pfn;
	size_t n = 0;

	cr_await(name);
	pfn = (uint64_t *)cr_read(cr_path(name), NULL);
	for (size_t i = first; i < first + max; i++)
		n += pfn[i] && pfn[i] == cr_pfn(mem + i * 4096);
	free(pfn);
	return n;
}

/* frames are shown to root only */
static inline bool cow_visible(const uint8_t *mem)
{
	return cr_pfn(mem) != 0;
}

#endif /* STILLPOINT_TESTS_CR_COW_H */
