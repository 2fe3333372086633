/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The limits around the calling process of a request, and so around the job that it starts: a job
 * is a child of the launcher, but has to stand where it would as a child of the caller.
 *
 *	control groups		of v2, and of each hierarchy of v1
 *	namespaces		network, UTS, IPC, cgroup
 *	no_new_privs, audit id (loginuid), capability bounding set
 *	AppArmor profile (of a new job; a restart is refused)
 *
 * All of it is read from the kernel, of the process that connected. A caller that cannot be
 * followed is refused: one in another user, PID, time or mount namespace than the launcher, in a
 * chroot, or under seccomp filters that the launcher has not. That holds for root as well.
 *
 * On the other nodes of a job nobody connects; there a process in a batch step of the job's owner
 * takes the caller's place (supervisor/parts/stand.h).
 */
#ifndef STILLPOINT_CONFINES_H
#define STILLPOINT_CONFINES_H

#include <jansson.h>
#include <sys/types.h>

#include "supervisor/control/request.h"

struct launch_order;

/*
 * confines_take() - read what confines the caller, into request->confines
 *
 * Call it while the caller waits, before anything is done for it. request->confines is freed
 * with the request.
 *
 * Return: NULL, or an outcome that says why the caller is refused and what to do.
 */
json_t *confines_take(struct request *request);

/**
 * struct confines_who - a process that a job stands beside
 * @verb: the request, for messages
 * @role: follows "process N" in messages: " of the caller"
 * @pid: its number
 * @uid: the effective user that it has to have
 * @launcher: of which the job's shim will be a child: launch_link_pid()
 */
struct confines_who {
	const char *verb, *role;
	pid_t pid;
	uid_t uid;
	pid_t launcher;
};

/*
 * confines_take_of() - the same, of a process that did not connect to this ckptd
 * @pidfd: of that process; stays the caller's
 * @ret_confines: free it with confines_free()
 *
 * Return: NULL, or an outcome; -ESRCH: the process has ended.
 */
json_t *confines_take_of(const struct confines_who *who, int pidfd,
			 struct confines **ret_confines);

void confines_free(struct confines *confines);	/* NULL is fine */

/*
 * Put into @order where its shim stands. The descriptors in it stay those of @confines, which
 * must live until the order was given.
 */
void confines_order(const struct confines *confines, struct launch_order *order);

/* Refuse to restart a job where the AppArmor profile is one that no restored process can get. */
json_t *confines_check_restart(const struct confines *confines, const char *verb);

/*
 * confines_tell() - put what the shim gives to the job into its specification (shim/spec.h)
 *
 * "bounding", the capability bounding set, and "apparmor", the profile if it is not the launcher's.
 */
void confines_tell(const struct confines *confines, json_t *spec);

#endif /* STILLPOINT_CONFINES_H */
