// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupted system calls.
 *
 * The wake-up for the park interrupts a blocking call as a signal would.  Most calls then
 * restart by themselves and keep their deadline.  The others:
 *
 * - never restarted (-EINTR): epoll_wait, rt_sigtimedwait, semtimedop, socket
 *   calls with a timeout, tcdrain and their like.  Calls without a timeout are simply made
 *   to restart.  For a call with a timeout, a restart block of ours runs the call again with
 *   the time that is left until the deadline, which was learnt before the thread was woken.
 * - select and ppoll: the kernel has written the rest of the timeout into user memory and
 *   restarts with that rest; the time spent parked is subtracted when the thread leaves.
 *
 * If a signal handler runs first, the program gets EINTR, as it would have without the park.
 *
 * A restart block outlives the park, so its function may not outlive the module:
 * it takes a module reference while it runs, and ckpt_restart_block_exit() defuses the
 * blocks that have not run.
 */
#include <linux/falloc.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/restart_block.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/termios.h>
#include <linux/time64.h>
#include <linux/uaccess.h>

#include <asm/syscall.h>

#include <linux/ckpt.h>

#include "compat/ksyms.h"
#include "restart_block.h"
#include "thread.h"

enum ckpt_rerun_kind {
	CKPT_RERUN_PLAIN,	/* no timeout argument */
	CKPT_RERUN_SOCKET,	/* the same, if the first argument is a socket */
	CKPT_RERUN_FALLOCATE,	/* the same, for modes that are safe to repeat */
	CKPT_RERUN_DRAIN,	/* the same, if the ioctl is that of tcdrain(3) */
	CKPT_RERUN_MS,		/* timeout in milliseconds, negative: none */
	CKPT_RERUN_TIMESPEC,	/* pointer to a timespec, NULL: none */
	CKPT_RERUN_TIMEVAL,
};

struct ckpt_rerun_call {
	int nr;
	enum ckpt_rerun_kind kind;
	unsigned int arg;	/* which argument is the timeout, from 0 */
	bool shrinks;		/* on -ERESTARTNOHAND user memory holds the rest of the timeout */
};

static const struct ckpt_rerun_call ckpt_rerun_calls[] = {
	{ __NR_read, CKPT_RERUN_SOCKET },
	{ __NR_write, CKPT_RERUN_SOCKET },
	{ __NR_readv, CKPT_RERUN_SOCKET },
	{ __NR_writev, CKPT_RERUN_SOCKET },
	{ __NR_recvfrom, CKPT_RERUN_SOCKET },
	{ __NR_recvmsg, CKPT_RERUN_SOCKET },
	{ __NR_recvmmsg, CKPT_RERUN_SOCKET },
	{ __NR_sendto, CKPT_RERUN_SOCKET },
	{ __NR_sendmsg, CKPT_RERUN_SOCKET },
	{ __NR_sendmmsg, CKPT_RERUN_SOCKET },
	{ __NR_accept, CKPT_RERUN_SOCKET },
	{ __NR_accept4, CKPT_RERUN_SOCKET },
	{ __NR_connect, CKPT_RERUN_SOCKET },
	{ __NR_semop, CKPT_RERUN_PLAIN },
	{ __NR_io_uring_enter, CKPT_RERUN_PLAIN },
	{ __NR_fallocate, CKPT_RERUN_FALLOCATE },
	{ __NR_ioctl, CKPT_RERUN_DRAIN },
	{ __NR_epoll_wait, CKPT_RERUN_MS, 3 },
	{ __NR_epoll_pwait, CKPT_RERUN_MS, 3 },
	{ __NR_epoll_pwait2, CKPT_RERUN_TIMESPEC, 3 },
	{ __NR_rt_sigtimedwait, CKPT_RERUN_TIMESPEC, 2 },
	{ __NR_semtimedop, CKPT_RERUN_TIMESPEC, 3 },
	{ __NR_io_getevents, CKPT_RERUN_TIMESPEC, 4 },
	{ __NR_select, CKPT_RERUN_TIMEVAL, 4, true },
	{ __NR_pselect6, CKPT_RERUN_TIMESPEC, 4, true },
	{ __NR_ppoll, CKPT_RERUN_TIMESPEC, 2, true },
};

static const struct ckpt_rerun_call *ckpt_rerun_find(int nr)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ckpt_rerun_calls); i++)
		if (ckpt_rerun_calls[i].nr == nr)
			return &ckpt_rerun_calls[i];
	return NULL;
}

