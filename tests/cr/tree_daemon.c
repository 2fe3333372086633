// SPDX-License-Identifier: GPL-2.0-only
/*
 * A daemon made by double fork: own session, not its leader, / as directory, stdio
 * on /dev/null, the root as subreaper; it works on and can be told to stop.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static pid_t server;
static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	stop = 1;
}

static void serve(void *arg)
{
	pid_t pid = getpid();
	long ticks = 0;
	char cwd[16];
	int null;

	cr_sys(chdir("/"));
	umask(0);
	null = (int)cr_sys(open("/dev/null", O_RDWR));
	for (int i = 0; i < 3; i++)
		cr_sys(dup2(null, i));
	close(null);
	signal(SIGTERM, on_term);
	cr_write_file(cr_path("pid"), &pid, sizeof(pid));
	cr_mark("serving");
	while (!stop) {
		ticks++;
		usleep(1000);
	}
	cr_check(getcwd(cwd, sizeof(cwd)) && !strcmp(cwd, "/"), "cwd");
	cr_check(getsid(0) != getpid(), "leader");
	cr_eq(umask(022), 0);
	cr_write_file(cr_path("ticks"), &ticks, sizeof(ticks));
}

static void first(void *arg)
{
	cr_sys(setsid());
	cr_fork(serve, NULL);
}

static void setup(void)
{
	char *text;

	cr_sys(prctl(PR_SET_CHILD_SUBREAPER, 1));
	cr_join(cr_fork(first, NULL));
	cr_await("serving");
	text = cr_read(cr_path("pid"), NULL);
	memcpy(&server, text, sizeof(server));
	free(text);
}

static void verify(void)
{
	cr_sys(kill(server, SIGTERM));
	cr_join(server);
	free(cr_read(cr_path("ticks"), NULL));
}

CR_TEST(.setup = setup, .verify = verify);
