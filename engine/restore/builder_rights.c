// SPDX-License-Identifier: GPL-2.0-only
/*
 * The builder's privileged steps, and giving up the privileges.
 *
 * Every value that only a privileged process can raise (limits, nice value, oom score,
 * clocks) is raised here to the best value of any task of the tree, so that the tasks,
 * which have the owner's rights, need only lower it.  A value that we may not raise stays
 * as it is: the task that needs it will fail and say so.
 */
#include "engine/restore/builder.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/core/rights.h"

#define NSEC		1000000000LL

static int write_text(const char *path, const char *text)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

static int builder_rights_read_text(const char *path, char *buf, size_t size)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (len < 0)
		return -errno;
	buf[len] = 0;
	return 0;
}

/* ---------------------------------------------------------------- prepare */

static uint64_t most_wanted(const struct state *state, int resource)
{
	uint64_t most = 0;

	for (unsigned int i = 0; i < state->nr_procs; i++)
		if (state->procs[i].rec->state != CKPT_PROC_ZOMBIE &&
		    state->procs[i].rec->limits[resource][1] > most)
			most = state->procs[i].rec->limits[resource][1];
	return most;
}

static void raise_limit(const struct state *state, int resource)
{
	struct rlimit64 old, limit = { RLIM64_INFINITY, RLIM64_INFINITY };
	uint64_t most = state ? most_wanted(state, resource) : 0;
	char text[32];

	if (prlimit64(0, resource, NULL, &old))
		return;
	if (resource == RLIMIT_NOFILE) {	/* cannot be infinite */
		if (!builder_rights_read_text("/proc/sys/fs/nr_open", text, sizeof(text)))
			sscanf(text, "%llu", (unsigned long long *)&limit.rlim_max);
		if (limit.rlim_max == RLIM64_INFINITY || limit.rlim_max < most)
			limit.rlim_max = most;
		limit.rlim_cur = limit.rlim_max;
	}
	if (prlimit64(0, resource, &limit, NULL) == 0)
		return;
	limit.rlim_cur = old.rlim_max;		/* not permitted: up to the old hard limit */
	limit.rlim_max = old.rlim_max;
	prlimit64(0, resource, &limit, NULL);
}

static int oom_score_adj(void)
{
	char text[32];
	int adj = 0;

	if (!builder_rights_read_text("/proc/self/oom_score_adj", text, sizeof(text)))
		sscanf(text, "%d", &adj);
	return adj;
}

int builder_prepare(const struct plan *plan, struct ckpt_error *error)
{
	struct sched_param normal = { 0 };
	char text[16];

	for (int i = 0; i < 16; i++)
		raise_limit(plan->state, i);
	sched_setscheduler(0, SCHED_OTHER, &normal);
	setpriority(PRIO_PROCESS, 0, plan->owner.nice);
	syscall(SYS_ioprio_set, 1, 0, 0);
	syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
	snprintf(text, sizeof(text), "%d", plan->owner.oom_score_adj);
	if (oom_score_adj() != plan->owner.oom_score_adj)
		write_text("/proc/self/oom_score_adj", text);
	umask(0);
	if (prctl(PR_SET_CHILD_SUBREAPER, 0) || prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0))
		return error_fail(error, -errno, "prctl: %s", strerror(errno));
	return 0;
}

/* ---------------------------------------------------------------- clocks */

/* The offsets that our own time namespace adds to the host's clocks. */
static void own_offsets(int64_t *ret_monotonic, int64_t *ret_boottime)
{
	char text[256], *line;
	long long sec, nsec;

	*ret_monotonic = 0;
	*ret_boottime = 0;
	if (builder_rights_read_text("/proc/self/timens_offsets", text, sizeof(text)))
		return;
	line = strstr(text, "monotonic");
	if (line && sscanf(line, "monotonic %lld %lld", &sec, &nsec) == 2)
		*ret_monotonic = sec * NSEC + nsec;
	line = strstr(text, "boottime");
	if (line && sscanf(line, "boottime %lld %lld", &sec, &nsec) == 2)
		*ret_boottime = sec * NSEC + nsec;
}

/* Split @ns into seconds and nanoseconds; the kernel wants nanoseconds that are not negative. */
static void builder_rights_split(int64_t ns, long long *ret_sec, long long *ret_nsec)
{
	*ret_sec = ns / NSEC;
	*ret_nsec = ns % NSEC;
	if (*ret_nsec < 0) {
		*ret_nsec += NSEC;
		(*ret_sec)--;
	}
}

void builder_deltas(const struct ckpt_rec_system *system, __s64 *ret_monotonic,
		    __s64 *ret_boottime)
{
	int64_t own_monotonic, own_boottime;

	own_offsets(&own_monotonic, &own_boottime);
	*ret_monotonic = (int64_t)clock_monotonic_ns() - own_monotonic -
			 (int64_t)system->monotonic_ns;
	*ret_boottime = (int64_t)clock_boottime_ns() - own_boottime -
			(int64_t)system->boottime_ns;
}

