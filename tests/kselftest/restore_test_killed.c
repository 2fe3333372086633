// SPDX-License-Identifier: GPL-2.0-only
/*
 * restore_test: threads that are killed while something is done to them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
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
	long long end = now_us() + 20000000;

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
