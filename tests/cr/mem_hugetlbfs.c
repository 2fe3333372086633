// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files on a mounted hugetlbfs, mapped by parent and child: one that was removed, as
 * libraries do it that want huge pages, and one that keeps its name, in which each step
 * counts.  A file there cannot be written to, only mapped.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "tests/cr/phase.h"

#define HUGE	(2UL << 20)
#define MOUNT	"/dev/hugepages"

static uint8_t *gone;
static volatile uint64_t *counter;
static uint64_t mine;
static int gone_fd;
static bool mounted;
static char path[64];
static pid_t child;

static void check(void)
{
	cr_check(*counter - mine <= 1, "%llu steps in the file, %llu in memory",
		 (unsigned long long)*counter, (unsigned long long)mine);
}

static void in_child(void *arg)
{
	cr_wait_go();
	cr_check_fill(gone, HUGE, 1);
	cr_fill(gone + HUGE, HUGE, 2);
}

static void need_mount(void)
{
	struct statfs fs;

	if (statfs(MOUNT, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC)
		return;
	mkdir(MOUNT, 0755);
	if (mount("none", MOUNT, "hugetlbfs", 0, "pagesize=2M"))
		cr_skip("no hugetlbfs: %s", strerror(errno));
	mounted = true;
}

static void *map(const char *name, int *ret_fd)
{
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	void *mem;

	if (fd < 0)
		cr_skip("%s: %s", name, strerror(errno));
	cr_sys(ftruncate(fd, 2 * HUGE));
	mem = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED) {
		unlink(name);
		cr_skip("no huge pages");
	}
	*ret_fd = fd;
	return mem;
}

static void setup(void)
{
	int fd;

	need_mount();
	snprintf(path, sizeof(path), MOUNT "/cr-gone-%d", getpid());
	gone = map(path, &gone_fd);
	cr_sys(unlink(path));
	cr_fill(gone, HUGE, 1);
	snprintf(path, sizeof(path), MOUNT "/cr-named-%d", getpid());
	counter = map(path, &fd);
	close(fd);
	*counter = 0;
	child = cr_fork(in_child, NULL);
}

/* A checkpoint may come between the two. */
static void step(void)
{
	check();
	*counter = mine + 1;
	counter[HUGE / sizeof(*counter)] = mine + 1;	/* to the page behind it, too */
	mine++;
	cr_pause();
}

static void verify(void)
{
	struct stat st;

	check();
	cr_join(child);
	cr_check_fill(gone, HUGE, 1);
	cr_check_fill(gone + HUGE, HUGE, 2);
	cr_eq(cr_smaps(gone, "KernelPageSize"), 2048);
	cr_eq(cr_smaps((const void *)counter, "KernelPageSize"), 2048);
	cr_sys(fstat(gone_fd, &st));
	cr_eq(st.st_size, 2 * HUGE);
	cr_eq(st.st_nlink, 0);
}

static void teardown(void)
{
	unlink(path);
	if (mounted)
		umount2(MOUNT, MNT_DETACH);
}

CR_TEST(.setup = setup, .step = step, .verify = verify, .teardown = teardown);
