// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds modules and functions in the memory of a process; see place.h.
 *
 * The memory is the job's, and may hold anything: every length is bounded, every address checked
 * by the kernel as it reads, and a table that makes no sense counts as none.
 */
#include "supervisor/diagnose/place.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACES_MAX	65536	/* mappings of a process */
#define PLACES_TEXT_MAX	(1U << 20)	/* bytes of their paths, as far as they differ */
#define PLACE_PHDRS	64
#define PLACE_NOTES	1024	/* bytes of notes that are looked through */
#define PLACE_ROUNDS	32	/* of a search among at most 2^32 functions */

struct mapping {
	uint64_t start, end, offset;
	char *path;	/* neighbours of one file have the same */
};

/* A module whose headers were read. */
struct module {
	uint64_t base, bias;	/* address of its first byte; added to its own addresses */
	uint64_t table;		/* of functions, in memory; 0: none */
	uint64_t hdr;		/* what the table's entries are relative to */
	uint32_t nr;
	char build_id[PLACE_ID_MAX];
};

struct places {
	place_read_fn read;
	void *arg;
	int mem;	/* of a running process; else -1 */
	struct mapping *map;
	size_t nr, room, text;
	struct module last;	/* the one found last: most threads are in few */
	char program[PLACE_PATH_MAX];
};

bool places_read(const struct places *p, uint64_t at, void *buf, size_t size)
{
	return p->read(p->arg, at, buf, size);
}

/* ------------------------------------------------------------- mappings */

int places_new(place_read_fn read, void *arg, const char *program, struct places **ret_places)
{
	struct places *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->read = read;
	p->arg = arg;
	p->mem = -1;
	snprintf(p->program, sizeof(p->program), "%s", program);
	*ret_places = p;
	return 0;
}

/* The path for the next mapping: that of the one before, or a copy of @path; NULL: no room. */
static char *places_path(struct places *p, const char *path)
{
	char *last = p->nr ? p->map[p->nr - 1].path : NULL, *copy;

	if (last && !strncmp(last, path, PLACE_PATH_MAX - 1))
		return last;
	copy = p->text < PLACES_TEXT_MAX ? strndup(path, PLACE_PATH_MAX - 1) : NULL;
	if (copy)
		p->text += strlen(copy) + 1;
	return copy;
}

int places_map(struct places *p, uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
	char *text;

	if (p->nr == PLACES_MAX)
		return -E2BIG;
	if (p->nr == p->room) {
		size_t room = p->room ? 2 * p->room : 64;
		void *more = realloc(p->map, room * sizeof(*p->map));

		if (!more)
			return -ENOMEM;
		p->map = more;
		p->room = room;
	}
	text = places_path(p, path);
	if (!text)
		return p->text < PLACES_TEXT_MAX ? -ENOMEM : -E2BIG;
	p->map[p->nr++] = (struct mapping){
		.start = start, .end = end, .offset = offset, .path = text,
	};
	return 0;
}

size_t places_size(const struct places *p)
{
	return sizeof(*p) + p->room * sizeof(*p->map) + p->text;
}

/* The memory of a running process. */
static bool places_read_process(void *arg, uint64_t at, void *buf, size_t size)
{
	const struct places *p = arg;

	return at < INT64_MAX && pread(p->mem, buf, size, (off_t)at) == (ssize_t)size;
}

/* Add a line of /proc/PID/maps. */
static int places_add(struct places *p, char *line)
{
	unsigned long long start, end, offset;
	int at = 0;

	if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %n", &start, &end, &offset, &at) < 3)
		return 0;
	line[strcspn(line, "\n")] = '\0';
	return places_map(p, start, end, offset, line + at);
}

int places_open(pid_t pid, struct places **ret_places)
{
	char path[64], *line = NULL;
	struct places *p;
	size_t size = 0;
	FILE *f;
	int err = places_new(places_read_process, NULL, "", &p);

	if (err)
		return err;
	p->arg = p;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	p->mem = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (readlink(path, p->program, sizeof(p->program) - 1) < 0)
		p->program[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = p->mem < 0 ? NULL : fopen(path, "re");
	if (!f)
		err = -errno;
	while (f && !err && getline(&line, &size, f) > 0)
		err = places_add(p, line);
	free(line);
	if (f)
		fclose(f);
	if (err)
		places_close(p);
	else
		*ret_places = p;
	return err;
}

void places_close(struct places *p)
{
	if (!p)
		return;
	if (p->mem >= 0)
		close(p->mem);
	for (size_t i = 0; i < p->nr; i++)
		if (!i || p->map[i].path != p->map[i - 1].path)
			free(p->map[i].path);
	free(p->map);
	free(p);
}

/* ---------------------------------------------------------------- modules */

static void place_note(struct module *m, const char *notes, size_t size)
{
	size_t at = 0;

	while (at + sizeof(Elf64_Nhdr) <= size) {
		const Elf64_Nhdr *note = (const void *)(notes + at);
		const size_t name = (note->n_namesz + 3ull) & ~3ull;
		const size_t desc = (note->n_descsz + 3ull) & ~3ull;
		const char *text = notes + at + sizeof(*note);

		if (name > size || desc > size || at + sizeof(*note) + name + desc > size)
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    !memcmp(text, "GNU", 4) && 2 * note->n_descsz < PLACE_ID_MAX) {
			for (size_t i = 0; i < note->n_descsz; i++)
				snprintf(m->build_id + 2 * i, 3, "%02x",
					 (unsigned char)text[name + i]);
			return;
		}
		at += sizeof(*note) + name + desc;
	}
}

