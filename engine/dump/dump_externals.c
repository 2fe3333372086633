// SPDX-License-Identifier: GPL-2.0-only
/*
 * Externals: which file of the tree leads to a pipe, pty or file that the caller named.
 *
 * The externals are looked at once, before the tree is frozen, and sorted by inode: a job
 * of a thousand ranks names two thousand, and has many more files, each of which is looked
 * up while the tree stands still.  The descriptors are the caller's and stay open.
 */
#include "base/error.h"
#include "engine/core/state_kind.h"
#include "engine/dump/dump_run.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define PTS_MAJOR_FIRST	136
#define PTS_MAJOR_LAST	143

struct dump_external {
	uint64_t ino, dev;
	mode_t type;
	int pty;		/* index of the pty; -1: no pty */
	unsigned int external;	/* index among the caller's externals */
};

/* The index of the pty whose master or slave @fd is, or -1. */
static int dump_externals_pty_index(int fd, const struct stat *st)
{
	unsigned int index;

	if (!S_ISCHR(st->st_mode))
		return -1;
	if (major(st->st_rdev) >= PTS_MAJOR_FIRST && major(st->st_rdev) <= PTS_MAJOR_LAST)
		return (int)((major(st->st_rdev) - PTS_MAJOR_FIRST) * 256 + minor(st->st_rdev));
	if (ioctl(fd, TIOCGPTN, &index) == 0)
		return (int)index;
	return -1;
}

/* By inode; of several externals with one inode the caller's first comes first. */
static int dump_externals_compare(const void *one, const void *other)
{
	const struct dump_external *a = one, *b = other;

	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	return (a->external > b->external) - (a->external < b->external);
}

int dump_externals_open(struct dump *d)
{
	const struct dump_options *o = d->options;
	unsigned int i;

	d->externals = calloc(o->nr_externals + 1, sizeof(*d->externals));
	if (!d->externals)
		return error_fail(d->error, -ENOMEM, "out of memory");
	for (i = 0; i < o->nr_externals; i++) {
		int fd = o->externals[i].fd;
		struct stat st;

		if (fd < 0 || fstat(fd, &st))
			continue;
		d->externals[d->nr_externals++] = (struct dump_external) {
			.ino = st.st_ino, .dev = st.st_dev, .type = st.st_mode & S_IFMT,
			.pty = dump_externals_pty_index(fd, &st), .external = i,
		};
	}
	qsort(d->externals, d->nr_externals, sizeof(*d->externals), dump_externals_compare);
	return 0;
}

static bool same_object(const struct ckpt_rec_file *rec, const struct dump_external *end)
{
	const struct state_kind *kind = state_kind_of_file(rec->kind);

	if (kind && kind->one_description)	/* their inodes have one number */
		return false;
	if (rec->kind == CKPT_FILE_PIPE)	/* all pipes are on one file system */
		return end->type == S_IFIFO;
	return end->dev == rec->dev && end->type == (rec->mode & S_IFMT);
}

/* The first entry with this inode number, or the first one with a higher number. */
static unsigned int find_inode(const struct dump *d, uint64_t ino)
{
	unsigned int low = 0, high = d->nr_externals;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (d->externals[middle].ino < ino)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct dump_external *find_tty(const struct dump *d, int index)
{
	const struct dump_external *first = NULL;

	for (unsigned int i = 0; i < d->nr_externals; i++)
		if (d->externals[i].pty >= 0 && d->externals[i].pty == index &&
		    (!first || d->externals[i].external < first->external))
			first = &d->externals[i];
	return first;
}

static const struct dump_external *dump_externals_find(const struct dump *d,
						       const struct ckpt_rec_file *rec)
{
	if (rec->kind == CKPT_FILE_PTS || rec->kind == CKPT_FILE_PTM)
		return find_tty(d, (int)rec->object);
	for (unsigned int i = find_inode(d, rec->ino); i < d->nr_externals; i++) {
		if (d->externals[i].ino != rec->ino)
			break;
		if (same_object(rec, &d->externals[i]))
			return &d->externals[i];
	}
	return NULL;
}

const char *dump_external_name(const struct dump *d, const struct state_file *file)
{
	const struct dump_external *end = dump_externals_find(d, file->rec);

	return end ? d->options->externals[end->external].name : NULL;
}

bool dump_external_tty(const struct dump *d, int index)
{
	return find_tty(d, index);
}

void dump_externals_done(struct dump *d)
{
	free(d->externals);
	d->externals = NULL;
	d->nr_externals = 0;
}
