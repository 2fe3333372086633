// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions and process groups within the tree: a child in an own session with a
 * child in its group and one in a group of its own; a child in the root's group.
 */
#include <signal.h>

#include "tests/cr/phase.h"

static pid_t session, follower;

static void stay(const char *name)
{
	pid_t group = getpgid(0), sid = getsid(0);

	cr_mark(name);
	cr_wait_go();
	cr_eq(getpgid(0), group);
	cr_eq(getsid(0), sid);
}

static void same_group(void *arg)
{
	stay("same");
}

static void own_group(void *arg)
{
	cr_sys(setpgid(0, 0));
	stay("own");
}

static void in_session(void *arg)
{
	pid_t same, own;

	cr_sys(setsid());
	same = cr_fork(same_group, NULL);
	own = cr_fork(own_group, NULL);
	cr_await("same");
	cr_await("own");
	cr_eq(getpgid(own), own);
	stay("session");
	cr_eq(getpgid(0), getpid());
	cr_join(same);
	cr_join(own);
	/* the leader of a session still cannot make another */
	cr_eq(setsid(), -1);
}

static void setup(void)
{
	session = cr_fork(in_session, NULL);
	follower = cr_fork(same_group, NULL);
	cr_await("session");
}

static void verify(void)
{
	cr_eq(getsid(session), session);
	cr_eq(getpgid(follower), getpgid(0));
	cr_join(session);
	cr_join(follower);
	cr_eq(kill(-session, 0), -1);
	cr_eq(errno, ESRCH);
}

CR_TEST(.setup = setup, .verify = verify);
