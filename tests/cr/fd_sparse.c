// SPDX-License-Identifier: GPL-2.0-only
/*
 * A big sparse deleted file (4 GiB, 1 MiB of data): carried at the cost of its
 * data, not of its length.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

#define LENGTH	(4LL << 30)

static int fd;

static void setup(void)
{
	uint8_t buf[65536];

	fd = (int)cr_sys(open(cr_path("sparse"), O_RDWR | O_CREAT, 0600));
	cr_sys(unlink(cr_path("sparse")));
	if (ftruncate(fd, LENGTH) < 0)
		cr_skip("no file of 4 GiB here");
	for (int i = 0; i < 16; i++) {
		cr_fill(buf, sizeof(buf), (uint64_t)i);
		cr_eq(cr_sys(pwrite(fd, buf, sizeof(buf), i * (LENGTH / 16))), sizeof(buf));
	}
}

static void verify(void)
{
	uint8_t buf[65536];
	struct stat st;

	cr_sys(fstat(fd, &st));
	cr_eq(st.st_size, LENGTH);
	cr_check(st.st_blocks * 512LL < 16 << 20, "%lld bytes on disk",
		 (long long)st.st_blocks * 512);
	for (int i = 0; i < 16; i++) {
		cr_eq(cr_sys(pread(fd, buf, sizeof(buf), i * (LENGTH / 16))), sizeof(buf));
		cr_check_fill(buf, sizeof(buf), (uint64_t)i);
	}
}

CR_TEST(.setup = setup, .verify = verify);
