// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which MPI library a program needs; see mpi_detect.h.
 *
 * What the program itself names is read from its file, which may be anything:
 * every offset is checked against its length.  A program that names none may use
 * one by a library of its own; which ones those are only its dynamic linker
 * knows, so it is asked, as ldd(1) does.  This runs as the user, who is about to
 * run the same program.
 */
#include "ckptctl/mpi_detect.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LIST_MAX	(256u << 10)

struct file {
	const uint8_t *data;
	size_t len;
};

static const struct {
	const char *prefix;	/* of the SONAME */
	enum ranks_mpi mpi;
} libraries[] = {
	{ "libmpich.so.12", RANKS_MPICH },
	{ "libmpichfort.so.12", RANKS_MPICH },
	{ "libmpichcxx.so.12", RANKS_MPICH },
	{ "libmpi.so.40", RANKS_OMPI },
	{ "libmpi_mpifh.so.40", RANKS_OMPI },
	{ "libmpi_usempif08.so.40", RANKS_OMPI },
	{ "libmpi_usempi_ignore_tkr.so.40", RANKS_OMPI },
	{ "libmpi_cxx.so.40", RANKS_OMPI },
};

enum ranks_mpi mpi_of_library(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(libraries); i++) {
		if (strlen(libraries[i].prefix) == len &&
		    !memcmp(libraries[i].prefix, name, len))
			return libraries[i].mpi;
	}
	return RANKS_NONE;
}

/* ------------------------------------------------------------------- ELF */

/* NULL: not all of it is in the file. */
static const void *mpi_detect_at(const struct file *f, uint64_t offset, uint64_t len)
{
	if (offset > f->len || len > f->len - offset)
		return NULL;
	return f->data + offset;
}

static const Elf64_Phdr *mpi_detect_headers(const struct file *f, unsigned int *ret_nr)
{
	const Elf64_Ehdr *eh = mpi_detect_at(f, 0, sizeof(*eh));

	if (!eh || memcmp(eh->e_ident, ELFMAG, SELFMAG) ||
	    eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh->e_machine != EM_X86_64 || eh->e_phentsize != sizeof(Elf64_Phdr) ||
	    eh->e_phoff % 8)
		return NULL;
	*ret_nr = eh->e_phnum;
	return mpi_detect_at(f, eh->e_phoff, (uint64_t)eh->e_phnum * sizeof(Elf64_Phdr));
}

static const Elf64_Phdr *mpi_detect_header(const struct file *f, uint32_t type)
{
	unsigned int i, nr = 0;
	const Elf64_Phdr *ph = mpi_detect_headers(f, &nr);

	for (i = 0; ph && i < nr; i++) {
		if (ph[i].p_type == type)
			return &ph[i];
	}
	return NULL;
}

/* The bytes in the file from a virtual address to the end of its segment. */
static const char *segment_at(const struct file *f, uint64_t vaddr, size_t *ret_len)
{
	unsigned int i, nr = 0;
	const Elf64_Phdr *ph = mpi_detect_headers(f, &nr);

	for (i = 0; ph && i < nr; i++) {
		if (ph[i].p_type != PT_LOAD || vaddr < ph[i].p_vaddr ||
		    vaddr - ph[i].p_vaddr >= ph[i].p_filesz)
			continue;
		if (!mpi_detect_at(f, ph[i].p_offset, ph[i].p_filesz))
			return NULL;
		*ret_len = ph[i].p_filesz - (vaddr - ph[i].p_vaddr);
		return mpi_detect_at(f, ph[i].p_offset + (vaddr - ph[i].p_vaddr), *ret_len);
	}
	return NULL;
}

/* -ENOTUNIQ when there was another. */
static int mpi_detect_add(enum ranks_mpi *mpi, enum ranks_mpi found)
{
	if (found == RANKS_NONE || found == *mpi)
		return 0;
	if (*mpi != RANKS_NONE)
		return -ENOTUNIQ;
	*mpi = found;
	return 0;
}

