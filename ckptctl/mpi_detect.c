// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which MPI library a command will load; see mpi_detect.h.
 *
 * Taking a command that uses MPI for one that does not would start ranks that do not know of each
 * other. So a program that may run other programs, or load a library later, never counts as one
 * without MPI.
 */
#include "ckptctl/mpi_detect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/launcher.h"
#include "ckptctl/mpi_binding.h"

#define SCRIPT_MAX	(64u << 10)
#define WORD_ENDS	" \t\n\"'`;|&(){}<>=$"
#define WORDS_MAX	64	/* programs of a script that are looked at */

/* ------------------------------------------------------------------- files */

/* Find @program as execvp() will find it. */
static int mpi_detect_find(const char *program, const char *dir, char *buf, size_t size)
{
	const char *path = getenv("PATH"), *end;
	struct stat st;

	if (strchr(program, '/')) {
		snprintf(buf, size, "%s%s%s", program[0] == '/' || !dir ? "" : dir,
			 program[0] == '/' || !dir ? "" : "/", program);
		return access(buf, F_OK) ? -errno : 0;
	}
	for (path = path ? path : "/bin:/usr/bin"; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		snprintf(buf, size, "%.*s/%s", end == path ? 1 : (int)(end - path),
			 end == path ? "." : path, program);
		if (!access(buf, X_OK) && !stat(buf, &st) && S_ISREG(st.st_mode))
			return 0;
	}
	return -ENOENT;
}

int mpi_program_check(const char *program, const char *dir)
{
	char path[PATH_MAX];
	struct stat st;
	int err = mpi_detect_find(program, dir, path, sizeof(path));

	if (err)
		return err;
	return access(path, X_OK) || stat(path, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EACCES;
}

/* The beginning of a text; NULL: it cannot be read. */
static char *mpi_detect_read(const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = fd < 0 ? NULL : calloc(1, SCRIPT_MAX + 1);

	if (text && read(fd, text, SCRIPT_MAX) < 0)
		text[0] = '\0';
	return text;
}

/* The interpreter of a script and its argument; an array that ends with NULL; nr: 0 for none. */
struct shebang {
	char line[256];
	char *word[3];
};

static void mpi_detect_shebang(const char *path, struct shebang *ret)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret->line, sizeof(ret->line) - 1);
	char *save = NULL;

	memset(ret->word, 0, sizeof(ret->word));
	if (n < 3 || memcmp(ret->line, "#!", 2))
		return;
	ret->line[n] = '\0';
	ret->line[strcspn(ret->line, "\n")] = '\0';
	ret->word[0] = strtok_r(ret->line + 2, " \t", &save);
	ret->word[1] = ret->word[0] ? strtok_r(NULL, " \t", &save) : NULL;
}

/* ----------------------------------------------------------------- program */

/*
 * Programs that run others, which may use MPI though they do not, or load libraries when they run.
 */
static bool runs_others(const char *path)
{
	static const char *const names[] = {
		"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish", "busybox", "env",
		"python", "pypy", "perl", "ruby", "julia", "R", "Rscript", "octave", "lua",
		"java", "node", "tclsh", "guile", "numactl", "taskset", "time", "timeout", "nice",
		"ionice", "chrt", "setsid", "setpriv", "stdbuf", "gdb", "gdbserver", "strace",
		"ltrace", "valgrind", "perf", "xterm", "hwloc-bind", "likwid-pin", "catchsegv",
		"unshare", "chroot", "apptainer", "singularity", "nohup", "sudo", "nsys",
		"tau_exec",
	};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t i, len = strlen(name);

	/* cut the version off: python3.11, lua5.4, guile-3.0 */
	while (len && (strchr(".-", name[len - 1]) ||
		       (name[len - 1] >= '0' && name[len - 1] <= '9')))
		len--;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return true;
	}
	return false;
}

static bool mpi_detect_is_shell(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(shells); i++) {
		if (!strcmp(name, shells[i]))
			return true;
	}
	return false;
}

static int mpi_detect_cannot(struct ckpt_error *error)
{
	return error_set(error, -ENOEXEC,
			 "it runs or loads others, and which MPI library those will use cannot be "
			 "told");
}

/* Look at the program at @path itself. */
static int mpi_detect_program(const char *path, const char *dir, struct mpi_need *need,
			      struct ckpt_error *error)
{
	struct mpi_library own;
	char real[PATH_MAX];
	struct mpi_elf *elf;
	int err = mpi_elf_open(path, &elf);

	if (err)
		return error_set(error, err, "%s", err == -ENOEXEC ? "it is no program of this "
				 "machine" : strerror(-err));
	memset(need, 0, sizeof(*need));
	mpi_library_identify(elf, &own);
	if (own.kind <= MPI_LIBRARY_FRONT && !mpi_elf_linker(elf))
		mpi_library_guess(elf, &own);
	/* the linker resolves $ORIGIN by the name that it is given, and the kernel by the file */
	if (!realpath(path, real))
		err = error_set(error, -errno, "%s", strerror(errno));
	else if (own.kind <= MPI_LIBRARY_FRONT && mpi_elf_linker(elf))
		err = mpi_closure_find(mpi_elf_linker(elf), real, dir, need, error);
	/* it opens the library later, if at all */
	if (!err && need->library.kind == MPI_LIBRARY_NONE && own.kind == MPI_LIBRARY_NONE &&
	    (mpi_elf_find(elf, "libmpi.so") || mpi_elf_find(elf, "libmpich.so")))
		err = mpi_detect_cannot(error);
	if (!err && own.kind > need->library.kind) {
		need->library = own;
		snprintf(need->path, sizeof(need->path), "%s", real);
	}
	mpi_elf_close(elf);
	return err;
}

