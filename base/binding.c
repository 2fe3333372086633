// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processors of the ranks of one node; see binding.h.
 *
 * The kernel tells for each processor which others have the same core, cache, NUMA node and
 * package. The first of them is the object's key: processors with one key are in one object.
 */
#include "base/binding.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CPUS_MAX	8192
#define WORD_BITS	(8 * sizeof(unsigned long))
#define CACHES		8	/* of a processor, all kinds */
#define UNKNOWN		(-1)

static const char *const level_names[] = {
	[BINDING_HWTHREAD] = "hwthread", [BINDING_CORE] = "core", [BINDING_L1] = "l1cache",
	[BINDING_L2] = "l2cache", [BINDING_L3] = "l3cache", [BINDING_NUMA] = "numa",
	[BINDING_SOCKET] = "socket", [BINDING_NODE] = "node",
};

/* A processor: its number, and the key of its object of each level. */
struct cpu {
	int number;
	int key[BINDING_LEVELS];
};

bool binding_level_parse(const char *name, enum binding_level *ret_level)
{
	for (int i = 0; i < BINDING_LEVELS; i++) {
		if (!strcmp(name, level_names[i])) {
			*ret_level = (enum binding_level)i;
			return true;
		}
	}
	return false;
}

const char *binding_level_name(enum binding_level level)
{
	return level_names[level];
}

int binding_parse(const json_t *json, struct binding *ret_binding)
{
	const char *to, *by = level_names[BINDING_NODE];
	struct binding binding = { 0 };
	int each = 1, overload = 0;

	if (json_unpack((json_t *)json, "{s:s, s?s, s?i, s?b !}", "to", &to, "by", &by, "each",
			&each, "overload", &overload) ||
	    !binding_level_parse(to, &binding.to) || !binding_level_parse(by, &binding.by) ||
	    each < 1 || each > CPUS_MAX)
		return -EINVAL;
	binding.each = (unsigned int)each;
	binding.overload = overload;
	*ret_binding = binding;
	return 0;
}

/* ------------------------------------------------------------- topology */

/* Read a short file of @dir; an empty string: there is none. */
static void binding_read(const char *dir, const char *name, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t n = -1;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) < sizeof(path)) {
		_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);

		n = fd < 0 ? -1 : read(fd, buf, size - 1);
	}
	buf[n > 0 ? n : 0] = '\0';
}

/* The number that a file begins with, UNKNOWN if there is no such file. */
static int first_number(const char *dir, const char *name)
{
	char text[32];
	int number;

	binding_read(dir, name, text, sizeof(text));
	return sscanf(text, "%d", &number) == 1 ? number : UNKNOWN;
}

/* Caches of data, of levels 1 to 3. */
static void read_caches(const char *cpu_dir, struct cpu *cpu)
{
	for (int i = 0; i < CACHES; i++) {
		char name[64], type[32];
		int level;

		snprintf(name, sizeof(name), "cache/index%d/level", i);
		level = first_number(cpu_dir, name);
		snprintf(name, sizeof(name), "cache/index%d/type", i);
		binding_read(cpu_dir, name, type, sizeof(type));
		if (level < 1 || level > 3 || !strncmp(type, "Instruction", 11))
			continue;
		snprintf(name, sizeof(name), "cache/index%d/shared_cpu_list", i);
		cpu->key[BINDING_L1 + level - 1] = first_number(cpu_dir, name);
	}
}

/* A kernel without NUMA has one node. */
static int read_numa(const char *cpu_dir)
{
	_cleanup_dir_ DIR *dir = opendir(cpu_dir);
	const struct dirent *entry;
	int node;

	while (dir && (entry = readdir(dir))) {
		if (sscanf(entry->d_name, "node%d", &node) == 1)
			return node;
	}
	return 0;
}

