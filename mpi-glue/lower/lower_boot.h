/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the upper half and ckpt-lower tell each other: one struct in the upper
 * half's memory, its address is ckpt-lower's first argument. Both are built from
 * this header; ckpt-lower checks version and size before it reads the rest.
 */
#ifndef MPI_GLUE_LOWER_BOOT_H
#define MPI_GLUE_LOWER_BOOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOWER_BOOT_VERSION	1
#define LOWER_THREADS_MAX	4096
#define LOWER_WHY_SIZE		256
#define LOWER_STARTING		(-1)

/**
 * struct lower_companion - thread-local storage of the lower half that can be borrowed
 * @fs:    its FS base
 * @owner: the borrower's lower_fs_base; NULL while it is idle. Upper half only
 *
 * The first is the lower main thread's, which no kernel thread stands for; every
 * other belongs to a lower thread that is parked for good.
 */
struct lower_companion {
	unsigned long fs;
	unsigned long *owner;
};

/**
 * struct lower_boot - the meeting place
 * @upper_sp, @upper_fs: where lower_load() waits for @ready; the assembly knows
 *                       the place of these four
 * @lower_sp, @entry:    where the lower half starts
 * @version, @size:      of this struct
 * @library, @symbols, @nr: what to open and to look up
 * @functions:           the answers, @nr of them
 * @libc_known:          was the lower half's libc recognised and patched? Asked before it
 *                       makes threads or maps anything
 * @ready:               does not return; @status and @why are set before
 * @leave:               ends the process as the upper half's exit() does, on the
 *                       thread whose upper FS base it is given
 * @status:              0 or a negative errno
 * @upper_word:          where, from a lower thread's FS base, the word lies that
 *                       holds the upper FS base of the thread it stands for, or 0
 * @asked, @made:        companions asked for and answered; futexes
 * @error:               why the last one was not made
 * @companions, @nr_companions: made so far
 * @tids:                threads the lower half started: the id, LOWER_STARTING from before
 *                       there is one, minus the id when it is about to end; 0 is free
 */
struct lower_boot {
	unsigned long upper_sp;
	unsigned long upper_fs;
	unsigned long lower_sp;
	unsigned long entry;
	uint32_t version;
	uint32_t size;
	void (*ready)(struct lower_boot *boot);
	char why[LOWER_WHY_SIZE];
	int status;
	/* up to here the same in all versions */
	size_t nr;
	const char *library;
	const char *const *symbols;
	void **functions;
	bool (*libc_known)(void);
	void (*leave)(int status, unsigned long upper_fs);
	long upper_word;
	_Atomic uint32_t asked;
	_Atomic uint32_t made;
	int error;
	_Atomic uint32_t nr_companions;
	struct lower_companion companions[LOWER_THREADS_MAX];
	_Atomic int tids[LOWER_THREADS_MAX];
};

#endif
