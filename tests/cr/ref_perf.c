// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a counter of perf, which counts on.
 */
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_kernel = 1,
	};

	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd < 0)
		cr_skip("perf_event_open: %s", strerror(errno));
}

static void verify(void)
{
	uint64_t before, after;

	cr_eq(cr_sys(read(fd, &before, sizeof(before))), 8);
	memset(cr_map(1 << 20, 3, 2), 1, 1 << 20);
	cr_eq(cr_sys(read(fd, &after, sizeof(after))), 8);
	cr_check(after > before, "%llu faults", (unsigned long long)after);
}

CR_TEST(.setup = setup, .verify = verify);
