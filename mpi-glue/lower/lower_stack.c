// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lower half's first stack: arguments, environment and auxiliary vector, as the
 * kernel lays them out for a new program.
 *
 * The environment is a copy: neither half sees the other's setenv() or loses a string
 * that it is reading to it. LD_PRELOAD is dropped, as it would bring in the upper half's
 * libraries. LD_LIBRARY_PATH is dropped for the same reason if it would find another library by
 * the MPI library's name; else it is kept, as the library's dependencies may need it. The
 * auxiliary vector is the upper half's own, from its libc's memory and so the same after a
 * restart: both halves share one stack canary and one pointer guard, as frames of both are on
 * one stack.
 */
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi-glue/lower/lower_internal.h"

#define STACK_SIZE	(8UL << 20)
#define TUNABLES	"GLIBC_TUNABLES="
/* the kernel keeps one rseq area per thread, and the upper half's libc uses it */
#define NO_RSEQ		"glibc.pthread.rseq=0"
/* Variables set for the lower half, whatever the program's environment says. */
static const char *const forced[] = {
	/*
	 * MPICH draws addresses for windows from the whole address space, so that they are the
	 * same in all ranks. Most are refused here, and MPICH leaves a file for each refusal.
	 * With no retry MPICH takes any address it gets.
	 */
	"MPIR_CVAR_SHM_SYMHEAP_RETRY=0",
	/*
	 * MPICH's progress thread would run the application's operations, which need
	 * thread-local storage of the upper half; the progress thread has none.
	 */
	"MPIR_CVAR_ASYNC_PROGRESS=0",
	/*
	 * Network libraries cache the registration of memory for the next message from the
	 * same address, and forget it when the memory is unmapped. The lower half does not
	 * see the application's munmap(), so the caches are off: UCX's, libfabric's and
	 * Open MPI's own.
	 */
	"UCX_MEM_EVENTS=no",
	"FI_MR_CACHE_MAX_COUNT=0",
	"OMPI_MCA_mpi_leave_pinned=0",
};

#define NR_FORCED	(sizeof(forced) / sizeof(forced[0]))

static bool is_forced(const char *var)
{
	for (size_t i = 0; i < NR_FORCED; i++)
		if (!strncmp(var, forced[i], strcspn(forced[i], "=") + 1))
			return true;
	return false;
}

/* True if a directory of LD_LIBRARY_PATH has a file with the @library's name. */
static bool is_found_by(const char *dirs, const char *library)
{
	char path[PATH_MAX];
	size_t len;

	for (;; dirs += len + 1) {
		len = strcspn(dirs, ":;");
		snprintf(path, sizeof(path), "%.*s/%s", len ? (int)len : 1, len ? dirs : ".",
			 library);
		if (!access(path, F_OK))
			return true;
		if (!dirs[len])
			return false;
	}
}

static bool is_dropped(const char *var, const char *library)
{
	return !strncmp(var, "LD_PRELOAD=", 11) || !strncmp(var, "LD_AUDIT=", 9) ||
	       is_forced(var) ||
	       (!strncmp(var, "LD_LIBRARY_PATH=", 16) && !strchr(library, '/') &&
		is_found_by(var + 16, library));
}

/* writes strings downwards from the stack's top */
struct writer {
	char *low;
	char *at;
};

static char *put_string(struct writer *w, const char *s)
{
	size_t len = strlen(s) + 1;

	if ((size_t)(w->at - w->low) < len + 65536)
		return NULL;
	w->at -= len;
	return memcpy(w->at, s, len);
}

/* put @var (GLIBC_TUNABLES=...) with NO_RSEQ appended */
static char *put_tunables(struct writer *w, const char *var)
{
	size_t len = strlen(var);

	if (!put_string(w, ":" NO_RSEQ))
		return NULL;
	w->at -= len;
	return memcpy(w->at, var, len);
}

