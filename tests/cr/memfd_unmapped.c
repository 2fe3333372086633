// SPDX-License-Identifier: GPL-2.0-only
/*
 * A memfd that nobody maps, of odd length, with a hole, its position in the middle,
 * and its name and mode: the content lives in the descriptor alone.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	uint8_t buf[10000];

	fd = (int)cr_sys(memfd_create("cr unmapped", MFD_CLOEXEC));
	cr_fill(buf, sizeof(buf), 1);
	cr_eq(cr_sys(write(fd, buf, sizeof(buf))), sizeof(buf));
	cr_eq(cr_sys(pwrite(fd, buf, sizeof(buf), 3 << 20)), sizeof(buf));
	cr_sys(fchmod(fd, 0640));
	cr_sys(lseek(fd, 5000, SEEK_SET));
}

static void verify(void)
{
	char path[64], link[64] = "";
	uint8_t buf[10000];
	struct stat st;

	cr_sys(fstat(fd, &st));
	cr_eq(st.st_size, (3 << 20) + 10000);
	cr_eq(st.st_mode & 07777, 0640);
	cr_check(st.st_blocks < 4096, "the hole was filled: %ld blocks", (long)st.st_blocks);
	cr_eq(lseek(fd, 0, SEEK_CUR), 5000);
	cr_eq(cr_sys(pread(fd, buf, sizeof(buf), 0)), sizeof(buf));
	cr_check_fill(buf, sizeof(buf), 1);
	cr_eq(cr_sys(pread(fd, buf, sizeof(buf), 3 << 20)), sizeof(buf));
	cr_check_fill(buf, sizeof(buf), 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cr_sys(readlink(path, link, sizeof(link) - 1));
	cr_check(!strcmp(link, "/memfd:cr unmapped (deleted)"), "%s", link);
}

CR_TEST(.setup = setup, .verify = verify);
