// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of the library that map and open more than messages do: windows, files, a
 * heap that outgrows the area for brk(), sockets (the caller chooses those in the
 * environment). All of it has to be in the range, or recorded.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mpi/lower_job.h"

#define WIN_BYTES	((3 << 20) + (7 << 12))	/* like nobody else's */
#define MODE		(1 | 8)		/* MPI_MODE_CREATE, MPI_MODE_RDWR */
#define BLOCKS		40
#define BLOCK_BYTES	(96UL << 10)	/* less than malloc() would map */
#define LARGE		(200UL << 20)
#define TASKS		64
#define LOOKS		500
#define LOOK_US		1000

/* files that a window of ours was made of, and nobody removed */
static int leftovers(struct job *job)
{
	DIR *dir = opendir("/dev/shm");
	struct dirent *e;
	struct stat st;
	int nr = 0;

	JOB_CHECK(dir, "/dev/shm");
	while ((e = readdir(dir)))
		if (!fstatat(dirfd(dir), e->d_name, &st, 0) && S_ISREG(st.st_mode))
			nr += st.st_size >= WIN_BYTES && st.st_size <= job->size * WIN_BYTES &&
			      st.st_size % WIN_BYTES == 0;
	closedir(dir);
	return nr;
}

static void windows(struct job *job)
{
	int before = leftovers(job);
	int right = (job->rank + 1) % job->size, left = (job->rank + job->size - 1) % job->size;
	int *base = NULL, value = 4711 + job->rank;
	handle win = 0;

	CALL(job, MPI_Win_allocate, WIN_BYTES, sizeof(int), job->info_null, job->world, P(&base),
	     P(&win));
	JOB_CHECK(P(base) >= LOWER_BASE && P(base) < LOWER_END, "the window is at %p", base);
	memset(base, 0, WIN_BYTES);
	CALL(job, MPI_Win_fence, 0, win);
	CALL(job, MPI_Put, P(&value), 1, job->type_int, right, 5, 1, job->type_int, win);
	CALL(job, MPI_Win_fence, 0, win);
	JOB_CHECK(base[5] == 4711 + left, "the window holds %d", base[5]);
	job_inside(job);
	CALL(job, MPI_Win_free, P(&win));
	JOB_CHECK(leftovers(job) <= before, "the window left files in /dev/shm");
}

/*
 * all threads but this one are the lower half's, and told to be; some are just beginning or
 * ending
 */
static bool threads_agree(struct job *job)
{
	int tids[TASKS], tasks = 0, told = 0;
	size_t nr = lower_threads(job->lower, tids, TASKS), i;
	DIR *dir = opendir("/proc/self/task");
	struct dirent *e;

	JOB_CHECK(dir && nr <= TASKS, "%zu threads", nr);
	while ((e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]) || atoi(e->d_name) == getpid())
			continue;
		tasks++;
		for (i = 0; i < nr; i++)
			told += tids[i] == atoi(e->d_name);
	}
	closedir(dir);
	return tasks == told && (size_t)told == nr;
}

/* libc makes threads for it, which stay for a while */
static void file_nonblocking(struct job *job, handle file)
{
	handle request = 0;
	char status[64];
	int value = job->rank, looks = 0;

	CALL(job, MPI_File_iwrite_at, file, (job->rank + 1024) * sizeof(int), P(&value), 1,
	     job->type_int, P(&request));
	CALL(job, MPI_Wait, P(&request), P(status));
	/* for less time than the idle thread stays */
	while (!threads_agree(job) && looks++ < LOOKS)
		usleep(LOOK_US);
	JOB_CHECK(looks < LOOKS, "a thread of the lower half is not told");
}

static void files(struct job *job, const char *path)
{
	int mine[256], theirs[256], i, other = (job->rank + 1) % job->size;
	handle file = 0;
	char status[64];

	for (i = 0; i < 256; i++)
		mine[i] = job->rank * 1000 + i;
	JOB_CHECK(!CALL(job, MPI_File_open, job->world, P(path), MODE, job->info_null, P(&file)),
		  "MPI_File_open");
	job_inside(job);
	CALL(job, MPI_File_write_at_all, file, job->rank * sizeof(mine), P(mine), 256,
	     job->type_int, P(status));
	CALL(job, MPI_Barrier, job->world);
	CALL(job, MPI_File_read_at, file, other * sizeof(mine), P(theirs), 256, job->type_int,
	     P(status));
	for (i = 0; i < 256; i++)
		JOB_CHECK(theirs[i] == other * 1000 + i, "the file holds %d", theirs[i]);
	file_nonblocking(job, file);
	CALL(job, MPI_File_close, P(&file));
	job_inside(job);
}

/* the lower libc's own */
static void heap(struct job *job)
{
	typedef void *(*malloc_fn)(size_t);
	typedef void (*free_fn)(void *);
	malloc_fn lower_malloc = (malloc_fn)lower_function(job->lower, S_malloc);
	free_fn lower_free = (free_fn)lower_function(job->lower, S_free);
	char *blocks[BLOCKS], *large;
	unsigned long upper;
	int i;

	upper = lower_enter();
	for (i = 0; i < BLOCKS; i++)
		blocks[i] = lower_malloc(BLOCK_BYTES);
	large = lower_malloc(LARGE);
	lower_leave(upper);
	for (i = 0; i < BLOCKS; i++) {
		JOB_CHECK(P(blocks[i]) >= LOWER_BASE && P(blocks[i]) < LOWER_END,
			  "a block is at %p", blocks[i]);
		memset(blocks[i], i, BLOCK_BYTES);
	}
	JOB_CHECK(P(large) >= LOWER_BASE && P(large) < LOWER_END, "a large block is at %p", large);
	large[0] = large[LARGE - 1] = 1;
	job_inside(job);
	upper = lower_enter();
	for (i = 0; i < BLOCKS; i++)
		lower_free(blocks[i]);
	lower_free(large);
	lower_leave(upper);
	job_traffic(job);
}

int main(int argc, char **argv)
{
	static struct job job;

	JOB_CHECK(argc == 4, "usage: lower_wide CKPT-LOWER LIBRARY FILE");
	job_load(&job, argv[1], argv[2]);
	job_init(&job);
	job_traffic(&job);
	job_inside(&job);
	heap(&job);
	windows(&job);
	files(&job, argv[3]);
	CALL(&job, MPI_Finalize, 0);
	return 0;
}
