// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX message queues of an ordinary user: one that nobody may read any more, with a descriptor
 * that can; one of another group; the sticky bit stays.
 */
#include <grp.h>

#include "tests/cr/mq.h"

#define USER	12345
#define GROUP	54321

static mqd_t closed, theirs;

static void setup(void)
{
	const gid_t groups[] = { GROUP };

	mq_namespace();
	cr_sys(setgroups(1, groups));
	cr_sys(setresgid(USER, USER, USER));
	cr_sys(setresuid(USER, USER, USER));
	closed = mq_new("/closed", 2, MQ_MOST);
	mq_put(closed, 11, 1, 1);
	cr_sys(fchmod(closed, 0200));
	theirs = mq_new("/theirs", 2, MQ_MOST);
	cr_sys(fchown(theirs, -1, GROUP));
	cr_sys(fchmod(theirs, 01660));
}

static void verify(void)
{
	struct stat st;

	cr_eq(mq_open("/closed", O_RDONLY), -1);
	cr_eq(errno, EACCES);
	cr_sys(fstat(closed, &st));
	cr_eq(st.st_uid, USER);
	cr_eq(st.st_gid, USER);
	mq_take(closed, 11, 1, 1);
	cr_sys(fstat(theirs, &st));
	cr_eq(st.st_gid, GROUP);
	cr_eq(st.st_mode & 07777, 01660);
}

CR_TEST(.setup = setup, .verify = verify);
