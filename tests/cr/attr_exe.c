// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who the program is to others: /proc/self/exe, comm set by prctl, command line
 * overwritten by the program, environment, auxiliary vector.
 */
#include <sys/prctl.h>

#include "tests/cr/phase.h"

static const char *const files[] = { "comm", "cmdline", "environ", "auxv" };
static char *before[4], exe[512];
static size_t len[4];

static void look(int i, char **ret, size_t *ret_len)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/%s", files[i]);
	*ret = cr_read(path, ret_len);
}

static void setup(void)
{
	extern char **environ;

	cr_sys(prctl(PR_SET_NAME, "renamed (x) y"));
	/* as setproctitle does: the first environment string belongs to it now */
	memset(environ[0], 'x', strlen(environ[0]) / 2);
	cr_sys(readlink("/proc/self/exe", exe, sizeof(exe) - 1));
	for (int i = 0; i < 4; i++)
		look(i, &before[i], &len[i]);
}

static void verify(void)
{
	char now[512] = "";

	cr_sys(readlink("/proc/self/exe", now, sizeof(now) - 1));
	cr_check(!strcmp(now, exe), "exe is %s, not %s", now, exe);
	for (int i = 0; i < 4; i++) {
		size_t now_len;
		char *text;

		look(i, &text, &now_len);
		cr_check(now_len == len[i] && !memcmp(text, before[i], now_len),
			 "%s changed: %.60s, was %.60s", files[i], text, before[i]);
		free(text);
	}
}

CR_TEST(.setup = setup, .verify = verify);
