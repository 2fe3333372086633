// SPDX-License-Identifier: GPL-2.0-only
/*
 * restore_test: signals, stops, process groups, terminals, rseq.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kselftest/restore_rig.h"
#include "tests/kselftest/restore_test.h"

static void pending_add(struct recs *recs, int signo, bool shared, long value)
{
	struct ckpt_rec_sigpending *rec = recs_add(recs, CKPT_REC_SIGPENDING, sizeof(*rec));
	siginfo_t info = { .si_signo = signo, .si_code = SI_QUEUE };

	info.si_pid = 4711;
	info.si_uid = 12;
	info.si_value.sival_ptr = (void *)value;
	rec->signo = signo;
	rec->shared = shared;
	rec->has_info = value >= 0;
	memcpy(rec->siginfo, &info, sizeof(info));
}

static void handlers_add(struct recs *recs)
{
	struct ckpt_rec_sigactions *actions = recs_add(recs, CKPT_REC_SIGACTIONS,
						       sizeof(*actions));
	int i;

	for (i = 0; i < 64; i++)
		actions->sa[i] = (struct ckpt_sigaction) {
			.handler = (unsigned long)payload_addr(payload_handler),
			.flags = SA_SIGINFO | 0x04000000,
			.restorer = (unsigned long)payload_addr(payload_restorer),
			.mask = ~0ULL,
		};
}

/* Signals of the building phase: a child that ended, some that were sent. */
static void noisy(struct helper *self)
{
	pid_t child = fork();
	sigset_t all;

	if (child == 0)
		_exit(17);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	kill(getpid(), SIGUSR2);
	usleep(20000);
}

static struct ckpt_rec_timer timer_of(int id)
{
	return (struct ckpt_rec_timer){
		.id = id, .clock = CLOCK_MONOTONIC, .notify = SIGEV_SIGNAL, .signo = SIGUSR1,
		.sigev_value = 7, .value_ns = 1000000000000ULL, .interval_ns = 50000000,
	};
}

static int timer_try(struct rig *rig, struct ckpt_rec_timer timer)
{
	struct ckpt_rec_timer *rec;
	struct recs recs = {};
	int ret;

	rec = recs_add(&recs, CKPT_REC_TIMER, sizeof(*rec));
	timer.hdr = rec->hdr;
	*rec = timer;
	ret = rig_state(rig, rig->helpers[0].pid, &recs, &(__u64){ 0 });
	recs_done(&recs);
	return ret;
}

#define TIMER_BAD(rig, want, statement, what) do {		\
	struct ckpt_rec_timer timer = timer_of(9);		\
	statement;						\
	tap_is(timer_try(rig, timer), want, what);		\
} while (0)

void test_timers(void)
{
	struct recs recs = {};
	struct rig rig;
	pid_t pid;

	tap_note("POSIX timers");
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	rig_basic_mm(&rig, pid, NULL, NULL);
	TIMER_BAD(&rig, -EINVAL, (void)timer, "before its process");
	recs_proc(&recs);
	tap_is(rig_state(&rig, pid, &recs, NULL), 0, "the process");
	recs_done(&recs);
	TIMER_BAD(&rig, -EINVAL, timer.id = -1, "no number");
	TIMER_BAD(&rig, -EINVAL, timer.clock = CLOCK_PROCESS_CPUTIME_ID, "processor time");
	TIMER_BAD(&rig, -EINVAL, timer.flags = 4, "unknown flag");
	TIMER_BAD(&rig, -EINVAL, timer.next_id = -1, "no next number");
	TIMER_BAD(&rig, -EINVAL, timer.notify = SIGEV_NONE; timer.flags = CKPT_TIMER_PENDING,
		  "a signal of one that has none");
	TIMER_BAD(&rig, -EINVAL, timer.flags = CKPT_TIMER_ABSOLUTE, "no such absolute time");
	TIMER_BAD(&rig, -EINVAL, timer.value_ns = 1ULL << 63, "too far away");
	TIMER_BAD(&rig, -EINVAL, timer.overrun = -1, "less than no overrun");
	TIMER_BAD(&rig, -EINVAL, timer.signo = 65, "no signal");
	TIMER_BAD(&rig, -EINVAL, timer.notify = 77, "no way to tell");
	TIMER_BAD(&rig, -EINVAL, timer.notify = SIGEV_THREAD_ID; timer.tid = 1,
		  "a thread that is not its own");
	TIMER_BAD(&rig, 0, timer.id = 5, "with a gap before it");
	TIMER_BAD(&rig, 0, timer.id = 3, "and one in the gap");
	TIMER_BAD(&rig, -EEXIST, timer.id = 5, "a number twice");
	tap_ok(proc_line(pid, "timers", "ID: 5", NULL, 0) &&
		       proc_line(pid, "timers", "ID: 3", NULL, 0),
	       "they are there");
	rig_close(&rig);
}

