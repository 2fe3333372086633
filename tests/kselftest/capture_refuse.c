// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: processes that cannot park (stopped, zombie, vfork, traced), what
 * is refused, and what is left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

static void count_forever(void *unused)
{
	(void)unused;
	am_ready();
	for (;;)
		shared->n[0]++;
}

/* ------------------------------------------------------------------- stopped */

part(stopped)
{
	struct ckpt_rec_proc *p;
	struct ckpt_rec_mm *mm;
	struct recs recs;
	pid_t pid = spawn(count_forever, NULL);
	char page[PAGE];
	int fd, status;

	wait_ready(1);
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	fd = cap_frozen(pid, NULL);
	tap_is(cap_snapshot(fd, 0, NULL), 0, "snapshot of a stopped process");
	tap_is(cap_thaw(fd, 0, NULL), 0, "thaw");
	recs = recs_read(fd);
	p = recs_proc(&recs, pid);
	mm = recs_get(&recs, CKPT_REC_MM, 0);
	if (!p || !mm)
		tap_bail("no PROC or MM");
	tap_is(p->state, CKPT_PROC_STOPPED, "it is stopped");
	tap_ok(p->exit_code == SIGSTOP && p->stop_reported == 1, "by SIGSTOP, which was seen");
	tap_is(mm->live, 1, "its memory is read in place");
	tap_is(cap_read(fd, 1, CKPT_PAGES_LIVE, mm->start_stack & -PAGE, page, PAGE), 0,
	       "after the thaw, too");
	recs_free(&recs);
	kill(pid, SIGCONT);
	tap_ok(!advances(&shared->n[0], 200), "a SIGCONT waits");
	tap_is(cap_drop(fd), 0, "drop");
	tap_ok(advances(&shared->n[0], 5000 * slow()), "and it runs");
	close(fd);

	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	fd = cap_frozen(pid, NULL);
	close(fd);
	kill(pid, SIGCONT);
	tap_ok(advances(&shared->n[0], 5000 * slow()), "closing lets go of a stopped process");
	reap(pid);
}

/* ------------------------------------------------------------------- zombies */

static void zombie_child(void *unused)
{
	(void)unused;
	_exit(7);
}

static void *outlive(void *unused)
{
	am_ready();
	count_forever(unused);
	return NULL;
}

/* Until the leader of @pid has exited and waits to be reaped. */
static void wait_zombie(pid_t pid)
{
	char path[40], text[512];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (unsigned int i = 0; i < 2000 * slow(); i++) {
		FILE *f = fopen(path, "r");
		const char *state = f && fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;

		if (f)
			fclose(f);
		if (state && state[2] == 'Z')
			return;
		sleep_ms(5);
	}
}

static void parent_of_zombie(void *unused)
{
	(void)unused;
	shared->addr[0] = spawn(zombie_child, NULL);
	wait_zombie(shared->addr[0]);
	am_ready();
	for (;;)
		pause();
}

static void leader_dies(void *unused)
{
	pthread_t t;

	pthread_create(&t, NULL, outlive, unused);
	pthread_exit(NULL);
}

part(zombies)
{
	struct ckpt_rec_proc *p;
	struct recs recs;
	pid_t pid = spawn(parent_of_zombie, NULL);
	int fd;

	wait_ready(1);
	fd = cap_frozen(pid, NULL);
	tap_is(cap_snapshot(fd, 0, NULL), 0, "snapshot with a zombie");
	recs = recs_read(fd);
	p = recs_proc(&recs, shared->addr[0]);
	tap_ok(p && p->state == CKPT_PROC_ZOMBIE && p->exit_code == 7 << 8 &&
	       p->ppid == pid && !p->mm_id, "the zombie has its exit code");
	recs_free(&recs);
	close(fd);
	reap(pid);

	shared->ready = 0;
	pid = spawn(leader_dies, NULL);
	wait_ready(2);
	wait_zombie(pid);
	fd = cap_frozen(pid, NULL);
	tap_is(cap_snapshot(fd, 0, NULL), 0, "snapshot without a leader");
	recs = recs_read(fd);
	p = recs_proc(&recs, pid);
	tap_ok(p && p->state == CKPT_PROC_RUNNING && p->flags & CKPT_PROC_LEADER_DEAD &&
	       p->nr_threads == 1 && p->mm_id == 1, "its thread lives on");
	tap_ok(!recs_thread(&recs, pid), "the dead leader is no thread");
	recs_free(&recs);
	tap_is(cap_thaw(fd, 0, NULL), 0, "thaw");
	tap_ok(advances(&shared->n[0], 5000 * slow()), "and it runs");
	close(fd);
	reap(pid);

	pid = spawn(zombie_child, NULL);
	wait_zombie(pid);
	fd = cap_open();
	tap_is(cap_target(fd, pid, 0), 0, "a zombie as root");
	tap_is(cap_freeze(fd, 1000, 10000, NULL), -EOPNOTSUPP, "is no tree");
	tap_ok(recs_refused(fd, CKPT_R_NO_PROCESS, pid), "and it says so");
	close(fd);
	reap(pid);
}

