// SPDX-License-Identifier: GPL-2.0-only
/*
 * A memfd on a node that allows none that could be executed (vm.memfd_noexec is 2): it is
 * there again, sealed against that and no more.
 */
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

/* MFD_NOEXEC_SEAL and F_SEAL_EXEC, which headers before Linux 6.3 do not have */
#define NOEXEC_SEAL	0x0008U
#define SEAL_EXEC	0x0020
#define SYSCTL	"/proc/sys/vm/memfd_noexec"

static int fd;

static void setup(void)
{
	if (access(SYSCTL, W_OK))
		cr_skip("no " SYSCTL);
	cr_write_file(SYSCTL, "2", 1);
	fd = (int)cr_sys(memfd_create("noexec", NOEXEC_SEAL));
	cr_eq(write(fd, "content", 7), 7);
}

static void verify(void)
{
	char buf[8] = "";
	struct stat st;

	cr_eq(pread(fd, buf, sizeof(buf), 0), 7);
	cr_check(!memcmp(buf, "content", 7), "content");
	cr_eq(cr_sys(fcntl(fd, F_GET_SEALS)), SEAL_EXEC);
	cr_sys(fstat(fd, &st));
	cr_eq(st.st_mode & 0777, 0666);
	cr_eq(fchmod(fd, 0777), -1);
}

static void teardown(void)
{
	cr_write_file(SYSCTL, "0", 1);
}

CR_TEST(.setup = setup, .verify = verify, .teardown = teardown);