static void read_cpu(const char *system, int number, struct cpu *cpu)
{
	char dir[PATH_MAX - 64];

	snprintf(dir, sizeof(dir), "%s/cpu/cpu%d", system, number);
	cpu->number = number;
	for (int i = 0; i < BINDING_LEVELS; i++)
		cpu->key[i] = UNKNOWN;
	cpu->key[BINDING_HWTHREAD] = number;
	cpu->key[BINDING_CORE] = first_number(dir, "topology/core_cpus_list");
	if (cpu->key[BINDING_CORE] == UNKNOWN)
		cpu->key[BINDING_CORE] = first_number(dir, "topology/thread_siblings_list");
	cpu->key[BINDING_SOCKET] = first_number(dir, "topology/package_cpus_list");
	if (cpu->key[BINDING_SOCKET] == UNKNOWN)
		cpu->key[BINDING_SOCKET] = first_number(dir, "topology/core_siblings_list");
	cpu->key[BINDING_NUMA] = read_numa(dir);
	cpu->key[BINDING_NODE] = 0;
	read_caches(dir, cpu);
}

static int by_place(const void *a, const void *b)
{
	static const enum binding_level order[] = {
		BINDING_SOCKET, BINDING_NUMA, BINDING_L3, BINDING_CORE, BINDING_HWTHREAD,
	};
	const struct cpu *x = a, *y = b;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (x->key[order[i]] != y->key[order[i]])
			return x->key[order[i]] < y->key[order[i]] ? -1 : 1;
	}
	return 0;
}

/* ---------------------------------------------------------------- choice */

/* Copy the different keys of @level of those @cpus that have @key at @within; return how many. */
static int list_keys(const struct cpu *cpus, int nr, enum binding_level level,
		     enum binding_level within, int key, int *ret_keys)
{
	int n = 0, k;

	for (int i = 0; i < nr; i++) {
		if (cpus[i].key[within] != key)
			continue;
		for (k = 0; k < n && ret_keys[k] != cpus[i].key[level]; k++)
			continue;
		if (k == n)
			ret_keys[n++] = cpus[i].key[level];
	}
	return n;
}

/*
 * Choose the keys of rank @index: @ret_keys has them on return. Negative: -(number of objects),
 * fewer than a rank is to have.
 */
static int choose_keys(const struct binding *binding, const struct cpu *cpus, int nr,
		       unsigned int index, int *ret_keys)
{
	int each = (int)binding->each, mapped, objects, turn, chunk;

	mapped = list_keys(cpus, nr, binding->by, BINDING_NODE, 0, ret_keys);
	turn = (int)index / mapped;
	objects = list_keys(cpus, nr, binding->to, binding->by, ret_keys[(int)index % mapped],
			    ret_keys);
	if (objects < each)
		return -objects;
	chunk = turn % (objects / each);
	memmove(ret_keys, ret_keys + chunk * each, (size_t)each * sizeof(*ret_keys));
	return each;
}

/* How many ranks are bound where rank @index is, whose first key is @key. */
static int ranks_there(const struct binding *binding, const struct cpu *cpus, int nr,
		       unsigned int ranks, int key, int *keys)
{
	int n = 0;

	for (unsigned int i = 0; i < ranks; i++)
		n += choose_keys(binding, cpus, nr, i, keys) > 0 && keys[0] == key;
	return n;
}

static int choose_cpus(const struct binding *binding, const struct cpu *cpus, int nr,
		       const int *keys, int nr_keys, int *ret_cpus)
{
	int n = 0;

	for (int i = 0; i < nr; i++) {
		for (int k = 0; k < nr_keys; k++) {
			if (cpus[i].key[binding->to] == keys[k])
				ret_cpus[n++] = cpus[i].number;
		}
	}
	return n;
}

