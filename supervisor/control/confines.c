// SPDX-License-Identifier: GPL-2.0-only
/*
 * The limits around the calling process; see confines.h.
 *
 * The process is read by its number, which the pidfd of the connection (request_pidfd()) proves
 * to be its own for as long as it lives: it is asked for that after everything was read. Control
 * groups are held by descriptors, so that another group of the same name is never taken for it.
 *
 * Nothing here may wait for the caller: files of /proc are read that ask no memory and no file
 * system of the process.
 */
#include "supervisor/control/confines.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "base/proc_stat.h"
#include "supervisor/control/confines_parse.h"

#define TEXT_MAX	(4 << 20)	/* of mountinfo; nothing else comes near */
#define PF_EXITING	0x4		/* of the kernel's linux/sched.h */
#define NO_LOGINUID	"4294967295"

/* Namespaces that a job enters. */
static const struct {
	const char *name;
	int type;
} entered[] = {
	{ "net", CLONE_NEWNET }, { "uts", CLONE_NEWUTS }, { "ipc", CLONE_NEWIPC },
	{ "cgroup", CLONE_NEWCGROUP },
};

/* Namespaces that have to be ckptd's own. */
static const struct {
	const char *file, *name;
} shared[] = {
	{ "user", "user" }, { "pid", "PID" }, { "pid_for_children", "PID" }, { "time", "time" },
	{ "time_for_children", "time" }, { "mnt", "mount" },
};

struct confines {
	pid_t pid;
	char role[32];			/* of @pid, for messages */
	char group[256];		/* the v2 control group, for messages */
	int v2;				/* its directory; -1: ckptd's own, or none */
	int tasks[CONFINES_HIERARCHIES];	/* cgroup.procs of v1 */
	int nr_tasks;
	int ns[ARRAY_SIZE(entered)];	/* -1: ckptd's own */
	bool no_new_privs;
	uint64_t bounding;		/* capability bounding set */
	char loginuid[16];		/* "": ckptd's own, or the kernel has none */
	char *apparmor;			/* profile; NULL: ckptd's own, or there is none */
};

/* ------------------------------------------------------------------ files */

/* The text of /proc/@whose/@name; NULL and errno. */
static char *proc_text(const char *whose, const char *name)
{
	size_t size = 8192, len = 0;
	_cleanup_free_ char *text = NULL;
	_cleanup_fd_ int fd = -1;
	char path[96];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/%s", whose, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	do {
		char *more = size <= TEXT_MAX ? realloc(text, size *= 2) : NULL;

		if (!more) {
			errno = ENOMEM;
			return NULL;
		}
		text = more;
		while ((n = read(fd, text + len, size - 1 - len)) > 0)
			len += (size_t)n;
		if (n < 0)
			return NULL;
	} while (len == size - 1);
	text[len] = '\0';
	if (strlen(text) == len)
		return take_ptr(text);
	errno = EINVAL;
	return NULL;
}

static const char *proc_name(pid_t pid, char *buf, size_t size)
{
	snprintf(buf, size, "%d", (int)pid);
	return buf;
}

static json_t *confines_refuse(const struct confines_who *who, int err, const char *what)
{
	return outcome_error(err, "%s: process %d%s %s", who->verb, (int)who->pid, who->role,
			     what);
}

/* The caller has ended, or /proc cannot be read. */
static json_t *confines_gone(const struct confines_who *who, int err, const char *name)
{
	if (err == -ENOENT || err == -ESRCH)
		return confines_refuse(who, -ESRCH,
				       "has ended: its control group and namespaces are not known "
				       "any more, ask again");
	return outcome_error(err, "%s: /proc/%d/%s: %s", who->verb, (int)who->pid, name,
			     strerror(-err));
}

/* --------------------------------------------------------- control groups */

static int confines_open_group(struct confines *c, const struct confines_cgroup *cgroup,
			       const char *mountinfo)
{
	char dir[8192];
	int fd, err;

	err = confines_cgroup_dir(mountinfo, cgroup, dir, sizeof(dir) - sizeof("/cgroup.procs"));
	if (err)
		return err;
	if (cgroup->controllers[0]) {
		strcat(dir, "/cgroup.procs");
		fd = open(dir, O_WRONLY | O_CLOEXEC);
	} else {
		fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0)
		return -errno;
	if (cgroup->controllers[0])
		c->tasks[c->nr_tasks++] = fd;
	else
		c->v2 = fd;
	return 0;
}