static bool ckpt_rerun_is_timed(const struct ckpt_rerun_call *call)
{
	return call->kind >= CKPT_RERUN_MS;
}

static unsigned long *ckpt_rerun_arg(struct pt_regs *regs, unsigned int i)
{
	switch (i) {
	case 0:
		return &regs->di;
	case 1:
		return &regs->si;
	case 2:
		return &regs->dx;
	case 3:
		return &regs->r10;
	case 4:
		return &regs->r8;
	default:
		return &regs->r9;
	}
}

/* ------------------------------------------------------- timeout arguments */

/* A timeout in user memory: seconds and nano- or microseconds, as the call has it. */
struct ckpt_user_time {
	s64 sec;
	s64 frac;
};

static u32 ckpt_rerun_unit(const struct ckpt_rerun_call *call)
{
	return call->kind == CKPT_RERUN_TIMEVAL ? NSEC_PER_USEC : 1;
}

static int ckpt_rerun_get_time(const struct ckpt_rerun_call *call, unsigned long addr,
			       u64 *ret_ns)
{
	struct ckpt_user_time t;

	if (copy_from_user(&t, (void __user *)addr, sizeof(t)))
		return -EFAULT;
	if (t.sec < 0 || t.frac < 0 || t.frac >= NSEC_PER_SEC)
		return -EINVAL;
	if (t.sec >= KTIME_SEC_MAX)
		*ret_ns = KTIME_MAX;
	else
		*ret_ns = t.sec * NSEC_PER_SEC + t.frac * ckpt_rerun_unit(call);
	return 0;
}

static int ckpt_rerun_put_time(const struct ckpt_rerun_call *call, unsigned long addr,
			       u64 ns)
{
	struct ckpt_user_time t;
	u32 rem;

	t.sec = div_u64_rem(ns, NSEC_PER_SEC, &rem);
	t.frac = rem / ckpt_rerun_unit(call);
	return copy_to_user((void __user *)addr, &t, sizeof(t)) ? -EFAULT : 0;
}

/* Read the timeout that the program gave; -ENOENT: none. */
static int ckpt_rerun_timeout(const struct ckpt_rerun_call *call, struct pt_regs *regs,
			      u64 *ret_ns)
{
	unsigned long arg = *ckpt_rerun_arg(regs, call->arg);

	if (!ckpt_rerun_is_timed(call))
		return -ENOENT;
	if (call->kind == CKPT_RERUN_MS) {
		if ((int)arg < 0)
			return -ENOENT;
		*ret_ns = (u64)(int)arg * NSEC_PER_MSEC;
		return 0;
	}
	return arg ? ckpt_rerun_get_time(call, arg, ret_ns) : -ENOENT;
}

/* ---------------------------------------------------------- running it again */

static long ckpt_rerun_enter(int nr, const struct pt_regs *regs)
{
	switch (nr) {
	case __NR_epoll_wait:
		return ckpt_k(__x64_sys_epoll_wait)(regs);
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
		return ckpt_k(__x64_sys_epoll_pwait)(regs);
	case __NR_rt_sigtimedwait:
		return ckpt_k(__x64_sys_rt_sigtimedwait)(regs);
	case __NR_semtimedop:
		return ckpt_k(__x64_sys_semtimedop)(regs);
	case __NR_io_getevents:
		return ckpt_k(__x64_sys_io_getevents)(regs);
	case __NR_select:
		return ckpt_k(__x64_sys_select)(regs);
	case __NR_pselect6:
		return ckpt_k(__x64_sys_pselect6)(regs);
	case __NR_ppoll:
		return ckpt_k(__x64_sys_ppoll)(regs);
	default:
		return -EINTR;
	}
}

static u64 ckpt_rerun_ms(u64 ns)
{
	return min_t(u64, DIV_ROUND_UP_ULL(ns, NSEC_PER_MSEC), INT_MAX);
}

/*
 * The timeout is passed below the red zone, where a signal frame would be; the old bytes of that
 * place are put back afterwards.
 */
static long ckpt_rerun_with_pointer(const struct ckpt_rerun_call *call,
				    struct pt_regs *regs, u64 left)
{
	unsigned long addr = (regs->sp - 128 - 2 * sizeof(struct ckpt_user_time)) & ~15UL;
	struct ckpt_user_time saved;
	long ret;

