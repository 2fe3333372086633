// SPDX-License-Identifier: GPL-2.0-only
/*
 * restore_test: contexts of asynchronous I/O.  What programs see of them is tests/cr/aio_*.c's.
 */
#include <errno.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <string.h>

#include "tests/kselftest/restore_rig.h"
#include "tests/kselftest/restore_test.h"

#define RW_SHARED	(CKPT_VM_READ | CKPT_VM_WRITE | CKPT_VM_SHARED | CKPT_VM_MAYWRITE)
#define NR_EVENTS	127U		/* of a ring of one page */

/* The record that is tried, and how often it comes. */
struct aio_try {
	struct ckpt_rec_aio aio;
	unsigned int times;
	__u64 len;			/* of the mapping */
};

static void add_ring(struct recs *recs, void *arg)
{
	const struct aio_try *try = arg;

	recs_vma(recs, CKPT_VMA_AIO, MORE, try->len, RW_SHARED, -1);
}

static int try_state(struct rig *rig, const struct aio_try *try)
{
	struct recs recs = {};
	int ret;

	recs_basic(rig, &recs, add_ring, (void *)(unsigned long)try);
	for (unsigned int i = 0; i < try->times; i++) {
		const size_t len = sizeof(try->aio) + 4 * sizeof(struct io_event);
		struct ckpt_rec_aio *aio = recs_add(&recs, CKPT_REC_AIO, len);
		struct ckpt_rec_hdr hdr = aio->hdr;

		*aio = try->aio;
		aio->hdr = hdr;
	}
	ret = rig_state(rig, rig->helpers[0].pid, &recs, NULL);
	recs_done(&recs);
	return ret;
}

/* CPUs that the kernel may have; the ring of one page serves 15. */
static bool has_many_cpus(void)
{
	unsigned int first = 0, last = 0;
	FILE *f = fopen("/sys/devices/system/cpu/possible", "r");
	int n = f ? fscanf(f, "%u-%u", &first, &last) : 0;

	if (f)
		fclose(f);
	return n != 2 || last >= 15;
}

#define AIO_BAD(change, want, what)					\
	do {								\
		struct aio_try try_ = good;				\
									\
		change;							\
		tap_is(try_state(&rig, &try_), want, what);		\
	} while (0)

void test_aio(void)
{
	const struct aio_try good = {
		.aio = {
			.mm_id = 1, .start = MORE, .ring = 1, .nr_reqs = 8,
			.nr_events = NR_EVENTS, .head = 125, .tail = 2, .nr = 4,
		},
		.times = 1, .len = 4096,
	};
	char line[256], start[32];
	struct rig rig;

	tap_note("contexts of asynchronous I/O");
	if (has_many_cpus()) {
		tap_skip("contexts", "more CPUs than a ring of one page serves");
		return;
	}
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	AIO_BAD(try_.times = 0, -EINVAL, "a ring without its record");
	AIO_BAD(try_.times = 2, -EINVAL, "two of one ring");
	AIO_BAD(try_.aio.start += 4096, -EINVAL, "of no mapping");
	AIO_BAD(try_.aio.flags = CKPT_AIO_GONE, -EINVAL, "gone, and its own");
	AIO_BAD(try_.aio.flags = 4, -EINVAL, "an unknown flag");
	AIO_BAD(try_.aio.nr_reqs = 0, -EINVAL, "for no request");
	AIO_BAD(try_.aio.head = NR_EVENTS, -EINVAL, "a head beyond the ring");
	AIO_BAD(try_.aio.tail = NR_EVENTS, -EINVAL, "a tail beyond the ring");
	AIO_BAD(try_.aio.nr = 3, -EINVAL, "other than head and tail say");
	AIO_BAD(try_.aio.tail = 5; try_.aio.nr = 7, -EINVAL, "more events than it holds");
	AIO_BAD(try_.len = 8192, -EINVAL, "a mapping of another size");
	AIO_BAD(try_.aio.nr_events = 126; try_.aio.nr = 3, -ENOSPC,
		"a size that the kernel makes no ring of");
	rig_close(&rig);

	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	AIO_BAD(try_.aio.flags = CKPT_AIO_INHERITED, -ENOENT, "of a map that has not come");
	tap_is(try_state(&rig, &good), 0, "a good one");
	snprintf(start, sizeof(start), "%08lx", MORE);
	tap_ok(proc_line(rig.helpers[0].pid, "maps", start, line, sizeof(line)) &&
	       strstr(line, "[aio]"), "its ring is mapped");
	rig_close(&rig);
}
