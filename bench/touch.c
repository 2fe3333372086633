// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workload of the benchmarks: a tree of a size that one option sets.
 *
 *	touch [--mem MiB] [--no-thp] [--procs N] [--threads N] [--vmas N]
 *	      [--files N --dir DIR] [--reserve GiB] [--map FILE] [--fill random|text|heap]
 *	      [--dirty PERCENT [--scatter]]
 *
 * Every process (--procs of them: the parent and its children) touches --mem MiB
 * of private memory; --threads and --vmas are per process, files are opened by
 * the parent and inherited.  --reserve maps address space that is never touched,
 * --map a file that is only read.  When all is in place it prints "ready" and
 * sleeps.  On SIGUSR1 every process checks its memory and the parent prints
 * "good" or "bad".  On SIGUSR2 the parent writes --dirty percent of its memory
 * anew, in one piece or as pages spread evenly (--scatter), others each time, and
 * prints "dirty".
 *
 * The content is made from the address: random does not compress at all, text
 * compresses about 3:1 and is the default, being nearer to what programs hold; heap is
 * what a solver has, doubles that were floats, a smooth field with noise (2.4:1).
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB	(1UL << 20)
#define PAGE	4096UL

struct options {
	unsigned long mem, procs, threads, vmas, files, reserve, dirty;
	const char *dir, *map;
	bool random, heap, scatter;
};

/* What a process checks: its words, and how often each page was written anew. */
struct memory {
	uint64_t *words, seed;
	unsigned char *rounds;
	size_t pages;
};

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

