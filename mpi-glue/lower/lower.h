/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lower half: the real MPI library in a second, small program of its own
 * (ckpt-lower, with its own ld.so and libc), mapped into the application's
 * process in a reserved range of addresses. The application and this library
 * are the upper half. A call goes down by switching the FS base, by which a libc
 * finds its thread's storage. Nothing else tells the halves apart, so a call runs
 * on the caller's stack and its arguments are not copied.
 *
 * The lower half is never part of an image. A job that runs on after a checkpoint
 * keeps it; a restart loads a new one. So:
 *
 *  - every mapping the lower half makes lies in [LOWER_BASE, LOWER_END): the system
 *    call instructions of its ld.so, libc and libucm that place memory are patched as
 *    the files are mapped, each site verified first, and a load with an unknown
 *    site is refused; lower_check() compares /proc/self/maps before and after;
 *  - every descriptor the lower half opens is recorded and listed by lower_fds(): the
 *    system calls of its libc that make and close descriptors are patched, too;
 *  - memory the application gets from MPI (MPI_Alloc_mem) is never the lower half's;
 *  - dispositions of signals the lower half's libraries set are remembered for them and
 *    never reach the kernel; a handler of the application that interrupts a call
 *    runs with the upper FS base (glue_signal.c); threads of the lower half
 *    have all signals blocked;
 *  - exit() in the lower half, after a fatal error, calls the upper half's exit().
 *
 * A thread is "inside" while its FS base lies in the range, or its instruction
 * pointer in the section lower_text of this library (around the switch), or its
 * nesting mark is not zero (an upper callback runs above live lower frames).
 * A thread found inside must be let out before it is frozen: lower frames on its
 * stack are dead after a restart.
 *
 * A child made by fork() has no lower half: its descriptors are closed and the range is
 * unmapped; an MPI call in the child ends the child with a message. A child made by
 * vfork() or posix_spawn() (system(), popen()) calls exec() at once, which closes the
 * lower half's descriptors (lower_fds_private()).
 *
 * Source: the split process of MANA (Garg, Price, Cooperman, HPDC'19), with the
 * loader and the patched sites found for glibc 2.36, MPICH 4.0.2 and Open MPI 4.1.4.
 */
#ifndef MPI_GLUE_LOWER_H
#define MPI_GLUE_LOWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Clear of ASan's and TSan's shadows, of PIE text, heap and the mmap area. */
#define LOWER_BASE	0x200000000000UL
#define LOWER_END	0x210000000000UL	/* 1 TiB */
#define LOWER_BRK_SIZE	(1UL << 30)		/* reserve, not memory */

/**
 * struct lower_config - what to load
 * @program:  path of ckpt-lower
 * @library:  path of the real MPI library, opened by ckpt-lower with RTLD_GLOBAL
 * @envp:     environment for the lower half. LD_PRELOAD and LD_AUDIT are dropped, and
 *            LD_LIBRARY_PATH if @library has no slash and is found by it. Not kept after
 *            lower_load() returns.
 * @symbols:  names looked up in @library, in order; a missing one gives NULL
 * @nr:       number of @symbols
 */
struct lower_config {
	const char *program;
	const char *library;
	char *const *envp;
	const char *const *symbols;
	size_t nr;
};

struct lower;

/**
 * lower_load() - map ckpt-lower and the MPI library, run their constructors
 * @config:    files to load and symbols to look up
 * @ret_lower: set on success; owned by the caller, lower_unload() frees it
 * @ret_why:   on failure a sentence saying what was not as expected; at least 256 bytes
 * Context:    the calling thread is outside MPI; other threads may run
 *
 * On an error, everything mapped, opened and started is undone before the return, and
 * another load may be tried.
 *
 * Return: 0; -ENOEXEC a file is not what it should be, -ENOTSUP an unknown glibc
 * build (sites do not verify) or no FSGSBASE, -ENOMEM, -EEXIST something is mapped in
 * the range or a lower half is loaded, -ENOENT and others as open() has them.
 */
int lower_load(const struct lower_config *config, struct lower **ret_lower,
	       char *ret_why);

/**
 * lower_unload() - kill the lower half's threads, close its descriptors, unmap
 * @lower: NULL is fine
 *
 * Does not call MPI_Finalize. Every upper thread must be outside. Its borrowed lower
 * thread is gone afterwards; the upper thread attaches again at its next call.
 *
 * Return: 0; -EBUSY a thread of the lower half does not end: nothing is closed or unmapped
 */
int lower_unload(struct lower *lower);

/**
 * lower_forget() - the process was restored without its lower half
 *
 * Clear the upper half's own records as lower_unload() does, and do nothing else: the
 * recorded threads, descriptors and mappings belong to somebody else now, or to nobody.
 */
void lower_forget(struct lower *lower);

/** lower_function() - address of @symbols[@index] in the lower half, or NULL */
void *lower_function(const struct lower *lower, size_t index);

/**
 * lower_check() - check that every mapping made since the load lies in the range
 * @ret_why: on -EXDEV names the first mapping outside; at least 256 bytes
 */
int lower_check(const struct lower *lower, char *ret_why);

/**
 * lower_fds() - descriptors the lower half has open
 * @ret_fds: filled with at most @max, ascending
 * Return: number of open descriptors, also when more than @max
 */
size_t lower_fds(const struct lower *lower, int *ret_fds, size_t max);

/**
 * lower_fds_private() - from here on exec() closes the descriptors of the lower half
 * @inherited: a descriptor that the process was started with for its lower half alone;
 *             lower_fds() lists it from here on; negative: none
 */
void lower_fds_private(int inherited);

/**
 * lower_attach() - FS base of the lower thread that stands for the calling thread
 *
 * Called by lower_enter() at a thread's first call. Borrows a parked lower thread
 * from the pool (made on demand by the lower half's spawner thread). The lower thread
 * goes back to the pool when the upper thread ends.
 */
unsigned long lower_attach(void);

/* FS base of this thread's lower half; 0 until it attached. */
extern __thread unsigned long lower_fs_base
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/**
 * lower_upper() - FS base of the upper thread that went down with the lower base @fs
 *
 * For callbacks from below, which still have the lower base: this function touches no
 * thread-local storage. Return: 0 on a thread that the library made.
 */
unsigned long lower_upper(unsigned long fs);

/**
 * lower_threads() - threads of the lower half that have not ended
 *
 * Threads that the lower libc made for itself (asynchronous input and output) are found
 * while they wait in the kernel. A thread that is ending is listed while its stack shows
 * that it is a lower one: its id may soon be reused.
 *
 * @ret_tids: filled with at most @max, as gettid() has them
 * Return: number of threads, also when more than @max
 */
size_t lower_threads(struct lower *lower, int *ret_tids, size_t max);

/*
 * Not 0 while the thread runs upper code above live lower frames, with the upper FS
 * base: handlers of signals and callbacks count it up and down.
 */
extern __thread unsigned int lower_nesting
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/**
 * lower_enter() - go down; between this and lower_leave() nothing may touch
 * thread-local storage, errno or the stack protector of the upper half
 * Return: the upper FS base, for lower_leave()
 */
static inline unsigned long lower_enter(void);
static inline void lower_leave(unsigned long upper);

/*
 * Functions that contain the switch. The section's name is none that linkers merge
 * with other text, so that it is one range.
 */
#define LOWER_TEXT	__attribute__((section("lower_text"), noinline, \
				       no_stack_protector))