/* Open the control groups that are not ckptd's own. */
static json_t *confines_take_groups(const struct confines_who *who, struct confines *c,
				    const char *whose)
{
	struct confines_cgroup theirs[CONFINES_HIERARCHIES], own[CONFINES_HIERARCHIES];
	_cleanup_free_ char *text = proc_text(whose, "cgroup");
	_cleanup_free_ char *own_text = proc_text("self", "cgroup"), *mounts = NULL;
	int nr = text ? confines_parse_cgroups(text, theirs) : -errno;
	int nr_own = own_text ? confines_parse_cgroups(own_text, own) : -errno, i, err;

	if (nr < 0 || nr_own < 0)
		return confines_gone(who, nr < 0 ? nr : nr_own, "cgroup");
	for (i = 0; i < nr; i++) {
		const char *mine = confines_cgroup_path(own, nr_own, theirs[i].controllers);

		if (!theirs[i].controllers[0])
			snprintf(c->group, sizeof(c->group), "%s", theirs[i].path);
		if (mine && !strcmp(mine, theirs[i].path))
			continue;
		if (!mounts)
			mounts = proc_text("self", "mountinfo");
		err = mounts ? confines_open_group(c, &theirs[i], mounts) : -errno;
		if (err)
			return outcome_error(err == -ENOENT ? -EPERM : err,
					     "%s: the control group %s:%s of process %d%s cannot "
					     "be entered: %s",
					     who->verb, theirs[i].controllers, theirs[i].path,
					     (int)who->pid, who->role, err == -ENOENT ?
					     "ckptd does not see it" : strerror(-err));
	}
	return NULL;
}

/* ------------------------------------------------------------- namespaces */

/* Return: 1: @whose namespace @name is not ckptd's; 0: it is; or negative errno. */
static int confines_ns_differs(const char *whose, const char *name)
{
	char path[64];
	struct stat theirs, own;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	if (stat(path, &own))
		return errno == ENOENT ? 0 : -errno;	/* the kernel has no such namespaces */
	snprintf(path, sizeof(path), "/proc/%s/ns/%s", whose, name);
	/* A PID namespace for children has no file before its first process. */
	if (stat(path, &theirs))
		return errno == ENOENT && strstr(name, "_for_") ? 1 : -errno;
	return theirs.st_ino != own.st_ino || theirs.st_dev != own.st_dev;
}

static json_t *confines_take_namespaces(const struct confines_who *who, struct confines *c,
					const char *whose)
{
	char path[64], what[192];
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(shared); i++) {
		err = confines_ns_differs(whose, shared[i].file);
		if (err < 0)
			return confines_gone(who, err, "ns");
		snprintf(what, sizeof(what),
			 "is in another %s namespace than ckptd, which the job cannot enter: "
			 "ask from outside of the container, or run a ckptd in it",
			 shared[i].name);
		if (err)
			return confines_refuse(who, -EPERM, what);
	}
	for (i = 0; i < ARRAY_SIZE(entered); i++) {
		err = confines_ns_differs(whose, entered[i].name);
		if (err <= 0) {
			if (err)
				return confines_gone(who, err, "ns");
			continue;
		}
		snprintf(path, sizeof(path), "/proc/%s/ns/%s", whose, entered[i].name);
		c->ns[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (c->ns[i] < 0)
			return confines_gone(who, -errno, "ns");
	}
	return NULL;
}

/* The caller's root directory has to be ckptd's. Never asks a file system, which may hang. */
static json_t *confines_check_root(const struct confines_who *who, const char *whose)
{
	const unsigned int mask = STATX_INO | STATX_MNT_ID;
	struct statx theirs, own;
	_cleanup_fd_ int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/root", whose);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, mask, &theirs) ||
	    statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, mask, &own))
		return confines_gone(who, -errno, "root");
	if (theirs.stx_ino == own.stx_ino && theirs.stx_mnt_id == own.stx_mnt_id)
		return NULL;
	return confines_refuse(who, -EPERM,
			       "has another root directory (chroot) than ckptd, which the job "
			       "cannot enter: ask from outside");
}

