/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processors of the ranks of one node, as launchers of MPI bind them.
 *
 * Each rank is mapped to an object of the machine, round robin, and is bound to an object within
 * it, or around it. Objects and their order are those of hwloc: packages by their first processor,
 * in each of them NUMA nodes, caches, cores. Only processors that the caller may use count.
 *
 * As JSON: {"to": "core", "by": "node", "each": 1, "overload": false}. "by" and the rest may be
 * missing.
 */
#ifndef STILLPOINT_BINDING_H
#define STILLPOINT_BINDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum binding_level {
	BINDING_HWTHREAD,
	BINDING_CORE,
	BINDING_L1,
	BINDING_L2,
	BINDING_L3,
	BINDING_NUMA,
	BINDING_SOCKET,
	BINDING_NODE,		/* the whole machine */
	BINDING_LEVELS
};

/**
 * struct binding - how the ranks of a node are bound
 * @to:       what a rank is bound to
 * @by:       what ranks are mapped to, one after the other; BINDING_NODE: to the machine, whose
 *	      objects @to are then taken in their order
 * @each:     how many objects @to a rank gets
 * @overload: several ranks may have one core
 */
struct binding {
	enum binding_level to, by;
	unsigned int each;
	bool overload;
};

/* Names are "hwthread", "core", "l1cache" to "l3cache", "numa", "socket", "node". */
bool binding_level_parse(const char *name, enum binding_level *ret_level);
const char *binding_level_name(enum binding_level level);

/* Read @json, from outside, as above; 0 or -EINVAL. */
int binding_parse(const json_t *json, struct binding *ret_binding);

/**
 * binding_choose() - find the processors of one rank
 * @system:  "/sys/devices/system", or a copy of it
 * @allowed: numbers of the processors that may be used, @nr of them
 * @index:   of the rank among the @ranks of this node
 * @ret_cpus: has room for @nr numbers, ascending on return
 * @why:     on failure, why, and what to say instead; @size of 256 is enough
 *
 * Return: how many processors, or negative errno.
 */
int binding_choose(const struct binding *binding, const char *system, const int *allowed, int nr,
		   unsigned int index, unsigned int ranks, int *ret_cpus, char *why, size_t size);

/* Bind this process, which must have one thread only, as rank @index; 0 or negative errno. */
int binding_set(const struct binding *binding, unsigned int index, unsigned int ranks, char *why,
		size_t size);

#endif /* STILLPOINT_BINDING_H */