void test_signals(void)
{
	static const int order[][2] = {	/* as the kernel takes them: private first */
		{ SIGUSR1, 1 }, { 40, 2 }, { 40, 3 }, { SIGHUP, 4 }, { 41, 5 }, { 41, 6 },
		{ 50, -1 },
	};
	struct recs recs = {};
	struct shared *sh;
	struct rig rig;
	pid_t pid;
	int i, good = 0;

	tap_note("pending signals");
	rig_open(&rig);
	rig_add(&rig, -1, 1, noisy);
	rig_start(&rig);
	sh = rig.shared;
	pid = rig.helpers[0].pid;
	rig_basic_mm(&rig, pid, NULL, NULL);
	handlers_add(&recs);
	recs_proc(&recs);
	recs_thread(&recs, payload_signals, SHARED_BASE, 0, 0)->sigmask = ~0ULL;
	pending_add(&recs, 40, false, 2);
	pending_add(&recs, SIGUSR1, false, 1);
	pending_add(&recs, 40, false, 3);
	pending_add(&recs, SIGHUP, true, 4);
	pending_add(&recs, 41, true, 5);
	pending_add(&recs, 41, true, 6);
	pending_add(&recs, 50, true, -1);
	tap_is(rig_state(&rig, pid, &recs, NULL), 0, "records");
	recs.len = 0;
	pending_add(&recs, SIGKILL, true, 1);
	tap_is(rig_state(&rig, pid, &recs, &(__u64){ 0 }), -EINVAL, "SIGKILL is never pending");
	recs_done(&recs);
	tap_is(rig_commit(&rig), 0, "commit");
	wait_until(&sh->ready, 1);
	tap_is(sh->nr_seen, 0, "blocked ones wait");
	sh->go = 1;
	wait_exit(pid);
	tap_is(sh->nr_seen, 7, "all come, and none of the helper's");
	for (i = 0; i < sh->nr_seen && i < 7; i++) {
		const struct seen *seen = &sh->seen[i];

		if (seen->signo == order[i][0] &&
		    (order[i][1] < 0 || (seen->value == order[i][1] && seen->code == SI_QUEUE)))
			good++;
		else
			tap_note("%d: signal %d value %ld code %d", i, seen->signo, seen->value,
				 seen->code);
	}
	tap_is(good, 7, "with their order and values");
	rig_close(&rig);
}

