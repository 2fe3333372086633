/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations shared by the files of the lower half's loader; nobody else includes this.
 *
 * "Hook code" (lower_syscall.c, lower_range.c, lower_patch.c, lower_fd.c) runs in
 * place of system calls of the lower half, with whatever FS base and in the middle of
 * any function: it uses general registers only, no stack protector, no
 * thread-local storage and no function of a libc. `make` builds hook code with matching
 * flags, and a test checks the imports of its objects.
 */
#ifndef MPI_GLUE_LOWER_INTERNAL_H
#define MPI_GLUE_LOWER_INTERNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "mpi-glue/lower/lower.h"
#include "mpi-glue/lower/lower_boot.h"

#define LOWER_PAGE	4096UL

/* Layout of the range. Patched text and its stubs must be within 2 GiB of each other. */
#define LOWER_FILES	LOWER_BASE
#define LOWER_FILES_END	(LOWER_BASE + (1UL << 30))
#define LOWER_BRK	LOWER_FILES_END
#define LOWER_BRK_END	(LOWER_BRK + LOWER_BRK_SIZE)
#define LOWER_DATA	(LOWER_BASE + (4UL << 30))

static inline bool lower_in_range(unsigned long address)
{
	return address >= LOWER_BASE && address < LOWER_END;
}

static inline unsigned long lower_page_up(unsigned long n)
{
	return (n + LOWER_PAGE - 1) & ~(LOWER_PAGE - 1);
}

/* ---- lower_range.c (hook code): where lower mappings go */

/** lower_range_reset() - nothing is mapped in the range */
void lower_range_reset(void);

/**
 * lower_range_is_mapped() - true if a lower half is mapped, whatever the records say
 *
 * After a restart the records still describe the lost lower half until lower_forget(),
 * while threads outside MPI already run.
 */
bool lower_range_is_mapped(void);

/**
 * lower_range_map() - mmap() that ends up in the range
 *
 * @addr means the same as for mmap(). Private mappings of files go where stubs can
 * reach them. Return: address or negative errno.
 */
long lower_range_map(unsigned long addr, size_t len, int prot, int flags, int fd, off_t off);

/** lower_range_stubs() - a writable page that jumps from patched text reach */
long lower_range_stubs(void);

/** lower_range_brk() - brk() on an area of the lower half's own */
long lower_range_brk(unsigned long to);

long lower_range_remap(unsigned long old, size_t old_len, size_t new_len, int flags,
		       unsigned long to);
long lower_range_shmat(int id, unsigned long addr, int flags);

/* ---- lower_patch.c (hook code): which instructions of which files are replaced */

/**
 * lower_patch_text() - patch the text just mapped from @fd, if the file is a known one
 *
 * Return: 0, also when there is nothing to do; -ENOTSUP when a known file does not look
 * as it should (lower_patch_refusal() says how); -ENOMEM.
 */
int lower_patch_text(unsigned long start, size_t len, int fd);

/**
 * struct lower_refusal - why a file was refused
 * @file:  name of the refused file; NULL if none was refused
 * @what:  the system call looked for
 * @found: number of its sites found, where @least to @most were expected
 */
struct lower_refusal {
	const char *file;
	const char *what;
	unsigned int found;
	unsigned int least;
	unsigned int most;
};

const struct lower_refusal *lower_patch_refusal(void);

void lower_patch_reset(void);
/** lower_patch_done() - true if a file was patched whose name starts with @name */
bool lower_patch_done(const char *name);
bool lower_patch_libc_done(void);

/* ---- lower_fd.c (hook code): which descriptors are the lower half's */

void lower_fd_reset(void);
void lower_fd_opened(long fd);
/** lower_fd_private() - make exec() close all descriptors recorded now and later */
void lower_fd_private(void);
void lower_fd_closed(unsigned long first, unsigned long last);
bool lower_fd_is_lower(unsigned int fd);
/** lower_fd_next() - first recorded descriptor >= @fd, or -1 */
int lower_fd_next(int fd);

/* ---- lower_syscall.c (hook code) */

/* stubs call this; assembly, keeps all registers but rax, rcx, r11 as a system call does */
void lower_syscall_entry(void);

/**
 * lower_syscall_begin() - a load starts: forget the state of the last one
 * @refused: called when a file mapped during the load is refused; does not return
 */
void lower_syscall_begin(void (*refused)(int err));
/* the signal of pthread_cancel(), in both halves */
#define LOWER_SIGNAL_CANCEL	32
/** lower_syscall_handle() - run the lower half's handler; called with the lower FS base */
void lower_syscall_handle(int sig, siginfo_t *info, void *context);
/** lower_syscall_loaded() - the load is over: later files that cannot be patched pass */
void lower_syscall_loaded(void);

/* ---- glue_signal.c */

/**
 * lower_signal_share() - deliver @sig to the lower half's handler on lower threads
 *
 * The upper half's handler, if any, still serves upper threads. Called with any FS base.
 */
void lower_signal_share(int sig);

/* ---- lower_elf.c */

struct lower_image {
	unsigned long bias;
	unsigned long entry;
	unsigned long phdr;
	unsigned int phnum;
	char interpreter[128];
};

/** lower_elf_map() - map the file's segments into the range, patch its text */
int lower_elf_map(const char *path, struct lower_image *ret_image, char *ret_why);

/* ---- lower_stack.c */

/**
 * lower_stack_make() - stack with arguments, environment, auxiliary vector
 * Return: stack pointer to start with, or 0 when there is no memory
 */
unsigned long lower_stack_make(const struct lower_config *config,
			       const struct lower_image *program,
			       const struct lower_image *loader,
			       const struct lower_boot *boot);

/* ---- lower_switch.c: assembly */

/** lower_switch_start() - go to @boot->entry; returns when the lower half is ready */
void lower_switch_start(struct lower_boot *boot);
/** lower_switch_ready() - @boot->ready; makes lower_switch_start() return */
void lower_switch_ready(struct lower_boot *boot) __attribute__((noreturn));
/** lower_switch_leave() - @boot->leave */
void lower_switch_leave(int status, unsigned long upper_fs) __attribute__((noreturn));

/* ---- lower_maps.c: what is mapped outside the range */

struct lower_maps;
int lower_maps_take(struct lower_maps **ret_maps);
void lower_maps_free(struct lower_maps *maps);
int lower_maps_compare(const struct lower_maps *before, char *ret_why);

/* ---- lower_pool.c: companions */

/** lower_pool_begin() - the calling thread borrows the lower main thread's storage */
int lower_pool_begin(struct lower_boot *boot);
/** lower_pool_end() - take its companion away from every thread */
void lower_pool_end(struct lower_boot *boot);
/** lower_pool_kill() - end all threads of the lower half; -EBUSY if some will not */
int lower_pool_kill(struct lower_boot *boot);
/** lower_pool_sweep() - free the slots of threads that have ended */
void lower_pool_sweep(struct lower_boot *boot);
/**
 * lower_pool_unrecorded() - add threads that the lower libc made for itself, known by stack
 * @tids: holds @nr ids already, which are not added again
 * Return: number of ids including those, also when more than @max
 */
size_t lower_pool_unrecorded(int *tids, size_t nr, size_t max);
/* rt_sigreturn: the restorer of handlers that are set without a libc */
void lower_pool_restore(void) __attribute__((visibility("hidden")));
/** lower_pool_forked() - in a fork's child: any later call down ends the child with a message */
void lower_pool_forked(void);

#endif
