/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A member of a group of replicas while it runs: its table of sections, in its process's memory.
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
 * member_open() - find the table of the job's process
 * @init: parent of the job's processes
 *
 * -ENODATA: the process has no table; -EOPNOTSUPP: the job has not exactly one process.
 */
int member_open(pid_t init, struct member *ret_member, struct ckpt_error *error);
void member_close(struct member *member);
int member_read(const struct member *member, struct section_member *ret_state);
/* Tell the member to wait from section @until on; 0: to go on. */
int member_tell(const struct member *member, uint64_t until);

#endif /* STILLPOINT_VOTE_MEMBER_H */
