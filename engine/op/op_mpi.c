// SPDX-License-Identifier: GPL-2.0-only
/*
 * Explains why an MPI job cannot be dumped; see op_mpi.h.
 *
 * MPI processes that the library's own launcher has started are refused for their sockets and
 * shared memory, dozens of them. Each refusal is true, and none says what to do.
 */
#include "engine/op/op_mpi.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "base/launcher.h"

enum role { ROLE_NONE, ROLE_RANK, ROLE_LAUNCHER };

static bool op_mpi_is_library(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && (!strncmp(slash, "/libmpi.so", 10) ||
			 !strncmp(slash, "/libmpich.so", 12));
}

/* True if the process has an MPI library, and not in Stillpoint's lower half. */
static bool op_mpi_is_rank(pid_t pid)
{
	char path[64], line[4600];
	bool rank = false, ours = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = '\0';
		rank = rank || op_mpi_is_library(line);
		ours = ours || strstr(line, "/ckpt-lower");
	}
	if (maps)
		fclose(maps);
	return rank && !ours;
}

static enum role op_mpi_role(const json_t *refusal)
{
	const char *name = json_string_value(json_object_get(refusal, "comm"));
	pid_t pid = (pid_t)json_integer_value(json_object_get(refusal, "pid"));

	if (name && launcher_is(name))
		return ROLE_LAUNCHER;
	return pid > 0 && op_mpi_is_rank(pid) ? ROLE_RANK : ROLE_NONE;
}

void op_mpi_explain(json_t *outcome)
{
	json_t *error = json_object_get(outcome, "error"), *refusal;
	json_t *refusals = json_object_get(error, "refusals");
	enum role role = ROLE_NONE;
	json_int_t pid, before = 0;
	const char *name;
	char text[512];
	size_t i;

	json_array_foreach(refusals, i, refusal) {
		pid = json_integer_value(json_object_get(refusal, "pid"));
		if (pid == before)
			continue;
		before = pid;
		role = op_mpi_role(refusal);
		if (role != ROLE_NONE)
			break;
	}
	if (role == ROLE_NONE)
		return;
	name = json_string_value(json_object_get(refusal, "comm"));
	snprintf(text, sizeof(text),
		 "pid %lld (%s) %s, and MPI jobs can be checkpointed if ckptrun has started them: "
		 "end this one, and start it again with ckptrun -n RANKS PROGRAM (with --mpi, if "
		 "ckptrun has started it)",
		 (long long)before, name ? name : "",
		 role == ROLE_LAUNCHER ? "is a launcher of MPI jobs" : "uses MPI");
	json_object_set_new(error, "text", json_string(text));
}
