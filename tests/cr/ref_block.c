// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a block device.
 */
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int fd = -1;

static void setup(void)
{
	static const char *const names[] = { "/dev/nvme0n1", "/dev/vda", "/dev/loop0", "/dev/sda" };

	for (size_t i = 0; fd < 0 && i < sizeof(names) / sizeof(*names); i++)
		fd = open(names[i], O_RDONLY);
	if (fd < 0)
		cr_skip("no block device");
}

static void verify(void)
{
	struct stat st;

	cr_sys(fstat(fd, &st));
	cr_check(S_ISBLK(st.st_mode), "mode %o", st.st_mode);
}

CR_TEST(.setup = setup, .verify = verify);