/* Enter the time namespace of the process beside which the tree will run. */
static int join_clocks(pid_t beside, struct ckpt_error *error)
{
	_cleanup_fd_ int fd = (int)syscall(SYS_pidfd_open, beside, 0);

	if (fd >= 0 && !setns(fd, CLONE_NEWTIME))
		return 0;
	return error_fail(error, -errno, "cannot enter the time namespace of process %d: %s",
			   beside, strerror(errno));
}

int builder_clocks(const struct ckpt_rec_system *system, pid_t beside,
		   struct ckpt_restore_begin *begin, struct ckpt_error *error)
{
	long long msec, mnsec, bsec, bnsec;
	char text[128];
	int ret;

	if (!beside && unshare(CLONE_NEWTIME))
		return error_fail(error, -errno,
				   "cannot make a time namespace: %s; it needs root and a kernel "
				   "with CONFIG_TIME_NS", strerror(errno));
	builder_deltas(system, &begin->monotonic_delta_ns, &begin->boottime_delta_ns);
	if (beside)
		return join_clocks(beside, error);
	builder_rights_split(system->timens_monotonic_ns - begin->monotonic_delta_ns, &msec,
			     &mnsec);
	builder_rights_split(system->timens_boottime_ns - begin->boottime_delta_ns, &bsec, &bnsec);
	snprintf(text, sizeof(text), "monotonic %lld %lld\nboottime %lld %lld\n", msec, mnsec,
		 bsec, bnsec);
	ret = write_text("/proc/self/timens_offsets", text);
	return ret ? error_fail(error, ret, "cannot set the clocks of the time namespace: %s",
				 strerror(-ret)) : 0;
}

/*
 * A job has an IPC namespace by now; a tree that had one of its own and is restored without a job
 * gets one here.
 */
int builder_ipc(const struct state *state, const struct restore_options *options,
		struct ckpt_error *error)
{
	bool own = false;

	for (unsigned int i = 0; i < state->nr_ipcs; i++)
		own |= !!(state->ipcs[i]->flags & ENGINE_IPC_NAMESPACE);
	for (unsigned int i = 0; i < state->nr_mqueues; i++)
		own |= !!(state->mqueues[i]->flags & ENGINE_MQUEUE_NAMESPACE);
	if (!own || options->enter || options->beside || !unshare(CLONE_NEWIPC))
		return 0;
	return error_fail(error, -errno, "cannot make an IPC namespace: %s", strerror(errno));
}

/* ---------------------------------------------------------------- enter */

int builder_enter(pid_t pid, struct ckpt_error *error)
{
	/* the mount namespace last: the paths of the others are in our own */
	static const struct { const char *name; int type; } entered[] = {
		{ "net", CLONE_NEWNET }, { "uts", CLONE_NEWUTS }, { "ipc", CLONE_NEWIPC },
		{ "cgroup", CLONE_NEWCGROUP }, { "mnt", CLONE_NEWNS },
	};
	char path[64];

	for (unsigned int i = 0; i < ARRAY_SIZE(entered); i++) {
		_cleanup_fd_ int fd = -1;

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, entered[i].name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, entered[i].type))
			return error_fail(error, -errno, "cannot enter %s: %s", path,
					  strerror(errno));
	}
	raise_limit(NULL, RLIMIT_NOFILE);
	umask(0);
	return 0;
}

/* ---------------------------------------------------------------- drop */

uint64_t builder_bounding(void)
{
	uint64_t set = 0;

	for (unsigned long cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap) == 1)
			set |= 1ULL << cap;
	return set;
}

/* Become the owner; capabilities for files, pipes and sockets stay permitted only: rights.h */
static int builder_rights_become(const struct plan_owner *owner)
{
	uint64_t bounding = builder_bounding();
	int ret;

	for (unsigned long cap = 0; cap < 64; cap++)
		if (bounding & ~owner->bounding & 1ULL << cap && prctl(PR_CAPBSET_DROP, cap))
			return -errno;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(owner->nr_groups, owner->groups) ||
	    setresgid(owner->gid, owner->gid, owner->gid) ||
	    setresuid(owner->uid, owner->uid, owner->uid))
		return -errno;
	ret = rights_set(owner->keep_caps | ((RIGHTS_FILES | RIGHTS_PIPES | RIGHTS_SOCKETS |
					      RIGHTS_ROOT) & rights_permitted()),
			 owner->keep_caps);
	if (ret)
		return ret;
	/* dumpable: our /proc entries belong to the owner then, and we can use them */
	if (prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
		return -errno;
	return 0;
}

int builder_drop(const struct plan_owner *owner, struct ckpt_error *error)
{
	int ret = 0;

	if (owner->uid)
		ret = builder_rights_become(owner);
	else if (setgroups(owner->nr_groups, owner->groups) ||
		 setresgid(owner->gid, owner->gid, owner->gid))
		ret = -errno;
	return ret ? error_fail(error, ret, "cannot become the image's owner, user %u: %s",
				 owner->uid, strerror(-ret)) : 0;
}