void test_fatal_signal(void)
{
	struct ckpt_rec_proc *proc;
	struct recs recs = {};
	struct rig rig;
	pid_t pid;
	int i;

	tap_note("a pending signal that ends the process");
	rig_open(&rig);
	rig_add(&rig, -1, 3, NULL);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	rig_basic_mm(&rig, pid, NULL, NULL);
	proc = recs_proc(&recs);
	recs_thread(&recs, payload_hold, SHARED_BASE, 0, 0);
	pending_add(&recs, SIGTERM, true, 1);
	rig_state(&rig, pid, &recs, NULL);
	for (i = 1; i < 3; i++)
		rig_thread(&rig, rig.helpers[0].tids[i], payload_hold, 0, 0);
	/* the same in a stopped process waits for SIGCONT */
	rig_basic_mm(&rig, rig.helpers[1].pid, NULL, NULL);
	proc->state = CKPT_PROC_STOPPED;
	proc->exit_code = SIGSTOP;
	rig_state(&rig, rig.helpers[1].pid, &recs, NULL);
	recs_done(&recs);
	tap_is(rig_commit(&rig), 0, "commit");
	tap_is(wait_exit(pid), SIGTERM, "it dies of it");
	/* One of its threads may have run while another was on the way to ending them all. */
	rig.shared->ready = 0;
	usleep(50000);
	tap_is(proc_state(rig.helpers[1].pid), 'T', "a stopped process has it pending");
	kill(rig.helpers[1].pid, SIGCONT);
	tap_is(wait_exit(rig.helpers[1].pid), SIGTERM, "until it is continued");
	tap_is(rig.shared->ready, 0, "and it dies before its first instruction");
	rig_close(&rig);
}

/* A periodic timer whose signal was pending: it ticks on when that is taken. */
static void alarm_pending(void)
{
	struct ckpt_rec_proc *proc;
	struct recs recs = {};
	struct rig rig;
	pid_t pid;

	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	rig_basic_mm(&rig, pid, NULL, NULL);
	handlers_add(&recs);
	proc = recs_proc(&recs);
	proc->itimer[0].interval_ns = 50000000;
	recs_thread(&recs, payload_alarm, SHARED_BASE, 0, 0);
	pending_add(&recs, SIGALRM, true, 1);
	tap_is(rig_state(&rig, pid, &recs, NULL), 0, "records");
	recs_done(&recs);
	tap_is(rig_commit(&rig), 0, "commit");
	wait_exit(pid);
	tap_is(rig.shared->nr_seen, 2, "a pending SIGALRM arms the timer again");
	rig_close(&rig);
}

/* How long after the program's start SIGALRM came, ms. */
static long alarm_run(void)
{
	struct ckpt_rec_proc *proc;
	struct recs recs = {};
	struct rig rig;
	long alarm_ms;
	int first;
	pid_t pid;

	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	rig_basic_mm(&rig, pid, NULL, NULL);
	handlers_add(&recs);
	proc = recs_proc(&recs);
	proc->itimer[0].value_ns = 300000000;
	proc->itimer[2].value_ns = 50000000;
	recs_thread(&recs, payload_alarm, SHARED_BASE, 0, 0);
	tap_is(rig_state(&rig, pid, &recs, NULL), 0, "records");
	proc->itimer[1].value_ns = ~0ULL;
	tap_is(rig_state(&rig, pid, &recs, &(__u64){ 0 }), -EINVAL, "a value that is out of range");
	recs_done(&recs);
	usleep(100000);
	tap_is(rig_commit(&rig), 0, "commit");
	wait_exit(pid);
	tap_is(rig.shared->nr_seen, 2, "both expire");
	/* on a busy machine SIGPROF, which counts time on a processor, may come last */
	first = rig.shared->seen[0].signo;
	tap_is(first + rig.shared->seen[1].signo, SIGPROF + SIGALRM, "SIGPROF and SIGALRM");
	alarm_ms = rig.shared->val[first != SIGALRM];
	rig_close(&rig);
	return alarm_ms;
}

void test_alarm(void)
{
	long alarm_ms = 0;

	tap_note("interval timers");
	/*
	 * it counts from the commit, and on a busy machine the program starts later: not each
	 * time
	 */
	for (int i = 0; i < 4 && alarm_ms < 250; i++)
		alarm_ms = alarm_run();
	tap_ok(alarm_ms >= 250, "SIGALRM no sooner than it should: %ld ms", alarm_ms);
	alarm_pending();
}

