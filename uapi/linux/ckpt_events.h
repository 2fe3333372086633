/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Events of the generic netlink family "ckpt"; part of <linux/ckpt.h>.
 */
#ifndef _UAPI_LINUX_CKPT_EVENTS_H
#define _UAPI_LINUX_CKPT_EVENTS_H

#define CKPT_GENL_NAME		"ckpt"
#define CKPT_GENL_VERSION	1
#define CKPT_GENL_EVENTS	"events"	/* multicast group */

/* The command of a message of the group; @: meaning of CKPT_EVENT_A_VALUE */
enum ckpt_event {
	CKPT_EVENT_FROZEN = 1,	/* @: freeze_ns */
	CKPT_EVENT_THAWED = 2,	/* @: pause_ns */
	CKPT_EVENT_EXPIRED = 3,	/* the maximum pause passed and the tree was thawed */
	CKPT_EVENT_REFUSED = 4,	/* a command was refused; the records have the reasons */
	CKPT_EVENT_EXITED = 5,	/* @: tid (host) of a thread that died while parked */
	CKPT_EVENT_LOST = 6,	/* memory ran short and the snapshot was dropped */
	CKPT_EVENT_RESTORED = 7,	/* @: threads let go by the commit */
};

enum ckpt_event_attr {
	CKPT_EVENT_A_PAD = 1,
	CKPT_EVENT_A_CONTEXT = 2,	/* u64, number of the context, as in tracepoints */
	CKPT_EVENT_A_VALUE = 3,		/* u64 */
	CKPT_EVENT_A_PID = 4,		/* u32, host pid of the opener of the context */
	CKPT_EVENT_A__LAST = CKPT_EVENT_A_PID,
};

#endif /* _UAPI_LINUX_CKPT_EVENTS_H */
