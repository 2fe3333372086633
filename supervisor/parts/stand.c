// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the process of a batch step beside which a part of a job stands, and reads what confines
 * and bounds it; see stand.h.
 *
 * The kernel is the only source: the names of control groups that slurmstepd has made as root,
 * and /proc. A process is known by its number and the time it began, and held by a pidfd while it
 * is read.
 */
#include "supervisor/parts/stand.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "base/proc_stat.h"
#include "base/scheduling.h"
#include "shim/ranks.h"
#include "supervisor/control/confines.h"

#define LINE_SIZE	4096

/* ------------------------------------------------------------------ names */

/* The part of @path after "NAME" or "NAME_…" as its first directory; NULL: another directory. */
static const char *stand_after(const char *path, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(path, name, len) || (path[len] != '/' && path[len] != '_'))
		return NULL;
	return strchr(path + len, '/');
}

/* N if @path is "/job_N/step_…", or -1. */
static int64_t stand_job_step(const char *path)
{
	size_t digits;

	if (!path || strncmp(path, "/job_", 5))
		return -1;
	path += 5;
	digits = strspn(path, "0123456789");
	if (!digits || digits > 18 || strncmp(path + digits, "/step_", 6))
		return -1;
	return strtoll(path, NULL, 10);
}

int64_t stand_step_job(const char *line, uid_t uid)
{
	const char *path, *slice = "/system.slice/", *end;
	char user[24];

	path = strchr(line, ':');
	path = path ? strchr(path + 1, ':') : NULL;
	if (!path++)
		return -1;
	if (!strncmp(line, "0::", 3)) {
		if (strncmp(path, slice, strlen(slice)))
			return -1;
		path += strlen(slice);
		end = strchr(path, '/');
		/* slurmstepd.scope, or NODE_slurmstepd.scope where a machine is several nodes */
		if (!end || end - path < 16 || strncmp(end - 16, "slurmstepd.scope", 16) ||
		    (end - path > 16 && end[-17] != '_'))
			return -1;
		return stand_job_step(end);
	}
	path = stand_after(path, "/slurm");
	snprintf(user, sizeof(user), "/uid_%u/", (unsigned int)uid);
	if (!path || strncmp(path, user, strlen(user)))
		return -1;
	return stand_job_step(path + strlen(user) - 1);
}

int stand_env_names(const json_t *env, int64_t job)
{
	static const char name[] = "SLURM_JOB_ID", het[] = "_HET_GROUP_";
	const json_t *one;
	int found = -1;
	size_t i;

	json_array_foreach(env, i, one) {
		const char *text = json_string_value(one), *value;

		if (!text || strncmp(text, name, sizeof(name) - 1))
			continue;
		text += sizeof(name) - 1;
		value = strchr(text, '=');
		if (!value || (value > text && strncmp(text, het, sizeof(het) - 1)) || !value[1])
			continue;
		if (strtoll(value + 1, NULL, 10) == job)
			return 1;
		found = 0;
	}
	return found;
}

bool stand_key_names(const char *value, const json_t *env, int64_t job)
{
	static const char name[] = RANKS_STEP_KEY "=";
	char numbered[32];
	const json_t *one;
	size_t i;

	snprintf(numbered, sizeof(numbered), "job %lld", (long long)job);
	if (!strcmp(value, numbered))
		return true;
	json_array_foreach(env, i, one) {
		const char *text = json_string_value(one);

		if (*value && text && !strncmp(text, name, sizeof(name) - 1))
			return !strcmp(text + sizeof(name) - 1, value);
	}
	return false;
}

/* ---------------------------------------------------------------- reading */