	if (copy_from_user(&saved, (void __user *)addr, sizeof(saved)) ||
	    ckpt_rerun_put_time(call, addr, left))
		return -EINTR;
	*ckpt_rerun_arg(regs, call->arg) = addr;
	ret = ckpt_rerun_enter(call->nr, regs);
	if (copy_to_user((void __user *)addr, &saved, sizeof(saved)))
		return -EFAULT;
	return ret;
}

static long ckpt_rerun_with(const struct ckpt_rerun_call *call, u64 left)
{
	struct pt_regs regs = *current_pt_regs();

	/* only this argument of epoll_pwait2 differs from epoll_pwait */
	if (call->kind == CKPT_RERUN_MS || call->nr == __NR_epoll_pwait2) {
		*ckpt_rerun_arg(&regs, call->arg) = ckpt_rerun_ms(left);
		return ckpt_rerun_enter(call->nr, &regs);
	}
	return ckpt_rerun_with_pointer(call, &regs, left);
}

static long ckpt_rerun_restart(struct restart_block *block);

static long ckpt_rerun_arm(const struct ckpt_rerun_call *call, u64 expires)
{
	struct restart_block *block = &current->restart_block;

	block->futex.val = call->nr;
	block->futex.time = expires;
	return set_restart_fn(block, ckpt_rerun_restart);
}

static void ckpt_rerun_disarm(struct restart_block *block)
{
	WRITE_ONCE(block->fn, (long (*)(struct restart_block *))
			      ckpt_kdata.do_no_restart_syscall);
}

/* The function of our restart block: restart_syscall(2) calls it. */
static long ckpt_rerun_restart(struct restart_block *block)
{
	const struct ckpt_rerun_call *call = ckpt_rerun_find(block->futex.val);
	u64 expires = block->futex.time;
	u64 now = ktime_get_ns();
	bool interrupted;
	long ret;

	if (!try_module_get(THIS_MODULE))
		return -EINTR;		/* the module is being unloaded */
	if (!call)
		ret = -EINTR;
	else
		ret = ckpt_rerun_with(call, expires > now ? expires - now : 0);
	interrupted = ret == -EINTR || ret == -ERESTARTNOHAND;
	/*
	 * Ask for a restart only if a signal is pending, which leads the thread to the code that
	 * handles the restart. If another thread took the signal, or there was none, the program
	 * itself would see that error code.
	 */
	if (call && interrupted && signal_pending(current)) {
		ret = ckpt_rerun_arm(call, expires);
	} else {
		ret = interrupted ? -EINTR : ret;
		ckpt_rerun_disarm(block);
	}
	module_put(THIS_MODULE);
	return ret;
}

static void ckpt_rerun_defuse(void)
{
	struct task_struct *leader, *task;

	read_lock(ckpt_kdata.tasklist_lock);
	for_each_process_thread(leader, task)
		if (READ_ONCE(task->restart_block.fn) == ckpt_rerun_restart)
			ckpt_rerun_disarm(&task->restart_block);
	read_unlock(ckpt_kdata.tasklist_lock);
}

/*
 * After the first pass a task may still be about to call the function, or a fork may have copied
 * its restart block before. The grace period waits for both, and the second pass defuses the
 * copies.
 */
void ckpt_restart_block_exit(void)
{
	ckpt_rerun_defuse();
	synchronize_rcu_tasks();
	ckpt_rerun_defuse();
}

/* --------------------------------------------------- in and out of the park */

static bool ckpt_rerun_applies(const struct ckpt_rerun_call *call, struct pt_regs *regs)
{
	struct fd f;
	bool is_socket;

	switch (call->kind) {
	case CKPT_RERUN_SOCKET:
		f = fdget(regs->di);
		is_socket = fd_file(f) && S_ISSOCK(file_inode(fd_file(f))->i_mode);
		fdput(f);
		return is_socket;
	case CKPT_RERUN_FALLOCATE:
		return !(regs->si & ~(unsigned long)FALLOC_FL_KEEP_SIZE);
	case CKPT_RERUN_DRAIN:
		return regs->si == TCSBRK || regs->si == TCSBRKP;
	default:
		return true;
	}
}

/* The park cut the call short with -EINTR: make the call run on. */
static void ckpt_rerun_fix(struct ckpt_restart_block *rerun, const struct ckpt_rerun_call *call,
			   struct pt_regs *regs)
{
	u64 timeout, expires;
	int err;

