// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module for tests: makes the Nth allocation that ckpt.ko itself asks for fail, in whatever task.
 *
 * The kernel's own fail-nth counts in one task, but ckpt.ko allocates in the threads of the job,
 * too, and stock kernels lack it.  Here a return probe on each function that allocates looks at
 * the return address; a memory that is not handed out is freed later, as probes may not sleep.
 *
 *   fail_at   the number of the allocation that fails; 0: none. Set it last
 *   count     allocations since this was last set to 0
 *   hits      how many have been made fail, all in all
 *   where     the caller of the last one
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/fs.h>
#ifdef CKPTFAIL_FILELOCK_H
#include <linux/filelock.h>
#endif
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

enum ckptfail_kind { POINTER, ERROR_POINTER, LOCK };

struct ckptfail_probe {
	struct kretprobe probe;
	enum ckptfail_kind kind;
	bool registered;
};

static int fail_at;
module_param(fail_at, int, 0644);
static atomic_t count;
static atomic_t hits;
static char where[KSYM_SYMBOL_LEN];
module_param_string(where, where, sizeof(where), 0444);

static int ckptfail_set(const char *text, const struct kernel_param *param)
{
	int value, err = kstrtoint(text, 0, &value);

	if (!err)
		atomic_set(param->arg, value);
	return err;
}

static int ckptfail_get(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%d\n", atomic_read(param->arg));
}

static const struct kernel_param_ops ckptfail_ops = { .set = ckptfail_set, .get = ckptfail_get };
module_param_cb(count, &ckptfail_ops, &count, 0644);
module_param_cb(hits, &ckptfail_ops, &hits, 0444);

/* One allocation fails at a time, so one place for what it got suffices. */
static void *victim;
static enum ckptfail_kind victim_kind;

static void ckptfail_free(struct work_struct *work)
{
	void *memory = xchg(&victim, NULL);

	if (memory && victim_kind == LOCK)
		locks_free_lock(memory);
	else
		kvfree(memory);
}
static DECLARE_WORK(free_work, ckptfail_free);

static int ckptfail_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct ckptfail_probe *p = container_of(get_kretprobe(ri), struct ckptfail_probe, probe);
	unsigned long caller = get_kretprobe_retaddr(ri);
	void *got = (void *)regs_return_value(regs);
	char name[KSYM_SYMBOL_LEN];

	if (caller < MODULES_VADDR || caller >= MODULES_END)
		return 0;
	sprint_symbol(name, caller);
	if (!strstr(name, "[ckpt]") || atomic_inc_return(&count) != READ_ONCE(fail_at) ||
	    IS_ERR_OR_NULL(got))
		return 0;
	atomic_inc(&hits);
	strscpy(where, name, sizeof(where));
	victim_kind = p->kind;
	victim = got;
	schedule_work(&free_work);
	regs_set_return_value(regs, p->kind == ERROR_POINTER ? -ENOMEM : 0);
	return 0;
}

#define PROBE(name, what)						\
	{ .kind = (what), .probe = { .kp.symbol_name = #name,		\
	  .handler = ckptfail_return, .maxactive = 128 } }

/* Names of several kernels; those that this one lacks are left out. */
static struct ckptfail_probe probes[] = {
	PROBE(__kmalloc, POINTER), PROBE(__kmalloc_noprof, POINTER),
	PROBE(kmalloc_trace, POINTER), PROBE(__kmalloc_cache_noprof, POINTER),
	PROBE(kvmalloc_node, POINTER), PROBE(__kvmalloc_node_noprof, POINTER),
	PROBE(__kmalloc_node, POINTER), PROBE(__kmalloc_node_noprof, POINTER),
	PROBE(kmemdup, POINTER), PROBE(kmemdup_noprof, POINTER),
	PROBE(vmemdup_user, ERROR_POINTER), PROBE(memdup_user, ERROR_POINTER),
	PROBE(locks_alloc_lock, LOCK),
};

static void ckptfail_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (probes[i].registered)
			unregister_kretprobe(&probes[i].probe);
	flush_work(&free_work);
}

static int __init ckptfail_init(void)
{
	unsigned int i, nr = 0;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i].registered = !register_kretprobe(&probes[i].probe);
		nr += probes[i].registered;
	}
	if (nr >= 5)
		return 0;
	pr_err("ckptfail: this kernel's allocation functions have other names\n");
	ckptfail_exit();
	return -ENOENT;
}

module_init(ckptfail_init);
module_exit(ckptfail_exit);
MODULE_DESCRIPTION("Failing allocations of ckpt.ko, for tests");
MODULE_LICENSE("GPL");
