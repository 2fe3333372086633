// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set-user-ID program, as sudo, su, or a mount helper: become WHO, then write a line now and
 * then, so that a restart of it can be seen.
 *
 *	become root		wholly: real, effective and saved user and group
 *	become UID		the same, another user
 *	become effective	the effective user alone: a tracer has no right to it
 *	become dropped		the caller's user again, wholly: only its memory tells
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int become(const char *who)
{
	uid_t uid = !strcmp(who, "root") ? 0 : (uid_t)atoi(who);

	if (!strcmp(who, "effective"))
		return 0;
	if (!strcmp(who, "dropped"))
		return setresgid(getgid(), getgid(), getgid()) ||
		       setresuid(getuid(), getuid(), getuid());
	return setresgid(uid, uid, uid) || setresuid(uid, uid, uid);
}

int main(int argc, char **argv)
{
	if (argc != 2 || geteuid() || become(argv[1])) {
		fprintf(stderr, "become: %s\n", argc != 2 ? "become WHO" : strerror(errno));
		return 1;
	}
	for (int i = 0;; i++) {
		printf("n%d\n", i);
		fflush(stdout);
		usleep(100000);
	}
}
