// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files in the job's /dev/shm that only excluded memory maps: segments through which
 * the owners of that memory talk to each other.  A restart makes them anew, so they are
 * excluded, too: the image need not hold them, and the pause not copy them.
 *
 * The files are looked up before the freeze, as that takes a while; a segment made after
 * that is carried, which does no harm.  Ranges that hold for every process (pid 0) are
 * not followed here.
 */
#include "base/error.h"
#include "engine/dump/dump_run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int dump_exclude_shm_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int dump_exclude_shm_add(struct dump *d, uint64_t ino)
{
	uint64_t *inos = d->excluded_inos;

	if (!(d->nr_excluded_inos & (d->nr_excluded_inos + 1))) {
		inos = realloc(inos, (2 * (size_t)d->nr_excluded_inos + 2) * sizeof(*inos));
		if (!inos)
			return error_fail(d->error, -ENOMEM, "out of memory");
		d->excluded_inos = inos;
	}
	inos[d->nr_excluded_inos++] = ino;
	return 0;
}

/* Add the inodes on @dev that the process maps within the range; the process may be gone. */
static int dump_exclude_shm_lookup(struct dump *d, const struct ckpt_exclude *e, dev_t dev)
{
	char path[40], line[PATH_MAX + 128];
	unsigned long long start, end, ino;
	unsigned int maj, min;
	FILE *file;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", e->pid);
	file = fopen(path, "re");
	while (file && !ret && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx-%llx %*s %*s %x:%x %llu", &start, &end, &maj, &min,
			   &ino) != 5 || start < e->start || end > e->end ||
		    makedev(maj, min) != dev)
			continue;
		ret = dump_exclude_shm_add(d, ino);
	}
	if (file)
		fclose(file);
	return ret;
}

int dump_exclude_shm_find(struct dump *d)
{
	const struct dump_options *o = d->options;
	struct stat st;
	int ret = 0;

	if (!o->shm_dir || !o->nr_excludes || stat(o->shm_dir, &st))
		return 0;
	for (unsigned int i = 0; !ret && i < o->nr_excludes; i++)
		if (o->excludes[i].kind == CKPT_EXCLUDE_RANGE && o->excludes[i].pid)
			ret = dump_exclude_shm_lookup(d, &o->excludes[i], st.st_dev);
	if (d->nr_excluded_inos)
		qsort(d->excluded_inos, d->nr_excluded_inos, sizeof(*d->excluded_inos),
		      dump_exclude_shm_compare);
	return ret;
}

bool dump_is_excluded(const struct dump *d, const struct stat *st)
{
	const struct state *state = d->cap.state;
	uint64_t ino = st->st_ino;

	if (!d->nr_excluded_inos || !bsearch(&ino, d->excluded_inos, d->nr_excluded_inos,
					     sizeof(ino), dump_exclude_shm_compare))
		return false;
	for (unsigned int i = 0; i < state->nr_files; i++)
		if (state->files[i].rec->ino == ino && state->files[i].rec->dev == st->st_dev)
			return false;
	return true;
}

void dump_exclude_shm_done(struct dump *d)
{
	free(d->excluded_inos);
	d->excluded_inos = NULL;
	d->nr_excluded_inos = 0;
}