static int scan_needed(const struct file *f, enum ranks_mpi *mpi)
{
	const Elf64_Phdr *ph = mpi_detect_header(f, PT_DYNAMIC);
	const Elf64_Dyn *dyn = ph && !(ph->p_offset % 8) ?
		mpi_detect_at(f, ph->p_offset, ph->p_filesz) : NULL;
	size_t i, nr = dyn ? ph->p_filesz / sizeof(*dyn) : 0, len = 0;
	const char *strings = NULL;
	int err = 0;

	for (i = 0; i < nr && dyn[i].d_tag != DT_NULL; i++) {
		if (dyn[i].d_tag == DT_STRTAB)
			strings = segment_at(f, dyn[i].d_un.d_ptr, &len);
	}
	for (i = 0; strings && i < nr && dyn[i].d_tag != DT_NULL && !err; i++) {
		uint64_t name = dyn[i].d_un.d_val;

		if (dyn[i].d_tag == DT_NEEDED && name < len)
			err = mpi_detect_add(mpi, mpi_of_library(strings + name,
						      strnlen(strings + name, len - name)));
	}
	return err;
}

/* -------------------------------------------------------- dynamic linker */

static int scan_list(char *text, enum ranks_mpi *mpi)
{
	char *save = NULL, *line;
	int err = 0;

	for (line = strtok_r(text, "\n", &save); line && !err;
	     line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		err = mpi_detect_add(mpi, mpi_of_library(line, strcspn(line, " \t")));
	}
	return err;
}

static char *read_all(int fd)
{
	char *text = malloc(LIST_MAX + 1);
	size_t len = 0;
	ssize_t n = 1;

	while (text && n > 0 && len < LIST_MAX) {
		n = read(fd, text + len, LIST_MAX - len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			len += (size_t)n;
	}
	if (text)
		text[len] = '\0';
	return text;
}

static int ask_linker(const char *linker, const char *program, enum ranks_mpi *mpi)
{
	_cleanup_free_ char *text = NULL;
	int ends[2], status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(ends[1], 1);
		dup2(null, 2);
		execl(linker, linker, "--list", program, NULL);
		_exit(127);
	}
	close(ends[1]);
	text = pid > 0 ? read_all(ends[0]) : NULL;
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return text ? scan_list(text, mpi) : -ENOMEM;
}

/* --------------------------------------------------------------- program */

static int mpi_detect_scan(const struct file *f, const char *path, enum ranks_mpi *mpi)
{
	const Elf64_Phdr *interp;
	unsigned int nr = 0;
	const char *linker;
	int err;

	if (!mpi_detect_headers(f, &nr))
		return -ENOEXEC;
	err = scan_needed(f, mpi);
	if (err || *mpi != RANKS_NONE)
		return err;
	interp = mpi_detect_header(f, PT_INTERP);
	linker = interp && interp->p_filesz > 1 ?
		mpi_detect_at(f, interp->p_offset, interp->p_filesz) : NULL;
	if (!linker || linker[0] != '/' || linker[interp->p_filesz - 1])
		return 0;
	return ask_linker(linker, path, mpi);
}

static int scan_file(const char *path, enum ranks_mpi *mpi)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct file f = { 0 };
	struct stat st;
	void *map;
	int err;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return -ENOEXEC;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	f.data = map;
	f.len = (size_t)st.st_size;
	err = mpi_detect_scan(&f, path, mpi);
	munmap(map, f.len);
	return err;
}

/* As execvp() will look for it. */
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

/*
 * Programs that run others, which may use MPI though they do not: taking them for
 * programs without would start ranks that do not know of each other.
 */
static bool runs_others(const char *path)
{
	static const char *const names[] = {
		"sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh", "fish", "busybox", "env",
		"python", "perl", "ruby", "julia", "R", "Rscript", "octave", "lua", "java",
		"tclsh", "guile", "numactl", "taskset", "time", "timeout", "nice", "ionice",
		"chrt", "setsid", "setpriv", "stdbuf", "gdb", "strace", "ltrace", "valgrind",
		"perf", "xterm",
	};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t i, len = strlen(name);

	/* without a version: python3.11, lua5.4, guile-3.0 */
	while (len && (strchr(".-", name[len - 1]) ||
		       (name[len - 1] >= '0' && name[len - 1] <= '9')))
		len--;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return true;
	}
	return false;
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

int mpi_detect(const char *program, const char *dir, enum ranks_mpi *ret_mpi)
{
	enum ranks_mpi mpi = RANKS_NONE;
	char path[PATH_MAX];
	int err;

	err = mpi_detect_find(program, dir, path, sizeof(path));
	if (!err)
		err = scan_file(path, &mpi);
	if (!err && mpi == RANKS_NONE && runs_others(path))
		err = -ENOEXEC;
	if (!err)
		*ret_mpi = mpi;
	return err;
}