static FILE *stand_file(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

/* The real user id of a process, or -1. */
static int64_t stand_owner(pid_t pid)
{
	FILE *file = stand_file(pid, "status");
	char line[LINE_SIZE];
	unsigned int uid;
	int64_t ret = -1;

	while (file && ret < 0 && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Uid: %u", &uid) == 1)
			ret = uid;
	}
	if (file)
		fclose(file);
	return ret;
}

/* The Slurm job in a step of which a process of @uid is, or -1. */
static int64_t stand_job_of(pid_t pid, uid_t uid)
{
	FILE *file = stand_file(pid, "cgroup");
	char line[LINE_SIZE];
	int64_t job = -1;

	while (file && job < 0 && fgets(line, sizeof(line), file))
		job = stand_step_job(line, uid);
	if (file)
		fclose(file);
	return job;
}

/* True if the process has the RANKS_STEP_KEY of the job. */
static bool stand_is_for(pid_t pid, const json_t *env, int64_t job)
{
	static const char name[] = RANKS_STEP_KEY "=";
	FILE *file = stand_file(pid, "environ");
	char *one = NULL;
	size_t size = 0;
	bool is_for = false;

	while (file && !is_for && getdelim(&one, &size, '\0', file) > 0) {
		if (!strncmp(one, name, sizeof(name) - 1))
			is_for = stand_key_names(one + sizeof(name) - 1, env, job);
	}
	free(one);
	if (file)
		fclose(file);
	return is_for;
}

static int stand_oom(pid_t pid, json_int_t *ret_adj)
{
	FILE *file = stand_file(pid, "oom_score_adj");
	int adj, n = file ? fscanf(file, "%d", &adj) : 0;

	if (file)
		fclose(file);
	if (n != 1)
		return -ESRCH;
	*ret_adj = adj;
	return 0;
}

/* ----------------------------------------------------------------- bounds */

static int stand_bounds_of(pid_t pid, json_t *bounds)
{
	json_t *limits = json_array(), *sched = NULL;
	json_int_t adj = 0;
	int i, err = 0;

	for (i = 0; !err && i < RLIM_NLIMITS; i++) {
		struct rlimit limit;

		err = prlimit(pid, (__rlimit_resource_t)i, NULL, &limit) ? -errno : 0;
		json_array_append_new(limits, json_integer((json_int_t)limit.rlim_cur));
		json_array_append_new(limits, json_integer((json_int_t)limit.rlim_max));
	}
	if (!err)
		err = scheduling_of(pid, &sched);
	if (!err)
		err = stand_oom(pid, &adj);
	if (err) {
		json_decref(limits);
		json_decref(sched);
		return err;
	}
	json_object_set_new(bounds, "limits", limits);
	json_object_set_new(bounds, "sched", sched);
	json_object_set_new(bounds, "oom_score_adj", json_integer(adj));
	return 0;
}

/* RLIM_INFINITY is the highest value of rlim_t. */
static struct rlimit stand_higher(struct rlimit a, struct rlimit b)
{
	return (struct rlimit) {
		.rlim_cur = a.rlim_cur > b.rlim_cur ? a.rlim_cur : b.rlim_cur,
		.rlim_max = a.rlim_max > b.rlim_max ? a.rlim_max : b.rlim_max,
	};
}

static void stand_bounds_default(json_t *bounds)
{
	json_t *limits = json_array();
	int i;

	for (i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit limit = { 0 }, first;

		getrlimit((__rlimit_resource_t)i, &limit);
		if (!prlimit(1, (__rlimit_resource_t)i, NULL, &first))
			limit = stand_higher(limit, first);
		if (i == RLIMIT_NICE || i == RLIMIT_RTPRIO)
			limit = (struct rlimit) { 0 };
		json_array_append_new(limits, json_integer((json_int_t)limit.rlim_cur));
		json_array_append_new(limits, json_integer((json_int_t)limit.rlim_max));
	}
	json_object_set_new(bounds, "limits", limits);
	json_object_set_new(bounds, "oom_score_adj", json_integer(0));
	json_object_set_new(bounds, "sched", json_pack("{s:i, s:i, s:i, s:i}", "policy", 0,
						       "priority", 0, "nice", 0, "ioprio", 0));
}

/* ------------------------------------------------------------------- take */

static json_t *stand_gone(const struct stand_process *process)
{
	return outcome_error(-ESRCH,
			     "start: process %d of the batch step has ended: ask again",
			     (int)process->pid);
}

/* Is the process of @pidfd the one that was found, still the user's and in a step? */
static bool stand_is_same(const struct stand_process *process, uid_t uid)
{
	struct proc_stat stat;

	return !proc_stat_read(process->pid, &stat) && stat.start == process->start &&
	       stand_owner(process->pid) == (int64_t)uid &&
	       stand_job_of(process->pid, uid) >= 0;
}

json_t *stand_take(const struct stand_process *process, uid_t uid, pid_t launcher,
		   json_t *bounds, struct confines **ret_confines)
{
	const struct confines_who who = { "start", " of the batch step", process->pid, uid,
					  launcher };
	struct confines *confines = NULL;
	_cleanup_fd_ int pidfd = -1;
	json_t *outcome;
	int err;

	if (!process->pid) {
		stand_bounds_default(bounds);
		*ret_confines = NULL;
		return NULL;
	}
	pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (pidfd < 0 || !stand_is_same(process, uid))
		return stand_gone(process);
	err = stand_bounds_of(process->pid, bounds);
	if (err == -ESRCH)
		return stand_gone(process);
	if (err)
		return outcome_error(err,
				     "start: limits and scheduling of process %d of the batch "
				     "step cannot be read: %s", (int)process->pid, strerror(-err));
	/* Comes last: it finds that the process lives, so all of the above was of it. */
	outcome = confines_take_of(&who, pidfd, &confines);
	if (!outcome)
		*ret_confines = confines;
	return outcome;
}

/* ------------------------------------------------------------------- find */

/* Can the process be followed? Return: NULL: yes; else why not, with -ESRCH if it has ended. */
static json_t *stand_try(pid_t pid, uid_t uid, pid_t launcher, struct stand_process *ret_process)
{
	struct confines *confines = NULL;
	json_t *bounds = json_object(), *no;
	struct proc_stat stat;

	if (proc_stat_read(pid, &stat)) {
		*ret_process = (struct stand_process) { .pid = pid };
		no = stand_gone(ret_process);
	} else {
		*ret_process = (struct stand_process) { pid, stat.start };
		no = stand_take(ret_process, uid, launcher, bounds, &confines);
	}
	confines_free(confines);
	json_decref(bounds);
	return no;
}

/* A search for the best process of one user. */
struct stand_search {
	uid_t uid;
	pid_t launcher;
	const json_t *env;
	int64_t job;
	bool any, other;
	struct stand_process process;
	int worth;		/* of @process; 0: there is none */
	json_t *why;
};

enum { WORTH_ANY = 1, WORTH_NAMED, WORTH_FOR_JOB };

/* Return: true if nothing better can be found. */
static bool stand_look(struct stand_search *s, pid_t pid)
{
	struct stand_process process;
	int64_t batch_job;
	int names, worth;
	json_t *no;

	if (stand_owner(pid) != (int64_t)s->uid)
		return false;
	batch_job = stand_job_of(pid, s->uid);
	if (batch_job < 0)
		return false;
	names = stand_env_names(s->env, batch_job);
	if (!names && !s->any) {
		s->other = true;
		return false;
	}
	worth = stand_is_for(pid, s->env, s->job) ? WORTH_FOR_JOB : names ? WORTH_NAMED : WORTH_ANY;
	if (worth <= s->worth)
		return false;
	no = stand_try(pid, s->uid, s->launcher, &process);
	if (!no) {
		s->process = process;
		s->worth = worth;
		return worth == WORTH_FOR_JOB;
	}
	if (outcome_errno(no) == -ESRCH || s->why)
		json_decref(no);
	else
		s->why = no;
	return false;
}

enum stand_result stand_find(uid_t uid, pid_t launcher, const json_t *env, int64_t job, bool any,
			     struct stand_process *ret_process, json_t **ret_why)
{
	struct stand_search s = {
		.uid = uid, .launcher = launcher, .env = env, .job = job, .any = any,
	};
	_cleanup_(cleanup_dir) DIR *dir = opendir("/proc");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    stand_look(&s, (pid_t)strtol(entry->d_name, NULL, 10)))
			break;
	}
	if (s.process.pid) {
		json_decref(s.why);
		*ret_process = s.process;
		return STAND_FOUND;
	}
	if (!s.why)
		return s.other ? STAND_OTHER : STAND_NONE;
	*ret_why = s.why;
	return STAND_REFUSED;
}