/* ---------------------------------------------------------------- stops */

static void stopped_run(bool reported)
{
	struct ckpt_rec_proc *proc;
	struct recs recs = {};
	struct rig rig;
	struct shared *sh;
	pid_t parent, child;
	int i;

	tap_note("a stopped child, %s", reported ? "waited for" : "not waited for yet");
	rig_open(&rig);
	rig_add(&rig, -1, 1, noisy);
	rig_add(&rig, 0, 4, NULL);
	rig_start(&rig);
	sh = rig.shared;
	parent = rig.helpers[0].pid;
	child = rig.helpers[1].tids[0];
	rig_basic_mm(&rig, parent, NULL, NULL);
	rig_basic_mm(&rig, child, NULL, NULL);
	recs_thread(&recs, payload_wait, SHARED_BASE, child, 0)->sigmask = ~0ULL;
	rig_state(&rig, parent, &recs, NULL);
	recs.len = 0;
	proc = recs_proc(&recs);
	proc->state = CKPT_PROC_STOPPED;
	proc->exit_code = SIGTSTP;
	proc->stop_reported = reported;
	rig_state(&rig, child, &recs, NULL);
	recs_done(&recs);
	for (i = 0; i < 4; i++)
		rig_thread(&rig, rig.helpers[1].tids[i], payload_hold, 0, 0);
	sh->exit_code = 3;
	tap_is(rig_commit(&rig), 0, "commit");
	tap_is(proc_state(child), 'T', "it is stopped");
	tap_is(sh->ready, 0, "and has not run");
	sh->go = 1;
	wait_until(&sh->ready, 1);
	tap_is(sh->val[2], 0, "the parent has no SIGCHLD pending");
	tap_is(sh->val[0], reported ? 0 : child, "wait4 in the parent");
	if (!reported)
		tap_is(sh->val[1], 0x7f | SIGTSTP << 8, "says which signal stopped it");
	tap_is(sh->val[3], 0, "and nothing the second time");
	kill(child, SIGCONT);
	tap_ok(wait_until(&sh->ready, 2), "SIGCONT lets it go on");
	sh->go = 2;
	wait_exit(parent);
	tap_is(sh->val[4], child, "its end is seen");
	tap_is(sh->val[5], 3 << 8, "with the status");
	rig_close(&rig);
}

void test_stopped(void)
{
	stopped_run(false);
	stopped_run(true);
}

/* --------------------------------------------------- groups, sessions, tty */

static int proc_move(struct rig *rig, pid_t pid, pid_t pgid, pid_t sid, int tty, __u32 flags)
{
	struct ckpt_rec_proc *proc;
	struct recs recs = {};
	int err;

	proc = recs_proc(&recs);
	proc->pgid = pgid;
	proc->sid = sid;
	proc->tty = tty;
	proc->flags = flags;
	err = rig_state(rig, pid, &recs, &(__u64){ 0 });
	recs_done(&recs);
	return err;
}

static void new_session(struct helper *self)
{
	if (setsid() < 0)
		self->failed = errno;
}

