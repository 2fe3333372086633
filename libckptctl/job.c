// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Calls on jobs: arguments to JSON, one field of the answer back.
 *
 * Unknown flags are refused here, unknown arguments by the daemon: a newer
 * program's request is never half done.
 */
#include "libckptctl/handle.h"
#include "libckptctl/mempolicy.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

extern char **environ;

static json_t *job_strings(const char *const *list)
{
	json_t *array = json_array();

	/* clearenv(3) leaves none at all */
	for (; list && *list; list++) {
		/* JSON cannot carry strings that are not UTF-8. */
		if (json_array_append_new(array, json_string(*list))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static const char not_utf8[] = "a string is not UTF-8";
static const char bad_structure[] = "the structure is too short, or what is reserved in it is not "
				    "0";
static const char bad_pairs[] = "the last path of map_path has no new path behind it";
static const char bad_flags[] = "there is a flag that this library does not know";

/* Set a string if there is one; a string that is not UTF-8 fails and is not skipped. */
static int set_string(json_t *args, const char *name, const char *value)
{
	return value ? json_object_set_new(args, name, json_string(value)) : 0;
}

/* Read the umask without umask(2), which changes it for all threads.  -1: it cannot be read. */
static int own_umask(void)
{
	unsigned int mask;
	char line[256];
	int ret = -1;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && ret < 0 && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Umask: %o", &mask) == 1)
			ret = (int)mask;
	}
	if (f)
		fclose(f);
	return ret;
}

static json_t *run_args(const struct ckpt_run *run, const char *cwd)
{
	const char *const *envp = run->envp ? run->envp : (const char *const *)environ;
	json_t *args = json_pack("{s:o, s:o, s:s, s:b, s:b}", "argv", job_strings(run->argv),
				 "env", job_strings(envp), "cwd", run->cwd ? run->cwd : cwd,
				 "host_ns", !!(run->flags & CKPT_RUN_HOST_NS),
				 "tty", !!(run->flags & CKPT_RUN_TTY));

	if (args && !set_string(args, "name", run->name) &&
	    !set_string(args, "stdin", run->in) && !set_string(args, "stdout", run->out) &&
	    !set_string(args, "stderr", run->err))
		return args;
	json_decref(args);
	return NULL;
}

/* "pipe" and "tty" are words for the daemon: output of a file called so would be lost. */
static bool are_absolute(const struct ckpt_run *run)
{
	return (!run->in || run->in[0] == '/') && (!run->out || run->out[0] == '/') &&
	       (!run->err || run->err[0] == '/');
}

API int ckpt_job_run(struct ckpt *ckpt, const struct ckpt_run *run, int64_t *ret_job)
{
	char cwd[PATH_MAX] = "/";
	json_t *args;
	int err, mask;

	if (run->size < sizeof(*run) || run->reserved)
		return handle_refuse(ckpt, -EINVAL, bad_structure);
	if (!run->argv || !run->argv[0])
		return handle_refuse(ckpt, -EINVAL, "there is no command");
	if (!are_absolute(run))
		return handle_refuse(ckpt, -EINVAL,
				     "files for input and output are absolute paths");
	if (run->flags & ~(uint32_t)(CKPT_RUN_HOST_NS | CKPT_RUN_TTY))
		return handle_refuse(ckpt, -EINVAL, bad_flags);
	if (!run->cwd && !getcwd(cwd, sizeof(cwd))) {
		err = -errno;
		return handle_refuse(ckpt, err, "the working directory cannot be found out");
	}
	args = run_args(run, cwd);
	if (!args)
		return handle_refuse(ckpt, -EILSEQ, not_utf8);
	mask = own_umask();
	if (mask >= 0)
		json_object_set_new(args, "umask", json_integer(mask));
	mempolicy_add(args);
	err = handle_call(ckpt, "run", args, NULL, 0);
	return err ? err : ckpt_answer_int(ckpt, "job", ret_job);
}

API int ckpt_job_checkpoint(struct ckpt *ckpt, int64_t job, uint32_t flags,
			    int64_t *ret_generation)
{
	bool dry_run = flags & CKPT_CHECKPOINT_DRY_RUN;
	int64_t generation = 0;
	int err;

	if (flags & ~(uint32_t)(CKPT_CHECKPOINT_KILL | CKPT_CHECKPOINT_DRY_RUN |
				CKPT_CHECKPOINT_IN_PLACE))
		return handle_refuse(ckpt, -EINVAL, bad_flags);
	err = handle_call(ckpt, "checkpoint",
			  json_pack("{s:I, s:b, s:b, s:b}", "job", (json_int_t)job,
				    "kill", !!(flags & CKPT_CHECKPOINT_KILL),
				    "dry_run", dry_run, "stop_and_copy",
				    !!(flags & CKPT_CHECKPOINT_IN_PLACE)),
			  NULL, 0);
	if (!err && !dry_run)
		err = ckpt_answer_int(ckpt, "generation", &generation);
	if (!err && ret_generation)
		*ret_generation = generation;
	return err;
}

static void set_time(json_t *settings, const char *name, int64_t ms)
{
	if (ms)
		json_object_set_new(settings, name, json_integer(ms));
}

API int ckpt_job_auto(struct ckpt *ckpt, int64_t job, const struct ckpt_auto *how)
{
	bool off = how->flags & CKPT_AUTO_OFF;
	json_t *args, *settings;

	if (how->size < sizeof(*how) || how->reserved)
		return handle_refuse(ckpt, -EINVAL, bad_structure);
	if (how->flags & ~(uint32_t)CKPT_AUTO_OFF)
		return handle_refuse(ckpt, -EINVAL, bad_flags);
	if (off && (how->every_ms || how->mtbf_ms || how->node_mtbf_ms))
		return handle_refuse(ckpt, -EINVAL, "no more of them, and how often?");
	args = json_pack("{s:I, s:b}", "job", (json_int_t)job, "on", !off);
	if (!off) {
		settings = json_object();
		set_time(settings, "every_ms", how->every_ms);
		set_time(settings, "mtbf_ms", how->mtbf_ms);
		set_time(settings, "node_mtbf_ms", how->node_mtbf_ms);
		json_object_set_new(args, "settings", settings);
	}
	return handle_call(ckpt, "auto", args, NULL, 0);
}

/* Set a list of strings if there is one; a string that is not UTF-8 fails. */
static bool set_strings(json_t *args, const char *name, const char *const *list)
{
	return !list || !json_object_set_new(args, name, job_strings(list));
}

/* Set [[OLD, NEW], ...] from OLD, NEW, ..., if there are any. */
static int set_pairs(json_t *args, const char *name, const char *const *list)
{
	json_t *pairs;

	if (!list)
		return 0;
	pairs = json_array();
	json_object_set_new(args, name, pairs);
	for (; list[0]; list += 2) {
		if (!list[1])
			return -EINVAL;
		if (json_array_append_new(pairs, json_pack("[s, s]", list[0], list[1])))
			return -EILSEQ;
	}
	return 0;
}

/* Is @restart one of this version of the structure, or of one before @map_path was in it? */
static bool is_restart_on(const struct ckpt_restart_on *restart)
{
	return restart->size >= offsetof(struct ckpt_restart_on, map_path) && !restart->reserved;
}

API int ckpt_job_restart_on(struct ckpt *ckpt, int64_t job,
			    const struct ckpt_restart_on *restart)
{
	uint32_t flags;
	json_t *args;
	int err = 0;

	if (!is_restart_on(restart))
		return handle_refuse(ckpt, -EINVAL, bad_structure);
	flags = restart->flags;
	if (flags & ~(uint32_t)(CKPT_RESTART_ACCEPT_CHANGED |
				CKPT_RESTART_DRY_RUN | CKPT_RESTART_NODE_LOST))
		return handle_refuse(ckpt, -EINVAL, bad_flags);
	args = json_pack("{s:I, s:b, s:b, s:b}", "job", (json_int_t)job,
			 "accept_changed", !!(flags & CKPT_RESTART_ACCEPT_CHANGED),
			 "dry_run", !!(flags & CKPT_RESTART_DRY_RUN),
			 "node_lost", !!(flags & CKPT_RESTART_NODE_LOST));
	if (restart->generation)
		json_object_set_new(args, "generation", json_integer(restart->generation));
	if (!set_strings(args, "nodes", restart->nodes) || !set_strings(args, "map", restart->map))
		err = -EILSEQ;
	if (!err && restart->size >= sizeof(*restart))
		err = set_pairs(args, "map_path", restart->map_path);
	if (err) {
		json_decref(args);
		return handle_refuse(ckpt, err, err == -EILSEQ ? not_utf8 : bad_pairs);
	}
	return handle_call(ckpt, "restart", args, NULL, 0);
}

API int ckpt_job_restart(struct ckpt *ckpt, int64_t job, int64_t generation,
			 uint32_t flags)
{
	const struct ckpt_restart_on restart = {
		.size = sizeof(restart), .flags = flags, .generation = generation,
	};

	return ckpt_job_restart_on(ckpt, job, &restart);
}

API int ckpt_job_wait(struct ckpt *ckpt, int64_t job, int *ret_status)
{
	int64_t status;
	int err;

	err = handle_call(ckpt, "wait", json_pack("{s:I}", "job", (json_int_t)job),
			  NULL, 0);
	if (!err)
		err = ckpt_answer_int(ckpt, "exit_status", &status);
	if (!err)
		*ret_status = (int)status;
	return err;
}

API int ckpt_job_kill(struct ckpt *ckpt, int64_t job, int signo)
{
	return handle_call(ckpt, "kill",
			   json_pack("{s:I, s:i}", "job", (json_int_t)job,
				     "signal", signo), NULL, 0);
}

API int ckpt_job_remove(struct ckpt *ckpt, int64_t job, int64_t generation,
			uint32_t flags)
{
	json_t *args;

	if (flags & ~(uint32_t)(CKPT_REMOVE_FORCE | CKPT_REMOVE_DRY_RUN))
		return handle_refuse(ckpt, -EINVAL, bad_flags);
	args = json_pack("{s:I, s:b, s:b}", "job", (json_int_t)job,
			 "force", !!(flags & CKPT_REMOVE_FORCE),
			 "dry_run", !!(flags & CKPT_REMOVE_DRY_RUN));
	if (generation)
		json_object_set_new(args, "generation", json_integer(generation));
	return handle_call(ckpt, "rm", args, NULL, 0);
}

static json_t *name_generation(int64_t job, int64_t generation)
{
	json_t *args = json_pack("{s:I}", "job", (json_int_t)job);

	if (generation)
		json_object_set_new(args, "generation", json_integer(generation));
	return args;
}

API int ckpt_job_pin(struct ckpt *ckpt, int64_t job, int64_t generation)
{
	return handle_call(ckpt, "pin", name_generation(job, generation), NULL, 0);
}

API int ckpt_job_unpin(struct ckpt *ckpt, int64_t job, int64_t generation)
{
	return handle_call(ckpt, "unpin", name_generation(job, generation), NULL, 0);
}

API int ckpt_job_prune(struct ckpt *ckpt, int64_t job, const struct ckpt_prune *prune,
		       int64_t *ret_freed)
{
	int64_t freed;
	json_t *args;
	int err;

	if (prune && (prune->size < sizeof(*prune) || prune->reserved))
		return handle_refuse(ckpt, -EINVAL, bad_structure);
	if (prune && prune->flags & ~(uint32_t)CKPT_PRUNE_DRY_RUN)
		return handle_refuse(ckpt, -EINVAL, bad_flags);
	if (prune && prune->max_size > INT64_MAX)
		return handle_refuse(ckpt, -EINVAL, "a size is beyond 8 EiB");
	args = json_object();
	if (job)
		json_object_set_new(args, "job", json_integer(job));
	if (prune) {
		json_object_set_new(args, "keep", json_integer(prune->keep));
		json_object_set_new(args, "keep_every", json_integer(prune->keep_every));
		json_object_set_new(args, "max_size", json_integer((json_int_t)prune->max_size));
		json_object_set_new(args, "dry_run",
				    json_boolean(prune->flags & CKPT_PRUNE_DRY_RUN));
	}
	err = handle_call(ckpt, "prune", args, NULL, 0);
	if (!err)
		err = ckpt_answer_int(ckpt, "freed", &freed);
	if (!err && ret_freed)
		*ret_freed = freed;
	return err;
}
