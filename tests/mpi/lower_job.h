/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A rank that calls the real MPI library through lower_function(), without the
 * glue above it. One binary for both libraries and without their headers: a
 * handle is a word, be it MPICH's int or Open MPI's pointer.
 */
#ifndef TESTS_MPI_LOWER_JOB_H
#define TESTS_MPI_LOWER_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi-glue/lower/lower.h"

typedef uintptr_t handle;

/* functions, then what Open MPI has as data */
#define JOB_SYMBOLS(x)                                                                             \
	x(MPI_Init_thread) x(MPI_Finalize) x(MPI_Initialized) x(MPI_Comm_rank) x(MPI_Comm_size) x( \
		MPI_Sendrecv) x(MPI_Allreduce) x(MPI_Barrier) x(MPI_Comm_dup) x(MPI_Comm_free)     \
		x(MPI_Send) x(MPI_Recv) x(MPI_Abort) x(MPI_Op_create) x(getenv) x(printf) x(raise) \
			x(MPI_Win_allocate) x(MPI_Win_fence) x(MPI_Put) x(MPI_Win_free) x(         \
				MPI_File_open) x(MPI_File_write_at_all) x(MPI_File_read_at)        \
				x(MPI_File_close) x(MPI_File_iwrite_at) x(MPI_Wait) x(malloc)      \
					x(free) x(abort) x(dlsym) x(pause) x(pthread_cancel)       \
						x(pthread_join) x(ompi_mpi_info_null)              \
							x(ompi_mpi_comm_world) x(ompi_mpi_int)     \
								x(ompi_mpi_char)                   \
									x(ompi_mpi_op_sum)

enum job_symbol {
#define JOB_ENUM(name) S_##name,
	JOB_SYMBOLS(JOB_ENUM)
#undef JOB_ENUM
	JOB_NR_SYMBOLS
};

#define JOB_FDS		1024

struct job {
	char *const *envp;		/* NULL: the program's own */
	bool fds[JOB_FDS];		/* open before the load */
	struct lower_config config;
	struct lower *lower;
	bool mpich;
	int rank;
	int size;
	handle world;
	handle type_int;
	handle type_char;
	handle sum;
	handle info_null;
};

/* ends the process with what was not as expected */
void job_fail(const char *what, ...) __attribute__((format(printf, 1, 2), noreturn));
#define JOB_CHECK(condition, ...) \
	do { if (!(condition)) job_fail(__VA_ARGS__); } while (0)

/** job_call() - call function @symbol in the lower half, its arguments as words */
long job_call(struct job *job, enum job_symbol symbol, int nr, const uintptr_t *args);
#define CALL(job, symbol, ...) \
	job_call((job), S_##symbol, \
		 sizeof((uintptr_t[]){ __VA_ARGS__ }) / sizeof(uintptr_t), \
		 (const uintptr_t[]){ __VA_ARGS__ })
#define P(pointer) ((uintptr_t)(pointer))

/** job_load() - load the lower half; job_init() - MPI_Init_thread, rank and size */
void job_load(struct job *job, const char *program, const char *library);
void job_init(struct job *job);
/** job_traffic() - sendrecv of many sizes, reductions, communicators; checked */
void job_traffic(struct job *job);
/** job_note_fds() - what is open now is the application's */
void job_note_fds(struct job *job);
/** job_inside() - nothing was mapped outside the range, no descriptor unrecorded */
void job_inside(struct job *job);

/* of the whole process, from /proc/self */
int job_fd_count(void);
int job_map_count(void);
long job_status_field(const char *field);

#endif