void test_groups(void)
{
	pid_t leader, second, outside, pid;
	struct rig rig;
	int i;

	tap_note("process groups and sessions");
	outside = fork();
	if (outside == 0) {
		setpgid(0, 0);
		pause();
		_exit(0);
	}
	rig_open(&rig);
	rig_add(&rig, -1, 1, new_session);
	rig_add(&rig, -1, 1, NULL);
	rig_add(&rig, -1, 1, new_session);
	rig_start(&rig);
	leader = rig.helpers[0].pid;
	second = rig.helpers[1].pid;
	pid = rig.helpers[2].pid;
	tap_is(proc_move(&rig, second, outside, 0, -1, 0), -EPERM, "a group outside is refused");
	tap_is(proc_move(&rig, second, 0, 1, -1, 0), -EPERM, "init's session too");
	tap_is(proc_move(&rig, second, 999999, 0, -1, 0), -EPERM, "one that is not there too");
	tap_is(proc_move(&rig, second, -5, 0, -1, 0), -EINVAL, "a negative one too");
	tap_is(proc_move(&rig, second, leader, leader, -1, 0), 0, "into a helper's session");
	tap_ok(getpgid(second) == leader && getsid(second) == leader, "there it is");
	tap_is(proc_move(&rig, second, second, 0, -1, 0), 0, "own group");
	tap_ok(getpgid(second) == second && getsid(second) == leader, "there it is");
	tap_is(proc_move(&rig, pid, 0, leader, -1, 0), -EBUSY, "a session leader stays one");
	tap_is(proc_move(&rig, leader, 0, 0, -1,
			 CKPT_PROC_SESSION_LEADER | CKPT_PROC_SUBREAPER), 0, "flags");
	kill(outside, SIGKILL);
	waitpid(outside, NULL, 0);
	for (i = 0; i < 3; i++) {
		rig_basic_mm(&rig, rig.helpers[i].pid, NULL, NULL);
		rig_thread(&rig, rig.helpers[i].pid, payload_hold, 0, 0);
	}
	tap_is(rig_commit(&rig), 0, "commit");
	wait_until(&rig.shared->ready, 3);
	rig.shared->go = 1;
	for (i = 0; i < 3; i++)
		wait_exit(rig.helpers[i].pid);
	rig_close(&rig);
}

/* A child that is killed and stays a zombie. */
static void with_zombie(struct helper *self)
{
	pid_t pid = fork();
	siginfo_t info;

	if (pid == 0) {
		kill(getpid(), SIGKILL);
		_exit(0);
	}
	self->child = pid;
	if (pid < 0 || waitid(P_PID, (id_t)self->child, &info, WEXITED | WNOWAIT))
		self->failed = errno;
}

static int zombie_set(struct rig *rig, pid_t pid, pid_t pgid, int status)
{
	struct ckpt_rec_proc *proc;
	struct recs recs = {};
	int err;

	proc = recs_proc(&recs);
	proc->state = CKPT_PROC_ZOMBIE;
	proc->pgid = pgid;
	proc->exit_code = status;
	err = rig_state(rig, pid, &recs, &(__u64){ 0 });
	recs_done(&recs);
	return err;
}

void test_zombie(void)
{
	pid_t outside, pid, zombie;
	struct rig rig;

	tap_note("zombies");
	outside = fork();
	if (outside == 0)
		_exit(0);
	rig_open(&rig);
	rig_add(&rig, -1, 1, with_zombie);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	zombie = rig.helpers[0].child;
	tap_is(zombie_set(&rig, zombie, pid, SIGKILL), 0, "into its parent's group");
	tap_is(getpgid(zombie), pid, "there it is");
	tap_is(zombie_set(&rig, zombie, outside, SIGKILL), -EPERM, "not into one outside");
	tap_is(zombie_set(&rig, zombie, 0, SIGKILL | 0x80), 0, "it left a core");
	tap_is(zombie_set(&rig, zombie, 0, SIGSEGV | 0x80), -EINVAL, "of no other signal");
	tap_is(zombie_set(&rig, zombie, 0, 1 << 8), -EINVAL, "and did not exit");
	tap_is(zombie_set(&rig, pid, 0, SIGKILL), -EINVAL, "who is parked is none");
	tap_is(zombie_set(&rig, outside, 0, 0), -ESRCH, "not a zombie of somebody else");
	tap_is(proc_move(&rig, zombie, 0, 0, -1, 0), -EINVAL, "a zombie does not run");
	waitpid(outside, NULL, 0);
	rig_close(&rig);
}

static int tty_master;