/** lower_text_range() - the range of the section lower_text, for whoever freezes threads */
void lower_text_range(unsigned long *ret_start, unsigned long *ret_end);

static inline unsigned long lower_enter(void)
{
	unsigned long upper, down = lower_fs_base;

	if (__builtin_expect(!down, 0))
		down = lower_attach();
	__asm__ volatile("rdfsbase %0" : "=r"(upper) : : "memory");
	__asm__ volatile("wrfsbase %0" : : "r"(down) : "memory");
	return upper;
}

static inline void lower_leave(unsigned long upper)
{
	__asm__ volatile("wrfsbase %0" : : "r"(upper) : "memory");
}

/* Return the address of lower_nesting of the thread with FS base @upper. */
static inline unsigned int *lower_nesting_of(unsigned long upper)
{
	unsigned long offset;

	__asm__("movq lower_nesting@gottpoff(%%rip), %0" : "=r"(offset));
	return (unsigned int *)(upper + offset);
}

/**
 * lower_up() - in a callback or handler above lower frames: switch to the upper FS base
 * @upper: upper FS base of this thread
 *
 * The nesting mark is raised before the switch and lowered after the switch back: at no
 * instant does the thread look as if it were outside. Code between the two that touches
 * thread-local storage must be a function of its own, not inlined: the compiler
 * assumes that the FS base never changes.
 */
static inline void lower_up(unsigned long upper)
{
	++*lower_nesting_of(upper);
	__asm__ volatile("wrfsbase %0" : : "r"(upper) : "memory");
}

/** lower_down() - undo lower_up() */
static inline void lower_down(unsigned long lower, unsigned long upper)
{
	__asm__ volatile("wrfsbase %0" : : "r"(lower) : "memory");
	--*lower_nesting_of(upper);
}

#endif
