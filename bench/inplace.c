// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workload of bench/files.sh: a process that has one file open and writes it in place.
 *
 *	inplace FILE MIB PERCENT
 *
 * It writes MIB of words that do not compress, makes them durable and prints "ready".  On SIGUSR1
 * it writes PERCENT of the file anew, as pages spread evenly, others each time, and prints "dirty".
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE	4096
#define WORDS	(PAGE / sizeof(uint64_t))

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x7fb5d329728ea185ULL;
	x ^= x >> 27;
	x *= 0x81dadef4bc2dd44dULL;
	return x ^ x >> 33;
}

static void page_write(int fd, uint64_t page, uint64_t round)
{
	uint64_t words[WORDS];

	for (uint64_t i = 0; i < WORDS; i++)
		words[i] = mix((round << 48) + page * WORDS + i);
	if (pwrite(fd, words, PAGE, (off_t)(page * PAGE)) != PAGE)
		die("pwrite");
}

int main(int argc, char **argv)
{
	uint64_t pages, percent, step, round = 0;
	sigset_t set;
	int fd, got;

	if (argc != 4)
		return 2;
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		die(argv[1]);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pages = strtoull(argv[2], NULL, 10) << 8;
	percent = strtoull(argv[3], NULL, 10);
	step = percent ? 100 / percent : pages;
	for (uint64_t page = 0; page < pages; page++)
		page_write(fd, page, 0);
	if (fsync(fd))
		die("fsync");
	puts("ready");
	for (;;) {
		fflush(stdout);
		if (sigwait(&set, &got))
			continue;
		round++;
		for (uint64_t page = round % step; page < pages; page += step)
			page_write(fd, page, round);
		puts("dirty");
	}
}
