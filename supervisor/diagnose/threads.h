/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of the threads of a job on this node, for the worker of a diagnosis.
 *
 * With the kernel module each thread's program counter is known, wherever it is. Without, /proc
 * has that of threads that do not run; of those that run only the state and the time they ran.
 * Nothing is stopped or traced. A thread that the owner could not trace has no samples.
 */
#ifndef STILLPOINT_DIAGNOSE_THREADS_H
#define STILLPOINT_DIAGNOSE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define THREADS_SAMPLES_MAX	16

struct thread_sample {
	char state;		/* of /proc/PID/stat; 0: no sample */
	bool known;		/* @ip, @sp and @preserved are */
	int syscall;		/* -1: none, or not known */
	uint64_t runtime_ns;
	uint64_t ip, sp;
	uint64_t preserved[6];	/* with the module; as struct ckpt_sample_thread */
};

struct sampled_thread {
	pid_t pid, tid;
	uint32_t inner;		/* tid in the job's PID namespace */
	struct thread_sample *sample;
};

struct threads {
	struct sampled_thread *thread;
	size_t nr, room;
	unsigned int nr_samples;
	unsigned int interval_ms;
	bool module;
	struct thread_sample *samples;
};

/**
 * struct threads_of - which threads, and how often
 * @init: the parent of the job's processes
 * @uid: owner; 0: root, who may see all
 * @gid: his group
 * @stacks: unwind the threads as well (stacks.h)
 * @recent: how many of its last calls each rank tells; of rank @full all that it has, -1: none
 */
struct threads_of {
	pid_t init;
	uid_t uid;
	gid_t gid;
	unsigned int samples;
	unsigned int interval_ms;
	bool stacks;
	unsigned int recent;
	long long full;
};

int threads_sample(const struct threads_of *of, struct threads *ret_threads);
/* The thread with that number in the job's PID namespace; NULL. */
const struct sampled_thread *threads_find(const struct threads *threads, uint32_t inner);
void threads_done(struct threads *threads);

#endif /* STILLPOINT_DIAGNOSE_THREADS_H */