/* fill @ret with pointers into the new stack and a NULL; returns their number, -1: no room */
static long put_environment(struct writer *w, const struct lower_config *config, char **ret,
			    size_t max)
{
	bool tunables = false;
	char *const *envp = config->envp;
	size_t n = 0;

	/* envp is NULL after clearenv() */
	for (; envp && *envp && n + NR_FORCED + 2 < max; envp++) {
		if (is_dropped(*envp, config->library))
			continue;
		if (strncmp(*envp, TUNABLES, strlen(TUNABLES))) {
			ret[n] = put_string(w, *envp);
		} else {
			ret[n] = put_tunables(w, *envp);
			tunables = true;
		}
		if (!ret[n++])
			return -1;
	}
	if (envp && *envp)
		return -1;
	if (!tunables)
		ret[n++] = put_string(w, TUNABLES NO_RSEQ);
	for (size_t i = 0; i < NR_FORCED; i++)
		ret[n++] = put_string(w, forced[i]);
	ret[n] = NULL;
	return n;
}

static size_t make_auxv(Elf64_auxv_t *ret, const struct lower_image *program,
			const struct lower_image *loader, const char *path)
{
	static const unsigned long kept[] = {
		AT_SYSINFO_EHDR, AT_MINSIGSTKSZ, AT_HWCAP, AT_HWCAP2, AT_PAGESZ,
		AT_CLKTCK, AT_PHENT, AT_FLAGS, AT_UID, AT_EUID, AT_GID, AT_EGID,
		AT_SECURE, AT_RANDOM, AT_PLATFORM,
	};
	unsigned long value;
	size_t n = 0, i;

	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		errno = 0;
		value = getauxval(kept[i]);
		if (!value && errno)
			continue;
		ret[n].a_type = kept[i];
		ret[n++].a_un.a_val = value;
	}
	ret[n++] = (Elf64_auxv_t){ AT_PHDR, { program->phdr } };
	ret[n++] = (Elf64_auxv_t){ AT_PHNUM, { program->phnum } };
	ret[n++] = (Elf64_auxv_t){ AT_BASE, { loader->bias } };
	ret[n++] = (Elf64_auxv_t){ AT_ENTRY, { program->entry } };
	ret[n++] = (Elf64_auxv_t){ AT_EXECFN, { (unsigned long)path } };
	ret[n++] = (Elf64_auxv_t){ AT_NULL, { 0 } };
	return n;
}

unsigned long lower_stack_make(const struct lower_config *config,
			       const struct lower_image *program,
			       const struct lower_image *loader,
			       const struct lower_boot *boot)
{
	enum { ENV_MAX = 1 << 16 };
	Elf64_auxv_t auxv[32];
	struct writer w;
	char address[32], *argv[3], **env, *path;
	uintptr_t *sp;
	size_t nr_aux, words;
	long nr_env, at;

	at = lower_range_map(0, STACK_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (at < 0)
		return 0;
	/* the list of pointers grows from the low end, which the stack will never reach */
	env = (char **)at;
	w.low = (char *)at + ENV_MAX * sizeof(*env);
	w.at = (char *)at + STACK_SIZE;
	snprintf(address, sizeof(address), "%lx", (unsigned long)boot);
	argv[0] = put_string(&w, program_invocation_name);
	argv[1] = put_string(&w, address);
	argv[2] = NULL;
	path = put_string(&w, config->program);
	nr_env = put_environment(&w, config, env, ENV_MAX);
	if (nr_env < 0 || !argv[0] || !argv[1] || !path)
		return 0;
	nr_aux = make_auxv(auxv, program, loader, path);
	words = 1 + 3 + nr_env + 1 + nr_aux * 2;
	sp = (uintptr_t *)(((uintptr_t)w.at - words * sizeof(*sp)) & ~15UL);
	w.at = (char *)sp;
	*sp++ = 2;
	memcpy(sp, argv, sizeof(argv));
	memcpy(sp + 3, env, (nr_env + 1) * sizeof(*env));
	memcpy(sp + 3 + nr_env + 1, auxv, nr_aux * sizeof(*auxv));
	return (unsigned long)w.at;
}
