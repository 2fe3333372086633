// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs in place of the lower half's patched system calls. Hook code: see
 * lower_internal.h.
 *
 *  - memory is placed in the range (lower_range.c), new text is patched (lower_patch.c);
 *  - descriptors are recorded (lower_fd.c);
 *  - signal dispositions are remembered, not set, as they belong to the application. The
 *    lower half reads back the disposition it set. Only its abort() may end the process,
 *    and its pthread_cancel() reaches its threads;
 *  - alternate signal stacks are not set either: no handler of the lower half runs, and
 *    the thread is mostly the application's. UCX sets one when it is loaded.
 *
 * A child that the lower half forks, with or without memory of its own, has other
 * descriptors and dispositions: in the child the calls go to the kernel unchanged, but
 * memory is placed in the range all the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "mpi-glue/lower/lower_internal.h"
#include "mpi-glue/lower/lower_raw.h"

/* the kernel's layout of a signal's disposition */
struct action {
	unsigned long handler;
	unsigned long flags;
	unsigned long restorer;
	unsigned long mask;
};

static struct action actions[_NSIG];
static int own_pid;
/* set during a load: called when a file is refused, does not return */
static void (*load_refused)(int err);

/*
 * Called by stubs: number in rax, arguments as for "syscall". Keeps every register
 * but rax, rcx and r11.
 */
__asm__(".pushsection lower_text,\"ax\",@progbits\n"
	".globl lower_syscall_entry\n"
	".hidden lower_syscall_entry\n"
	".type lower_syscall_entry,@function\n"
	"lower_syscall_entry:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %r9\n"
	"	push %r8\n"
	"	push %r10\n"
	"	push %rdx\n"
	"	push %rsi\n"
	"	push %rdi\n"
	"	mov %rax, %rdi\n"
	"	mov %rsp, %rsi\n"
	"	and $-16, %rsp\n"
	"	call lower_syscall\n"
	"	lea -48(%rbp), %rsp\n"
	"	pop %rdi\n"
	"	pop %rsi\n"
	"	pop %rdx\n"
	"	pop %r10\n"
	"	pop %r8\n"
	"	pop %r9\n"
	"	pop %rbp\n"
	"	ret\n"
	".size lower_syscall_entry,.-lower_syscall_entry\n"
	".popsection\n");

/* only the assembly above calls this */
long lower_syscall(long nr, const long *a) __attribute__((visibility("hidden"), used));

void lower_syscall_begin(void (*refused)(int err))
{
	unsigned int i;

	own_pid = lower_raw(SYS_getpid, 0, 0, 0);
	load_refused = refused;
	for (i = 0; i < _NSIG; i++)
		actions[i] = (struct action) { .handler = 0 };
	lower_range_reset();
	lower_patch_reset();
	lower_fd_reset();
}

void lower_syscall_loaded(void)
{
	load_refused = NULL;
}

static bool in_child(void)
{
	return lower_raw(SYS_getpid, 0, 0, 0) != own_pid;
}

static long lower_syscall_map(const long *a)
{
	long at = lower_range_map(a[0], a[1], a[2], a[3], a[4], a[5]);
	int err;

	if (at < 0 || a[4] < 0 || !(a[2] & PROT_EXEC) || a[3] & MAP_ANONYMOUS)
		return at;
	err = lower_patch_text(at, a[1], a[4]);
	if (err && load_refused) {
		/* load_refused() does not return, so the file's opener cannot close it */
		lower_raw(SYS_close, a[4], 0, 0);
		load_refused(err);
	}
	return at;
}

/* Only abort() sets a full mask: libraries use sigfillset(), which omits signals 32 and 33. */
static bool is_abort(int sig, const struct action *action)
{
	return sig == SIGABRT && action && action->handler == (unsigned long)SIG_DFL &&
	       action->mask == -1UL;
}

static long sigaction_call(const long *a)
{
	const struct action *action = (const struct action *)a[1];
	struct action *old = (struct action *)a[2], was;

	if (in_child() || is_abort(a[0], action))
		return lower_raw4(SYS_rt_sigaction, a[0], a[1], a[2], a[3]);
	if (a[0] <= 0 || a[0] >= _NSIG || ((a[0] == SIGKILL || a[0] == SIGSTOP) && action))
		return -EINVAL;
	was = actions[a[0]];
	if (action)
		actions[a[0]] = *action;
	if (action && a[0] == LOWER_SIGNAL_CANCEL)
		lower_signal_share(LOWER_SIGNAL_CANCEL);
	if (old)
		*old = was;
	return 0;
}

