/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps of a program whose result depends on what its files held before each step.
 *
 * A program keeps a chain in memory.  Each step reads from a file, mixes what it read into the
 * chain, and writes what the chain then says, so a file that is not of the same moment as the
 * memory changes everything behind it.  Between any two changes of a file the program naps; a
 * checkpoint at a random instant so meets each state of the files.  The result, the program's
 * output and its files, depends on nothing else: no time, no number of a process, no path.
 *
 * Exit status 0: done; 2: a system call failed, said on stderr; 77: the file system has not what
 * the program is about.
 */
#ifndef TESTS_CRASH_CONSISTENCY_STEP_H
#define TESTS_CRASH_CONSISTENCY_STEP_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEP_UNSUPPORTED	77
/* End the program if a system call failed: @result is what it returned, @what names it. */
static inline long step_call(long result, const char *what)
{
	if (result < 0) {
		int unsupported = errno == EOPNOTSUPP || errno == ENOSYS;

		perror(what);
		exit(unsupported ? STEP_UNSUPPORTED : 2);
	}
	return result;
}

/* The chain with @value mixed into it. */
static inline uint64_t step_mix(uint64_t chain, uint64_t value)
{
	chain = (chain ^ value) * 0x9e3779b97f4a7c15ULL;
	return chain ^ (chain >> 29);
}

static inline uint64_t step_mix_all(uint64_t chain, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	size_t i;
	uint64_t word;

	for (i = 0; i + 8 <= size; i += 8) {
		memcpy(&word, bytes + i, 8);
		chain = step_mix(chain, word);
	}
	for (; i < size; i++)
		chain = step_mix(chain, bytes[i]);
	return chain;
}

/* Fill @size bytes (words of 8) with what @chain says. */
static inline void step_fill(uint64_t chain, void *data, size_t size)
{
	uint64_t *words = data;
	size_t i;

	for (i = 0; i < size / 8; i++)
		words[i] = chain = step_mix(chain, i);
}

static inline void step_read(int fd, void *data, size_t size, off_t at)
{
	if (step_call(pread(fd, data, size, at), "pread") == (ssize_t)size)
		return;
	fprintf(stderr, "the file is shorter than the program left it\n");
	exit(2);
}

static inline void step_write(int fd, const void *data, size_t size, off_t at)
{
	if (step_call(pwrite(fd, data, size, at), "pwrite") != (ssize_t)size) {
		fprintf(stderr, "pwrite: not all was written\n");
		exit(2);
	}
}

static inline int step_open(const char *name, int flags)
{
	return (int)step_call(open(name, flags | O_CLOEXEC, 0644), name);
}

/* The whole file mixed into the chain, wherever the descriptor stands. */
static inline uint64_t step_mix_file(uint64_t chain, int fd)
{
	static unsigned char buffer[65536];
	off_t at = 0;
	long n;

	while ((n = step_call(pread(fd, buffer, sizeof(buffer), at), "pread")) > 0) {
		chain = step_mix_all(chain, buffer, (size_t)n);
		at += n;
	}
	return step_mix(chain, (uint64_t)at);
}

static inline void step_nap(void)
{
	const struct timespec nap = { 0, 25 * 1000 * 1000 };

	nanosleep(&nap, NULL);
}

/* One line of output; nothing stays in a buffer of the C library. */
static inline void step_say(unsigned int step, uint64_t chain)
{
	printf("%u %016llx\n", step, (unsigned long long)chain);
	fflush(stdout);
}

#endif
