/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a part of a job stands on this node, when another node starts it. Nobody has connected
 * here, so a process of the job's owner in a step of a Slurm job takes the caller's place
 * (confines.h): the part stands in its control groups and namespaces, under its limits.
 *
 * SLURM_JOB_ID of the job's environment, and SLURM_JOB_ID_HET_GROUP_n of a heterogeneous job, name
 * the Slurm job. At a start the step has to be of that job, if there is one. A restart may be
 * asked for in a later Slurm job than that which the record names, so any step of the user will
 * do; one of the named job goes first. Of several steps, that goes first whose process has the
 * job's RANKS_STEP_KEY (shim/ranks.h) in its environment: ckptrun has started it for the job, and
 * others may end before the job does. A process that cannot be followed, such as one in a
 * container, counts only if no other is there: then the part is refused.
 *
 * Finding looks at all processes, and is for a worker. Taking is for ckptd's event loop, which
 * trusts nothing that the worker has read: the process may be another by then.
 */
#ifndef STILLPOINT_STAND_H
#define STILLPOINT_STAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct confines;

/**
 * struct stand_process - a process to stand beside
 * @pid: its number; 0: none
 * @start: when it began, as of struct proc_stat
 */
struct stand_process {
	pid_t pid;
	uint64_t start;
};

enum stand_result {
	STAND_NONE,		/* no process of the user is in a step */
	STAND_OTHER,		/* only in steps of Slurm jobs that the environment does not name */
	STAND_REFUSED,		/* no process in a step can be followed */
	STAND_FOUND,
};

/**
 * stand_find() - find a process of @uid in a step; in a worker
 * @launcher: of which the part's shim will be a child (launch_link.h)
 * @env: environment of the job, array of strings; NULL: not known
 * @job: number of the job
 * @any: a step of any Slurm job will do
 * @ret_process: set with STAND_FOUND only
 * @ret_why: set with STAND_REFUSED only: an outcome, a new reference
 */
enum stand_result stand_find(uid_t uid, pid_t launcher, const json_t *env, int64_t job, bool any,
			     struct stand_process *ret_process, json_t **ret_why);

/**
 * stand_take() - take what confines @process, and read its bounds; in the event loop
 * @launcher: as of stand_find()
 * @bounds: an object that gets limits, sched and oom_score_adj of @process as of op_asker.h
 * @ret_confines: for launch_start(); free it with confines_free()
 *
 * Without a process (@process->pid 0) nothing confines the part but what confines the launcher, and
 * @ret_confines is NULL. The bounds then are those of a user without rights: per resource the
 * higher hard limit of ckptd and of process 1, none for nice and real-time priority.
 *
 * Return: NULL, or an outcome; its error is -ESRCH if the process has ended meanwhile.
 */
json_t *stand_take(const struct stand_process *process, uid_t uid, pid_t launcher,
		   json_t *bounds, struct confines **ret_confines);

/* ------------------------------------------------------- pure parts, for tests */

/*
 * The number of the Slurm job if @line, one of /proc/PID/cgroup of a process with the real user id
 * @uid, is in a step of it: "0::/system.slice/[NODE_]slurmstepd.scope/job_N/step_…" of cgroup v2,
 * or "K:CONTROLLERS:/slurm[_NODE]/uid_UID/job_N/step_…" of v1. Only root can make cgroups there.
 * -1: it is in none.
 */
int64_t stand_step_job(const char *line, uid_t uid);

/* How @env names Slurm jobs. Return: 1: also @job; 0: only others; -1: none. */
int stand_env_names(const json_t *env, int64_t job);

/*
 * Has @value, the RANKS_STEP_KEY of a process, been given to it for job number @job, or for the
 * job whose environment is @env?
 */
bool stand_key_names(const char *value, const json_t *env, int64_t job);

#endif /* STILLPOINT_STAND_H */
