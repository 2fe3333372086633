// SPDX-License-Identifier: GPL-2.0-only
/*
 * The directory of a script's job; see script.h.
 *
 * A restored shell has the variables of the run in which it was saved. Those that Slurm sets anew
 * are in the file "env": bash reads it by BASH_ENV in each child script, and anybody may.
 */
#include "scheduler/slurm/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "scheduler/slurm/launch.h"
#include "scheduler/slurm/launcher.h"
#include "scheduler/slurm/port.h"

#define SCRIPT_COPY	"slurm_script"
#define SCRIPT_ENV	"env"

static int script_copy(const char *from, const char *to)
{
	_cleanup_fd_ int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
	char buf[65536];
	ssize_t n;

	if (in < 0)
		return -errno;
	unlink(to);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	if (out < 0)
		return -errno;
	while ((n = read(in, buf, sizeof(buf))) > 0) {
		if (write(out, buf, (size_t)n) != n)
			return errno ? -errno : -EIO;
	}
	return n ? -errno : 0;
}

/* Write NAME='VALUE', exported; a quote in it as '\''. */
static void script_assign(FILE *file, const char *variable)
{
	const char *equals = strchr(variable, '='), *c;

	fprintf(file, "export %.*s='", (int)(equals - variable), variable);
	for (c = equals + 1; *c; c++) {
		if (*c == '\'')
			fputs("'\\''", file);
		else
			fputc(*c, file);
	}
	fputs("'\n", file);
}

/* A job that the script submits may have BASH_ENV of this one: the file is for this job alone. */
static int script_environment(const char *path, uint32_t id)
{
	FILE *file = fopen(path, "we");
	bool bad;
	int i;

	if (!file)
		return -errno;
	fprintf(file, "[ \"${SLURM_JOB_ID-}\" = %u ] || return 0\n", id);
	for (i = 0; environ[i]; i++) {
		if (!strncmp(environ[i], "SLURM", 5) && strchr(environ[i], '='))
			script_assign(file, environ[i]);
	}
	bad = ferror(file);
	return fclose(file) || bad ? -EIO : 0;
}

int script_make(struct script *script, uint32_t id, const char *from)
{
	char env[PATH_MAX], *path = script->directory;
	size_t len;
	int err = launch_directory(path, sizeof(script->directory));

	*script->copy = '\0';
	if (err)
		return err;
	len = strlen(path);
	snprintf(path + len, sizeof(script->directory) - len, "/%u.script", id);
	if (strlen(path) > PORT_DIRECTORY_MAX)
		return -ENAMETOOLONG;
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	snprintf(script->copy, sizeof(script->copy), "%.*s/" SCRIPT_COPY, PORT_DIRECTORY_MAX, path);
	snprintf(env, sizeof(env), "%.*s/" SCRIPT_ENV, PORT_DIRECTORY_MAX, path);
	err = script_copy(from, script->copy);
	if (!err)
		err = script_environment(env, id);
	if (!err && (setenv(LAUNCHER_VARIABLE, path, 1) || setenv("BASH_ENV", env, 0)))
		err = -ENOMEM;
	return err;
}

void script_remove(const struct script *script)
{
	char env[PATH_MAX];

	snprintf(env, sizeof(env), "%.*s/" SCRIPT_ENV, PORT_DIRECTORY_MAX, script->directory);
	unlink(env);
	unlink(script->copy);
	rmdir(script->directory);
}
