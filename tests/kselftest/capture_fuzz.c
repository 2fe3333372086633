// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of capture_test that gives the capture commands in any order, with sizes, flags and
 * arguments that are odd now and then, from two threads on one context, while the processes they
 * name are killed, stopped and continued.
 *
 * Nothing is expected of an answer.  The processes run on, and the kernel does not complain.  Only
 * a command that ends its target by right is an exception: the trees that the context may have
 * named are made anew then, and all others still have to run.  The seed is new each time and
 * printed; FUZZ_SEED repeats a run, but for what the threads' race makes of it.  FUZZ_ROUNDS is the
 * number of contexts.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define TREES		3
#define RUNNERS		3	/* of each tree: two threads and a child, with a counter each */
#define COMMANDS	30	/* of each thread on each context */
#define BUFFER		(1UL << 20)

struct fuzzer {
	uint64_t state;
	int fd;
	int holder;		/* that a L0_KEEP named last, or 0 */
	uint64_t token;		/* that a PAGEMAP told last, or 0 */
	unsigned int done, good;
	unsigned int named;	/* trees that a TARGET may have been given, a bit each */
	bool killed;		/* the target was ended by right */
};

static struct {
	pid_t trees[TREES];
	unsigned char *buffer;
	pthread_barrier_t begun;
} fuzz;

static uint64_t any(struct fuzzer *f)
{
	f->state ^= f->state << 13;
	f->state ^= f->state >> 7;
	f->state ^= f->state << 17;
	return f->state * 0x2545f4914f6cdd1dULL;
}

static uint64_t below(struct fuzzer *f, uint64_t n)
{
	return (any(f) >> 16) % n;
}

/* One time in so many. */
static bool once_in(struct fuzzer *f, unsigned int n)
{
	return !below(f, n);
}

static uint64_t odd_value(struct fuzzer *f)
{
	static const uint64_t values[] = {
		0, 1, 2, 3, 7, 64, 4095, 4096, 8192, 65535, 1 << 18, 1UL << 31, (1UL << 32) - 1,
		1UL << 47, 1UL << 63, UINT64_MAX,
	};
	unsigned int i = (unsigned int)below(f, sizeof(values) / sizeof(values[0]) + 2);

	if (i < sizeof(values) / sizeof(values[0]))
		return values[i];
	return i & 1 ? (uintptr_t)fuzz.buffer : any(f) >> 17 & -PAGE;
}

static uint64_t in_buffer(struct fuzzer *f)
{
	return (uintptr_t)fuzz.buffer + below(f, BUFFER / 2) / 8 * 8;
}

static pid_t any_tree(struct fuzzer *f)
{
	return fuzz.trees[below(f, TREES)];
}

/* A root for TARGET. */
static pid_t named_tree(struct fuzzer *f)
{
	unsigned int i = (unsigned int)below(f, TREES);

	f->named |= 1U << i;
	return fuzz.trees[i];
}

