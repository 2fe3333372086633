// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckpt.ko: loading and unloading, the ordered list of the parts of the module.
 *
 * Every parked or queued thread holds a module reference, so exit runs only when no such thread
 * is left.  The last thread may still be in the tail of its callback; exit waits for that.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "chardev.h"
#include "compat/ksyms.h"
#include "compat/layout.h"
#include "events.h"
#include "l0.h"
#include "lease.h"
#include "restart_block.h"
#include "track.h"
#include "writes.h"

static int __init ckpt_init(void)
{
	int err;

	err = ckpt_ksyms_init();
	if (err)
		return err;
	ckpt_layouts_init();
	err = ckpt_events_init();
	if (err)
		return err;
	err = ckpt_writes_init();
	if (err)
		goto err_events;
	err = ckpt_l0_init();
	if (err)
		goto err_writes;
	err = ckpt_chardev_init();
	if (err)
		goto err_l0;
	return 0;

err_l0:
	ckpt_l0_exit();
err_writes:
	ckpt_writes_exit();
err_events:
	ckpt_events_exit();
	return err;
}

static void __exit ckpt_exit(void)
{
	ckpt_chardev_exit();
	ckpt_leases_exit();
	ckpt_l0_exit();
	ckpt_writes_exit();
	ckpt_track_exit();
	ckpt_events_exit();
	ckpt_restart_block_exit();	/* waits for the tails of callbacks, too */
}

module_init(ckpt_init);
module_exit(ckpt_exit);

MODULE_DESCRIPTION("Transparent checkpoint and restore of process trees");
MODULE_LICENSE("GPL");
