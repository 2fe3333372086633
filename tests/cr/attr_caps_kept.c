// SPDX-License-Identifier: GPL-2.0-only
/*
 * A capability that is inheritable and no more in the bounding set, which it was when it
 * was made inheritable: of root, and of a child that has become another user.
 */
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

#define OTHER	1001

static struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
static struct __user_cap_data_struct before[2];
static pid_t child;

static void look(void)
{
	struct __user_cap_data_struct now[2];

	cr_sys(syscall(SYS_capget, &header, now));
	cr_check(now[0].inheritable & 1U << CAP_NET_RAW, "inheritable %#x", now[0].inheritable);
	cr_eq(now[0].permitted, before[0].permitted);
	cr_eq(now[0].effective, before[0].effective);
	cr_eq(prctl(PR_CAPBSET_READ, CAP_NET_RAW), 0);
}

static void in_child(void *arg)
{
	cr_sys(setresgid(OTHER, OTHER, OTHER));
	cr_sys(setresuid(OTHER, OTHER, OTHER));
	before[0].permitted = 0;
	before[0].effective = 0;
	look();
	cr_mark("child");
	cr_wait_go();
	look();
}

static void setup(void)
{
	if (geteuid() != 0)
		cr_skip("may not drop capabilities");
	cr_sys(syscall(SYS_capget, &header, before));
	before[0].inheritable |= 1U << CAP_NET_RAW;
	cr_sys(syscall(SYS_capset, &header, before));
	cr_sys(prctl(PR_CAPBSET_DROP, CAP_NET_RAW, 0, 0, 0));
	look();
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	look();
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
