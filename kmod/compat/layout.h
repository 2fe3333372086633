/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Structures that the kernel keeps to itself and the module imitates, and whether this kernel's
 * own are the same.
 *
 * The kernel describes its types in BTF.  When the module loads, each field that is read is looked
 * up there; a structure that differs is named in the log, and whoever needs it must do without.
 * Drop when the kernel has interfaces for these.
 */
#ifndef _CKPT_COMPAT_LAYOUT_H
#define _CKPT_COMPAT_LAYOUT_H

#include <linux/types.h>

enum ckpt_layout {
	CKPT_LAYOUT_N_TTY,		/* n_tty.h */
	CKPT_LAYOUT_SEM_UNDO,		/* sem.h */
	CKPT_LAYOUT_LANDLOCK,		/* lsm.h */
	CKPT_LAYOUT_EVENTFD,		/* event.h, as the next five */
	CKPT_LAYOUT_TIMERFD,
	CKPT_LAYOUT_SIGNALFD,
	CKPT_LAYOUT_EVENTPOLL,
	CKPT_LAYOUT_EPITEM,
	CKPT_LAYOUT_EPPOLL,
	CKPT_LAYOUT_SEM_ENTRY,		/* sem.h, as the next two */
	CKPT_LAYOUT_SEM_ARRAY,
	CKPT_LAYOUT_SHM,
	CKPT_LAYOUT_KIOCTX,		/* aio.h, as the next two */
	CKPT_LAYOUT_KIOCTX_TABLE,
	CKPT_LAYOUT_KIOCTX_CPU,
	CKPT_LAYOUT_MQUEUE,		/* mqueue.h, as the next two */
	CKPT_LAYOUT_MQUEUE_LEAF,
	CKPT_LAYOUT_MSG_SEGMENT,
	CKPT_LAYOUT_URING_RSRC,		/* uring.h */
	CKPT_LAYOUT__COUNT
};

/* Compare all; a kernel without BTF is taken to be as expected, and the log says so. */
void ckpt_layouts_init(void);
/* False if the structure must not be read. */
bool ckpt_layout_fits(enum ckpt_layout layout);

#endif /* _CKPT_COMPAT_LAYOUT_H */
