/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A member of a group of replicas while it runs: the tables of sections of its processes, in their
 * memory.
 */
#ifndef STILLPOINT_VOTE_MEMBER_H
#define STILLPOINT_VOTE_MEMBER_H

#include <sys/types.h>

#include "base/error.h"
#include "supervisor/vote/section.h"

struct member {
	pid_t pid;		/* of its process */
	int fd;			/* of /proc/PID/mem */
	uint64_t table;		/* address */
};

/*
 * member_open() - find the tables of the job's processes
 * @init: ancestor of the job's processes
 * @nr: how many tables there have to be: one for each rank; 0: the job is one process
 * @ret_members: room for @nr, at least 1
 *
 * -ENODATA: too few processes have a table; -EOPNOTSUPP: a job without ranks has not exactly one
 * process; -E2BIG: more processes than ranks have a table.
 */
int member_open(pid_t init, unsigned int nr, struct member *ret_members, struct ckpt_error *error);
void member_close(struct member *member);
int member_read(const struct member *member, struct section_member *ret_state);
/* Tell the process to wait from section @until on; 0: to go on. */
int member_tell(const struct member *member, uint64_t until);

/*
 * member_release_all() - tell every process of the tree that has a table to go on
 *
 * Processes without a table, and those that have just ended, are passed over. Return: how many were
 * told; -E2BIG: the tree has too many processes, some of which may not have been told.
 */
int member_release_all(pid_t init);

#endif /* STILLPOINT_VOTE_MEMBER_H */
