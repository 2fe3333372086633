// SPDX-License-Identifier: GPL-2.0-only
/*
 * The calling process of a request; see caller.h.
 *
 * A process is read by its number, which may belong to another process as soon as it has ended.
 * So it is held by a descriptor meanwhile, and asked afterwards whether it is still there.
 */
#include "supervisor/verbs/caller.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "base/scheduling.h"
#include "supervisor/job/jobs.h"

#define GROUPS_MAX	65536	/* NGROUPS_MAX of the kernel */

json_t *caller_groups(const struct request *request)
{
	gid_t *groups = calloc(GROUPS_MAX, sizeof(*groups));
	int i, n = groups ? request_groups(request, groups, GROUPS_MAX) : 0;
	json_t *array = json_array();

	for (i = 0; i < n; i++)
		json_array_append_new(array, json_integer(groups[i]));
	free(groups);
	return array;
}

static int read_limits(pid_t pid, json_t *limits)
{
	int i;

	for (i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit limit;

		if (prlimit(pid, (__rlimit_resource_t)i, NULL, &limit))
			return -errno;
		json_array_append_new(limits, json_integer((json_int_t)limit.rlim_cur));
		json_array_append_new(limits, json_integer((json_int_t)limit.rlim_max));
	}
	return 0;
}

/* Is the process of @pidfd, which had the caller's number, still there, and the caller's user? */
static int caller_is_there(const struct request *request, int pidfd)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)request->pid);
	if (stat(path, &st) || st.st_uid != request->uid)
		return -ESRCH;
	return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) ? -errno : 0;
}

static int caller_read(const struct request *request, json_t *limits, json_t **ret_sched)
{
	_cleanup_fd_ int pidfd = request_pidfd(request);
	json_t *sched = NULL;
	int err;

	if (pidfd < 0)
		return pidfd;
	err = caller_is_there(request, pidfd);
	if (!err)
		err = read_limits(request->pid, limits);
	if (!err)
		err = scheduling_of(request->pid, &sched);
	if (!err)
		err = caller_is_there(request, pidfd);
	if (err)
		json_decref(sched);
	else
		*ret_sched = sched;
	return err;
}

/*
 * A job without limits of its own would get ckptd's, and so get around the limits that the system
 * sets for a user.
 */
json_t *caller_add(const struct request *request, const json_t *mempolicy, json_t *record)
{
	json_t *limits, *sched = NULL;
	int err;

	if (mempolicy && scheduling_check_mempolicy(mempolicy))
		return outcome_usage("run: that is no NUMA policy");
	limits = json_array();
	err = caller_read(request, limits, &sched);
	if (!err) {
		if (mempolicy)
			json_object_set(sched, "mempolicy", (json_t *)mempolicy);
		json_object_set_new(record, "limits", limits);
		json_object_set_new(record, "sched", sched);
		return NULL;
	}
	json_decref(limits);
	if (request->uid)
		return outcome_error(err,
				     "%s: the resource limits and scheduling of process %d, "
				     "which connected to ckptd, cannot be read: %s",
				     request->verb, (int)request->pid,
				     err == -ESRCH ? "it has ended" : strerror(-err));
	log_warning(&request->common->log,
		    "a job of root gets ckptd's resource limits and scheduling: those of process "
		    "%d cannot be read: %s",
		    (int)request->pid, strerror(-err));
	return NULL;
}

/* The OOM score adjustment of the caller; it stays the caller while @pidfd can be signalled. */
static int caller_oom(const struct request *request, json_int_t *ret_adj)
{
	_cleanup_fd_ int pidfd = request_pidfd(request);
	char path[48];
	int adj, n = 0;
	FILE *file;

	if (pidfd < 0)
		return pidfd;
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)request->pid);
	file = fopen(path, "re");
	if (file) {
		n = fscanf(file, "%d", &adj);
		fclose(file);
	}
	if (n != 1)
		return -ESRCH;
	*ret_adj = adj;
	return caller_is_there(request, pidfd);
}

json_t *caller_asker(const struct request *request, json_t **ret_asker)
{
	json_t *asker, *outcome;
	json_int_t adj = 0;
	int err;

	*ret_asker = NULL;
	if (!request->uid)
		return NULL;
	asker = json_pack("{s:I, s:I, s:o}", "uid", (json_int_t)request->uid, "gid",
			  (json_int_t)request->gid, "groups", caller_groups(request));
	outcome = caller_add(request, NULL, asker);
	err = outcome ? 0 : caller_oom(request, &adj);
	if (err)
		outcome = outcome_error(err, "%s: the OOM score of process %d, which connected to "
					"ckptd, cannot be read: %s", request->verb,
					(int)request->pid, strerror(-err));
	if (outcome) {
		json_decref(asker);
		return outcome;
	}
	json_object_set_new(asker, "oom_score_adj", json_integer(adj));
	*ret_asker = asker;
	return NULL;
}
