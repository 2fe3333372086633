// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signal handlers of the application; see glue_signal.h.
 *
 * The table holds the application's handlers; the kernel holds glue_signal_deliver() in their
 * place, with the application's flags and mask. The kernel alone, never the table, knows
 * whether a signal is handled at all. Dispositions other than handlers are passed on.
 *
 * glue_signal_deliver() may be entered with the lower FS base: it touches no thread-local
 * storage, and the functions it calls are not inlined, so that the compiler cannot
 * compute addresses of such storage before the switch.
 *
 * A handler that never returns (siglongjmp()) leaves the nesting mark raised: the
 * call it left is still open in the MPI library, and no checkpoint is possible.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "mpi-glue/lower/glue_signal.h"
#include "mpi-glue/lower/lower_internal.h"
#include "mpi-glue/lower/lower_raw.h"

#define EXPORT __attribute__((visibility("default")))

typedef void (*action_fn)(int sig, siginfo_t *info, void *context);

/* glibc's own sigaction(), under the name that glibc exports for its other libraries */
int __sigaction(int sig, const struct sigaction *action, struct sigaction *old);
/* current headers do not declare it */
EXPORT sighandler_t bsd_signal(int sig, sighandler_t handler);

static _Atomic(action_fn) handlers[_NSIG];
static long upper_word;
/* signals siginterrupt() was called for: signal() lets them interrupt */
static sigset_t interrupting;

/* ---- delivery */

/* run the application's handler; a handler of one argument ignores the others */
static __attribute__((noinline)) void call(int sig, siginfo_t *info, void *context)
{
	action_fn handler = handlers[sig];

	if (handler)
		handler(sig, info, context);
}

LOWER_TEXT static void glue_signal_deliver(int sig, siginfo_t *info, void *context)
{
	unsigned long fs = lower_fs_read(), upper;

	if (!lower_in_range(fs)) {
		call(sig, info, context);
		return;
	}
	upper = *(const unsigned long *)(fs + upper_word);
	/*
	 * a thread that the MPI library made: all signals but those of its libc are blocked;
	 * no frame of the upper half lies below its handler
	 */
	if (!upper) {
		if (sig == LOWER_SIGNAL_CANCEL)
			lower_syscall_handle(sig, info, context);
		return;
	}
	lower_up(upper);
	call(sig, info, context);
	lower_down(fs, upper);
}

LOWER_TEXT unsigned long lower_upper(unsigned long fs)
{
	return *(const unsigned long *)(fs + upper_word);
}

/* ---- handlers that the kernel has already */

struct kernel_action {
	action_fn handler;
	unsigned long flags;
	unsigned long restorer;
	unsigned long mask;
};

static void take_in(int sig)
{
	struct kernel_action action;

	if (lower_raw4(SYS_rt_sigaction, sig, 0, &action, 8) < 0)
		return;
	if ((unsigned long)action.handler <= (unsigned long)SIG_IGN ||
	    action.handler == glue_signal_deliver)
		return;
	handlers[sig] = action.handler;
	action.handler = glue_signal_deliver;
	lower_raw4(SYS_rt_sigaction, sig, &action, 0, 8);
}

void lower_signal_share(int sig)
{
	struct kernel_action action;

	take_in(sig);
	if (lower_raw4(SYS_rt_sigaction, sig, 0, &action, 8) < 0 ||
	    action.handler == glue_signal_deliver)
		return;
	action = (struct kernel_action){
		.handler = glue_signal_deliver,
		.flags = SA_SIGINFO | SA_RESTART | 0x04000000 /* SA_RESTORER */,
		.restorer = (unsigned long)lower_pool_restore,
	};
	handlers[sig] = NULL;
	lower_raw4(SYS_rt_sigaction, sig, &action, 0, 8);
}

void glue_signal_begin(long word)
{
	int sig;

	upper_word = word;
	for (sig = 1; sig < _NSIG; sig++)
		take_in(sig);
}

/* ---- functions that the application calls */

static bool is_function(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static int glue_signal_set(int sig, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction ours = *action;
	action_fn before = handlers[sig];

	handlers[sig] = action->sa_sigaction;
	ours.sa_sigaction = glue_signal_deliver;
	if (__sigaction(sig, &ours, old) == 0)
		return 0;
	handlers[sig] = before;
	return -1;
}

EXPORT int sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction was;
	action_fn before;
	int ret;

	if (sig <= 0 || sig >= _NSIG)
		return __sigaction(sig, action, old);
	before = handlers[sig];
	ret = action && is_function(action) ? glue_signal_set(sig, action, &was) :
					      __sigaction(sig, action, &was);
	if (ret || !old)
		return ret;
	if (was.sa_sigaction == glue_signal_deliver)
		was.sa_sigaction = before;
	*old = was;
	return 0;
}

static sighandler_t set_simple(int sig, sighandler_t handler, int flags, bool mask_itself)
{
	struct sigaction action, old;

	if (handler == SIG_ERR || sig <= 0 || sig >= _NSIG) {
		errno = EINVAL;
		return SIG_ERR;
	}
	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = flags;
	if (mask_itself)
		sigaddset(&action.sa_mask, sig);
	return sigaction(sig, &action, &old) ? SIG_ERR : old.sa_handler;
}

EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
	bool interrupts = sig > 0 && sig < _NSIG && sigismember(&interrupting, sig);

	return set_simple(sig, handler, interrupts ? 0 : SA_RESTART, true);
}

EXPORT sighandler_t bsd_signal(int sig, sighandler_t handler)
{
	return signal(sig, handler);
}

EXPORT sighandler_t ssignal(int sig, sighandler_t handler)
{
	return signal(sig, handler);
}

EXPORT sighandler_t __sysv_signal(int sig, sighandler_t handler)
{
	return set_simple(sig, handler, (int)SA_RESETHAND | SA_NODEFER, false);
}

EXPORT sighandler_t sysv_signal(int sig, sighandler_t handler)
{
	return __sysv_signal(sig, handler);
}

EXPORT int siginterrupt(int sig, int interrupt)
{
	struct sigaction action;

	if (sigaction(sig, NULL, &action))
		return -1;
	if (interrupt) {
		sigaddset(&interrupting, sig);
		action.sa_flags &= ~SA_RESTART;
	} else {
		sigdelset(&interrupting, sig);
		action.sa_flags |= SA_RESTART;
	}
	return sigaction(sig, &action, NULL);
}

/* System V's call: sets the disposition and whether the signal is held */
EXPORT sighandler_t sigset(int sig, sighandler_t disposition)
{
	sighandler_t before;
	sigset_t this, held;

	sigemptyset(&this);
	if (sigaddset(&this, sig))
		return SIG_ERR;
	if (disposition == SIG_HOLD) {
		struct sigaction action;

		if (sigprocmask(SIG_BLOCK, &this, &held) || sigaction(sig, NULL, &action))
			return SIG_ERR;
		before = action.sa_handler;
	} else {
		before = set_simple(sig, disposition, 0, false);
		if (before == SIG_ERR || sigprocmask(SIG_UNBLOCK, &this, &held))
			return SIG_ERR;
	}
	return sigismember(&held, sig) ? SIG_HOLD : before;
}