/* ------------------------------------------------------- vfork and ptrace */

static void vforks(void *forever)
{
	for (;;) {
		pid_t pid = vfork();

		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			/* a child of the first process may still be on its way here */
			__atomic_fetch_add(&shared->ready, forever ? 2 : 1, __ATOMIC_SEQ_CST);
			if (forever)
				for (;;)
					syscall(SYS_pause);
			execl("/bin/true", "true", NULL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		shared->n[0]++;
	}
}

part(vfork)
{
	pid_t pid = spawn(vforks, NULL);
	int fd, bad = 0, i;

	wait_ready(1);
	fd = cap_open();
	tap_is(cap_target(fd, pid, 0), 0, "a process that calls vfork all the time");
	for (i = 0; i < 10; i++) {
		int err = cap_freeze(fd, slowly(5000), 10000, NULL);

		if (err)
			recs_refused(fd, CKPT_R__COUNT, 0);
		bad += err || advances(&shared->n[0], 20) || cap_thaw(fd, 0, NULL);
	}
	tap_is(bad, 0, "is frozen ten times out of ten");
	tap_ok(advances(&shared->n[0], 5000 * slow()), "and runs on");
	close(fd);
	reap(pid);

	shared->ready = 0;
	pid = spawn(vforks, (void *)1);
	wait_ready(2);
	fd = cap_open();
	cap_target(fd, pid, 0);
	tap_is(cap_freeze(fd, 300, 10000, NULL), -EBUSY, "one whose child never calls exec is not");
	tap_ok(recs_refused(fd, CKPT_R_VFORK, pid), "and it says so");
	close(fd);
	reap(pid);
}

part(traced)
{
	pid_t pid = spawn(count_forever, NULL);
	int fd;

	wait_ready(1);
	if (ptrace(PTRACE_SEIZE, pid, 0, 0))
		tap_bail("ptrace: %m");
	fd = cap_open();
	cap_target(fd, pid, 0);
	tap_is(cap_freeze(fd, 1000, 10000, NULL), -EBUSY, "a traced process is refused");
	tap_ok(recs_refused(fd, CKPT_R_TRACED, pid), "and it says so");
	tap_ok(advances(&shared->n[0], 5000 * slow()), "it runs");
	kill(pid, SIGSTOP);
	waitpid(pid, NULL, __WALL);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	kill(pid, SIGCONT);
	tap_is(cap_freeze(fd, slowly(5000), 10000, NULL), 0, "detached, it is frozen");
	if (ptrace(PTRACE_ATTACH, pid, 0, 0))
		tap_bail("ptrace: %m");
	tap_is(cap_snapshot(fd, CKPT_SNAPSHOT_DRY, NULL), -EBUSY,
	       "traced since it was frozen, it is refused");
	tap_ok(recs_refused(fd, CKPT_R_TRACED, pid), "and it says so");
	close(fd);
	reap(pid);
}

/* ----------------------------------------------------------------- refusals */

static void has_socket(void) { socket(AF_NETLINK, SOCK_RAW, 0); }
static void has_inotify(void) { inotify_init(); }
static void has_pidfd(void) { syscall(SYS_pidfd_open, getpid(), 0); }
static void has_device(void) { open("/dev/mem", O_RDONLY); }
static void has_io_uring(void)
{
	char params[120] = { 0 };

	syscall(SYS_io_uring_setup, 4, params);
}
static void has_aio(void)
{
	unsigned long ctx = 0;

	syscall(SYS_io_setup, 4, &ctx);
}
static void has_epoll(void)	/* its item is of the process that adds it, which ends */
{
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0), fd;
	sigset_t set;
	pid_t pid;

	sigemptyset(&set);
	fd = signalfd(-1, &set, 0);
	pid = fork();
	if (pid == 0) {
		epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}
static void has_timer(void)
{
	timer_t t;

	timer_create(CLOCK_PROCESS_CPUTIME_ID, NULL, &t);
}
static void has_shm(void)
{
	int id = shmget(IPC_PRIVATE, PAGE, 0600);

	shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
}
static void has_sem_undo(void)
{
	struct sembuf op = { 0, 1, SEM_UNDO };
	int id = semget(IPC_PRIVATE, 1, 0600);

	shared->addr[1] = id;
	semop(id, &op, 1);
}
static void has_lease(void)
{
	fcntl(open("/tmp/capture-lease", O_RDWR | O_CREAT, 0600), F_SETLEASE, F_WRLCK);
}
static void has_owner(void)
{
	int p[2];

	if (!pipe(p))
		fcntl(p[0], F_SETOWN, getpid());
}
static void has_packets(void)
{
	int p[2];

	if (pipe2(p, O_DIRECT) || write(p[1], "x", 1) != 1)
		_exit(1);
}
static void has_user_ns(void) { unshare(CLONE_NEWUSER); }
static void has_pid_ns(void) { unshare(CLONE_NEWPID); }
static void has_seccomp(void) { syscall(SYS_prctl, 22, 1, 0, 0, 0); }	/* strict */
static void has_mmap_device(void)
{
	int fd = open("/dev/mem", O_RDONLY);

	mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
}
static void has_uffd(void)
{
	struct { __u64 api, features, ioctls; } api = { .api = 0xAA };
	struct { __u64 start, len, mode, ioctls; } reg = { .len = PAGE, .mode = 1 };
	int fd = syscall(SYS_userfaultfd, 0);

	reg.start = (uintptr_t)mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	syscall(SYS_ioctl, fd, 0xc018aa3fUL, &api);
	syscall(SYS_ioctl, fd, 0xc020aa00UL, &reg);
}

static void *own_files(void *unused)
{
	unshare(CLONE_FILES);
	am_ready();
	count_forever(unused);
	return NULL;
}

static void has_own_files(void)
{
	pthread_t t;

	pthread_create(&t, NULL, own_files, NULL);
	while (shared->ready < 1)
		sleep_ms(1);
}

static void has(void *fn)
{
	((void (*)(void))fn)();
	am_ready();
	for (;;)
		syscall(SYS_rt_sigreturn == 0 ? SYS_pause : SYS_nanosleep,
			&(struct timespec){ 1000, 0 }, NULL);
}

part(refusals)
{
	static const struct { void (*fn)(void); enum ckpt_reason reason; const char *what; }
	list[] = {
		{ has_socket, CKPT_R_FD_SOCKET, "socket" },
		{ has_epoll, CKPT_R_FD_EPOLL, "epoll on a signalfd of no process" },
		{ has_inotify, CKPT_R_FD_INOTIFY, "inotify" },
		{ has_pidfd, CKPT_R_FD_KIND, "pidfd" },
		{ has_device, CKPT_R_FD_DEVICE, "device" },
		{ has_io_uring, CKPT_R_IO_URING, "io_uring" },
		{ has_aio, CKPT_R_AIO, "aio" },
		{ has_timer, CKPT_R_POSIX_TIMER, "POSIX timer" },
		{ has_shm, CKPT_R_SYSV_SHM, "SysV shared memory" },
		{ has_sem_undo, CKPT_R_SYSV_SEM, "SEM_UNDO" },
		{ has_lease, CKPT_R_FILE_LOCK, "lease" },
		{ has_owner, CKPT_R_FD_OWNER, "F_SETOWN" },
		{ has_packets, CKPT_R_PIPE_PACKET, "packets in a pipe" },
		{ has_user_ns, CKPT_R_USER_NS, "user namespace" },
		{ has_pid_ns, CKPT_R_PID_NS, "PID namespace for children" },
		{ has_mmap_device, CKPT_R_DEVICE_MAP, "mapped device" },
		{ has_uffd, CKPT_R_USERFAULTFD, "userfaultfd" },
		{ has_own_files, CKPT_R_FILES_PER_THREAD, "descriptors of a thread" },
	};

	(void)has_seccomp;
	for (unsigned int i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		pid_t pid;
		int fd, err;

		if ((list[i].fn == has_device || list[i].fn == has_mmap_device) &&
		    access("/dev/mem", F_OK)) {
			tap_note("no /dev/mem: %s is not tried", list[i].what);
			continue;
		}
		shared->ready = 0;
		pid = spawn(has, (void *)list[i].fn);
		wait_ready(list[i].fn == has_own_files ? 3 : 1);
		fd = cap_frozen(pid, NULL);
		err = cap_snapshot(fd, 0, NULL);
		tap_ok(err == -EOPNOTSUPP && recs_refused(fd, list[i].reason, pid),
		       "%s is refused", list[i].what);
		tap_is(cap_thaw(fd, 0, NULL), -EBADFD, "and it has been thawed");
		close(fd);
		reap(pid);
	}
	semctl(shared->addr[1], 0, IPC_RMID);
	unlink("/tmp/capture-lock");
}

/* ----------------------------------------------------- left out, and again */

static void *counting_thread(void *which)
{
	shared->addr[(long)which] = syscall(SYS_gettid);
	am_ready();
	for (;;) {
		shared->n[(long)which]++;
		sleep_ms(1);
	}
	return NULL;
}

static void two_threads(void *unused)
{
	pthread_t t;

	socket(AF_NETLINK, SOCK_RAW, 0);	/* the first free descriptor */
	pthread_create(&t, NULL, counting_thread, (void *)1);
	counting_thread(unused);
}

part(exclude)
{
	pid_t pid = spawn(two_threads, NULL);
	struct ckpt_exclude list[2] = { { .kind = CKPT_EXCLUDE_FD, .pid = pid } };
	struct ckpt_target arg = {
		.size = sizeof(arg), .nr_roots = 1, .roots = (uintptr_t)&pid,
		.nr_exclude = 2, .exclude = (uintptr_t)list,
	};
	struct recs recs;
	int fd = cap_open();

	wait_ready(2);
	list[0].start = fd;		/* the number that is the socket there */
	list[1] = (struct ckpt_exclude){ .kind = CKPT_EXCLUDE_THREAD,
					 .start = shared->addr[1] };
	tap_is(cap_command(fd, CKPT_IOC_TARGET, &arg), 0, "target with exclusions");
	tap_is(cap_freeze(fd, slowly(5000), 10000, NULL), 0, "freeze");
	tap_ok(!advances(&shared->n[0], 50), "the thread that is in stands still");
	tap_ok(advances(&shared->n[1], 5000 * slow()), "the one left out runs");
	tap_is(cap_snapshot(fd, 0, NULL), 0, "the socket left out is not refused");
	recs = recs_read(fd);
	tap_is(recs_count(&recs, CKPT_REC_THREAD), 1, "one thread is recorded");
	recs_free(&recs);
	close(fd);
	reap(pid);
}

part(again)
{
	pid_t pid = spawn(count_forever, NULL);
	struct ckpt_snapshot snap;
	int fd, bad = 0;

	wait_ready(1);
	fd = cap_open();
	cap_target(fd, pid, 0);
	for (int i = 0; i < 50; i++) {
		bad += cap_freeze(fd, slowly(5000), 10000, NULL) != 0;
		bad += cap_snapshot(fd, i & 1 ? CKPT_SNAPSHOT_NO_COW : 0, &snap) != 0;
		bad += cap_thaw(fd, 0, NULL) != 0;
	}
	tap_is(bad, 0, "fifty captures on one context");
	tap_ok(advances(&shared->n[0], 5000 * slow()), "and it runs");
	close(fd);
	reap(pid);
}
