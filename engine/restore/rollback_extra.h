/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads of a frozen tree that its image lacks: they end when the tree runs again.
 *
 * MPI ranks have such threads: those of the MPI library, which no image has, and which ends with
 * the rollback, like its memory and its descriptors. A thread is given the registers of a call of
 * exit(2) in the process's vDSO, and all signals blocked. It touches no memory of the program.
 */
#ifndef STILLPOINT_ROLLBACK_EXTRA_H
#define STILLPOINT_ROLLBACK_EXTRA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "engine/core/state.h"

struct restore_records;

struct rollback_extra {
	struct extra_thread {
		const struct state_thread *thread;	/* of the frozen tree's model */
		pid_t host_tid;
		uint64_t exit;		/* address of a system call in the process's vDSO */
	} *threads;			/* owned */
	unsigned int nr;
};

/**
 * rollback_extra_find() - find the threads of @now that @image lacks
 * @vdso_size: of this kernel; 0: it has none
 * @why: @size bytes, gets text if such a thread cannot be ended
 *
 * rollback_compare() was true.
 *
 * Return: 0, also with text in @why; -ENOMEM.
 */
int rollback_extra_find(const struct state *image, const struct state *now, size_t vdso_size,
			struct rollback_extra *extra, char *why, size_t size);

/* Give the kernel the last state of these threads. 0, or a negative errno with @s->error. */
int rollback_extra_apply(struct restore_records *s, const struct rollback_extra *extra);

/* After the commit: return when the threads are gone, or after a second. */
void rollback_extra_await(const struct rollback_extra *extra);

void rollback_extra_done(struct rollback_extra *extra);

/* Offset of a system call instruction in @code, which ends at @size; -1: there is none. */
long rollback_extra_syscall(const unsigned char *code, size_t size);

#endif /* STILLPOINT_ROLLBACK_EXTRA_H */
