// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chooses the places of the lower half's mappings. Hook code: see lower_internal.h.
 *
 * The kernel's own list of mappings is the only truth: a place is tried with
 * MAP_FIXED_NOREPLACE, so two threads never get the same place, and an unmapping needs
 * no bookkeeping. A cursor per zone walks upwards; when the cursor has reached the end
 * or hits a mapping, the code looks for gaps in /proc/self/maps.
 *
 * Files go to the lowest GiB, where 32-bit jumps from patched text reach the stubs.
 * brk() has a zone of its own, which grows by mapping.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "mpi-glue/lower/lower_internal.h"
#include "mpi-glue/lower/lower_raw.h"

struct zone {
	unsigned long start;
	unsigned long end;
	_Atomic unsigned long cursor;
};

static struct zone zone_files = { LOWER_FILES, LOWER_FILES_END, LOWER_FILES };
static struct zone zone_data = { LOWER_DATA, LOWER_END, LOWER_DATA };
/* end of the lower libc's heap; the libc's malloc holds a lock while it moves the end */
static _Atomic unsigned long brk_end = LOWER_BRK;

void lower_range_reset(void)
{
	zone_files.cursor = zone_files.start;
	zone_data.cursor = zone_data.start;
	brk_end = LOWER_BRK;
}

/* The first file stays mapped at LOWER_BASE for as long as there is a lower half. */
bool lower_range_is_mapped(void)
{
	unsigned char resident;

	return lower_raw(SYS_mincore, LOWER_BASE, LOWER_PAGE, &resident) != -ENOMEM;
}

static unsigned long align_up(unsigned long n, unsigned long align)
{
	return (n + align - 1) & ~(align - 1);
}

/* ---- gaps */

struct maps_reader {
	int fd;
	int have;
	int at;
	char buf[2048];
};

static int next_char(struct maps_reader *r)
{
	if (r->at == r->have) {
		r->have = lower_raw(SYS_read, r->fd, r->buf, sizeof(r->buf));
		r->at = 0;
		if (r->have <= 0)
			return -1;
	}
	return (unsigned char)r->buf[r->at++];
}

static int next_hex(struct maps_reader *r, unsigned long *ret)
{
	unsigned long n = 0;
	int c;

	for (;;) {
		c = next_char(r);
		if (c >= '0' && c <= '9')
			n = n << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | (c - 'a' + 10);
		else
			break;
	}
	*ret = n;
	return c;
}

/* first gap of @zone in the list of mappings; 0 if there is none */
static unsigned long find_gap(const struct zone *zone, size_t len, unsigned long align)
{
	struct maps_reader r = { .fd = 0, .have = 0, .at = 0 };
	unsigned long start, end, gap = align_up(zone->start, align);
	int c;

	r.fd = lower_raw4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	if (r.fd < 0)
		return 0;
	while (next_hex(&r, &start) == '-' && next_hex(&r, &end) == ' ') {
		if (start >= zone->end || (start >= gap && start - gap >= len))
			break;
		if (end > gap)
			gap = align_up(end, align);
		do {
			c = next_char(&r);
		} while (c != '\n' && c != -1);
	}
	lower_raw(SYS_close, r.fd, 0, 0);
	return gap + len <= zone->end ? gap : 0;
}

/* ---- mmap */

static unsigned long lower_range_alignment(size_t len, int flags)
{
	unsigned int shift = (unsigned int)flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;

	if (flags & MAP_HUGETLB)
		return 1UL << (shift ? shift : 21);
	return len >= (2UL << 20) ? 2UL << 20 : LOWER_PAGE;
}

static unsigned long lower_range_advance(struct zone *zone, size_t len, unsigned long align)
{
	unsigned long at = zone->cursor, start;

	do {
		start = align_up(at, align);
		if (start + len > zone->end)
			return 0;
	} while (!atomic_compare_exchange_weak(&zone->cursor, &at, start + len));
	return start;
}

