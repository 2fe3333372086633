// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program whose file is deleted while it runs, as when it is built anew or
 * upgraded: it is still what /proc/self/exe leads to, and can be executed.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static struct stat before;

static void in_child(void *arg)
{
	execl("/proc/self/exe", "again", NULL);
	_exit(127);
}

static void setup(void)
{
	char *argv[5] = { NULL }, *text;
	size_t size;

	if (!getenv("CR_EXECED")) {
		text = cr_read("/proc/self/exe", &size);
		cr_write_file(cr_path("prog"), text, size);
		free(text);
		cr_sys(chmod(cr_path("prog"), 0755));
		text = cr_read("/proc/self/cmdline", &size);
		for (int i = 0; i < 4 && size > 0; i++) {
			size_t n = strlen(text) + 1;

			argv[i] = text;
			text += n;
			size -= n < size ? n : size;
		}
		cr_sys(setenv("CR_EXECED", "1", 1));
		execv(cr_path("prog"), argv);
		cr_fail("exec");
	}
	cr_sys(unlink(cr_path("prog")));
	cr_sys(stat("/proc/self/exe", &before));
}

static void verify(void)
{
	char path[512] = "";
	struct stat now;
	int status;
	pid_t pid;

	cr_sys(stat("/proc/self/exe", &now));
	cr_eq(now.st_size, before.st_size);
	cr_eq(now.st_mode, before.st_mode);
	cr_eq(now.st_mtime, before.st_mtime);
	cr_sys(readlink("/proc/self/exe", path, sizeof(path) - 1));
	cr_check(strstr(path, "/prog (deleted)"), "%s", path);
	pid = cr_sys(fork());
	if (!pid)
		in_child(NULL);
	cr_eq(cr_sys(waitpid(pid, &status, 0)), pid);
	cr_eq(status, 2 << 8);		/* it says how it is used */
}

CR_TEST(.setup = setup, .verify = verify);