/* ----------------------------------------------------------------- status */

static json_t *confines_take_status(const struct confines_who *who, struct confines *c,
				    const char *whose)
{
	_cleanup_free_ char *text = proc_text(whose, "status"), *own_text = NULL;
	struct confines_status theirs, own;
	int err = text ? confines_parse_status(text, &theirs) : -errno;

	if (!err) {
		own_text = proc_text("self", "status");
		err = own_text ? confines_parse_status(own_text, &own) : -errno;
	}
	if (err)
		return confines_gone(who, err, "status");
	if (theirs.uid != who->uid)
		return confines_refuse(who, -EPERM, "has become another user meanwhile");
	/* As many filters as ckptd has: both are in one container. */
	if (theirs.seccomp && (theirs.filters < 0 || theirs.filters > own.filters))
		return confines_refuse(who, -EPERM,
				       "is under a seccomp filter, which the job would not be: ask "
				       "from outside of the sandbox");
	c->no_new_privs = theirs.no_new_privs;
	c->bounding = theirs.bounding;
	return NULL;
}

static json_t *confines_take_loginuid(const struct confines_who *who, struct confines *c,
				      const char *whose)
{
	_cleanup_free_ char *own = proc_text("self", "loginuid"), *theirs = NULL;

	if (!own)
		return NULL;		/* a kernel without audit */
	theirs = proc_text(whose, "loginuid");
	if (!theirs)
		return confines_gone(who, -errno, "loginuid");
	if (strcmp(own, theirs))
		snprintf(c->loginuid, sizeof(c->loginuid), "%s", theirs);
	return NULL;
}

static json_t *confines_take_apparmor(const struct confines_who *who, struct confines *c,
				      const char *whose)
{
	_cleanup_free_ char *own = proc_text("self", "attr/apparmor/current"), *theirs = NULL;

	if (!own)
		return NULL;		/* AppArmor is not in use */
	theirs = proc_text(whose, "attr/apparmor/current");
	if (!theirs)
		return confines_gone(who, -errno, "attr/apparmor/current");
	confines_parse_profile(own);
	confines_parse_profile(theirs);
	if (strcmp(own, theirs))
		c->apparmor = take_ptr(theirs);
	return NULL;
}

/* ------------------------------------------------------------------- take */

static struct confines *confines_new(const struct confines_who *who)
{
	struct confines *c = calloc(1, sizeof(*c));
	size_t i;

	if (!c)
		return NULL;
	c->pid = who->pid;
	snprintf(c->role, sizeof(c->role), "%s", who->role);
	c->v2 = -1;
	for (i = 0; i < ARRAY_SIZE(c->ns); i++)
		c->ns[i] = -1;
	return c;
}

void confines_free(struct confines *c)
{
	size_t i;

	if (!c)
		return;
	free(c->apparmor);
	if (c->v2 >= 0)
		close(c->v2);
	while (c->nr_tasks)
		close(c->tasks[--c->nr_tasks]);
	for (i = 0; i < ARRAY_SIZE(c->ns); i++) {
		if (c->ns[i] >= 0)
			close(c->ns[i]);
	}
	free(c);
}

/*
 * Does the process of @pidfd still run? One that is ending, or a zombie, takes signals and has
 * files in /proc, but the kernel shows it in the root of every v1 hierarchy.
 */
static json_t *confines_check_alive(const struct confines_who *who, int pidfd)
{
	struct proc_stat stat;
	int err = proc_stat_read(who->pid, &stat);

	if (!err && stat.flags & PF_EXITING)
		err = -ESRCH;
	if (!err && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0))
		err = -errno;
	return err ? confines_gone(who, err, "stat") : NULL;
}

json_t *confines_take_of(const struct confines_who *who, int pidfd, struct confines **ret_confines)
{
	struct confines *c = confines_new(who);
	json_t *outcome;
	char whose[16];

	if (!c)
		return outcome_error(-ENOMEM, "out of memory");
	proc_name(who->pid, whose, sizeof(whose));
	outcome = confines_check_alive(who, pidfd) ?:
		  confines_take_namespaces(who, c, whose) ?:
		  confines_check_root(who, whose) ?:
		  confines_take_status(who, c, whose) ?:
		  confines_take_loginuid(who, c, whose) ?:
		  confines_take_apparmor(who, c, whose) ?:
		  confines_take_groups(who, c, whose);
	/* Only now is it sure that all of that was the process's. */
	if (!outcome)
		outcome = confines_check_alive(who, pidfd);
	if (outcome) {
		confines_free(c);
		return outcome;
	}
	*ret_confines = c;
	return NULL;
}

