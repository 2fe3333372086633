// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a disk holds after a power cut, made from a log of dm-log-writes.
 *
 *   cut scan LOG                        marks and barriers, by number of entry
 *   cut make LOG BASE OUT FROM AT SEED  BASE has the entries before FROM; it gets those before
 *                                       AT, and OUT becomes the disk of a cut there
 *
 * The log has writes in the order in which they became stable (by a flush, or because they
 * were FUA), so a disk that loses power when entry AT - 1 is the last stable one has all before AT.
 * Of those behind, up to the first barrier, any may have reached it, whole or some sectors of
 * them: they were on their way, or in the disk's cache.  SEED says which; 0: none.  Nothing
 * past the barrier is taken: it may have been begun only when the barrier was done.
 *
 * A write that is a flush as well (a journal's commit block) reaches the disk only if all before
 * it did.  The first 4 KiB of the disk are never torn: file systems keep one block there whose
 * checksum covers two sectors, and count on it.
 *
 * The log's format is in the kernel's drivers/md/dm-log-writes.c.  Must not write into LOG.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC	0x6a736677736872ULL
#define FLUSH	1
#define FUA	2
#define DISCARD	4
#define MARK	8
#define SECTOR	512
#define WHOLE	4096	/* bytes at the disk's start that are never torn */
#define PIECE	(1 << 20)

struct super {
	uint64_t magic, version, nr_entries;
	uint32_t sectorsize;
};

struct entry {
	uint64_t sector, nr_sectors, flags, data_len;
};

struct log {
	const uint8_t *p, *end;
	uint64_t nr_entries;
	uint32_t sectorsize;
};

/* One entry of the log, in this machine's byte order. */
struct item {
	uint64_t index, flags, offset, len;
	const uint8_t *data;	/* of a mark: its text */
};

struct walk {
	const struct log *log;
	const uint8_t *at;
	uint64_t index;
};

struct chance {
	uint64_t state;
	unsigned int mode, share;	/* of 8 that reach the disk */
	unsigned int window, applied, torn;
};

static void die(const char *what)
{
	fprintf(stderr, "cut: %s\n", what);
	exit(1);
}

static void die_errno(const char *what)
{
	fprintf(stderr, "cut: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ------------------------------------------------------------------- log */

static void log_open(struct log *log, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct super super;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die_errno(path);
	log->p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (log->p == MAP_FAILED)
		die_errno(path);
	close(fd);
	log->end = log->p + st.st_size;
	memcpy(&super, log->p, sizeof(super));
	log->nr_entries = le64toh(super.nr_entries);
	log->sectorsize = le32toh(super.sectorsize);
	if (le64toh(super.magic) != MAGIC || le64toh(super.version) != 1 ||
	    log->sectorsize % SECTOR || !log->sectorsize)
		die("this is no log of dm-log-writes");
}

static struct walk walk_begin(const struct log *log)
{
	return (struct walk){ .log = log, .at = log->p + log->sectorsize };
}

/* False: there are no more. */
static bool walk_next(struct walk *w, struct item *item)
{
	const struct log *log = w->log;
	struct entry e;
	uint64_t room;

	if (w->index == log->nr_entries)
		return false;
	room = (uint64_t)(log->end - w->at);
	if (room < log->sectorsize)
		die("the log ends early");
	memcpy(&e, w->at, sizeof(e));
	room -= log->sectorsize;
	item->index = w->index++;
	item->flags = le64toh(e.flags);
	item->offset = le64toh(e.sector) * log->sectorsize;
	item->len = le64toh(e.nr_sectors) * log->sectorsize;
	item->data = w->at + log->sectorsize;
	w->at += log->sectorsize;
	if (item->flags & MARK) {
		item->data = w->at - log->sectorsize + sizeof(e);
		item->len = le64toh(e.data_len);
		return true;
	}
	if (item->flags & DISCARD)
		item->len = 0;	/* nobody may count on what is there now */
	if (item->len > room)
		die("the log ends early");
	w->at += item->len;
	return true;
}

static int scan(const char *path)
{
	struct log log;
	struct item item;
	struct walk w;

	log_open(&log, path);
	w = walk_begin(&log);
	while (walk_next(&w, &item)) {
		if (item.flags & MARK)
			printf("%" PRIu64 " mark %.*s\n", item.index, (int)item.len,
			       (const char *)item.data);
		else if (item.flags & (FLUSH | FUA))
			printf("%" PRIu64 " barrier\n", item.index);
	}
	printf("%" PRIu64 " end\n", log.nr_entries);
	return 0;
}

/* ---------------------------------------------------------------- chance */

static uint64_t draw(struct chance *c)
{
	uint64_t z = c->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

enum mode { NOTHING, ALL, SOME };

static struct chance chance_of(uint64_t seed)
{
	static const unsigned int shares[] = { 1, 4, 7 };
	static const enum mode modes[] = { NOTHING, ALL, SOME, SOME };
	struct chance c = { .state = seed };

	c.mode = seed ? modes[draw(&c) % 4] : NOTHING;
	c.share = shares[draw(&c) % 3];
	return c;
}

/* --------------------------------------------------------------- writing */

static void put(int fd, const uint8_t *p, uint64_t len, uint64_t offset)
{
	while (len) {
		ssize_t n = pwrite(fd, p, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die_errno("write");
		p += n;
		offset += (uint64_t)n;
		len -= (uint64_t)n;
	}
}

/* Some of its sectors: the first ones, or any. */
static void put_torn(int fd, const struct item *item, struct chance *c)
{
	uint64_t nr = item->len / SECTOR, first = draw(c) % (nr + 1), i;
	bool any = draw(c) & 1;

	for (i = 0; i < nr; i++) {
		if (any ? draw(c) & 1 : i < first)
			put(fd, item->data + i * SECTOR, SECTOR, item->offset + i * SECTOR);
	}
	c->torn++;
}

static void put_by_chance(int fd, const struct item *item, struct chance *c, bool may_tear)
{
	c->applied++;
	if (may_tear && item->offset >= WHOLE && draw(c) % 4 == 0)
		put_torn(fd, item, c);
	else
		put(fd, item->data, item->len, item->offset);
}

/* @w stands at the cut. */
static void put_window(int fd, struct walk w, struct chance *c)
{
	struct item item;

	while (walk_next(&w, &item)) {
		bool barrier = item.flags & (FLUSH | FUA);

		if (item.flags & MARK)
			continue;
		c->window++;
		if (barrier && c->mode == ALL && item.len && item.offset >= WHOLE)
			put_torn(fd, &item, c);
		else if (item.len && c->mode == ALL)
			put_by_chance(fd, &item, c, false);
		else if (item.len && c->mode == SOME && !(item.flags & FLUSH) &&
			 draw(c) % 8 < c->share)
			put_by_chance(fd, &item, c, true);
		if (barrier)
			break;
	}
}

/* Holes stay holes. */
static int copy(int from, const char *path)
{
	int to = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	off_t at = 0, end;
	struct stat st;
	uint8_t *map;

	if (to < 0 || fstat(from, &st) || ftruncate(to, st.st_size))
		die_errno(path);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, from, 0);
	if (map == MAP_FAILED)
		die_errno("map");
	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		if (end < 0)
			end = st.st_size;
		put(to, map + at, (uint64_t)(end - at), (uint64_t)at);
		at = end;
	}
	munmap(map, (size_t)st.st_size);
	return to;
}

static int make(char **argv)
{
	uint64_t from = strtoull(argv[3], NULL, 10), to = strtoull(argv[4], NULL, 10);
	struct chance c = chance_of(strtoull(argv[5], NULL, 10));
	int base = open(argv[1], O_RDWR | O_CLOEXEC), out;
	struct item item;
	struct log log;
	struct walk w;

	if (base < 0)
		die_errno(argv[1]);
	log_open(&log, argv[0]);
	if (from > to || to > log.nr_entries)
		die("there is no such entry");
	w = walk_begin(&log);
	while (w.index < to && walk_next(&w, &item)) {
		if (item.index >= from && item.len && !(item.flags & MARK))
			put(base, item.data, item.len, item.offset);
	}
	out = copy(base, argv[2]);
	put_window(out, w, &c);
	printf("of %u writes on their way %u reached the disk, %u torn\n", c.window,
	       c.applied + (c.mode == ALL ? c.torn : 0), c.torn);
	close(out);
	close(base);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "scan"))
		return scan(argv[2]);
	if (argc == 8 && !strcmp(argv[1], "make"))
		return make(argv + 2);
	fprintf(stderr, "usage: cut scan LOG | cut make LOG BASE OUT FROM AT SEED\n");
	return 2;
}
