// SPDX-License-Identifier: GPL-2.0-only
/*
 * A load that is refused says why, leaves nothing behind, and a right one works
 * afterwards.
 *
 *   lower_refuse CKPT-LOWER LIBRARY ERRNO TEXT [BAD-CKPT-LOWER|- [BAD-LIBRARY [CASE]]]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/mpi/lower_job.h"

static bool no_fsgsbase;

/* the linker prefers this one to the libc's */
unsigned long getauxval(unsigned long type)
{
	FILE *f = fopen("/proc/self/auxv", "re");
	unsigned long entry[2] = { 0 }, value = 0;

	while (f && fread(entry, sizeof(entry), 1, f) == 1)
		if (entry[0] == type)
			value = entry[1];
	if (f)
		fclose(f);
	return type == AT_HWCAP2 && no_fsgsbase ? value & ~2UL : value;
}

static void must_refuse(const struct lower_config *config, int expected, const char *text)
{
	struct lower *lower = NULL;
	char why[256];
	int fds = job_fd_count(), maps, err;
	long threads = job_status_field("Threads");

	/* the first use of stdio has mapped what it maps */
	maps = job_map_count();
	err = lower_load(config, &lower, why);
	JOB_CHECK(err == -expected, "error %d (%s), expected %d", -err, why, expected);
	JOB_CHECK(!lower, "a refused load returned something");
	JOB_CHECK(strstr(why, text), "it said: %s", why);
	JOB_CHECK(job_fd_count() == fds, "descriptors: %d, now %d", fds, job_fd_count());
	JOB_CHECK(job_status_field("Threads") == threads, "threads are left");
	JOB_CHECK(job_map_count() <= maps + 1, "mappings: %d, now %d", maps, job_map_count());
	JOB_CHECK(!lower_fs_base, "the thread has a companion");
	printf("# %s\n", why);
}

int main(int argc, char **argv)
{
	static struct job job;
	const char *kind = argc > 7 ? argv[7] : "";
	struct lower_config config = { .envp = environ };
	void *page = NULL;

	JOB_CHECK(argc >= 5, "usage: see the source");
	config.program = argc > 5 && strcmp(argv[5], "-") ? argv[5] : argv[1];
	config.library = argc > 6 && strcmp(argv[6], "-") ? argv[6] : argv[2];
	if (!strcmp(kind, "range"))
		page = mmap((void *)(LOWER_END - 8192), 4096, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	JOB_CHECK(page != MAP_FAILED, "mmap");
	no_fsgsbase = !strcmp(kind, "fsgsbase");
	must_refuse(&config, atoi(argv[3]), argv[4]);
	must_refuse(&config, atoi(argv[3]), argv[4]);
	if (page)
		munmap(page, 4096);
	no_fsgsbase = false;
	job_load(&job, argv[1], argv[2]);
	job_init(&job);
	job_traffic(&job);
	return 0;
}
