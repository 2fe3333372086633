// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asks the dynamic linker for a program's libraries; see mpi_closure.h.
 *
 * Each library that the linker names is then looked at (mpi_library.h). A library that only wraps
 * MPI calls is passed over if there is a real one, as the real one is what it wraps. This runs as
 * the user, who is about to run the same program.
 */
#include "ckptctl/mpi_closure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define OUTPUT_MAX	(256u << 10)

/* ---------------------------------------------------------------- commands */

static char *mpi_closure_read(int fd)
{
	char *text = malloc(OUTPUT_MAX + 1);
	size_t len = 0;
	ssize_t n = 1;

	while (text && n > 0 && len < OUTPUT_MAX) {
		n = read(fd, text + len, OUTPUT_MAX - len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			len += (size_t)n;
	}
	if (text)
		text[len] = '\0';
	return text;
}

_Noreturn static void mpi_closure_exec(char *const *argv, const char *dir, char *variable, int out)
{
	int null = open("/dev/null", O_RDWR);

	if (dir && chdir(dir))
		_exit(127);
	/* in a rank of another job our own library is preloaded */
	if (getenv("CKPT_LOWER"))
		unsetenv("LD_PRELOAD");
	if (variable)
		putenv(variable);
	dup2(null, 0);
	dup2(out, 1);
	dup2(null, 2);
	execvp(argv[0], argv);
	_exit(127);
}

char *mpi_closure_output(char *const *argv, const char *dir, const char *variable)
{
	char *text;
	int ends[2], status = -1;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	pid = fork();
	if (!pid)
		mpi_closure_exec(argv, dir, (char *)variable, ends[1]);
	close(ends[1]);
	text = pid > 0 ? mpi_closure_read(ends[0]) : NULL;
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (text && status && !text[0]) {
		free(text);
		return NULL;
	}
	return text;
}

/* ----------------------------------------------------------------- listing */

struct listed {
	const char *wanted;
	const char *path;	/* NULL: the linker does not find it */
};

/* Split "NAME => PATH (ADDRESS)", or "PATH (ADDRESS)"; false: the line names no library. */
static bool mpi_closure_line(char *line, struct listed *ret)
{
	char *arrow = strstr(line, " => "), *end;

	line += strspn(line, " \t");
	end = strrchr(line, '(');
	if (end && end > line && end[-1] == ' ')
		end[-1] = '\0';
	ret->wanted = line;
	ret->path = line;
	if (arrow) {
		*arrow = '\0';
		ret->path = strcmp(arrow + 4, "not found") ? arrow + 4 : NULL;
	}
	/* the kernel's own library has no file */
	return arrow || strchr(line, '/');
}

/* A path of the linker's may begin where the program will be. */
static int mpi_closure_absolute(const char *path, const char *dir, char *buf, size_t size)
{
	char here[PATH_MAX];

	if (path[0] == '/')
		here[0] = '\0';
	else if (dir && dir[0] == '/')
		snprintf(here, sizeof(here), "%s/", dir);
	else if (!realpath(dir ? dir : ".", here) || strlen(here) + 2 > sizeof(here))
		return -errno;
	else
		strcat(here, "/");
	return snprintf(buf, size, "%s%s", here, path) < (int)size ? 0 : -ENAMETOOLONG;
}

/* A name under which programs ask for an MPI library, not for one of its companions. */
static bool mpi_closure_is_name(const char *wanted)
{
	return !strncmp(wanted, "libmpi.so", 9) || !strncmp(wanted, "libmpich.so", 11);
}

/* Look at one library; @need has the best one so far. */
static int mpi_closure_take(const struct listed *item, const char *dir, struct mpi_need *need,
			    struct ckpt_error *error)
{
	struct mpi_need found = { 0 };
	struct mpi_elf *elf;
	int err;

	if (!item->path && mpi_closure_is_name(item->wanted))
		return error_set(error, -ENOENT,
				 "the dynamic linker does not find its MPI library, %s: name its "
				 "directory in LD_LIBRARY_PATH, or load its environment module",
				 item->wanted);
	if (!item->path)
		return 0;	/* the start of the program will say so */
	err = mpi_closure_absolute(item->path, dir, found.path, sizeof(found.path));
	if (err || mpi_elf_open(found.path, &elf))
		return 0;
	mpi_library_identify(elf, &found.library);
	mpi_elf_close(elf);
	snprintf(found.wanted, sizeof(found.wanted), "%s", item->wanted);
	if (found.library.kind <= MPI_LIBRARY_FRONT ||
	    need->library.kind <= MPI_LIBRARY_FRONT) {
		if (found.library.kind > need->library.kind)
			*need = found;
		return 0;
	}
	return error_set(error, -ENOTUNIQ, "it loads two MPI libraries, %s (%s) and %s (%s)",
			 need->path, need->library.name, found.path, found.library.name);
}

int mpi_closure_find(const char *linker, const char *file, const char *dir,
		     struct mpi_need *ret_need, struct ckpt_error *error)
{
	char *const argv[] = { (char *)linker, (char *)file, NULL };
	_cleanup_free_ char *text = mpi_closure_output(argv, dir, "LD_TRACE_LOADED_OBJECTS=1");
	_cleanup_free_ struct mpi_need *need = calloc(1, sizeof(*need));
	char *save = NULL, *line;
	struct listed item;
	int err = 0;

	if (!need)
		return error_set(error, -ENOMEM, "no memory");
	if (!text)
		return error_set(error, -ELIBBAD,
				 "its dynamic linker, %s, cannot list its libraries", linker);
	for (line = strtok_r(text, "\n", &save); line && !err;
	     line = strtok_r(NULL, "\n", &save)) {
		if (mpi_closure_line(line, &item))
			err = mpi_closure_take(&item, dir, need, error);
	}
	if (!err)
		*ret_need = *need;
	return err;
}
