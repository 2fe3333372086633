// SPDX-License-Identifier: GPL-2.0-only
/*
 * A child has unmapped the code of the vDSO, as Valgrind does: its data is where it was, the
 * code is not there, and what the child has mapped in its place is.
 */
#include <sys/auxv.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define PAGE 4096

static pid_t child;

/* Where the mapping with that name begins, or 0; *@ret_end is its end. */
static unsigned long find(const char *name, unsigned long *ret_end)
{
	char *maps = cr_read("/proc/self/maps", NULL), *line, *next;
	unsigned long start = 0, at;

	for (line = maps; line && !start; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (strstr(line, name) && sscanf(line, "%lx-%lx", &at, ret_end) == 2)
			start = at;
	}
	free(maps);
	return start;
}

static void in_child(void *arg)
{
	unsigned long data_end, code_end, again_end;
	unsigned long data = find("[vvar", &data_end), code = find("[vdso]", &code_end);
	uint8_t *page;

	cr_check(data && code, "no vDSO");
	cr_sys(munmap((void *)code, code_end - code));
	page = mmap((void *)code, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	cr_check(page == (void *)code, "mmap");
	cr_fill(page, PAGE, 5);
	cr_mark("child");
	/* its clocks are gone */
	while (access(cr_path("verify"), F_OK) < 0)
		usleep(1000);
	cr_check(find("[vvar", &again_end) == data && again_end == data_end, "other data");
	cr_check(!find("[vdso]", &again_end), "the code is back");
	cr_check_fill(page, PAGE, 5);
}

static void setup(void)
{
	if (!getauxval(AT_SYSINFO_EHDR))
		cr_skip("no vDSO");
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_mark("verify");
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