static long lower_range_place(struct zone *zone, size_t len, int prot, int flags, int fd, off_t off)
{
	unsigned long align = lower_range_alignment(len, flags), at;
	size_t room = align_up(len, align > LOWER_PAGE && flags & MAP_HUGETLB ? align : LOWER_PAGE);
	int tries;
	long ret = -ENOMEM;

	if (room > zone->end - zone->start)
		return -ENOMEM;
	at = lower_range_advance(zone, room, align);
	for (tries = 0; tries < 64; tries++) {
		if (!at)
			at = find_gap(zone, room, align);
		if (!at)
			return -ENOMEM;
		ret = lower_raw6(SYS_mmap, at, len, prot, flags | MAP_FIXED_NOREPLACE, fd, off);
		if (ret != -EEXIST)
			return ret;
		at = 0;	/* the place is taken, or another thread was faster */
	}
	return -ENOMEM;
}

long lower_range_map(unsigned long addr, size_t len, int prot, int flags, int fd, off_t off)
{
	bool file = fd >= 0 && !(flags & MAP_ANONYMOUS) && (flags & MAP_TYPE) == MAP_PRIVATE;
	bool inside = lower_in_range(addr) && len <= LOWER_END - addr;
	long ret;

	if (!len || len > LOWER_END - LOWER_BASE)
		return len ? -ENOMEM : -EINVAL;
	if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
		return inside ? lower_raw6(SYS_mmap, addr, len, prot, flags, fd, off) : -ENOMEM;
	flags &= ~MAP_32BIT;
	if (inside && addr >= LOWER_DATA) {
		ret = lower_raw6(SYS_mmap, addr & ~(LOWER_PAGE - 1), len, prot,
				 flags | MAP_FIXED_NOREPLACE, fd, off);
		if (ret >= 0)
			return ret;
	}
	return lower_range_place(file ? &zone_files : &zone_data, len, prot, flags, fd, off);
}

long lower_range_stubs(void)
{
	return lower_range_place(&zone_files, LOWER_PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* ---- brk, mremap, shmat */

long lower_range_brk(unsigned long to)
{
	unsigned long now = brk_end, have = lower_page_up(now), want = lower_page_up(to);
	long ret;

	if (to < LOWER_BRK || to > LOWER_BRK_END)
		return now;
	if (want > have) {
		ret = lower_raw6(SYS_mmap, have, want - have, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (ret < 0)
			return now;
	} else if (want < have) {
		lower_raw(SYS_munmap, want, have - want, 0);
	}
	brk_end = to;
	return to;
}

long lower_range_remap(unsigned long old, size_t old_len, size_t new_len, int flags,
		       unsigned long to)
{
	long at, ret;

	if (flags & MREMAP_FIXED)
		return lower_in_range(to) ?
		       lower_raw6(SYS_mremap, old, old_len, new_len, flags, to, 0) : -ENOMEM;
	ret = lower_raw4(SYS_mremap, old, old_len, new_len, flags & ~MREMAP_MAYMOVE);
	if (ret >= 0 || !(flags & MREMAP_MAYMOVE))
		return ret;
	at = lower_range_place(&zone_data, new_len, PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at < 0)
		return at;
	ret = lower_raw6(SYS_mremap, old, old_len, new_len, flags | MREMAP_FIXED, at, 0);
	if (ret < 0)
		lower_raw(SYS_munmap, at, new_len, 0);
	return ret;
}

long lower_range_shmat(int id, unsigned long addr, int flags)
{
	struct shmid_ds ds;
	long at, ret;

	if (addr)
		return lower_in_range(addr) ? lower_raw(SYS_shmat, id, addr, flags) : -EINVAL;
	ret = lower_raw(SYS_shmctl, id, IPC_STAT, &ds);
	if (ret < 0)
		return ret;
	at = lower_range_place(&zone_data, lower_page_up(ds.shm_segsz), PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at < 0)
		return at;
	ret = lower_raw(SYS_shmat, id, at, flags | SHM_REMAP);
	if (ret < 0)
		lower_raw(SYS_munmap, at, lower_page_up(ds.shm_segsz), 0);
	return ret;
}
