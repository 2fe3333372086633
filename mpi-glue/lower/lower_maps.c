// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the mappings outside the range before and after a load.
 *
 * The upper half maps memory too, so an answer is only worth something while the upper
 * half has done nothing else. Its heap is checked separately: the kernel's break has to
 * be where the upper libc believes it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi-glue/lower/lower_internal.h"
#include "mpi-glue/lower/lower_raw.h"

struct part {
	unsigned long start;
	unsigned long end;
};

struct lower_maps {
	size_t nr;
	size_t max;
	struct part parts[];
};

/* adjacent mappings become one part: permissions may have split a mapping since */
static bool lower_maps_add(struct lower_maps *maps, unsigned long start, unsigned long end)
{
	if (maps->nr && maps->parts[maps->nr - 1].end == start) {
		maps->parts[maps->nr - 1].end = end;
		return true;
	}
	if (maps->nr == maps->max)
		return false;
	maps->parts[maps->nr++] = (struct part){ start, end };
	return true;
}

static int lower_maps_fill(struct lower_maps *maps)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char line[512];
	int err = 0;

	if (!f)
		return -errno;
	maps->nr = 0;
	while (!err && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && !lower_maps_add(maps, start, end))
			err = -E2BIG;
	fclose(f);
	return err;
}

int lower_maps_take(struct lower_maps **ret_maps)
{
	struct lower_maps *maps = NULL;
	size_t max = 256;
	int err;

	do {
		free(maps);
		max *= 2;
		maps = malloc(sizeof(*maps) + max * sizeof(maps->parts[0]));
		if (!maps)
			return -ENOMEM;
		maps->max = max;
		err = lower_maps_fill(maps);
	} while (err == -E2BIG);
	if (err) {
		free(maps);
		return err;
	}
	*ret_maps = maps;
	return 0;
}

void lower_maps_free(struct lower_maps *maps)
{
	free(maps);
}

static bool lower_maps_known(const struct lower_maps *maps, unsigned long start, unsigned long end)
{
	size_t i;

	for (i = 0; i < maps->nr; i++)
		if (start >= maps->parts[i].start && end <= maps->parts[i].end)
			return true;
	return false;
}

static int compare_break(char *ret_why)
{
	unsigned long kernel = lower_raw(SYS_brk, 0, 0, 0), libc = (unsigned long)sbrk(0);

	if (kernel == libc)
		return 0;
	snprintf(ret_why, LOWER_WHY_SIZE,
		 "the break is at %lx, the application's libc left it at %lx", kernel, libc);
	return -EXDEV;
}

int lower_maps_compare(const struct lower_maps *before, char *ret_why)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char line[512];
	int err = 0;

	if (!f)
		return -errno;
	while (!err && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &start, &end) != 2 ||
		    lower_maps_known(before, start, end) || lower_in_range(start) ||
		    strstr(line, "[heap]") || strstr(line, "[stack]"))
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(ret_why, LOWER_WHY_SIZE, "mapped outside the range: %.200s", line);
		err = -EXDEV;
	}
	fclose(f);
	return err ? err : compare_break(ret_why);
}
