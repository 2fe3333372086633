// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/self/maps is the same text before and after: addresses, protections,
 * offsets, files, and the names the kernel gives.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static char *before;

/* line by line, without device and inode: a restored file may be another one */
static char *maps(void)
{
	char *text = cr_read("/proc/self/maps", NULL), *out = malloc(strlen(text) + 1);
	char range[64], perms[8], offset[32], dev[16], ino[32], *save;
	size_t at = 0;

	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		int name = 0;

		cr_check(sscanf(line, "%63s %7s %31s %15s %31s %n", range, perms,
				offset, dev, ino, &name) >= 5, "%s", line);
		at += (size_t)sprintf(out + at, "%s %s %s %s\n", range, perms, offset,
				      name ? line + name : "");
	}
	free(text);
	return out;
}

static void setup(void)
{
	int fd = (int)cr_sys(open("/proc/self/exe", O_RDONLY));

	before = malloc(1 << 16);	/* the heap must not grow later */
	free(before);
	cr_check(mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 4096) != MAP_FAILED, "mmap");
	cr_map(12345, PROT_READ | PROT_EXEC, MAP_SHARED);
	close(fd);
	free(maps());
	before = maps();
	free(maps());
}

static void verify(void)
{
	char *after = maps();
	size_t i = 0, line = 0;

	while (before[i] && before[i] == after[i])
		if (before[i++] == '\n')
			line = i;
	cr_check(before[i] == after[i], "before: %.150s\nafter: %.150s", before + line,
		 after + line);
}

CR_TEST(.setup = setup, .verify = verify);