/* A command as a sensible caller might give it; its structure lies in @arg. */
static unsigned long sensible(struct fuzzer *f, void *arg)
{
	uint32_t id = (uint32_t)below(f, 6);
	struct ckpt_iovec *iov = (void *)(fuzz.buffer + BUFFER - PAGE);

	switch (below(f, 13)) {
	case 0:
		((pid_t *)(fuzz.buffer + BUFFER / 2))[0] = named_tree(f);
		((pid_t *)(fuzz.buffer + BUFFER / 2))[1] = named_tree(f);
		*(struct ckpt_target *)arg = (struct ckpt_target){
			.size = sizeof(struct ckpt_target), .flags = once_in(f, 4),
			.nr_roots = 1 + (uint32_t)below(f, 2),
			.roots = (uintptr_t)fuzz.buffer + BUFFER / 2,
		};
		return CKPT_IOC_TARGET;
	case 1: case 2:
		*(struct ckpt_freeze *)arg = (struct ckpt_freeze){
			.size = sizeof(struct ckpt_freeze),
			.timeout_ms = 1 + (uint32_t)below(f, 300),
			.max_pause_ms = once_in(f, 4) ? 1 : 2000,
		};
		return CKPT_IOC_FREEZE;
	case 3: case 4:
		*(struct ckpt_snapshot *)arg = (struct ckpt_snapshot){
			.size = sizeof(struct ckpt_snapshot), .flags = (uint32_t)below(f, 9),
		};
		return CKPT_IOC_SNAPSHOT;
	case 5:
		*(struct ckpt_thaw *)arg = (struct ckpt_thaw){ .size = sizeof(struct ckpt_thaw) };
		return CKPT_IOC_THAW;
	case 6:
		*(struct ckpt_pagemap *)arg = (struct ckpt_pagemap){
			.size = sizeof(struct ckpt_pagemap), .mm_id = id,
			.flags = once_in(f, 4) ? CKPT_PAGES_KEPT : once_in(f, 2),
			.nr_runs = (uint32_t)below(f, 1000), .start = odd_value(f) & -PAGE,
			.end = 1UL << 46, .runs = in_buffer(f),
		};
		return CKPT_IOC_PAGEMAP;
	case 7:
		iov->addr = odd_value(f) & -PAGE;
		iov->len = PAGE * below(f, 20);
		*(struct ckpt_pages *)arg = (struct ckpt_pages){
			.size = sizeof(struct ckpt_pages), .flags = once_in(f, 2), .mm_id = id,
			.nr_iov = 1, .iov = (uintptr_t)iov, .buf = in_buffer(f) & -PAGE,
		};
		return CKPT_IOC_PAGES_READ;
	case 8:
		*(uint32_t *)(fuzz.buffer + BUFFER - 2 * PAGE) = id;
		*(struct ckpt_file_get *)arg = (struct ckpt_file_get){
			.size = sizeof(struct ckpt_file_get), .nr = 1,
			.ids = (uintptr_t)fuzz.buffer + BUFFER - 2 * PAGE,
			.fds = (uintptr_t)fuzz.buffer + BUFFER - 3 * PAGE,
		};
		return CKPT_IOC_FILE_GET;
	case 9:
		*(struct ckpt_l0_find *)arg = (struct ckpt_l0_find){
			.size = sizeof(struct ckpt_l0_find), .mm_id = id, .token = f->token,
			.fill = once_in(f, 4) ? odd_value(f) : 0,
		};
		return CKPT_IOC_L0_FIND;
	case 10:
		if (f->holder > 0)
			close(f->holder);
		f->holder = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC);
		*(struct ckpt_l0_keep *)arg = (struct ckpt_l0_keep){
			.size = sizeof(struct ckpt_l0_keep), .max_bytes = odd_value(f),
			.fd = once_in(f, 8) ? f->fd : f->holder,
		};
		return CKPT_IOC_L0_KEEP;
	case 11:
		*(struct ckpt_l0_state *)arg = (struct ckpt_l0_state){
			.size = sizeof(struct ckpt_l0_state),
		};
		return CKPT_IOC_L0_STATE;
	default:
		*(struct ckpt_drop *)arg = (struct ckpt_drop){ .size = sizeof(struct ckpt_drop) };
		return CKPT_IOC_DROP;
	}
}

/* Change a word of the structure, its size, or the command. */
static unsigned long damage(struct fuzzer *f, unsigned long nr, void *arg)
{
	unsigned int size = _IOC_SIZE(nr);
	uint64_t *words = arg;

	switch (below(f, 4)) {
	case 0:
		size = (unsigned int)below(f, 300);
		if (once_in(f, 2))
			*(uint32_t *)arg = size;
		return _IOC(_IOC_DIR(nr), CKPT_IOC_MAGIC, _IOC_NR(nr), size);
	case 1:
		nr = _IOC(_IOC_DIR(nr), CKPT_IOC_MAGIC, (unsigned int)below(f, 0x60), size);
		/* whoever enters a restore waits for its end */
		return _IOC_NR(nr) == _IOC_NR(CKPT_IOC_ENTER) ? CKPT_IOC_INFO : nr;
	default:
		words[below(f, size / 8 + 1)] = odd_value(f);
		return nr;
	}
}

/*
 * Does this command, with the @flags that it was given, end the target by right?  @words is its
 * structure afterwards.  A SNAPSHOT with the number of THAW does, and a DROP with that of ROLLBACK:
 * release kills a tree whose memory a rollback has emptied, also if the rollback failed half-way.
 */
static bool ends_target(unsigned long nr, uint32_t flags, const void *words, bool failed)
{
	const struct ckpt_rollback *rollback = words;

	if (_IOC_NR(nr) == _IOC_NR(CKPT_IOC_THAW))
		return !failed && flags & CKPT_THAW_KILL;
	if (_IOC_NR(nr) == _IOC_NR(CKPT_IOC_ROLLBACK))
		return !failed || rollback->nr_threads;
	return false;
}

static void disturb(struct fuzzer *f)
{
	pid_t pid = any_tree(f);

	switch (below(f, 40)) {
	case 0:
		kill(pid, SIGSTOP);
		break;
	case 1: case 2:
		kill(pid, SIGCONT);
		break;
	case 3:
		if (lseek(f->fd, (off_t)below(f, 2), SEEK_SET) >= 0)
			f->good += read(f->fd, fuzz.buffer, 1 + below(f, BUFFER / 2)) > 0;
		break;
	}
}

