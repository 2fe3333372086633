// SPDX-License-Identifier: GPL-2.0-only
/*
 * restore_test: threads that are killed while something is done to them, or before
 * they are let go.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/kselftest/restore_rig.h"
#include "tests/kselftest/restore_test.h"

#define PAGE	4096UL

/* ------------------------------------- killed while the kernel reads its record */

/* A page that is not there until someone fills it; its userfaultfd, or -1. */
static int slow_page(char *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (unsigned long)page, PAGE }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

struct slow_call {
	struct rig *rig;
	pid_t pid;
	struct recs recs;	/* in the slow page */
	int ret;
};

static void *state_slowly(void *arg)
{
	struct slow_call *call = arg;
	__u64 bad;

	call->ret = rig_state(call->rig, call->pid, &call->recs, &bad);
	return NULL;
}

static bool gone(pid_t pid)
{
	long long end = now_us() + 20000000LL * slow();

	while (kill(pid, 0) == 0 && now_us() < end)
		usleep(500);
	return kill(pid, 0) && errno == ESRCH;
}

static void kill_in_between(struct rig *rig, pid_t pid, const struct recs *recs)
{
	static char copy[4096] __attribute__((aligned(4096)));
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_copy fill = { .dst = (unsigned long)page, .src = (unsigned long)copy,
				    .len = PAGE };
	struct slow_call call = { .rig = rig, .pid = pid, .recs = { .buf = page } };
	struct pollfd event = { .events = POLLIN };
	pthread_t thread;

	event.fd = slow_page(page);
	if (event.fd < 0) {
		tap_skip("killed while its record is read", "no userfaultfd");
		return;
	}
	call.recs.len = recs->len;
	memcpy(copy, recs->buf, recs->len);
	pthread_create(&thread, NULL, state_slowly, &call);
	tap_is(poll(&event, 1, 20000), 1, "the kernel reads the record");
	kill(pid, SIGKILL);
	tap_ok(gone(pid), "meanwhile the thread is killed and reaped");
	ioctl(event.fd, UFFDIO_COPY, &fill);
	pthread_join(thread, NULL);
	tap_is(call.ret, -ESRCH, "and nothing is done to it");
	close(event.fd);
	munmap(page, PAGE);
}

void test_killed(void)
{
	struct ckpt_rec_proc *proc;
	struct recs recs = {};
	struct rig rig;

	tap_note("a thread that is killed and reaped while its record is read");
	signal(SIGCHLD, SIG_IGN);	/* nobody waits for it */
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	proc = recs_proc(&recs);
	proc->pgid = rig.helpers[0].pid;
	kill_in_between(&rig, rig.helpers[0].pid, &recs);
	recs_done(&recs);
	rig_close(&rig);
	signal(SIGCHLD, SIG_DFL);
}

/* ------------------------------------------------ killed before it is let go */

struct lock {
	struct robust_list_head head;
	struct robust_list entry;
	unsigned int word;
};

/*
 * A lock in shared memory, held by the first process.  The second has a record that
 * cannot be applied: neither is let go, and the lock, which may be in a file that is
 * mapped again by the next restore, must not be marked.
 */
void test_robust(void)
{
	unsigned long at = SHARED_BASE + offsetof(struct shared, scratch);
	struct ckpt_rec_thread *thread;
	struct ckpt_rec_proc *proc;
	struct recs recs = {};
	struct lock *lock;
	struct rig rig;
	pid_t pids[2];
	__u64 bad;
	int i;

	tap_note("robust lists of threads that are not let go");
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	lock = (void *)rig.shared->scratch;
	for (i = 0; i < 2; i++) {
		pids[i] = rig.helpers[i].pid;
		rig_basic_mm(&rig, pids[i], NULL, NULL);
	}
	lock->head.list.next = (void *)(at + offsetof(struct lock, entry));
	lock->head.futex_offset = offsetof(struct lock, word) - offsetof(struct lock, entry);
	lock->entry.next = (void *)(at + offsetof(struct lock, head));
	lock->word = (unsigned int)pids[0];
	thread = recs_thread(&recs, payload_hold, SHARED_BASE, 0, 0);
	thread->robust_list = at;
	tap_is(rig_state(&rig, pids[0], &recs, NULL), 0, "one that holds a lock");
	thread->robust_list = 0;
	thread->restart.kind = 99;
	tap_is(rig_state(&rig, pids[1], &recs, &bad), -EINVAL, "a restart block of no kind");
	thread->restart = (struct ckpt_restart){ .kind = CKPT_RESTART_POLL, .c = 2 };
	tap_is(rig_state(&rig, pids[1], &recs, &bad), -EINVAL, "one that makes no sense");
	tap_ok(rig_commit(&rig) < 0, "there is no commit");
	recs.len = 0;
	proc = recs_proc(&recs);
	proc->flags = CKPT_PROC_MDWE_NO_INHERIT;
	i = rig_state(&rig, pids[1], &recs, &bad);
	tap_ok(i == 0 || i == -EOPNOTSUPP, "MDWE is had or refused at once: %d", i);
	recs_done(&recs);
	close(rig.ctx);
	rig.ctx = -1;
	for (i = 0; i < 2; i++)
		tap_is(wait_exit(pids[i]), SIGKILL, "killed");
	tap_is(lock->word, pids[0], "the lock is as it was");
	rig_close(&rig);
}