/* Cores of @key's object, the processors themselves if ranks are bound to these. */
static int room_of(const struct binding *binding, const struct cpu *cpus, int nr, int key,
		   int *keys)
{
	enum binding_level unit = binding->to == BINDING_HWTHREAD ? BINDING_HWTHREAD :
				  BINDING_CORE;

	return list_keys(cpus, nr, unit, binding->to, key, keys);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Does this machine tell of objects of both levels? */
static int check_levels(const struct binding *binding, const struct cpu *cpus, int nr, char *why,
			size_t size)
{
	const enum binding_level levels[] = { binding->to, binding->by, BINDING_CORE };

	for (int i = 0; i < nr * 3; i++) {
		enum binding_level level = levels[i % 3];

		if (cpus[i / 3].key[level] != UNKNOWN)
			continue;
		snprintf(why, size, "the kernel does not tell the %s of processor %d here, which "
			 "ranks are to be bound by: say --bind-to none", level_names[level],
			 cpus[i / 3].number);
		return -ENOTSUP;
	}
	return 0;
}

static int choose(const struct binding *binding, const struct cpu *cpus, int nr,
		  unsigned int index, unsigned int ranks, int *keys, int *ret_cpus, char *why,
		  size_t size)
{
	const char *to = level_names[binding->to];
	int n = choose_keys(binding, cpus, nr, index, keys), key = keys[0], there, room, chosen;

	if (n < 0) {
		snprintf(why, size, "a rank is to have %u of %s, and there are %d where it is "
			 "mapped to", binding->each, to, -n);
		return -EINVAL;
	}
	chosen = choose_cpus(binding, cpus, nr, keys, n, ret_cpus);
	qsort(ret_cpus, (size_t)chosen, sizeof(*ret_cpus), by_number);
	if (binding->overload)
		return chosen;
	room = room_of(binding, cpus, nr, key, keys);
	there = ranks_there(binding, cpus, nr, ranks, key, keys);
	if (there <= room)
		return chosen;
	snprintf(why, size, "%d of the %u ranks of this node would be bound to one %s with room "
		 "for %d: say --bind-to %s:overload-allowed, or none", there, ranks, to, room, to);
	return -EINVAL;
}

int binding_choose(const struct binding *binding, const char *system, const int *allowed, int nr,
		   unsigned int index, unsigned int ranks, int *ret_cpus, char *why, size_t size)
{
	struct cpu *cpus = calloc((size_t)nr, sizeof(*cpus));
	int *keys = calloc((size_t)nr, sizeof(*keys));
	int rc = cpus && keys ? 0 : -ENOMEM;

	if (rc)
		snprintf(why, size, "binding of ranks");
	for (int i = 0; !rc && i < nr; i++)
		read_cpu(system, allowed[i], &cpus[i]);
	if (!rc)
		rc = check_levels(binding, cpus, nr, why, size);
	if (!rc) {
		qsort(cpus, (size_t)nr, sizeof(*cpus), by_place);
		rc = choose(binding, cpus, nr, index, ranks, keys, ret_cpus, why, size);
	}
	free(cpus);
	free(keys);
	return rc;
}

int binding_set(const struct binding *binding, unsigned int index, unsigned int ranks, char *why,
		size_t size)
{
	unsigned long bits[CPUS_MAX / WORD_BITS] = { 0 };
	int allowed[CPUS_MAX], chosen[CPUS_MAX], nr = 0;

	snprintf(why, size, "binding of ranks");
	if (syscall(SYS_sched_getaffinity, 0, sizeof(bits), bits) < 0)
		return -errno;
	for (int i = 0; i < CPUS_MAX; i++) {
		if (bits[(size_t)i / WORD_BITS] >> ((size_t)i % WORD_BITS) & 1)
			allowed[nr++] = i;
	}
	nr = binding_choose(binding, "/sys/devices/system", allowed, nr, index, ranks, chosen, why,
			    size);
	if (nr < 0)
		return nr;
	memset(bits, 0, sizeof(bits));
	for (int i = 0; i < nr; i++)
		bits[(size_t)chosen[i] / WORD_BITS] |= 1UL << ((size_t)chosen[i] % WORD_BITS);
	return syscall(SYS_sched_setaffinity, 0, sizeof(bits), bits) ? -errno : 0;
}