static void note_token(struct fuzzer *f, const struct ckpt_pagemap *map)
{
	if (map->token || map->base)
		f->token = map->token ? map->token : map->base;
}

static void *give_commands(void *arg)
{
	struct fuzzer *f = arg;
	uint64_t words[64];

	pthread_barrier_wait(&fuzz.begun);
	for (int i = 0; i < COMMANDS; i++) {
		unsigned long nr;
		uint32_t flags;
		bool failed;

		memset(words, 0, sizeof(words));
		nr = sensible(f, words);
		if (once_in(f, 3))
			nr = damage(f, nr, words);
		f->done++;
		flags = (uint32_t)(words[0] >> 32);	/* each structure begins with size, flags */
		failed = ioctl(f->fd, nr, words);
		f->killed = f->killed || ends_target(nr, flags, words, failed);
		if (!failed) {
			f->good++;
			if (nr == CKPT_IOC_PAGEMAP)
				note_token(f, (const void *)words);
			if (nr == CKPT_IOC_FILE_GET)
				close(*(int *)(fuzz.buffer + BUFFER - 3 * PAGE));
		}
		disturb(f);
	}
	if (f->holder > 0)
		close(f->holder);
	return NULL;
}

/* The counter of a runner is shared->n[@which]. */
static void *run_on(void *which)
{
	for (;;) {
		shared->n[(long)which]++;
		usleep(1000);
	}
	return NULL;
}

static void family(void *first)
{
	long n = (long)first;
	pthread_t thread;

	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		am_ready();
		run_on((void *)(n + 2));
	}
	pthread_create(&thread, NULL, run_on, (void *)(n + 1));
	am_ready();
	run_on((void *)n);
}

static void new_tree(int i)
{
	shared->ready = 0;
	fuzz.trees[i] = spawn(family, (void *)(long)(i * RUNNERS));
	wait_ready(2);
	setpgid(fuzz.trees[i], 0);
}

static void replace_tree(int i)
{
	reap(fuzz.trees[i]);
	new_tree(i);
}

static bool tree_runs(int i)
{
	for (int runner = 0; runner < RUNNERS; runner++)
		if (!advances(&shared->n[i * RUNNERS + runner], 5000 * slow()))
			return false;
	return true;
}

static uint64_t seed_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

/* True if the target was ended by right; its trees are new then. */
static bool fuzz_round(struct fuzzer *random, unsigned int *done, unsigned int *good)
{
	struct fuzzer threads[2];
	pthread_t thread;
	int fd = cap_open();

	for (int i = 0; i < 2; i++)
		threads[i] = (struct fuzzer){ .state = any(random) | 1, .fd = fd };
	pthread_create(&thread, NULL, give_commands, &threads[0]);
	give_commands(&threads[1]);
	pthread_join(thread, NULL);
	close(fd);
	*done += threads[0].done + threads[1].done;
	*good += threads[0].good + threads[1].good;
	if (!threads[0].killed && !threads[1].killed)
		return false;
	for (int i = 0; i < TREES; i++)
		if ((threads[0].named | threads[1].named) & 1U << i)
			replace_tree(i);
	return true;
}

part(fuzz)
{
	uint64_t seed = seed_of("FUZZ_SEED", now_ns() ^ (uint64_t)getpid() << 32);
	unsigned int rounds = (unsigned int)seed_of("FUZZ_ROUNDS", 100);
	unsigned int done = 0, good = 0, ended = 0;
	struct fuzzer random = { .state = seed | 1 };

	tap_note("seed %llu (FUZZ_SEED), %u contexts", (unsigned long long)seed, rounds);
	fuzz.buffer = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	if (fuzz.buffer == MAP_FAILED || pthread_barrier_init(&fuzz.begun, NULL, 2))
		tap_bail("fuzz: %m");
	for (int i = 0; i < TREES; i++)
		new_tree(i);
	for (unsigned int round = 0; round < rounds; round++) {
		ended += fuzz_round(&random, &done, &good);
		if (once_in(&random, 10))	/* the descriptors stay behind: killed unseen */
			replace_tree((int)below(&random, TREES));
	}
	tap_note("the target was ended by right in %u contexts", ended);
	tap_ok(good > done / 50, "%u commands from two threads, %u succeeded", done, good);
	for (int i = 0; i < TREES; i++) {
		kill(fuzz.trees[i], SIGCONT);
		tap_is(waitpid(fuzz.trees[i], NULL, WNOHANG), 0, "process %d is there", i);
	}
	for (int i = 0; i < TREES; i++)
		tap_ok(tree_runs(i), "and runs, with its thread and its child (process %d)", i);
	for (int i = 0; i < TREES; i++)
		reap(fuzz.trees[i]);
	munmap(fuzz.buffer, BUFFER);
}
