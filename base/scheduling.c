// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scheduling of a process, read from another one and set in this one; see scheduling.h.
 *
 * No state. The numbers are the kernel's, and the kernel decides what they allow. glibc has no
 * wrappers for most of these calls, and CPU masks of any size only by allocation.
 */
#include "base/scheduling.h"

#include <errno.h>
#include <limits.h>
#include <linux/ioprio.h>
#include <linux/mempolicy.h>
#include <linux/sched/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/priority.h"

#define CPUS_MAX	8192	/* NR_CPUS of the largest kernels */
#define NODES_MAX	1024
#define WORD_BITS	(8 * sizeof(unsigned long))
#define MODES		7	/* MPOL_DEFAULT to MPOL_PREFERRED_MANY */
#define MODE_FLAGS	(MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES | MPOL_F_NUMA_BALANCING)
#define RESET_ON_FORK	0x01	/* SCHED_FLAG_RESET_ON_FORK */

/* linux/sched.h and sched.h cannot both be included. */
enum policy { POLICY_NORMAL, POLICY_FIFO, POLICY_RR, POLICY_DEADLINE = 6 };

struct cpus {
	unsigned long bits[CPUS_MAX / WORD_BITS];
};

static bool has_bit(const unsigned long *bits, size_t i)
{
	return bits[i / WORD_BITS] >> (i % WORD_BITS) & 1;
}

static void set_bit(unsigned long *bits, size_t i)
{
	bits[i / WORD_BITS] |= 1UL << (i % WORD_BITS);
}

/* ------------------------------------------------------------- lists of CPUs */

static int cpus_of(pid_t pid, struct cpus *cpus)
{
	memset(cpus, 0, sizeof(*cpus));
	return syscall(SYS_sched_getaffinity, pid, sizeof(*cpus), cpus) < 0 ? -errno : 0;
}

