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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "base/proc_stat.h"
#include "launch/order.h"
#include "supervisor/control/confines_parse.h"
#include "supervisor/control/launch_link.h"

#define TEXT_MAX	(4 << 20)	/* of mountinfo; nothing else comes near */
#define PF_EXITING	0x4		/* of the kernel's linux/sched.h */

/* Namespaces that have to be the launcher's. */
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
	int v2;				/* its directory; -1: the launcher's own, or none */
	int tasks[LAUNCH_HIERARCHIES];	/* cgroup.procs of v1 */
	int nr_tasks;
	int ns[LAUNCH_NS_COUNT];	/* -1: the launcher's own */
	bool no_new_privs;
	uint64_t bounding;		/* capability bounding set */
	char loginuid[16];		/* "": the launcher's own, or the kernel has none */
	char *apparmor;			/* profile; NULL: the launcher's own, or there is none */
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

/* The processes that are compared, as names in /proc. */
struct confines_names {
	char whose[16];			/* the caller */
	char own[16];			/* the launcher, of which the job's shim will be a child */
};

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

/*
 * Open the control groups that are not the launcher's own. Mounts are ckptd's: it opens the
 * directories, and hands on descriptors.
 */
static json_t *confines_take_groups(const struct confines_who *who, struct confines *c,
				    const struct confines_names *names)
{
	struct confines_cgroup theirs[CONFINES_HIERARCHIES], own[CONFINES_HIERARCHIES];
	_cleanup_free_ char *text = proc_text(names->whose, "cgroup");
	_cleanup_free_ char *own_text = proc_text(names->own, "cgroup"), *mounts = NULL;
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

/* Return: 1: the caller's namespace @name is not the launcher's; 0: it is; or negative errno. */
static int confines_ns_differs(const struct confines_names *names, const char *name)
{
	char path[64];
	struct stat theirs, own;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", names->own, name);
	if (stat(path, &own))
		return errno == ENOENT ? 0 : -errno;	/* the kernel has no such namespaces */
	snprintf(path, sizeof(path), "/proc/%s/ns/%s", names->whose, name);
	/* A PID namespace for children has no file before its first process. */
	if (stat(path, &theirs))
		return errno == ENOENT && strstr(name, "_for_") ? 1 : -errno;
	return theirs.st_ino != own.st_ino || theirs.st_dev != own.st_dev;
}

static json_t *confines_take_namespaces(const struct confines_who *who, struct confines *c,
					const struct confines_names *names)
{
	char path[64], what[192];
	enum launch_ns ns;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(shared); i++) {
		err = confines_ns_differs(names, shared[i].file);
		if (err < 0)
			return confines_gone(who, err, "ns");
		snprintf(what, sizeof(what),
			 "is in another %s namespace than ckptd, which the job cannot enter: "
			 "ask from outside of the container, or run a ckptd in it",
			 shared[i].name);
		if (err)
			return confines_refuse(who, -EPERM, what);
	}
	for (ns = 0; ns < LAUNCH_NS_COUNT; ns++) {
		err = confines_ns_differs(names, launch_ns_name(ns));
		if (err <= 0) {
			if (err)
				return confines_gone(who, err, "ns");
			continue;
		}
		snprintf(path, sizeof(path), "/proc/%s/ns/%s", names->whose, launch_ns_name(ns));
		c->ns[ns] = open(path, O_RDONLY | O_CLOEXEC);
		if (c->ns[ns] < 0)
			return confines_gone(who, -errno, "ns");
	}
	return NULL;
}

/* Look at a process's root directory. Never asks its file system, which may hang. */
static int confines_root(const char *whose, struct statx *ret_root)
{
	_cleanup_fd_ int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/root", whose);
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
			       STATX_INO | STATX_MNT_ID, ret_root) ? -errno : 0;
}

/* The caller's root directory has to be the launcher's. */
static json_t *confines_check_root(const struct confines_who *who,
				   const struct confines_names *names)
{
	struct statx theirs, own;
	int err = confines_root(names->whose, &theirs);

	if (!err)
		err = confines_root(names->own, &own);
	if (err)
		return confines_gone(who, err, "root");
	if (theirs.stx_ino == own.stx_ino && theirs.stx_mnt_id == own.stx_mnt_id)
		return NULL;
	return confines_refuse(who, -EPERM,
			       "has another root directory (chroot) than ckptd, which the job "
			       "cannot enter: ask from outside");
}

