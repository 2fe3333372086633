/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Part of ckpt.h, which includes it: leases on the processes of a PID namespace.
 *
 * A lease has an end.  If nobody moves the end on before it comes, the module sends SIGKILL to the
 * namespace's init, and with it to every process of the namespace.  So the processes of a job end
 * on a node that its other nodes cannot reach, whatever happened to the daemon there.
 *
 * A lease belongs to one PID namespace, not to a context, and outlives the closing of the device.
 * As long as there is a lease, the module cannot be unloaded.
 */
#ifndef _UAPI_LINUX_CKPT_LEASE_H
#define _UAPI_LINUX_CKPT_LEASE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define CKPT_LEASES_MAX		4096U		/* leases on one machine */
#define CKPT_LEASE_MAX_NS	86400000000000ULL	/* how far ahead an end may be: a day */

/**
 * struct ckpt_lease - CKPT_IOC_LEASE: begin a lease, move its end on, or give the lease up
 * @flags: none
 * @pid: the init of the PID namespace, in the caller's PID namespace; not the first namespace's
 * @pad: 0
 * @until_ns: the end by CLOCK_BOOTTIME of the caller's time namespace, which goes on while the
 *	machine sleeps; 0: give the lease up
 *
 * An end is a time and not a duration, because the caller counts from the moment at which it asked
 * for the lease, which may be long before it is told.  An end never moves back: an earlier one is
 * not an error and changes nothing.  What is left of a lease whose namespace ended goes when its
 * end comes.
 *
 * Errors: EPERM; ESRCH: no such process; EINVAL: not an init, or the end is too far ahead; ETIME:
 * the end has come; ENODATA: there is no lease to give up; ENOSPC: too many leases.
 */
struct ckpt_lease {
	__u32 size;
	__u32 flags;
	__s32 pid;
	__u32 pad;
	__u64 until_ns;
};

#define CKPT_IOC_LEASE		_IOWR(CKPT_IOC_MAGIC, 0x1c, struct ckpt_lease)

#endif /* _UAPI_LINUX_CKPT_LEASE_H */
