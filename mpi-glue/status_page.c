// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page's mapping in the rank: at its start, and of the new shim's file after a restart.
 *
 * Without CKPT_STATUS there is no page and no glue thread, and no hold is raised. A page of another
 * version, or too small for the job, ends the program: the shim is of another build, and a job
 * that cannot be checkpointed must not look as if it could.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi-glue/lower/lower.h"
#include "mpi-glue/status_page.h"
#include "mpi/calls.h"

static void __attribute__((noreturn)) die(const char *path, const char *why)
{
	fprintf(stderr, "stillpoint: status page %s: %s\n", path, why);
	exit(1);
}

/*
 * Return the descriptor of process management that this rank inherited, which only the lower half
 * uses; -1: none.
 */
static int inherited_fd(const struct status_page *page)
{
	const char *text = getenv("PMI_FD");
	int fd = text ? atoi(text) : -1;
	struct stat st;

	/* not after a restart: the number may then be any other descriptor's */
	if (fd <= STDERR_FILENO || page->order.run != 1)
		return -1;
	return fstat(fd, &st) || !S_ISSOCK(st.st_mode) ? -1 : fd;
}

void status_attach(void)
{
	const char *path = getenv("CKPT_STATUS");
	struct status_page *page;
	struct stat st;
	int fd;

	if (!path || !*path)
		return;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		die(path, strerror(errno));
	if ((size_t)st.st_size < sizeof(*page))
		die(path, "it is too short");
	page = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		die(path, strerror(errno));
	if (page->magic != STATUS_MAGIC || page->version != STATUS_VERSION)
		die(path, "it is of another version");
	if (page->nr_ranks < (uint32_t)glue.world_size ||
	    (size_t)st.st_size < status_size(page->nr_ranks, page->max_comms))
		die(path, "it is made for fewer ranks");
	glue.page = page;
	lower_fds_private(inherited_fd(page));
}

int status_tell_lower(void)
{
	struct status_lower *out = status_lower(glue.page);
	size_t fds, threads, max = status_lower_max(glue.page->nr_ranks);

	fds = lower_fds(glue.lower, out->item, max);
	if (fds >= max)
		return -ENOSPC;
	threads = lower_threads(glue.lower, out->item + fds, max - fds);
	if (fds + threads > max)
		return -ENOSPC;
	out->pid = getpid();
	out->nr_fds = (uint32_t)fds;
	out->nr_threads = (uint32_t)threads;
	return 0;
}
