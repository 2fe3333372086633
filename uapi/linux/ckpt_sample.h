/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* Part of ckpt.h, which includes it: samples of where the threads of a tree are. */
#ifndef _UAPI_LINUX_CKPT_SAMPLE_H
#define _UAPI_LINUX_CKPT_SAMPLE_H

#include <linux/types.h>

#define CKPT_SAMPLES_MAX	16U		/* of one command */
#define CKPT_SAMPLE_US_MIN	1000U		/* between two of them */
#define CKPT_SAMPLE_US_MAX	1000000U
#define CKPT_SAMPLE_PRESERVED	6		/* registers that a function gives back */

#define CKPT_SAMPLE_REGS	(1U << 0)	/* the registers are valid */
#define CKPT_SAMPLE_ON_CPU	(1U << 1)	/* the thread ran, and was interrupted */
#define CKPT_SAMPLE_DENIED	(1U << 2)	/* the owner has no right to the thread */
#define CKPT_SAMPLE_GONE	(1U << 3)	/* the thread has ended, or was ending */

/**
 * struct ckpt_sample_thread - one thread at one moment
 * @pid: process, in the caller's PID namespace; @tid: thread
 * @state: letter as in /proc/PID/stat
 * @flags: CKPT_SAMPLE_*
 * @cpu: the last CPU it ran on
 * @syscall: number of the system call it is in; -1: none
 * @runtime_ns: time that it has run, ever
 * @ip: user program counter
 * @sp: user stack pointer
 * @preserved: user registers that a called function gives back; x86-64: rbp, rbx, r12 to r15
 */
struct ckpt_sample_thread {
	__s32 pid;
	__s32 tid;
	__u32 state;
	__u32 flags;
	__u32 cpu;
	__s32 syscall;
	__u64 runtime_ns;
	__u64 ip;
	__u64 sp;
	__u64 preserved[CKPT_SAMPLE_PRESERVED];
};

/**
 * struct ckpt_sample - CKPT_IOC_SAMPLE: where every thread of the target is, several times
 * @nr_samples: samples of each thread, 1 to CKPT_SAMPLES_MAX
 * @interval_us: time between two samples, CKPT_SAMPLE_US_MIN to CKPT_SAMPLE_US_MAX
 * @room: threads that @threads has room for
 * @nr_threads: out: threads of the tree; on -ENOSPC as many as @room should be
 * @threads: pointer to struct ckpt_sample_thread[room][nr_samples] (out)
 *
 * After CKPT_IOC_TARGET, before a freeze.  Nothing is stopped: a thread that runs is interrupted
 * for some microseconds, the registers of one that does not run are those it left user mode with,
 * also in D state, in a stop or under a tracer.  Threads are found once, at the beginning: one row
 * is one thread.  Threads that whoever opened the device could not read with ptrace(2), and with
 * CKPT_TARGET_OWNED those that the owner could not trace, are marked DENIED and not looked at.
 */
struct ckpt_sample {
	__u32 size;
	__u32 flags;
	__u32 nr_samples;
	__u32 interval_us;
	__u32 room;
	__u32 nr_threads;
	__u64 threads;
};

#endif /* _UAPI_LINUX_CKPT_SAMPLE_H */
