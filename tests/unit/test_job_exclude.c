// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a dump of ranks leaves out of processes that are none: this one is the job's init, its
 * children are the job, and another child answers as the shim does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-glue/lower/lower.h"
#include "shim/proto.h"
#include "supervisor/job/job_exclude.h"

#define HIS	20	/* of the rank, and under another number of the script that started it */
#define ITS	21

/* Has @socket as @fd and waits for the end; it is so when this returns. */
static pid_t process(int socket, int fd, int flags)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup3(socket, fd, flags);
		close(socket);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_true(pid > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The descriptor @fd of @rank, then no more. */
static pid_t fake_shim(int sock, pid_t rank, int fd)
{
	const struct shim_exclude entries[] = {
		{ 0, SHIM_LEAVE_PROCESS, rank }, { 0, SHIM_LEAVE_FD, fd },
	};
	struct shim_msg msg;
	pid_t pid = fork();

	while (!pid && shim_receive(sock, &msg, NULL, 0, NULL, NULL) >= 0) {
		struct shim_msg answer = { .type = msg.type };

		shim_send(sock, &answer, entries, msg.number ? 0 : sizeof(entries), NULL, 0);
	}
	if (!pid)
		_exit(0);
	return pid;
}

static unsigned int count(const struct job_exclude *out, uint32_t kind, pid_t pid, uint64_t start)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < out->nr; i++)
		n += out->exclude[i].kind == kind && out->exclude[i].pid == pid &&
		     out->exclude[i].start == start;
	return n;
}

static void test_script(void **state)
{
	int ends[2], other[2], shim[2];
	pid_t rank, script, passing, stranger, answering;
	struct job_exclude out;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, shim), 0);
	rank = process(ends[0], HIS, O_CLOEXEC);
	script = process(ends[0], ITS, 0);
	passing = process(ends[0], ITS, O_CLOEXEC);
	close(ends[0]);
	stranger = process(other[0], HIS, 0);
	answering = fake_shim(shim[1], rank, HIS);
	close(shim[1]);
	assert_int_equal(job_exclude_find(&out, getpid(), shim[0]), 0);
	assert_int_equal(count(&out, CKPT_EXCLUDE_RANGE, rank, LOWER_BASE), 1);
	assert_int_equal(count(&out, CKPT_EXCLUDE_FD, rank, HIS), 1);
	assert_int_equal(count(&out, CKPT_EXCLUDE_FD, script, ITS), 1);
	assert_int_equal(count(&out, CKPT_EXCLUDE_FD, passing, ITS), 0);
	assert_int_equal(count(&out, CKPT_EXCLUDE_FD, stranger, HIS), 0);
	assert_int_equal(out.nr, 3);
	free(out.exclude);
	close(shim[0]);
	end(answering);
	end(rank);
	end(script);
	end(passing);
	end(stranger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_script),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
