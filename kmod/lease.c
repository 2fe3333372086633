// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leases; see lease.h.
 *
 * Each lease is a timer of CLOCK_BOOTTIME, so the time that a machine slept counts: the timer fires
 * at the wake-up, before any process runs. The timer itself sends the signal, in interrupt context,
 * and needs neither memory nor a thread for that. A work item then takes the lease off the list.
 *
 * A lease holds its init's struct pid and so is never mistaken for a later process of that number.
 */
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/time_namespace.h>
#include <linux/workqueue.h>

#include "context.h"
#include "lease.h"

struct ckpt_lease_entry {
	struct list_head link;		/* ckpt_leases.all */
	struct pid *init;		/* reference */
	struct hrtimer timer;
	ktime_t until;			/* under ckpt_leases.lock */
	bool over;			/* the timer has fired */
};

static void ckpt_leases_sweep(struct work_struct *work);

static struct {
	struct mutex lock;		/* protects the list */
	struct list_head all;
	unsigned int nr;
	struct work_struct sweep;
} ckpt_leases = {
	.lock = __MUTEX_INITIALIZER(ckpt_leases.lock),
	.all = LIST_HEAD_INIT(ckpt_leases.all),
	.sweep = __WORK_INITIALIZER(ckpt_leases.sweep, ckpt_leases_sweep),
};

/* Take the lease off the list and free it; its timer is not running. */
static void ckpt_lease_free(struct ckpt_lease_entry *lease)
{
	lockdep_assert_held(&ckpt_leases.lock);
	list_del(&lease->link);
	ckpt_leases.nr--;
	put_pid(lease->init);
	kfree(lease);
	module_put(THIS_MODULE);
}

static void ckpt_leases_sweep(struct work_struct *work)
{
	struct ckpt_lease_entry *lease, *next;

	mutex_lock(&ckpt_leases.lock);
	list_for_each_entry_safe(lease, next, &ckpt_leases.all, link) {
		if (!READ_ONCE(lease->over))
			continue;
		hrtimer_cancel(&lease->timer);	/* the callback may be in its tail */
		if (pid_has_task(lease->init, PIDTYPE_TGID))
			pr_notice("the lease of process %d ran out, it is killed\n",
				  pid_nr(lease->init));
		ckpt_lease_free(lease);
	}
	mutex_unlock(&ckpt_leases.lock);
}

static enum hrtimer_restart ckpt_lease_fire(struct hrtimer *timer)
{
	struct ckpt_lease_entry *lease = container_of(timer, struct ckpt_lease_entry, timer);

	kill_pid(lease->init, SIGKILL, 1);
	WRITE_ONCE(lease->over, true);
	queue_work(system_unbound_wq, &ckpt_leases.sweep);
	return HRTIMER_NORESTART;
}

static struct ckpt_lease_entry *ckpt_lease_find(const struct pid *init)
{
	struct ckpt_lease_entry *lease;

	list_for_each_entry(lease, &ckpt_leases.all, link)
		if (lease->init == init)
			return lease;
	return NULL;
}

static int ckpt_lease_begin(struct pid *init, ktime_t until)
{
	struct ckpt_lease_entry *lease;

	if (ckpt_leases.nr >= CKPT_LEASES_MAX)
		return -ENOSPC;
	lease = kzalloc(sizeof(*lease), GFP_KERNEL_ACCOUNT);
	if (!lease)
		return -ENOMEM;
	__module_get(THIS_MODULE);
	lease->init = get_pid(init);
	lease->until = until;
	list_add_tail(&lease->link, &ckpt_leases.all);
	ckpt_leases.nr++;
	hrtimer_init(&lease->timer, CLOCK_BOOTTIME, HRTIMER_MODE_ABS);
	lease->timer.function = ckpt_lease_fire;
	hrtimer_start(&lease->timer, until, HRTIMER_MODE_ABS);
	return 0;
}

/* Stop the timer to move the end on, or for good; false: it has fired. */
static bool ckpt_lease_stop(struct ckpt_lease_entry *lease)
{
	hrtimer_cancel(&lease->timer);
	return !READ_ONCE(lease->over);
}

static int ckpt_lease_set(struct pid *init, bool give_up, ktime_t until)
{
	struct ckpt_lease_entry *lease = ckpt_lease_find(init);

	lockdep_assert_held(&ckpt_leases.lock);
	if (!lease && give_up)
		return -ENODATA;
	if (!give_up && ktime_compare(until, ktime_get_boottime()) <= 0)
		return -ETIME;
	if (!lease)
		return ckpt_lease_begin(init, until);
	if (!give_up && ktime_compare(until, lease->until) <= 0)
		return 0;
	if (!ckpt_lease_stop(lease))
		return -ETIME;
	if (give_up) {
		ckpt_lease_free(lease);
		return 0;
	}
	lease->until = until;
	hrtimer_start(&lease->timer, until, HRTIMER_MODE_ABS);
	return 0;
}

/* @until by the caller's clock, as a time of the machine's clock. */
static ktime_t ckpt_lease_host_time(u64 until)
{
	ktime_t host = ns_to_ktime(until);

#ifdef CONFIG_TIME_NS
	host = ktime_sub(host, timespec64_to_ktime(current->nsproxy->time_ns->offsets.boottime));
#endif
	return host;
}

int ckpt_lease(struct ckpt_ctx *ctx, struct ckpt_lease *arg)
{
	struct pid *init;
	ktime_t until;
	int err;

	if (arg->pad || arg->until_ns > KTIME_MAX)
		return -EINVAL;
	if (!ckpt_ctx_permitted())
		return -EPERM;
	until = ckpt_lease_host_time(arg->until_ns);
	if (arg->until_ns && until > ktime_add_ns(ktime_get_boottime(), CKPT_LEASE_MAX_NS))
		return -EINVAL;
	rcu_read_lock();
	init = get_pid(find_pid_ns(arg->pid, ctx->pid_ns));
	rcu_read_unlock();
	if (!init)
		return -ESRCH;
	err = -EINVAL;
	if (is_child_reaper(init) && ns_of_pid(init)->parent) {
		mutex_lock(&ckpt_leases.lock);
		err = ckpt_lease_set(init, !arg->until_ns, until);
		mutex_unlock(&ckpt_leases.lock);
	}
	put_pid(init);
	return err;
}

void ckpt_leases_exit(void)
{
	flush_work(&ckpt_leases.sweep);
}
