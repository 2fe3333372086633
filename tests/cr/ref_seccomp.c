// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a seccomp filter in a child; it still filters afterwards.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static pid_t child;

static void in_child(void *arg)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 99),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 4, .filter = code };

	cr_sys(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	cr_sys(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
	cr_mark("child");
	cr_wait_go();
	cr_eq(syscall(SYS_getpgid, 0), -1);
	cr_eq(errno, 99);
}

static void setup(void)
{
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
