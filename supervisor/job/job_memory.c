// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory in use below a process; see job_memory.h.
 *
 * Processes come and go meanwhile: one that is gone counts 0, and a pid that is used again only
 * spoils a guess. The number of processes and tasks is limited, as this runs in ckptd's event
 * loop.
 */
#include "supervisor/job/job_memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PROCESSES_MAX	4096
#define TASKS_MAX	1024	/* of one process, each of which may have children */

struct family {
	pid_t pid[PROCESSES_MAX];
	unsigned int nr;
};

static uint64_t job_memory_resident(pid_t pid)
{
	unsigned long long size, pages = 0;
	char path[48];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%llu %llu", &size, &pages) != 2)
		pages = 0;
	fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void add_children_of(struct family *family, pid_t pid, const char *task)
{
	char path[300];
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, task);
	file = fopen(path, "re");
	if (!file)
		return;
	while (family->nr < PROCESSES_MAX && fscanf(file, "%d", &child) == 1)
		family->pid[family->nr++] = child;
	fclose(file);
}

static void add_children(struct family *family, pid_t pid)
{
	_cleanup_dir_ DIR *tasks = NULL;
	struct dirent *entry;
	unsigned int n = 0;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && n < TASKS_MAX && (entry = readdir(tasks))) {
		if (entry->d_name[0] == '.')
			continue;
		add_children_of(family, pid, entry->d_name);
		n++;
	}
}

uint64_t job_memory(pid_t init)
{
	struct family *family = malloc(sizeof(*family));
	uint64_t sum = 0;
	unsigned int i;

	if (!family || init <= 0) {
		free(family);
		return 0;
	}
	family->nr = 0;
	add_children(family, init);
	for (i = 0; i < family->nr; i++) {
		sum += job_memory_resident(family->pid[i]);
		add_children(family, family->pid[i]);
	}
	free(family);
	return sum;
}