json_t *confines_take(struct request *request)
{
	const struct confines_who who = { request->verb, " of the caller", request->pid,
					  request->uid };
	_cleanup_fd_ int pidfd = request_pidfd(request);
	struct confines *c;
	json_t *outcome;

	if (pidfd < 0)
		return confines_gone(&who, pidfd, "");
	outcome = confines_take_of(&who, pidfd, &c);
	if (outcome)
		return outcome;
	confines_free(request->confines);
	request->confines = c;
	return NULL;
}

json_t *confines_check_restart(const struct confines *c, const char *verb)
{
	if (!c->apparmor)
		return NULL;
	return outcome_error(-EPERM,
			     "%s: process %d%s is under the AppArmor profile %s, which no "
			     "restored process can be put under: ask from a shell without it",
			     verb, (int)c->pid, c->role, c->apparmor);
}

void confines_tell(const struct confines *c, json_t *spec)
{
	json_object_set_new(spec, "bounding", json_integer((json_int_t)c->bounding));
	if (c->apparmor)
		json_object_set_new(spec, "apparmor", json_string(c->apparmor));
}

/* ------------------------------------------------------------------ enter */

/* Why the kernel does not let a process into a control group. */
static const char *group_error(int err)
{
	switch (err) {
	case EAGAIN:
		return "it has as many processes as it may have (pids.max)";
	case ENODEV:
	case ENOENT:
		return "it has been removed";
	case EOPNOTSUPP:
		return "it is of type threaded";
	case EBUSY:
		return "it passes controllers on to groups below it";
	case ENOSPC:
		return "it has no processors or no memory nodes (cpuset)";
	}
	return strerror(err);
}

pid_t confines_fork(const struct confines *c, char *why, size_t size)
{
	struct clone_args args = {
		.flags = c->v2 >= 0 ? CLONE_INTO_CGROUP : 0,
		.exit_signal = SIGCHLD,
		.cgroup = c->v2 >= 0 ? (uint64_t)c->v2 : 0,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	int err = errno;

	if (pid < 0)
		snprintf(why, size, "control group %s of process %d%s: %s", c->group,
			 (int)c->pid, c->role, group_error(err));
	errno = err;
	return pid;
}

static int confines_set_loginuid(const struct confines *c)
{
	_cleanup_fd_ int fd = -1;
	size_t len = strlen(c->loginuid);

	if (!len)
		return 0;
	fd = open("/proc/self/loginuid", O_WRONLY | O_CLOEXEC);
	/* The kernel may let nobody change an id that is set, but lets it be taken away. */
	if (fd < 0 || (write(fd, c->loginuid, len) < 0 &&
		       (write(fd, NO_LOGINUID, strlen(NO_LOGINUID)) < 0 ||
			write(fd, c->loginuid, len) < 0)))
		return -errno;
	return 0;
}

int confines_enter(const struct confines *c, char *why, size_t size)
{
	int i, err;

	for (i = 0; i < c->nr_tasks; i++) {
		if (write(c->tasks[i], "0", 1) < 0) {
			err = errno;
			snprintf(why, size, "a control group (v1) of process %d%s: %s",
				 (int)c->pid, c->role, group_error(err));
			return -err;
		}
	}
	for (i = 0; i < (int)ARRAY_SIZE(entered); i++) {
		if (c->ns[i] >= 0 && setns(c->ns[i], entered[i].type)) {
			err = errno;
			snprintf(why, size, "the %s namespace of process %d%s: %s",
				 entered[i].name, (int)c->pid, c->role, strerror(err));
			return -err;
		}
	}
	err = confines_set_loginuid(c);
	if (err) {
		snprintf(why, size, "the audit id %s of process %d%s: %s", c->loginuid,
			 (int)c->pid, c->role, strerror(-err));
		return err;
	}
	if (c->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
		err = -errno;
		snprintf(why, size, "no_new_privs: %s", strerror(-err));
		return err;
	}
	return 0;
}