void lower_syscall_handle(int sig, siginfo_t *info, void *context)
{
	void (*handler)(int, siginfo_t *, void *) = (void *)actions[sig].handler;

	if (handler)
		handler(sig, info, context);
}

/* report to the caller that no alternate stack is set */
static long altstack_call(const long *a)
{
	stack_t *old = (stack_t *)a[1];

	if (in_child())
		return lower_raw(SYS_sigaltstack, a[0], a[1], 0);
	if (old) {
		old->ss_sp = NULL;
		old->ss_flags = SS_DISABLE;
		old->ss_size = 0;
	}
	return 0;
}

/* record the descriptors that came with a message */
static void record_rights(const struct msghdr *msg)
{
	const unsigned char *p = msg->msg_control;
	size_t left = msg->msg_controllen, i;
	const struct cmsghdr *c;

	while (p && left >= sizeof(*c)) {
		c = (const struct cmsghdr *)p;
		if (c->cmsg_len < sizeof(*c) || c->cmsg_len > left)
			break;
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			for (i = 0; i < (c->cmsg_len - sizeof(*c)) / sizeof(int); i++)
				lower_fd_opened(((const int *)(c + 1))[i]);
		if (CMSG_ALIGN(c->cmsg_len) >= left)
			break;
		left -= CMSG_ALIGN(c->cmsg_len);
		p += CMSG_ALIGN(c->cmsg_len);
	}
}

static void lower_syscall_record(long nr, const long *a, long ret)
{
	const int *pair = (const int *)a[nr == SYS_socketpair ? 3 : 0];

	switch (nr) {
	case SYS_pipe:
	case SYS_pipe2:
	case SYS_socketpair:
		lower_fd_opened(pair[0]);
		lower_fd_opened(pair[1]);
		break;
	case SYS_recvmsg:
		record_rights((const struct msghdr *)a[1]);
		break;
	case SYS_fcntl:
		if (a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC)
			lower_fd_opened(ret);
		break;
	default:
		lower_fd_opened(ret);
	}
}

/* effect of system call @nr on the table of descriptors: 1 adds, -1 takes away, 0 neither */
static int lower_syscall_effect(long nr)
{
	switch (nr) {
	case SYS_open:
	case SYS_creat:
	case SYS_openat:
	case SYS_openat2:
	case SYS_open_by_handle_at:
	case SYS_socket:
	case SYS_socketpair:
	case SYS_accept:
	case SYS_accept4:
	case SYS_recvmsg:
	case SYS_pipe:
	case SYS_pipe2:
	case SYS_dup:
	case SYS_dup2:
	case SYS_dup3:
	case SYS_fcntl:
	case SYS_epoll_create:
	case SYS_epoll_create1:
	case SYS_eventfd:
	case SYS_eventfd2:
	case SYS_signalfd:
	case SYS_signalfd4:
	case SYS_timerfd_create:
	case SYS_inotify_init:
	case SYS_inotify_init1:
	case SYS_memfd_create:
	case SYS_perf_event_open:
	case SYS_pidfd_open:
	case SYS_pidfd_getfd:
	case SYS_userfaultfd:
	case SYS_io_uring_setup:
		return 1;
	case SYS_close:
	case SYS_close_range:
		return -1;
	default:
		return 0;
	}
}

/* a descriptor is recorded after it is opened and forgotten before it is closed */
static long lower_syscall_descriptor(long nr, const long *a, int what)
{
	bool mine = !in_child();
	long ret;

	if (mine && what < 0 && !(nr == SYS_close_range && a[2]))
		lower_fd_closed((unsigned int)a[0],
				(unsigned int)(nr == SYS_close ? a[0] : a[1]));
	ret = lower_raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (mine && what > 0 && ret >= 0)
		lower_syscall_record(nr, a, ret);
	return ret;
}

long lower_syscall(long nr, const long *a)
{
	int what;

	switch (nr) {
	case SYS_mmap:
		return lower_syscall_map(a);
	case SYS_brk:
		return lower_range_brk(a[0]);
	case SYS_mremap:
		return lower_range_remap(a[0], a[1], a[2], a[3], a[4]);
	case SYS_shmat:
		return lower_range_shmat(a[0], a[1], a[2]);
	case SYS_rt_sigaction:
		return sigaction_call(a);
	case SYS_sigaltstack:
		return altstack_call(a);
	}
	what = lower_syscall_effect(nr);
	if (what)
		return lower_syscall_descriptor(nr, a, what);
	return lower_raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}
