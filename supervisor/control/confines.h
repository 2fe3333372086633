/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The limits around the calling process of a request, and so around the job that it starts: a job
 * is a child of ckptd, but has to stand where it would as a child of the caller.
 *
 *	control groups		of v2, and of each hierarchy of v1
 *	namespaces		network, UTS, IPC, cgroup
 *	no_new_privs, audit id (loginuid), capability bounding set
 *	AppArmor profile (of a new job; a restart is refused)
 *
 * All of it is read from the kernel, of the process that connected. A caller that cannot be
 * followed is refused: one in another user, PID, time or mount namespace than ckptd, in a
 * chroot, or under seccomp filters that ckptd has not. That holds for root as well.
 *
 * On the other nodes of a job nobody connects; there a process in a batch step of the job's owner
 * takes the caller's place (supervisor/parts/stand.h).
 */
#ifndef STILLPOINT_CONFINES_H
#define STILLPOINT_CONFINES_H

#include <jansson.h>
#include <sys/types.h>

#include "supervisor/control/request.h"

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
 */
struct confines_who {
	const char *verb, *role;
	pid_t pid;
	uid_t uid;
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
 * confines_fork() - as fork(2), with the child in the caller's control group of v2
 *
 * Call in a process of one thread. Return: -1 and errno, with a text in @why.
 */
pid_t confines_fork(const struct confines *confines, char *why, size_t size);

/*
 * confines_enter() - put this process under all else that confines the caller
 *
 * Call in the child of confines_fork(), as root. It may stand still in here for as long as the
 * caller's control group is frozen, so it must not be ckptd itself.
 *
 * Return: 0, or negative errno with a text in @why: the process has to end.
 */
int confines_enter(const struct confines *confines, char *why, size_t size);

/* Refuse to restart a job where the AppArmor profile is one that no restored process can get. */
json_t *confines_check_restart(const struct confines *confines, const char *verb);

/*
 * confines_tell() - put what the shim gives to the job into its specification (shim/spec.h)
 *
 * "bounding", the capability bounding set, and "apparmor", the profile if it is not ckptd's.
 */
void confines_tell(const struct confines *confines, json_t *spec);

#endif /* STILLPOINT_CONFINES_H */
