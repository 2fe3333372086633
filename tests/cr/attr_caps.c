// SPDX-License-Identifier: GPL-2.0-only
/*
 * Capabilities: dropped from permitted and bounding set, one ambient, securebits;
 * what was given up does not come back.
 */
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

#define KEPT	(1U << CAP_CHOWN | 1U << CAP_KILL | 1U << CAP_NET_RAW)

static struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
static struct __user_cap_data_struct before[2];

static void setup(void)
{
	struct __user_cap_data_struct data[2] = {
		{ .effective = 1U << CAP_CHOWN, .permitted = KEPT,
		  .inheritable = 1U << CAP_NET_RAW },
	};

	if (geteuid() != 0 || prctl(PR_CAPBSET_DROP, CAP_SYS_RAWIO, 0, 0, 0) < 0)
		cr_skip("may not drop capabilities");
	cr_sys(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_KEEP_CAPS));
	cr_sys(syscall(SYS_capset, &header, data));
	cr_sys(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0));
	cr_sys(syscall(SYS_capget, &header, before));
}

static void verify(void)
{
	struct __user_cap_data_struct now[2];

	cr_sys(syscall(SYS_capget, &header, now));
	cr_check(!memcmp(now, before, sizeof(now)), "permitted %#x, not %#x",
		 now[0].permitted, before[0].permitted);
	cr_eq(prctl(PR_CAPBSET_READ, CAP_SYS_RAWIO), 0);
	cr_eq(prctl(PR_CAPBSET_READ, CAP_CHOWN), 1);
	cr_eq(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_NET_RAW, 0, 0), 1);
	cr_eq(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0), 0);
	cr_eq(prctl(PR_GET_SECUREBITS), SECBIT_NOROOT | SECBIT_KEEP_CAPS);
	cr_eq(nice(-1), -1);
}

CR_TEST(.setup = setup, .verify = verify);
