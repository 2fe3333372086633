// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of a private file mapping that the program has filled with zeros and the
 * kernel has merged into its one page of zeros: they stay zeros, not the file.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define NR	8UL
#define SIZE	(2 * NR * 4096)

static uint8_t *mem;

static void ksm(const char *name, const char *value)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/mm/ksm/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		cr_skip("%s: %s", path, strerror(errno));
	close(fd);
}

/* All of them one page, and that is none of ours: it is not counted as memory. */
static bool merged(void)
{
	uint64_t pfn = cr_pfn(mem);

	for (size_t i = 1; i < NR; i++)
		if (cr_pfn(mem + i * 4096) != pfn)
			return false;
	return pfn && cr_smaps(mem, "Rss") == (long)(NR * 4);
}

static void setup(void)
{
	uint8_t *data = malloc(SIZE);
	int fd;

	cr_fill(data, SIZE, 1);
	cr_write_file(cr_path("data"), data, SIZE);
	free(data);
	fd = (int)cr_sys(open(cr_path("data"), O_RDONLY));
	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	cr_check(mem != MAP_FAILED, "mmap");
	close(fd);
	if (madvise(mem, SIZE, MADV_MERGEABLE))
		cr_skip("no KSM: %s", strerror(errno));
	memset(mem, 0, NR * 4096);
	cr_fill(mem + NR * 4096, NR * 4096, 2);
	ksm("use_zero_pages", "1");
	ksm("sleep_millisecs", "1");
	ksm("run", "1");
	for (int i = 0; i < 10000 && !merged(); i++)
		usleep(1000);
	cr_check(merged(), "pages of zeros are not merged");
}

static void verify(void)
{
	for (size_t i = 0; i < NR * 4096; i += 8)
		cr_eq(*(uint64_t *)(mem + i), 0);
	cr_check_fill(mem + NR * 4096, NR * 4096, 2);
	mem[0] = 1;
	cr_eq(mem[1], 0);
	ksm("run", "2");
	ksm("use_zero_pages", "0");
}

CR_TEST(.setup = setup, .verify = verify);
