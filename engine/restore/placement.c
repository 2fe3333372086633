// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding and taking the placement of memory; see placement.h.
 *
 * A node's directory in sysfs has an entry for each of its CPUs. Without such directories no
 * node is preferred. Nodes are only preferred: memory that does not fit goes elsewhere, and a
 * restore never fails for its placement. Called by threads with a libc, not by tasks of the
 * tree.
 */
#include "engine/restore/placement.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODES	"/sys/devices/system/node"

static bool placement_has(const __u64 *bits, unsigned int bit)
{
	return bits[bit / 64] >> (bit % 64) & 1;
}

static bool is_bound(const struct ckpt_rec_thread *rec)
{
	for (size_t i = 0; i < sizeof(rec->cpus) / sizeof(rec->cpus[0]); i++)
		if (rec->cpus[i] != UINT64_MAX)
			return true;
	return false;
}

/* "cpu12" → 12; -1: not the name of a CPU. */
static int cpu_of(const char *name)
{
	char *end;
	long cpu;

	if (strncmp(name, "cpu", 3) || name[3] < '0' || name[3] > '9')
		return -1;
	cpu = strtol(name + 3, &end, 10);
	return *end || cpu >= CKPT_NODES_MAX ? -1 : (int)cpu;
}

static bool node_has_one_of(unsigned int node, const struct ckpt_rec_thread *rec)
{
	const struct dirent *entry;
	char path[64];
	DIR *dir;
	bool found = false;

	snprintf(path, sizeof(path), NODES "/node%u", node);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		int cpu = cpu_of(entry->d_name);

		found = cpu >= 0 && placement_has(rec->cpus, (unsigned int)cpu);
	}
	if (dir)
		closedir(dir);
	return found;
}

static void prefer_nodes_of(const struct ckpt_rec_thread *rec, struct placement *placement)
{
	const struct dirent *entry;
	DIR *dir = opendir(NODES);
	unsigned int node;
	char end;

	while (dir && (entry = readdir(dir))) {
		if (sscanf(entry->d_name, "node%u%c", &node, &end) != 1 || node >= CKPT_NODES_MAX ||
		    !node_has_one_of(node, rec))
			continue;
		placement->nodes[node / 64] |= 1ULL << (node % 64);
		placement->mode = MPOL_PREFERRED_MANY;
	}
	if (dir)
		closedir(dir);
}

struct placement placement_of(const struct state_mm *mm)
{
	const struct state_thread *first = &mm->owner->threads[0];
	struct placement placement = { .mode = MPOL_DEFAULT };

	if (first->mempolicy) {
		placement.mode = first->mempolicy->mode | first->mempolicy->flags;
		memcpy(placement.nodes, first->mempolicy->nodes, sizeof(placement.nodes));
	} else if (is_bound(first->rec)) {
		prefer_nodes_of(first->rec, &placement);
	}
	return placement;
}

void placement_take(const struct placement *placement)
{
	bool is_default = placement->mode == MPOL_DEFAULT;

	if (syscall(SYS_set_mempolicy, placement->mode, is_default ? NULL : placement->nodes,
		    is_default ? 0 : CKPT_NODES_MAX + 1) && !is_default)
		syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
}
