// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests of the lower half share: loading, calling, traffic with checked
 * contents. A failed check ends the process, so that its launcher ends the job.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/lower_job.h"

#define STATUS_SIZE	64
#define MAX_BYTES	(1 << 20)
#define LOOKS		100
#define LOOK_US		5000

static const char *const symbols[] = {
#define JOB_NAME(name) #name,
	JOB_SYMBOLS(JOB_NAME)
#undef JOB_NAME
};

void job_fail(const char *what, ...)
{
	va_list args;

	va_start(args, what);
	fprintf(stderr, "# ");
	vfprintf(stderr, what, args);
	fprintf(stderr, "\n");
	va_end(args);
	_exit(1);
}

LOWER_TEXT long job_call(struct job *job, enum job_symbol symbol, int nr, const uintptr_t *a)
{
	typedef int (*fn)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
			  uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
	fn f = (fn)lower_function(job->lower, symbol);
	uintptr_t w[12] = { 0 };
	unsigned long upper;
	int ret;

	JOB_CHECK(f, "%s is not in the library", symbols[symbol]);
	memcpy(w, a, nr * sizeof(*a));
	upper = lower_enter();
	ret = f(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11]);
	lower_leave(upper);
	return ret;
}

void job_load(struct job *job, const char *program, const char *library)
{
	char why[256];
	int err;

	job_note_fds(job);
	job->config = (struct lower_config){
		.program = program,
		.library = library,
		.envp = job->envp ? job->envp : environ,
		.symbols = symbols,
		.nr = JOB_NR_SYMBOLS,
	};
	err = lower_load(&job->config, &job->lower, why);
	JOB_CHECK(!err, "lower_load: %s: %s", strerror(-err), why);
	job->mpich = !lower_function(job->lower, S_ompi_mpi_comm_world);
	if (job->mpich) {
		job->world = 0x44000000;
		job->type_int = 0x4c000405;
		job->type_char = 0x4c000101;
		job->sum = 0x58000003;
		job->info_null = 0x1c000000;
	} else {
		job->world = P(lower_function(job->lower, S_ompi_mpi_comm_world));
		job->type_int = P(lower_function(job->lower, S_ompi_mpi_int));
		job->type_char = P(lower_function(job->lower, S_ompi_mpi_char));
		job->sum = P(lower_function(job->lower, S_ompi_mpi_op_sum));
		job->info_null = P(lower_function(job->lower, S_ompi_mpi_info_null));
	}
}

void job_init(struct job *job)
{
	int provided, multiple = 3;

	JOB_CHECK(!CALL(job, MPI_Init_thread, 0, 0, multiple, P(&provided)), "MPI_Init_thread");
	CALL(job, MPI_Comm_rank, job->world, P(&job->rank));
	CALL(job, MPI_Comm_size, job->world, P(&job->size));
}

static void exchange(struct job *job, handle comm, int bytes)
{
	static char out[MAX_BYTES], in[MAX_BYTES];
	int right = (job->rank + 1) % job->size, left = (job->rank + job->size - 1) % job->size;
	char status[STATUS_SIZE];
	int i;

	for (i = 0; i < bytes; i++) {
		out[i] = (char)(i + job->rank + bytes);
		in[i] = 0;
	}
	CALL(job, MPI_Sendrecv, P(out), bytes, job->type_char, right, 7, P(in), bytes,
	     job->type_char, left, 7, comm, P(status));
	for (i = 0; i < bytes; i++)
		JOB_CHECK(in[i] == (char)(i + left + bytes), "byte %d of %d is wrong", i, bytes);
}

void job_traffic(struct job *job)
{
	int bytes, mine = job->rank + 1, sum = 0;
	handle comm = 0;

	for (bytes = 0; bytes <= MAX_BYTES; bytes = bytes ? bytes * 4 : 1)
		exchange(job, job->world, bytes);
	CALL(job, MPI_Comm_dup, job->world, P(&comm));
	exchange(job, comm, 4096);
	CALL(job, MPI_Allreduce, P(&mine), P(&sum), 1, job->type_int, job->sum, comm);
	JOB_CHECK(sum == job->size * (job->size + 1) / 2, "MPI_Allreduce gave %d", sum);
	CALL(job, MPI_Comm_free, P(&comm));
	CALL(job, MPI_Barrier, job->world);
}

/* ---- what the lower half is not to leave about */

static int next_fd(DIR *dir)
{
	struct dirent *e;

	while ((e = readdir(dir)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(dir))
			return atoi(e->d_name);
	return -1;
}

static DIR *open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");

	JOB_CHECK(dir, "/proc/self/fd");
	return dir;
}

void job_note_fds(struct job *job)
{
	DIR *dir = open_fds();
	int fd;

	memset(job->fds, 0, sizeof(job->fds));
	while ((fd = next_fd(dir)) >= 0)
		job->fds[fd % JOB_FDS] = true;
	closedir(dir);
}

/* every descriptor is either the application's from before, or recorded; false: @why */
static bool fds_agree(const struct job *job, char *why, size_t size)
{
	int lower[JOB_FDS], fd, stranger = -1;
	size_t nr = lower_fds(job->lower, lower, JOB_FDS), i, seen = 0;
	DIR *dir = open_fds();
	char path[64], name[128];
	ssize_t len;

	while ((fd = next_fd(dir)) >= 0) {
		for (i = 0; i < nr && lower[i] != fd; i++)
			;
		seen += i < nr;
		if (i == nr && !job->fds[fd % JOB_FDS])
			stranger = fd;
	}
	closedir(dir);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", stranger);
	len = readlink(path, name, sizeof(name) - 1);
	name[len > 0 ? len : 0] = 0;
	if (stranger >= 0)
		snprintf(why, size, "descriptor %d (%s) is not recorded", stranger, name);
	else
		snprintf(why, size, "%zu descriptors are recorded, %zu of them open", nr, seen);
	return stranger < 0 && seen == nr;
}

/* the library's own threads may open or close one just now */
static void check_fds(const struct job *job)
{
	char why[256];
	bool agree = fds_agree(job, why, sizeof(why));

	for (int i = 0; i < LOOKS && !agree; i++) {
		usleep(LOOK_US);
		agree = fds_agree(job, why, sizeof(why));
	}
	JOB_CHECK(agree, "%s", why);
}

void job_inside(struct job *job)
{
	unsigned long start, end;
	char why[256];
	int err = lower_check(job->lower, why);

	JOB_CHECK(!err, "lower_check: %s", why);
	lower_text_range(&start, &end);
	JOB_CHECK(end - start > 64 && P(job_call) >= start && P(job_call) < end,
		  "text around the switch is not in the range that is told");
	check_fds(job);
}

int job_fd_count(void)
{
	DIR *dir = open_fds();
	int nr = 0;

	while (next_fd(dir) >= 0)
		nr++;
	closedir(dir);
	return nr;
}

long job_status_field(const char *field)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long value = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, field, strlen(field)) && line[strlen(field)] == ':')
			value = atol(line + strlen(field) + 1);
	if (f)
		fclose(f);
	return value;
}

int job_map_count(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	int c, nr = 0;

	while (f && (c = getc(f)) != EOF)
		nr += c == '\n';
	if (f)
		fclose(f);
	return nr;
}