/* ----------------------------------------------------------------- status */

static json_t *confines_take_status(const struct confines_who *who, struct confines *c,
				    const struct confines_names *names)
{
	_cleanup_free_ char *text = proc_text(names->whose, "status"), *own_text = NULL;
	struct confines_status theirs, own;
	int err = text ? confines_parse_status(text, &theirs) : -errno;

	if (!err) {
		own_text = proc_text(names->own, "status");
		err = own_text ? confines_parse_status(own_text, &own) : -errno;
	}
	if (err)
		return confines_gone(who, err, "status");
	if (theirs.uid != who->uid)
		return confines_refuse(who, -EPERM, "has become another user meanwhile");
	/* As many filters as the launcher has: both are in one container. */
	if (theirs.seccomp && (theirs.filters < 0 || theirs.filters > own.filters))
		return confines_refuse(who, -EPERM,
				       "is under a seccomp filter, which the job would not be: ask "
				       "from outside of the sandbox");
	c->no_new_privs = theirs.no_new_privs;
	c->bounding = theirs.bounding;
	return NULL;
}

static json_t *confines_take_loginuid(const struct confines_who *who, struct confines *c,
				      const struct confines_names *names)
{
	_cleanup_free_ char *own = proc_text(names->own, "loginuid"), *theirs = NULL;

	if (!own)
		return NULL;		/* a kernel without audit */
	theirs = proc_text(names->whose, "loginuid");
	if (!theirs)
		return confines_gone(who, -errno, "loginuid");
	if (strcmp(own, theirs))
		snprintf(c->loginuid, sizeof(c->loginuid), "%s", theirs);
	return NULL;
}

static json_t *confines_take_apparmor(const struct confines_who *who, struct confines *c,
				      const struct confines_names *names)
{
	_cleanup_free_ char *own = proc_text(names->own, "attr/apparmor/current"), *theirs = NULL;

	if (!own)
		return NULL;		/* AppArmor is not in use */
	theirs = proc_text(names->whose, "attr/apparmor/current");
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

/* Without the launcher there is nothing to compare with, and files of /proc are missing. */
static json_t *confines_check_launcher(const struct confines_who *who)
{
	if (who->launcher > 0 && !kill(who->launcher, 0))
		return NULL;
	return outcome_error(-EAGAIN, "%s: the launcher of jobs (ckpt-launch) is not there at the "
			     "moment: ask again; ckptd's log says more", who->verb);
}

json_t *confines_take_of(const struct confines_who *who, int pidfd, struct confines **ret_confines)
{
	struct confines *c = confines_new(who);
	struct confines_names names;
	json_t *outcome;

	if (!c)
		return outcome_error(-ENOMEM, "out of memory");
	snprintf(names.whose, sizeof(names.whose), "%d", (int)who->pid);
	snprintf(names.own, sizeof(names.own), "%d", (int)who->launcher);
	outcome = confines_check_launcher(who) ?:
		  confines_check_alive(who, pidfd) ?:
		  confines_take_namespaces(who, c, &names) ?:
		  confines_check_root(who, &names) ?:
		  confines_take_status(who, c, &names) ?:
		  confines_take_loginuid(who, c, &names) ?:
		  confines_take_apparmor(who, c, &names) ?:
		  confines_take_groups(who, c, &names);
	/* Only now is it sure that all of that was of these two processes. */
	if (!outcome)
		outcome = confines_check_alive(who, pidfd) ?: confines_check_launcher(who);
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
					  request->uid, launch_link_pid(request->launch) };
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

/* ------------------------------------------------------------------ order */

void confines_order(const struct confines *c, struct launch_order *order)
{
	order->text.confined = true;
	order->text.pid = c->pid;
	memcpy(order->text.role, c->role, sizeof(c->role));
	memcpy(order->text.group, c->group, sizeof(c->group));
	memcpy(order->text.loginuid, c->loginuid, sizeof(c->loginuid));
	order->text.no_new_privs = c->no_new_privs;
	order->v2 = c->v2;
	memcpy(order->tasks, c->tasks, sizeof(c->tasks));
	order->nr_tasks = (unsigned int)c->nr_tasks;
	memcpy(order->ns, c->ns, sizeof(c->ns));
}