/* Look for programs that use MPI among the arguments of one that runs others. */
static int mpi_detect_arguments(char *const *argv, const char *dir, struct mpi_need *need,
				struct ckpt_error *error)
{
	char path[PATH_MAX];
	int err = 0;

	memset(need, 0, sizeof(*need));
	for (argv++; *argv && !err && need->library.kind <= MPI_LIBRARY_FRONT; argv++) {
		if (mpi_detect_find(*argv, dir, path, sizeof(path)) || access(path, X_OK))
			continue;
		err = mpi_detect_program(path, dir, need, error);
		if (err == -ENOEXEC || (!err && need->library.kind <= MPI_LIBRARY_FRONT))
			err = mpi_binding_find(path, dir, need, error);
		/* a word that is no program, or whose file is something else */
		if (err == -ENOEXEC || err == -EACCES || err == -EISDIR)
			err = 0;
	}
	if (!err && need->library.kind <= MPI_LIBRARY_FRONT)
		err = mpi_detect_cannot(error);
	return err;
}

/*
 * Look for one program that uses MPI among the words of a shell's script. Which file of the library
 * it will load is not known, as the script may set LD_LIBRARY_PATH; Stillpoint's library finds it.
 */
static int mpi_detect_shell(const char *script, const char *dir, struct mpi_need *need,
			    struct ckpt_error *error)
{
	_cleanup_free_ char *text = mpi_detect_read(script);
	char path[PATH_MAX], *save = NULL, *word;
	unsigned int looked = 0;
	int err = 0;

	memset(need, 0, sizeof(*need));
	for (word = text ? strtok_r(text, WORD_ENDS, &save) : NULL;
	     word && !err && looked < WORDS_MAX; word = strtok_r(NULL, WORD_ENDS, &save)) {
		struct mpi_need found;

		if (launcher_is(word))
			return mpi_detect_cannot(error);
		if (mpi_detect_find(word, dir, path, sizeof(path)) || access(path, X_OK) ||
		    runs_others(path))
			continue;
		looked++;
		if (mpi_detect_program(path, dir, &found, error) ||
		    found.library.kind <= MPI_LIBRARY_FRONT)
			continue;
		if (need->library.kind > MPI_LIBRARY_FRONT &&
		    need->library.mpi != found.library.mpi)
			err = error_set(error, -ENOTUNIQ,
					"it names programs of two MPI libraries, %s and %s",
					need->library.name, found.library.name);
		*need = found;
		need->guessed = true;
	}
	if (!err && need->library.kind <= MPI_LIBRARY_FRONT)
		err = mpi_detect_cannot(error);
	return err;
}

/* The command @argv, whose program is the file @path, runs others. */
static int mpi_detect_others(const char *path, char *const *argv, const char *dir,
			     struct mpi_need *need, struct ckpt_error *error)
{
	int err = mpi_binding_find(path, dir, need, error);

	return err != -ENOEXEC ? err : mpi_detect_arguments(argv, dir, need, error);
}

/* A script: what its interpreter would be started with. */
static int mpi_detect_script(const char *path, char *const *argv, const char *dir,
			     struct mpi_need *need, struct ckpt_error *error)
{
	struct shebang shebang;
	char interpreter[PATH_MAX];
	char *word;
	int err;

	mpi_detect_shebang(path, &shebang);
	word = shebang.word[0];
	/* #!/usr/bin/env python3 */
	if (word && shebang.word[1] && runs_others(word) && shebang.word[1][0] != '-')
		word = shebang.word[1];
	if (!word || mpi_detect_find(word, dir, interpreter, sizeof(interpreter)))
		return mpi_detect_cannot(error);
	err = mpi_detect_others(interpreter, argv, dir, need, error);
	if (err == -ENOEXEC && mpi_detect_is_shell(interpreter))
		err = mpi_detect_shell(path, dir, need, error);
	return err;
}

int mpi_detect(char *const *argv, const char *dir, struct mpi_need *ret_need,
	       struct ckpt_error *error)
{
	_cleanup_free_ struct mpi_need *need = calloc(1, sizeof(*need));
	char path[PATH_MAX];
	int err = mpi_detect_find(argv[0], dir, path, sizeof(path));

	if (!need)
		return error_set(error, -ENOMEM, "no memory");
	if (err)
		return error_set(error, err, "%s", strerror(-err));
	err = mpi_detect_program(path, dir, need, error);
	if (err == -ENOEXEC)	/* R is a script, too */
		err = mpi_binding_find(path, dir, need, error);
	if (err == -ENOEXEC)
		err = mpi_detect_script(path, argv, dir, need, error);
	else if (!err && need->library.kind <= MPI_LIBRARY_FRONT && runs_others(path))
		err = mpi_detect_others(path, argv, dir, need, error);
	if (!err)
		*ret_need = *need;
	return err;
}
