// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leases to read (F_SETLEASE of fcntl(2)).
 *
 * The kernel module records a lease as a LOCK of the description, and refuses those to write:
 * whoever reads such a file breaks the lease.  A restore takes them last of all, when nobody opens
 * files any more.  An owner of the file (F_SETOWN) is set by then, which the kernel leaves alone.
 */
#include "engine/files/reopen.h"
#include "engine/kinds/kinds.h"

#include <errno.h>
#include <fcntl.h>

static int lease_take(int fd)
{
	return fcntl(fd, F_SETLEASE, F_RDLCK);
}

static int lease_arm(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_locks; i++) {
		const struct state_lock *lock = &r->state->locks[i];

		if (lock->rec->kind != CKPT_LOCK_LEASE || lock->file->external ||
		    reopen_fd(r, lock->file) < 0)
			continue;
		ret = kind_at_number(r, lock->file, lease_take);
		if (ret)
			ret = reopen_failed(r, lock->file, ret, "take the lease on");
	}
	return ret;
}

const struct state_kind state_kind_lease = {
	.name = "lease",
	.arm = lease_arm,
};