static uint64_t field(uint64_t seed, uint64_t i)
{
	double t = (double)(i & 0xffff) / 0x10000;
	double x = (float)(t * (1 - t) + (double)(mix(seed + i) >> 54) * 1e-5);
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* Random: every word differs.  Text: one word in three does. */
static uint64_t word(const struct options *o, uint64_t seed, uint64_t i)
{
	if (o->heap)
		return field(seed, i);
	if (o->random || i % 3 == 0)
		return mix(seed + i);
	return 0x2063692074786574ULL;
}

static void *map(size_t bytes, int prot, int flags)
{
	void *p = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

#define PAGE_WORDS (PAGE / sizeof(uint64_t))

static uint64_t seed_of(const struct memory *m, size_t page)
{
	return m->seed + ((uint64_t)m->rounds[page] << 48) + page * PAGE_WORDS;
}

static void fill(const struct options *o, const struct memory *m, size_t page)
{
	uint64_t *words = m->words + page * PAGE_WORDS, seed = seed_of(m, page);

	for (size_t i = 0; i < PAGE_WORDS; i++)
		words[i] = word(o, seed, i);
}

static bool good(const struct options *o, const struct memory *m)
{
	for (size_t page = 0; page < m->pages; page++) {
		const uint64_t *words = m->words + page * PAGE_WORDS;
		uint64_t seed = seed_of(m, page);

		for (size_t i = 0; i < PAGE_WORDS; i++)
			if (words[i] != word(o, seed, i))
				return false;
	}
	return true;
}

/* The round-th of the 100 / --dirty parts of the memory. */
static void dirty(const struct options *o, const struct memory *m, size_t round)
{
	size_t parts = 100 / o->dirty, part = round % parts;

	for (size_t page = 0; page < m->pages; page++) {
		if ((o->scatter ? page % parts : page * parts / m->pages) != part)
			continue;
		m->rounds[page]++;
		fill(o, m, page);
	}
}

/* Neighbours with different rights do not merge: n mappings, each touched. */
static void make_vmas(unsigned long n)
{
	char *area = n ? map(n * PAGE, PROT_READ | PROT_WRITE, MAP_NORESERVE) : NULL;

	for (unsigned long i = 0; i < n; i++) {
		area[i * PAGE] = (char)i;
		if (i % 2 && mprotect(area + i * PAGE, PAGE, PROT_READ))
			die("mprotect");
	}
}

static void make_files(const struct options *o)
{
	struct rlimit limit = { o->files + 64, o->files + 64 };
	char path[4096];

	if (!o->files)
		return;
	setrlimit(RLIMIT_NOFILE, &limit);
	for (unsigned long i = 0; i < o->files; i++) {
		snprintf(path, sizeof(path), "%s/file-%lu", o->dir, i);
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

		if (fd < 0 || dprintf(fd, "contents of file %lu\n", i) < 0)
			die(path);
	}
}

static void map_file(const char *path)
{
	volatile char sum = 0;
	struct stat st;
	int fd;
	char *p;

	if (!path)
		return;
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		die(path);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		die(path);
	for (off_t i = 0; i < st.st_size; i += PAGE)
		sum += p[i];
	close(fd);
}

static void *sleeper(void *unused)
{
	for (;;)
		pause();
	return NULL;
}

static void make_threads(unsigned long n)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (unsigned long i = 1; i < n; i++)
		if (pthread_create(&thread, &attr, sleeper, NULL))
			die("pthread_create");
}

/* All that one process holds; returns the memory that is checked later. */
static struct memory prepare(const struct options *o, unsigned long number)
{
	struct memory m = { .seed = (uint64_t)number << 40, .pages = o->mem * MIB / PAGE };

	m.words = map(o->mem * MIB + PAGE, PROT_READ | PROT_WRITE, 0);
	m.rounds = calloc(m.pages + 1, 1);
	if (!m.rounds)
		die("calloc");
	for (size_t page = 0; page < m.pages; page++)
		fill(o, &m, page);
	make_vmas(o->vmas);
	if (o->reserve)
		map(o->reserve << 30, PROT_NONE, MAP_NORESERVE);
	map_file(o->map);
	make_threads(o->threads);
	return m;
}

/* A child: "r" when it is ready, then "g" or "b" for each question. */
static void child(const struct options *o, unsigned long number, int up, int down)
{
	const struct memory m = prepare(o, number);
	const char *answer = "r";
	char question;

	do {
		if (write(up, answer, 1) != 1)
			break;
		if (read(down, &question, 1) != 1)
			break;
		answer = good(o, &m) ? "g" : "b";
	} while (true);
	_exit(1);
}

/* Every child's next answer; true if all are what is wanted. */
static bool answers(const struct options *o, int up, char want)
{
	bool all = true;
	char c;

	for (unsigned long i = 1; i < o->procs; i++)
		all &= read(up, &c, 1) == 1 && c == want;
	return all;
}

static unsigned long number(const char *text)
{
	return strtoul(text, NULL, 0);
}

static void parse(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "mem", 1, NULL, 'm' }, { "procs", 1, NULL, 'p' },
		{ "threads", 1, NULL, 't' }, { "vmas", 1, NULL, 'v' },
		{ "files", 1, NULL, 'f' }, { "dir", 1, NULL, 'd' },
		{ "reserve", 1, NULL, 'r' }, { "map", 1, NULL, 'M' },
		{ "fill", 1, NULL, 'F' }, { "no-thp", 0, NULL, 'n' },
		{ "dirty", 1, NULL, 'D' }, { "scatter", 0, NULL, 's' }, { NULL }
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) >= 0) {
		switch (opt) {
		case 'm': o->mem = number(optarg); break;
		case 'p': o->procs = number(optarg); break;
		case 't': o->threads = number(optarg); break;
		case 'v': o->vmas = number(optarg); break;
		case 'f': o->files = number(optarg); break;
		case 'd': o->dir = optarg; break;
		case 'r': o->reserve = number(optarg); break;
		case 'M': o->map = optarg; break;
		case 'F':
			o->random = !strcmp(optarg, "random");
			o->heap = !strcmp(optarg, "heap");
			break;
		case 'D': o->dirty = number(optarg); break;
		case 's': o->scatter = true; break;
		case 'n':
			if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
				die("prctl");
			break;
		default: exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct options o = { .mem = 1, .procs = 1, .threads = 1, .dir = "/tmp" };
	struct memory m;
	int up[2], down[2], sig;
	size_t round = 0;
	sigset_t asked;
	bool all;

	parse(&o, argc, argv);
	if (o.dirty > 100)
		return 2;
	sigemptyset(&asked);
	sigaddset(&asked, SIGUSR1);
	sigaddset(&asked, SIGUSR2);
	sigprocmask(SIG_BLOCK, &asked, NULL);
	if (o.procs > 1 && (pipe(up) || pipe(down)))
		die("pipe");
	for (unsigned long i = 1; i < o.procs; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			child(&o, i, up[1], down[0]);
		}
	}
	make_files(&o);
	m = prepare(&o, 0);
	if (!answers(&o, up[0], 'r'))
		die("a child");
	dprintf(STDOUT_FILENO, "ready\n");

	while (sigwait(&asked, &sig) == 0) {
		if (sig == SIGUSR2) {
			if (o.dirty)
				dirty(&o, &m, round++);
			dprintf(STDOUT_FILENO, "dirty\n");
			continue;
		}
		all = good(&o, &m);
		for (unsigned long i = 1; i < o.procs; i++)
			if (write(down[1], "?", 1) != 1)
				die("a child");
		dprintf(STDOUT_FILENO, answers(&o, up[0], 'g') && all ? "good\n" : "bad\n");
	}
	return 1;
}