	err = ckpt_rerun_timeout(call, regs, &timeout);
	if (err == -ENOENT) {
		regs->ax = -ERESTARTNOHAND;
		return;
	}
	if (err)
		return;		/* the call itself will report the bad timeout */
	if (rerun->expires && rerun->nvcsw == current->nvcsw)
		expires = rerun->expires;
	else	/* the call began after the deadlines were learnt: just now */
		expires = min_t(u64, rerun->parked_ns + timeout, KTIME_MAX);
	regs->ax = ckpt_rerun_arm(call, expires);
}

static int ckpt_rerun_park(struct ckpt_thread *thread, void *unused)
{
	struct ckpt_restart_block *rerun = thread->side;
	struct pt_regs *regs = current_pt_regs();
	const struct ckpt_rerun_call *call;

	rerun->parked_ns = ktime_get_ns();
	rerun->shrink_nr = -1;
	if (syscall_get_nr(current, regs) == -1 || in_ia32_syscall())
		return 0;
	call = ckpt_rerun_find(syscall_get_nr(current, regs));
	if (!call)
		return 0;
	if ((long)regs->ax == -EINTR && ckpt_rerun_applies(call, regs))
		ckpt_rerun_fix(rerun, call, regs);
	else if ((long)regs->ax == -ERESTARTNOHAND && call->shrinks)
		rerun->shrink_nr = call->nr;
	return 0;
}

static int ckpt_rerun_leave(struct ckpt_thread *thread, void *unused)
{
	struct ckpt_restart_block *rerun = thread->side;
	struct pt_regs *regs = current_pt_regs();
	const struct ckpt_rerun_call *call;
	u64 left, parked;

	if (rerun->shrink_nr < 0)
		return 0;
	call = ckpt_rerun_find(rerun->shrink_nr);
	if (!call || ckpt_rerun_timeout(call, regs, &left))
		return 0;
	parked = ktime_get_ns() - rerun->parked_ns;
	left = left > parked ? left - parked : 0;
	/* if the rest cannot be written, the wait gets longer by the pause */
	(void)ckpt_rerun_put_time(call, *ckpt_rerun_arg(regs, call->arg), left);
	return 0;
}

int ckpt_restart_block_prepare(struct ckpt_thread *thread)
{
	struct ckpt_restart_block *rerun = kzalloc(sizeof(*rerun), GFP_KERNEL_ACCOUNT);

	if (!rerun)
		return -ENOMEM;
	rerun->shrink_nr = -1;
	thread->side = rerun;
	thread->side_free = (void (*)(void *))kfree;
	thread->on_park = ckpt_rerun_park;
	thread->on_leave = ckpt_rerun_leave;
	thread->mend = ckpt_rerun_park;
	return 0;
}

bool ckpt_restart_block_wants_deadline(struct task_struct *task)
{
	const struct ckpt_rerun_call *call = NULL;

	if (!READ_ONCE(task->__state) || !try_get_task_stack(task))
		return false;
	call = ckpt_rerun_find(syscall_get_nr(task, task_pt_regs(task)));
	ckpt_k(put_task_stack)(task);
	return call && ckpt_rerun_is_timed(call);
}

/* ------------------------------------------------------------------ records */

int ckpt_restart_to_record(struct task_struct *task, struct ckpt_restart *rec)
{
	const struct restart_block *block = &task->restart_block;
	const void *fn = (const void *)block->fn;

	memset(rec, 0, sizeof(*rec));
	rec->clock = CLOCK_MONOTONIC;
	if (fn == (const void *)ckpt_rerun_restart) {
		rec->kind = CKPT_RESTART_TIMED;
		rec->a = block->futex.val;
		rec->expires = block->futex.time;
	} else if (fn == ckpt_kdata.hrtimer_nanosleep_restart) {
		if (block->nanosleep.type == TT_COMPAT)
			return -EOPNOTSUPP;
		rec->kind = CKPT_RESTART_NANOSLEEP;
		rec->clock = block->nanosleep.clockid;
		rec->expires = block->nanosleep.expires;
		rec->a = block->nanosleep.clockid;
		if (block->nanosleep.type == TT_NATIVE)
			rec->b = (__force u64)block->nanosleep.rmtp;
	} else if (fn == ckpt_kdata.futex_wait_restart) {
		rec->kind = CKPT_RESTART_FUTEX;
		rec->a = (__force u64)block->futex.uaddr;
		rec->b = block->futex.val;
		rec->c = block->futex.bitset;
		rec->d = ckpt_futex_flags_out(block->futex.flags);
		if (rec->d & CKPT_FUTEX_TIMEOUT)
			rec->expires = block->futex.time;
		if (rec->d & CKPT_FUTEX_REALTIME)
			rec->clock = CLOCK_REALTIME;
	} else if (fn == ckpt_kdata.do_restart_poll) {
		rec->kind = CKPT_RESTART_POLL;
		rec->a = (__force u64)block->poll.ufds;
		rec->b = block->poll.nfds;
		rec->c = block->poll.has_timeout;
		if (rec->c)
			rec->expires = block->poll.tv_sec * NSEC_PER_SEC +
				       block->poll.tv_nsec;
	} else {
		return -EOPNOTSUPP;
	}
	return 0;
}

