// SPDX-License-Identifier: GPL-2.0-only
/*
 * Putting a process where an order says; see place.h.
 *
 * Descriptors of the order are entered, never names: whoever made the order has opened them, and
 * holds them. Reads nothing of the process beside which the job will stand.
 */
#include "launch/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NO_LOGINUID	"4294967295"

/* Why the kernel does not let a process into a control group. */
static const char *place_group_error(int err)
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

pid_t place_fork(const struct launch_order *order, struct ckpt_error *error)
{
	const struct launch_text *text = &order->text;
	struct clone_args args = {
		.flags = order->v2 >= 0 ? CLONE_INTO_CGROUP : 0,
		.exit_signal = SIGCHLD,
		.cgroup = order->v2 >= 0 ? (uint64_t)order->v2 : 0,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	return pid >= 0 ? pid : error_set(error, -errno, "control group %s of process %d%s: %s",
					  text->group, (int)text->pid, text->role,
					  place_group_error(errno));
}

static int place_set_loginuid(const struct launch_order *order)
{
	const char *loginuid = order->text.loginuid;
	_cleanup_fd_ int fd = -1;
	size_t len = strlen(loginuid);

	if (!len)
		return 0;
	fd = open("/proc/self/loginuid", O_WRONLY | O_CLOEXEC);
	/* The kernel may let nobody change an id that is set, but lets it be taken away. */
	if (fd < 0 || (write(fd, loginuid, len) < 0 &&
		       (write(fd, NO_LOGINUID, strlen(NO_LOGINUID)) < 0 ||
			write(fd, loginuid, len) < 0)))
		return -errno;
	return 0;
}

static int place_enter_v1(const struct launch_order *order, struct ckpt_error *error)
{
	unsigned int i;

	for (i = 0; i < order->nr_tasks; i++) {
		if (write(order->tasks[i], "0", 1) < 0)
			return error_set(error, -errno, "a control group (v1) of process %d%s: %s",
					 (int)order->text.pid, order->text.role,
					 place_group_error(errno));
	}
	return 0;
}

static int place_enter_namespaces(const struct launch_order *order, struct ckpt_error *error)
{
	static const int types[] = { CLONE_NEWNET, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWCGROUP };
	enum launch_ns i;

	for (i = 0; i < LAUNCH_NS_COUNT; i++) {
		if (order->ns[i] >= 0 && setns(order->ns[i], types[i]))
			return error_set(error, -errno, "the %s namespace of process %d%s: %s",
					 launch_ns_name(i), (int)order->text.pid, order->text.role,
					 strerror(errno));
	}
	return 0;
}

int place_enter(const struct launch_order *order, struct ckpt_error *error)
{
	int err = place_enter_v1(order, error);

	if (!err)
		err = place_enter_namespaces(order, error);
	if (err)
		return err;
	err = place_set_loginuid(order);
	if (err)
		return error_set(error, err, "the audit id %s of process %d%s: %s",
				 order->text.loginuid, (int)order->text.pid, order->text.role,
				 strerror(-err));
	if (order->text.no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return error_set(error, -errno, "no_new_privs: %s", strerror(errno));
	return 0;
}
