// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of status pages: made by init in the job's /dev/shm, mapped by the shim.
 *
 * The files belong to the job's owner, who may change them at will; the shim runs as the
 * same user and checks every size and number in them before it uses it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "shim/pages_priv.h"

#define PAGES_COMMS	512	/* communicators of one rank at a time */

static void dir_path(long long job, char *buf, size_t size)
{
	snprintf(buf, size, "/dev/shm/stillpoint.%lld", job);
}

void pages_path(long long job, unsigned int rank, char *buf, size_t size)
{
	snprintf(buf, size, "/dev/shm/stillpoint.%lld/%u", job, rank);
}

static int make_page(const struct ranks *ranks, int dir, unsigned int rank, uid_t uid, gid_t gid)
{
	struct status_page head = {
		.magic = STATUS_MAGIC, .version = STATUS_VERSION, .nr_ranks = ranks->size,
		.max_comms = PAGES_COMMS, .order = { .run = 1 },
	};
	char name[16];
	_cleanup_fd_ int fd = -1;
	int err;

	snprintf(name, sizeof(name), "%u", rank);
	fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fchown(fd, uid, gid))
		return -errno;
	/* Allocate the memory now: the program may fill /dev/shm before the first write. */
	err = posix_fallocate(fd, 0, (off_t)status_size(ranks->size, PAGES_COMMS));
	if (err)
		return -err;
	return write(fd, &head, sizeof(head)) == (ssize_t)sizeof(head) ? 0 : -ENOSPC;
}

int pages_make(const struct ranks *ranks, long long job, uid_t uid, gid_t gid, int *ret_dir)
{
	char path[64];
	_cleanup_fd_ int dir = -1;
	unsigned int i;
	int err = 0;

	dir_path(job, path, sizeof(path));
	if (mkdir(path, 0700))
		return -errno;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fchown(dir, uid, gid))
		return -errno;
	for (i = 0; i < ranks->nr && !err; i++)
		err = make_page(ranks, dir, ranks->rank[i], uid, gid);
	if (!err)
		*ret_dir = take_fd(&dir);
	return err;
}

static void remove_strange(const struct ranks *ranks, int dir)
{
	unsigned int rank;
	char name[16];

	for (rank = 0; rank < ranks->size; rank++) {
		if (ranks->node_of[rank] == ranks->node)
			continue;
		snprintf(name, sizeof(name), "%u", rank);
		unlinkat(dir, name, 0);
	}
}

int pages_find(const struct ranks *ranks, long long job, int *ret_dir)
{
	char path[64];
	int dir;

	dir_path(job, path, sizeof(path));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	remove_strange(ranks, dir);
	*ret_dir = dir;
	return 0;
}

/* ------------------------------------------------------------- in the shim */

int pages_find_in(int shm, long long job)
{
	char path[64];
	int dir;

	dir_path(job, path, sizeof(path));
	dir = openat(shm, strrchr(path, '/') + 1,
		     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir < 0 ? -errno : dir;
}

static int open_page(struct pages *p, int dir, unsigned int index)
{
	struct status_page *page;
	struct stat st;
	char name[16];
	_cleanup_fd_ int fd = -1;

	snprintf(name, sizeof(name), "%u", p->ranks->rank[index]);
	fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size != p->size)
		return -EBADMSG;
	page = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	p->page[index] = page;
	if (page->magic != STATUS_MAGIC || page->version != STATUS_VERSION ||
	    page->nr_ranks != p->ranks->size || page->max_comms != PAGES_COMMS)
		return -EBADMSG;
	return 0;
}

int pages_open(const struct ranks *ranks, int dir, struct pages **ret_pages)
{
	struct pages *p = calloc(1, sizeof(*p));
	size_t cells = (size_t)ranks->nr * ranks->size;
	unsigned int i;
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->ranks = ranks;
	p->intent = STATUS_RUN;
	p->reached = true;
	p->size = status_size(ranks->size, PAGES_COMMS);
	p->page = calloc(ranks->nr, sizeof(struct status_page *));
	p->over = calloc(ranks->nr, sizeof(*p->over));
	p->told_sent = calloc(cells, sizeof(*p->told_sent));
	p->told_received = calloc(cells, sizeof(*p->told_received));
	if (!p->page || !p->over || !p->told_sent || !p->told_received)
		err = -ENOMEM;
	for (i = 0; i < ranks->nr && !err; i++)
		err = open_page(p, dir, i);
	if (err) {
		pages_close(p);
		return err;
	}
	*ret_pages = p;
	return 0;
}

void pages_forget_counts(struct pages *p)
{
	size_t cells = (size_t)p->ranks->nr * p->ranks->size;

	memset(p->told_sent, 0, cells * sizeof(*p->told_sent));
	memset(p->told_received, 0, cells * sizeof(*p->told_received));
}

bool pages_held(const struct pages *p)
{
	return p->intent != STATUS_RUN;
}

void pages_close(struct pages *p)
{
	unsigned int i;

	if (!p)
		return;
	for (i = 0; p->page && i < p->ranks->nr; i++) {
		if (p->page[i])
			munmap(p->page[i], p->size);
	}
	free(p->page);
	free(p->over);
	free(p->told_sent);
	free(p->told_received);
	free(p);
}

/* ----------------------------------------------- in init, without a shim */

static bool any_held(const struct pages *p)
{
	unsigned int i;

	for (i = 0; i < p->ranks->nr; i++) {
		if (p->page[i]->order.intent != STATUS_RUN)
			return true;
	}
	return false;
}

void pages_release(const struct ranks *ranks, int dir)
{
	struct pages *p;

	if (pages_open(ranks, dir, &p))
		return;
	if (any_held(p))
		pages_order(p, 0, STATUS_RUN);
	pages_close(p);
}