/* "0-3,8"; the caller frees it. NULL: no memory. */
static char *cpus_text(const struct cpus *cpus)
{
	size_t i, first, size, len = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	for (i = 0; f && i < CPUS_MAX; i++) {
		if (!has_bit(cpus->bits, i))
			continue;
		for (first = i; i + 1 < CPUS_MAX && has_bit(cpus->bits, i + 1); i++)
			;
		fprintf(f, i > first ? "%s%zu-%zu" : "%s%zu", len++ ? "," : "", first, i);
	}
	if (!f || fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

static int cpus_parse(const char *text, struct cpus *ret_cpus)
{
	unsigned long first, last;
	char *end;

	memset(ret_cpus, 0, sizeof(*ret_cpus));
	for (;; text = end + 1) {
		first = last = strtoul(text, &end, 10);
		if (end == text || *text < '0' || *text > '9')
			return -EINVAL;
		if (*end == '-') {
			text = end + 1;
			last = strtoul(text, &end, 10);
			if (end == text || *text < '0' || *text > '9')
				return -EINVAL;
		}
		if (last < first || last >= CPUS_MAX)
			return -EINVAL;
		for (; first <= last; first++)
			set_bit(ret_cpus->bits, first);
		if (!*end)
			return 0;
		if (*end != ',')
			return -EINVAL;
	}
}

/* ------------------------------------------------------------------ reading */

/* Make @attr that of a child, as fork(2) would. */
static void attr_of_child(struct sched_attr *attr)
{
	bool realtime = attr->sched_policy == POLICY_FIFO || attr->sched_policy == POLICY_RR ||
			attr->sched_policy == POLICY_DEADLINE;

	if (attr->sched_policy == POLICY_DEADLINE ||
	    (attr->sched_flags & RESET_ON_FORK && realtime)) {
		attr->sched_policy = POLICY_NORMAL;
		attr->sched_priority = 0;
		attr->sched_nice = 0;
	} else if (attr->sched_flags & RESET_ON_FORK && attr->sched_nice < 0) {
		attr->sched_nice = 0;
	}
}

int scheduling_of(pid_t pid, json_t **ret_json)
{
	struct sched_attr attr = { .size = sizeof(attr) };
	_cleanup_free_ char *text = NULL;
	struct cpus cpus;
	long ioprio;
	int err;

	if (syscall(SYS_sched_getattr, pid, &attr, sizeof(attr), 0))
		return -errno;
	errno = 0;
	attr.sched_nice = getpriority(PRIO_PROCESS, (id_t)pid);	/* of realtime policies, too */
	if (errno)
		return -errno;
	attr_of_child(&attr);
	ioprio = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, pid);
	if (ioprio < 0)
		return -errno;
	err = cpus_of(pid, &cpus);
	if (err)
		return err;
	text = cpus_text(&cpus);
	if (!text)
		return -ENOMEM;
	*ret_json = json_pack("{s:i, s:i, s:i, s:i, s:s}", "policy", (int)attr.sched_policy,
			      "priority", (int)attr.sched_priority, "nice", (int)attr.sched_nice,
			      "ioprio", (int)ioprio, "cpus", text);
	return *ret_json ? 0 : -ENOMEM;
}

/* ------------------------------------------------------------------ setting */

static int mempolicy_parse(const json_t *json, int *ret_mode, unsigned long *ret_nodes)
{
	const json_t *nodes, *node;
	int mode;
	size_t i;

	memset(ret_nodes, 0, NODES_MAX / 8);
	if (json_unpack((json_t *)json, "{s:i, s:o !}", "mode", &mode, "nodes", &nodes) ||
	    !json_is_array(nodes) || (mode & ~MODE_FLAGS) < 0 || (mode & ~MODE_FLAGS) >= MODES)
		return -EINVAL;
	json_array_foreach(nodes, i, node) {
		json_int_t n = json_integer_value(node);

		if (!json_is_integer(node) || n < 0 || n >= NODES_MAX)
			return -EINVAL;
		set_bit(ret_nodes, (size_t)n);
	}
	*ret_mode = mode;
	return 0;
}

int scheduling_check_mempolicy(const json_t *mempolicy)
{
	unsigned long nodes[NODES_MAX / WORD_BITS];
	int mode;

	return mempolicy_parse(mempolicy, &mode, nodes);
}

static int mempolicy_set(const json_t *json)
{
	unsigned long nodes[NODES_MAX / WORD_BITS];
	const json_t *list = json_object_get(json, "nodes");
	int mode, err = mempolicy_parse(json, &mode, nodes);

	if (err)
		return err;
	return syscall(SYS_set_mempolicy, mode, json_array_size(list) ? nodes : NULL,
		       json_array_size(list) ? NODES_MAX + 1 : 0) ? -errno : 0;
}

static int cpus_set(const char *text)
{
	struct cpus cpus, own;
	int err = cpus_parse(text, &cpus);

	if (err || (!cpus_of(0, &own) && !memcmp(&own, &cpus, sizeof(own))))
		return err;
	return syscall(SYS_sched_setaffinity, 0, sizeof(cpus), &cpus) ? -errno : 0;
}

static int policy_set(const json_t *json)
{
	struct sched_attr attr = { .size = sizeof(attr) };
	int policy, priority, nice, ioprio;

	if (json_unpack((json_t *)json, "{s:i, s:i, s:i, s:i}", "policy", &policy, "priority",
			&priority, "nice", &nice, "ioprio", &ioprio))
		return -EINVAL;
	priority_set(nice);
	attr.sched_policy = (uint32_t)policy;
	attr.sched_priority = (uint32_t)priority;
	attr.sched_nice = nice;
	if (syscall(SYS_sched_setattr, 0, &attr, 0))
		return -errno;
	/* Without a class of its own a process has one that follows its nice value. */
	if (IOPRIO_PRIO_CLASS(ioprio) == IOPRIO_CLASS_NONE)
		return 0;
	return syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, ioprio) ? -errno : 0;
}

int scheduling_set(const json_t *json, struct ckpt_error *error)
{
	const char *cpus = json_string_value(json_object_get(json, "cpus"));
	const json_t *mempolicy = json_object_get(json, "mempolicy");
	int err = policy_set(json);

	if (err)
		return error_set(error, err, "scheduling policy, nice value or I/O priority");
	err = cpus ? cpus_set(cpus) : 0;
	if (err)
		return error_set(error, err,
				 "CPU affinity: ckptd and its jobs may not use CPU %.160s", cpus);
	err = mempolicy ? mempolicy_set(mempolicy) : 0;
	return err ? error_set(error, err,
			       "NUMA policy: ckptd and its jobs may not use its nodes") : 0;
}
