/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The struct through which the upper half and ckpt-lower talk. It lies in the upper
 * half's memory; its address is ckpt-lower's first argument. Both programs are built
 * from this header; ckpt-lower checks version and size before it reads the rest.
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
 * @fs:    FS base of the lower thread
 * @owner: the borrower's lower_fs_base; NULL while idle. Upper half only
 *
 * The first companion is the lower main thread's storage, which has no kernel thread;
 * every other companion belongs to a lower thread that is parked for good.
 */
struct lower_companion {
	unsigned long fs;
	unsigned long *owner;
};

/**
 * struct lower_boot - data shared by the upper half and ckpt-lower
 * @upper_sp, @upper_fs: where lower_load() waits for @ready; the assembly relies on
 *                       the offsets of these two and the next two
 * @lower_sp, @entry:    where the lower half starts
 * @version, @size:      of this struct
 * @library, @symbols, @nr: library to open and symbols to look up
 * @functions:           addresses of the @nr symbols
 * @libc_known:          true if the lower half's libc was recognised and patched; called
 *                       before that libc makes threads or maps anything
 * @ready:               does not return; the caller sets @status and @why before
 * @leave:               ends the process as the upper half's exit() does, on the
 *                       thread whose upper FS base it is given
 * @status:              0 or a negative errno
 * @upper_word:          offset from a lower thread's FS base of the word that holds the
 *                       upper FS base of the borrowing thread, or 0
 * @asked, @made:        numbers of companions requested and of requests answered; futexes
 * @error:               why the last companion was not made
 * @companions, @nr_companions: companions made so far
 * @tids:                slots of threads the lower half started: the thread id;
 *                       LOWER_STARTING before there is an id; minus the id when the
 *                       thread is about to end; 0 if the slot is free
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
	/* the layout up to here is the same in all versions */
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
