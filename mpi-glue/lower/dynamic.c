// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make dlopen() of the MPI library (by MPI.jl, Python's ctypes, plugins) return this library.
 * The dynamic linker knows this library by its SONAME alone: asked by a path, or for libmpi.so,
 * it would load the real library into the upper half, and calls would bypass this one.
 *
 * The real dlopen() derives from its return address whose RUNPATH and namespace apply. So this
 * one jumps to the real one instead of calling it (tests/mpi/dlopen.t), and passes on every name
 * but one of the MPI library unchanged. dlopen() may be called before this library's context
 * exists; this file keeps no state.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi-glue/glue.h"
#include "mpi-glue/real_library.h"

typedef void *(*dlopen_fn)(const char *file, int mode);

static const char *base_of(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

static bool may_be_mpi(const char *file)
{
	const char *base = base_of(file);

	return !strncmp(base, "libmpi.so", 9) || !strncmp(base, "libmpich.so", 11);
}

/* Find @file, a name without a directory, where the linker would look on behalf of @caller. */
static bool dynamic_search(const char *file, void *caller, char *path)
{
	struct link_map *map;
	Dl_serinfo size, *dirs;
	char buf[PATH_MAX];
	const char *below;
	Dl_info info;

	if (!dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map ||
	    dlinfo(map, RTLD_DI_SERINFOSIZE, &size))
		return false;
	dirs = alloca(size.dls_size);
	memcpy(dirs, &size, sizeof(size));
	if (dlinfo(map, RTLD_DI_SERINFO, dirs))
		return false;
	for (unsigned int i = 0; i < dirs->dls_cnt; i++) {
		snprintf(path, PATH_MAX, "%s/%s", dirs->dls_serpath[i].dls_name, file);
		if (!access(path, R_OK))
			return true;
	}
	/* the linker's cache cannot be read: try the directory of the lower half's library */
	below = real_library(environ, buf, sizeof(buf));
	if (!strchr(below, '/'))
		return false;
	snprintf(path, PATH_MAX, "%.*s%s", (int)(base_of(below) - below), below, file);
	return !access(path, R_OK);
}

/* True if @path is named after one of the MPI library's SONAMEs, or is the lower half's library. */
static bool is_mpi(const char *path)
{
	char real[PATH_MAX], below[PATH_MAX], buf[PATH_MAX];
	const char *base;

	if (!realpath(path, real))
		return false;
	base = base_of(real);
	for (size_t i = 0; abi_soname[i]; i++) {
		size_t len = strlen(abi_soname[i]);

		if (!strncmp(base, abi_soname[i], len) && (!base[len] || base[len] == '.'))
			return true;
	}
	return realpath(real_library(environ, buf, sizeof(buf)), below) && !strcmp(real, below);
}

/* Not inlined: dlopen(), which ends in a jump, must have no stack frame. */
static __attribute__((noinline)) const char *name_for(const char *file, void *caller)
{
	char path[PATH_MAX];

	if (!file || !may_be_mpi(file))
		return file;
	if (strchr(file, '/'))
		return is_mpi(file) ? abi_soname[0] : file;
	return dynamic_search(file, caller, path) && is_mpi(path) ? abi_soname[0] : file;
}

static __attribute__((noinline)) dlopen_fn next_dlopen(void)
{
	return (dlopen_fn)dlsym(RTLD_NEXT, "dlopen");
}

__attribute__((visibility("default"), optimize("optimize-sibling-calls")))
void *dlopen(const char *file, int mode)
{
	const char *name = name_for(file, __builtin_return_address(0));

	return next_dlopen()(name, mode);
}
