// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Memory whose contents a program does not need after a restart: ckpt_exclude() and its
 * counterpart write into the process's table (exclude_table.h), which a dump reads.
 *
 * Called from any thread, also in a child of fork(): there are no locks, entries are taken
 * by compare and exchange.  ckpt_include() first adds entries for the parts that stay excluded,
 * then removes the old entry: at no instant is less saved than was asked for before the call.
 */
#include "libckptctl/ckptctl.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libckptctl/exclude_table.h"

#define API __attribute__((visibility("default")))

static const uint8_t magic[EXCLUDE_MAGIC_BYTES] = EXCLUDE_MAGIC;

/* One for each process; NULL until the first call. */
static struct exclude_table *the_table;

static struct exclude_table *table_find(void)
{
	return __atomic_load_n(&the_table, __ATOMIC_ACQUIRE);
}

/* Map the table between two inaccessible pages, so that it is a mapping of its own. */
static int table_map(char **ret_all, struct exclude_table **ret_table)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = EXCLUDE_TABLE_SIZE + 2 * page;
	char *all = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct exclude_table *table;

	if (all == MAP_FAILED)
		return -ENOMEM;
	table = (void *)(all + page);
	if (mprotect(table, EXCLUDE_TABLE_SIZE, PROT_READ | PROT_WRITE) ||
	    madvise(table, EXCLUDE_TABLE_SIZE, MADV_DONTDUMP)) {
		munmap(all, size);
		return -ENOMEM;
	}
	*ret_all = all;
	*ret_table = table;
	return 0;
}

static int table_get(struct exclude_table **ret_table)
{
	struct exclude_table *other = NULL, *table;
	char *all;
	int err;

	*ret_table = table_find();
	if (*ret_table)
		return 0;
	err = table_map(&all, &table);
	if (err)
		return err;
	table->version = EXCLUDE_VERSION;
	memcpy(table->magic, magic, sizeof(magic));
	if (!__atomic_compare_exchange_n(&the_table, &other, table, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		munmap(all, EXCLUDE_TABLE_SIZE + 2 * (size_t)sysconf(_SC_PAGESIZE));
		table = other;
	}
	*ret_table = table;
	return 0;
}

static void raise_nr(struct exclude_table *table, uint64_t to)
{
	uint64_t nr = __atomic_load_n(&table->nr, __ATOMIC_RELAXED);

	while (nr < to && !__atomic_compare_exchange_n(&table->nr, &nr, to, false,
						       __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static int table_add(struct exclude_table *table, uint64_t start, uint64_t len)
{
	size_t i;

	for (i = 0; i < EXCLUDE_MAX; i++) {
		struct exclude_range *range = &table->range[i];
		uint64_t none = 0;

		if (!__atomic_compare_exchange_n(&range->len, &none, EXCLUDE_TAKEN, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		range->start = start;
		raise_nr(table, i + 1);
		__atomic_store_n(&range->len, len, __ATOMIC_RELEASE);
		return 0;
	}
	return -ENOSPC;
}

/* True if one entry covers the range: entries outlive their mapping, and count for the next one. */
static bool table_has(const struct exclude_table *table, uint64_t start, uint64_t end)
{
	uint64_t i, nr = __atomic_load_n(&table->nr, __ATOMIC_ACQUIRE);

	for (i = 0; i < nr; i++) {
		const struct exclude_range *range = &table->range[i];
		uint64_t len = __atomic_load_n(&range->len, __ATOMIC_ACQUIRE);

		if (len && len != EXCLUDE_TAKEN && range->start <= start &&
		    end <= range->start + len)
			return true;
	}
	return false;
}

/* Round to whole pages; *ret_end <= *ret_start: there are none. -EINVAL: no process memory. */
static int pages_of(const void *addr, size_t len, bool inside, uintptr_t *ret_start,
		    uintptr_t *ret_end)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)addr;
	uintptr_t end = start + len;

	if (!addr || !len || end < start || end + page < end)
		return -EINVAL;
	*ret_start = inside ? (start + page - 1) & -page : start & -page;
	*ret_end = inside ? end & -page : (end + page - 1) & -page;
	return 0;
}

API int ckpt_exclude(void *addr, size_t len)
{
	struct exclude_table *table;
	uintptr_t start, end;
	int err = pages_of(addr, len, true, &start, &end);

	if (err || end <= start)
		return err;
	err = table_get(&table);
	if (!err && !table_has(table, start, end))
		err = table_add(table, start, end - start);
	if (err)
		return err;
	if (!madvise((void *)start, end - start, MADV_DONTDUMP))
		return 0;
	err = -errno;
	ckpt_include(addr, len);
	return err;
}

/* Cut [start, end) out of an entry; the parts outside stay excluded. */
static int exclude_cut(struct exclude_table *table, struct exclude_range *range, uint64_t start,
		       uint64_t end)
{
	uint64_t len = __atomic_load_n(&range->len, __ATOMIC_ACQUIRE), from, to;
	int err = 0;

	if (!len || len == EXCLUDE_TAKEN)
		return 0;
	from = range->start;
	to = from + len;
	if (to <= start || from >= end)
		return 0;
	if (from < start)
		err = table_add(table, from, start - from);
	if (!err && to > end)
		err = table_add(table, end, to - end);
	if (!err)
		__atomic_store_n(&range->len, 0, __ATOMIC_RELEASE);
	return err;
}

API int ckpt_include(void *addr, size_t len)
{
	struct exclude_table *table = table_find();
	uintptr_t start, end;
	int err = pages_of(addr, len, false, &start, &end);
	uint64_t i, nr;

	if (err || !table)
		return err;
	/* Pages without MADV_DONTDUMP are saved, whatever the table says. */
	madvise((void *)start, end - start, MADV_DODUMP);
	nr = __atomic_load_n(&table->nr, __ATOMIC_ACQUIRE);
	for (i = 0; i < nr && !err; i++)
		err = exclude_cut(table, &table->range[i], start, end);
	return err;
}

/*
 * MADV_DONTNEED goes on after a hole, and stops at locked memory after it has dropped the pages
 * before: check for both first.  msync() with these flags only looks at mappings.
 */
static int check_discard(uintptr_t start, uintptr_t end)
{
	if (!msync((void *)start, end - start, MS_ASYNC | MS_INVALIDATE))
		return 0;
	return errno == EBUSY ? -EINVAL : -errno;
}

API int ckpt_discard(void *addr, size_t len)
{
	uintptr_t start, end;
	int err = pages_of(addr, len, true, &start, &end);

	if (err || end <= start)
		return err;
	err = check_discard(start, end);
	if (err)
		return err;
	return madvise((void *)start, end - start, MADV_DONTNEED) ? -errno : 0;
}