/* The table of functions: version 1, 4-byte numbers, sorted, relative to its header. */
static void place_table(const struct places *p, struct module *m, uint64_t at)
{
	unsigned char head[12];

	if (!places_read(p, at, head, sizeof(head)) || head[0] != 1 || head[2] != 0x03 ||
	    head[3] != 0x3b || (head[1] & 0x0f) != 0x0b)
		return;
	memcpy(&m->nr, head + 8, sizeof(m->nr));
	m->hdr = at;
	m->table = at + sizeof(head);
}

static bool place_module(const struct places *p, uint64_t base, struct module *ret_module)
{
	struct module m = { .base = base };
	Elf64_Phdr ph[PLACE_PHDRS];
	_Alignas(8) char notes[PLACE_NOTES];
	Elf64_Ehdr eh;
	bool loaded = false;

	if (!places_read(p, base, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_phentsize != sizeof(ph[0]) || !eh.e_phnum || eh.e_phnum > PLACE_PHDRS ||
	    !places_read(p, base + eh.e_phoff, ph, eh.e_phnum * sizeof(ph[0])))
		return false;
	for (unsigned int i = 0; i < eh.e_phnum && !loaded; i++) {
		loaded = ph[i].p_type == PT_LOAD;
		if (loaded)
			m.bias = base - (ph[i].p_vaddr - ph[i].p_offset % 4096);
	}
	for (unsigned int i = 0; i < eh.e_phnum; i++) {
		size_t size = ph[i].p_memsz < sizeof(notes) ? ph[i].p_memsz : sizeof(notes);

		if (ph[i].p_type == PT_NOTE && !m.build_id[0] &&
		    places_read(p, m.bias + ph[i].p_vaddr, notes, size))
			place_note(&m, notes, size);
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			place_table(p, &m, m.bias + ph[i].p_vaddr);
	}
	*ret_module = m;
	return loaded;
}

bool places_module(const struct places *p, uint64_t base, uint64_t *ret_bias)
{
	struct module m;

	if (!place_module(p, base, &m))
		return false;
	*ret_bias = m.bias;
	return true;
}

/* The begin of the function around @ip, in the process; 0: not known. */
static uint64_t place_function(const struct places *p, const struct module *m, uint64_t ip)
{
	uint32_t low = 0, high = m->nr;
	uint64_t found = 0;

	for (int i = 0; i < PLACE_ROUNDS && low < high; i++) {
		uint32_t mid = low + (high - low) / 2;
		uint64_t start;
		int32_t entry;

		if (!places_read(p, m->table + 8ull * mid, &entry, sizeof(entry)))
			return 0;
		start = m->hdr + (uint64_t)(int64_t)entry;
		if (start <= ip) {
			found = start;
			low = mid + 1;
		} else {
			high = mid;
		}
	}
	return found;
}

/* Index of the mapping of @ip; nr: none. */
static size_t places_index(const struct places *p, uint64_t ip)
{
	size_t low = 0, high = p->nr;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (p->map[mid].end <= ip)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->nr && p->map[low].start <= ip ? low : p->nr;
}

bool places_find(struct places *p, uint64_t ip, struct place *ret_place)
{
	size_t i = places_index(p, ip), first;

	memset(ret_place, 0, sizeof(*ret_place));
	ret_place->address = ip;
	if (i == p->nr)
		return false;
	snprintf(ret_place->path, sizeof(ret_place->path), "%s", p->map[i].path);
	ret_place->main = p->program[0] && !strcmp(p->program, ret_place->path);
	/* the mapping with the module's first byte */
	for (first = i + 1; first-- > 0;) {
		if (!strcmp(p->map[first].path, p->map[i].path) && !p->map[first].offset)
			break;
	}
	if (first > i || !p->map[i].path[0])
		return true;
	if (p->last.base != p->map[first].start &&
	    !place_module(p, p->map[first].start, &p->last)) {
		p->last.base = 0;
		return true;
	}
	memcpy(ret_place->build_id, p->last.build_id, sizeof(ret_place->build_id));
	ret_place->address = ip - p->last.bias;
	if (p->last.table)
		ret_place->function = place_function(p, &p->last, ip);
	if (ret_place->function)
		ret_place->function -= p->last.bias;
	return true;
}