static void take_tty(struct helper *self)
{
	int slave;

	if (setsid() < 0 || ioctl(tty_master, TIOCSPTLCK, &(int){ 0 }))
		self->failed = errno;
	slave = ioctl(tty_master, TIOCGPTPEER, O_RDWR);
	if (slave < 0 || ioctl(slave, TIOCSCTTY, 0))
		self->failed = errno;
}

static long tty_of(pid_t pid)
{
	char path[64], line[512], *at;
	long tty = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (f && fgets(line, sizeof(line), f)) {
		at = strrchr(line, ')');
		if (at && sscanf(at, ") %*c %*d %*d %*d %ld", &tty) != 1)
			tty = -1;
	}
	if (f)
		fclose(f);
	return tty;
}

void test_tty(void)
{
	struct ckpt_rec_fd *fd;
	struct recs recs = {};
	pid_t leader, second;
	struct rig rig;
	int i;

	tap_note("controlling terminals");
	tty_master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (tty_master < 0) {
		tap_skip("controlling terminals", "no /dev/ptmx");
		return;
	}
	rig_open(&rig);
	rig_add(&rig, -1, 1, take_tty);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	leader = rig.helpers[0].pid;
	second = rig.helpers[1].pid;
	tap_ok(tty_of(leader) > 0, "the leader has one: %ld", tty_of(leader));
	tap_is(proc_move(&rig, second, leader, leader, 3, 0), 0, "a member of its session");
	tap_is(tty_of(second), tty_of(leader), "has the same");
	tap_is(proc_move(&rig, second, leader, leader, -1, 0), 0, "a member without one");
	tap_is(tty_of(second), 0, "has none");
	proc_move(&rig, second, leader, leader, 3, 0);
	proc_move(&rig, leader, 0, 0, 3, CKPT_PROC_SESSION_LEADER);
	fd = recs_add(&recs, CKPT_REC_FD, sizeof(*fd));
	fd->fd = fd->file = -1;
	for (i = 0; i < 2; i++) {
		rig_basic_mm(&rig, rig.helpers[i].pid, NULL, NULL);
		rig_state(&rig, rig.helpers[i].pid, &recs, NULL);
		rig_thread(&rig, rig.helpers[i].pid, payload_hold, 0, 0);
	}
	recs_done(&recs);
	tap_is(rig_commit(&rig), 0, "commit");
	wait_until(&rig.shared->ready, 2);
	close(tty_master);
	tap_is(wait_exit(leader), SIGHUP, "the terminal hangs up");
	kill(second, SIGKILL);
	wait_exit(second);
	rig_close(&rig);
}

/* ----------------------------------------------------------------- rseq */

struct rseq_area {
	__u32 cpu_id_start;
	__u32 cpu_id;
	__u64 rseq_cs;
	__u32 flags;
	__u32 pad[11];
};

void test_rseq(void)
{
	struct ckpt_rec_thread *thread;
	struct rseq_area *area;
	struct recs recs = {};
	struct rig rig;
	pid_t pid;

	tap_note("rseq");
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	rig_basic_mm(&rig, pid, NULL, NULL);
	area = (void *)rig.shared->scratch;
	area->cpu_id = area->cpu_id_start = 999;
	thread = recs_thread(&recs, payload_hold, SHARED_BASE, 0, 0);
	thread->rseq = SHARED_BASE + offsetof(struct shared, scratch);
	thread->rseq_len = 32;
	thread->rseq_sig = 0x53053053;
	tap_is(rig_state(&rig, pid, &recs, NULL), 0, "records");
	recs_done(&recs);
	tap_is(rig_commit(&rig), 0, "commit");
	wait_until(&rig.shared->ready, 1);
	tap_ok(area->cpu_id < 64 && area->cpu_id_start == area->cpu_id,
	       "the kernel keeps it up to date: CPU %u", area->cpu_id);
	rig.shared->go = 1;
	wait_exit(pid);
	rig_close(&rig);
}
