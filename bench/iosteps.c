// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program that bench/iotrace.sh watches: does what it is told, and says how long that took.
 *
 *	iosteps DIR DISK
 *
 * Each line of the FIFO DIR/orders, "CASE N", is answered by one of the FIFO DIR/answers: the
 * least and the median time of BLOCKS equal parts of N operations each, in nanoseconds an
 * operation, then the bytes and the nanoseconds of all calls by clocks around each block, as a
 * program's own log has them. Files are in DISK. One process does all cases, watched or not, so
 * that its memory and its files are the same. Cases: write, read (1 MiB, sequential, out of the
 * page cache), direct-write, direct-read (the same past the cache), random (4 KiB past the cache,
 * read and written in turn), small (create, write 4 KiB, close, unlink: four calls), keep (the same
 * without unlink, each file under a name of its own), zero-0, zero-1 (read of no byte and of one
 * from /dev/zero), file-1 (read of one byte of a file).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS		9
#define MIB		(1u << 20)
#define FILE_MIB	32
#define SMALL		4096

struct steps {
	const char *disk;
	char *buffer;		/* of a MiB, aligned */
	int cached, direct;	/* the file of FILE_MIB, opened twice */
	int zero;
	uint64_t random;
	unsigned int kept;
	uint64_t bytes;		/* of the case */
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void steps_moved(struct steps *s, ssize_t got, size_t want)
{
	if (got != (ssize_t)want)
		die("read or write");
	s->bytes += want;
}

static void step_write(struct steps *s, unsigned int i)
{
	steps_moved(s, pwrite(s->cached, s->buffer, MIB, (off_t)(i % FILE_MIB) * MIB), MIB);
}

static void step_read(struct steps *s, unsigned int i)
{
	steps_moved(s, pread(s->cached, s->buffer, MIB, (off_t)(i % FILE_MIB) * MIB), MIB);
}

static void step_direct_write(struct steps *s, unsigned int i)
{
	steps_moved(s, pwrite(s->direct, s->buffer, MIB, (off_t)(i % FILE_MIB) * MIB), MIB);
}

static void step_direct_read(struct steps *s, unsigned int i)
{
	steps_moved(s, pread(s->direct, s->buffer, MIB, (off_t)(i % FILE_MIB) * MIB), MIB);
}

static void step_random(struct steps *s, unsigned int i)
{
	off_t at;

	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	at = (off_t)(s->random % (FILE_MIB * (MIB / SMALL))) * SMALL;
	steps_moved(s, i % 2 ? pread(s->direct, s->buffer, SMALL, at) :
		    pwrite(s->direct, s->buffer, SMALL, at), SMALL);
}

static void steps_create(struct steps *s, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	if (fd < 0)
		die(path);
	steps_moved(s, write(fd, s->buffer, SMALL), SMALL);
	if (close(fd))
		die(path);
}

static void step_small(struct steps *s, unsigned int i)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/small-%u", s->disk, i);
	steps_create(s, path);
	if (unlink(path))
		die(path);
}

static void step_keep(struct steps *s, unsigned int i)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/keep-%u", s->disk, s->kept++);
	steps_create(s, path);
}

static void step_zero_0(struct steps *s, unsigned int i)
{
	steps_moved(s, read(s->zero, s->buffer, 0), 0);
}

static void step_zero_1(struct steps *s, unsigned int i)
{
	steps_moved(s, read(s->zero, s->buffer, 1), 1);
}

static void step_file_1(struct steps *s, unsigned int i)
{
	steps_moved(s, pread(s->cached, s->buffer, 1, 4711), 1);
}

static const struct {
	const char *name;
	void (*step)(struct steps *s, unsigned int i);
} cases[] = {
	{ "write", step_write }, { "read", step_read }, { "direct-write", step_direct_write },
	{ "direct-read", step_direct_read }, { "random", step_random }, { "small", step_small },
	{ "keep", step_keep }, { "zero-0", step_zero_0 }, { "zero-1", step_zero_1 },
	{ "file-1", step_file_1 },
};

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Do the case, and put the answer into @text; 0: there is no such case. */
static int steps_do(struct steps *s, const char *name, unsigned int n, char *text, size_t size)
{
	double each[BLOCKS];
	uint64_t sum = 0;
	size_t i = 0;

	while (i < sizeof(cases) / sizeof(cases[0]) && strcmp(cases[i].name, name))
		i++;
	if (i == sizeof(cases) / sizeof(cases[0]) || !n)
		return 0;
	s->bytes = 0;
	for (int block = 0; block < BLOCKS; block++) {
		uint64_t began = now_ns();

		for (unsigned int k = 0; k < n; k++)
			cases[i].step(s, k);
		began = now_ns() - began;
		sum += began;
		each[block] = (double)began / n;
	}
	qsort(each, BLOCKS, sizeof(each[0]), compare);
	snprintf(text, size, "%.0f %.0f %llu %llu\n", each[0], each[BLOCKS / 2],
		 (unsigned long long)s->bytes, (unsigned long long)sum);
	/* what is written back later is no part of what comes next */
	if (fsync(s->cached))
		die("fsync");
	return 1;
}

static void steps_open(struct steps *s)
{
	char path[4096];

	s->buffer = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->buffer == MAP_FAILED)
		die("mmap");
	memset(s->buffer, 0x5a, MIB);
	snprintf(path, sizeof(path), "%s/steps", s->disk);
	s->cached = open(path, O_RDWR | O_CREAT, 0600);
	s->direct = open(path, O_RDWR | O_DIRECT);
	s->zero = open("/dev/zero", O_RDONLY);
	if (s->cached < 0 || s->direct < 0 || s->zero < 0)
		die(path);
	for (unsigned int i = 0; i < FILE_MIB; i++)
		step_write(s, i);
	if (fsync(s->cached))
		die("fsync");
}

int main(int argc, char **argv)
{
	struct steps s = { .random = 88172645463325252ull };
	char orders[4096], answers[4096], name[32], text[128];
	unsigned int n;

	if (argc != 3) {
		fprintf(stderr, "usage: iosteps DIR DISK\n");
		return 2;
	}
	s.disk = argv[2];
	snprintf(orders, sizeof(orders), "%s/orders", argv[1]);
	snprintf(answers, sizeof(answers), "%s/answers", argv[1]);
	steps_open(&s);
	for (;;) {
		FILE *file = fopen(orders, "r");
		int said = file ? fscanf(file, "%31s %u", name, &n) : EOF;

		if (!file)
			die(orders);
		fclose(file);
		if (said == 1 && !strcmp(name, "end"))
			return 0;
		if (said != 2 || !steps_do(&s, name, n, text, sizeof(text)))
			snprintf(text, sizeof(text), "no such case\n");
		file = fopen(answers, "w");
		if (!file || fputs(text, file) < 0 || fclose(file))
			die(answers);
	}
}