static void ckpt_restart_set(struct restart_block *block, const void *fn)
{
	set_restart_fn(block, (long (*)(struct restart_block *))fn);
}

/*
 * The deadline on this host's clock, never 0 and never beyond "for ever"; a deadline on the wall
 * clock stays as it is.
 */
static u64 ckpt_restart_rebase(const struct ckpt_restart *rec,
			       const struct ckpt_clock_deltas *deltas)
{
	s64 delta = 0, expires;

	if (rec->clock == CLOCK_MONOTONIC)
		delta = deltas->monotonic_ns;
	else if (rec->clock == CLOCK_BOOTTIME)
		delta = deltas->boottime_ns;
	if (!rec->expires)
		return 0;	/* no deadline */
	if (check_add_overflow((s64)rec->expires, delta, &expires))
		return KTIME_MAX;
	return max_t(s64, expires, 1);
}

bool ckpt_restart_is_ok(const struct ckpt_restart *rec)
{
	const struct ckpt_rerun_call *call;

	if (rec->expires > KTIME_MAX)
		return false;
	switch (rec->kind) {
	case CKPT_RESTART_NONE:
		return true;
	case CKPT_RESTART_NANOSLEEP:
		return rec->a == rec->clock &&
		       (rec->a == CLOCK_MONOTONIC || rec->a == CLOCK_REALTIME ||
			rec->a == CLOCK_BOOTTIME || rec->a == CLOCK_TAI);
	case CKPT_RESTART_FUTEX:
		return !(rec->d & ~(u64)CKPT_FUTEX_FLAGS) && rec->c && rec->c <= U32_MAX &&
		       rec->b <= U32_MAX;
	case CKPT_RESTART_POLL:
		return rec->b <= INT_MAX && rec->c <= 1;
	case CKPT_RESTART_TIMED:
		call = rec->a <= INT_MAX ? ckpt_rerun_find(rec->a) : NULL;
		return call && ckpt_rerun_is_timed(call);
	default:
		return false;
	}
}

void ckpt_restart_from_record(const struct ckpt_restart *rec,
			      const struct ckpt_clock_deltas *deltas)
{
	struct restart_block *block = &current->restart_block;
	u64 expires = ckpt_restart_rebase(rec, deltas);
	u32 rem;

	switch (rec->kind) {
	case CKPT_RESTART_NANOSLEEP:
		block->nanosleep.clockid = rec->a;
		block->nanosleep.expires = expires;
		block->nanosleep.type = rec->b ? TT_NATIVE : TT_NONE;
		block->nanosleep.rmtp = u64_to_user_ptr(rec->b);
		ckpt_restart_set(block, ckpt_kdata.hrtimer_nanosleep_restart);
		break;
	case CKPT_RESTART_FUTEX:
		block->futex.uaddr = u64_to_user_ptr(rec->a);
		block->futex.val = rec->b;
		block->futex.bitset = rec->c;
		block->futex.time = expires;
		block->futex.flags = ckpt_futex_flags_in(rec->d);
		ckpt_restart_set(block, ckpt_kdata.futex_wait_restart);
		break;
	case CKPT_RESTART_POLL:
		block->poll.ufds = u64_to_user_ptr(rec->a);
		block->poll.nfds = rec->b;
		block->poll.has_timeout = rec->c;
		block->poll.tv_sec = div_u64_rem(expires, NSEC_PER_SEC, &rem);
		block->poll.tv_nsec = rem;
		ckpt_restart_set(block, ckpt_kdata.do_restart_poll);
		break;
	case CKPT_RESTART_TIMED:
		ckpt_rerun_arm(ckpt_rerun_find(rec->a), expires);
		break;
	default:
		ckpt_rerun_disarm(block);
	}
}
