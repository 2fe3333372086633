// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckpt.ko: loading and unloading, the ordered list of what the module consists of.
 *
 * Every parked or queued thread holds a module reference, so exit runs only
 * when none is left; the last of them may still be in the tail of its callback,
 * for which exit waits.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "chardev.h"
#include "compat/ksyms.h"

static int __init ckpt_init(void)
{
	int err;

	err = ckpt_ksyms_init();
	if (err)
		return err;
	return ckpt_chardev_init();
}

static void __exit ckpt_exit(void)
{
	ckpt_chardev_exit();
	synchronize_rcu_tasks();
}

module_init(ckpt_init);
module_exit(ckpt_exit);

MODULE_DESCRIPTION("Transparent checkpoint and restore of process trees");
MODULE_LICENSE("GPL");
