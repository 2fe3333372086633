// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which file is the real MPI library; see real_library.h.
 *
 * The dynamic linker would have loaded the library for whoever asks for it, and this library has
 * taken its place. So the linker's search is repeated: by the directories of the program or
 * library that asks, up to the linker's cache. From there on a name without a directory is left
 * to the linker of the lower half, which reads the same cache. Nothing here is kept, as a restart
 * may find another file.
 */
#include "mpi-glue/real_library.h"

#include <alloca.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi-glue/glue.h"

/* Directory of this library and its aliases, which are no real ones. */
static bool real_library_own_directory(struct stat *ret)
{
	char path[PATH_MAX], *slash;
	Dl_info info;

	if (!dladdr(&glue, &info) || strlen(info.dli_fname) >= sizeof(path))
		return false;
	strcpy(path, info.dli_fname);
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return !stat(path, ret);
}

static bool real_library_is_own(const char *directory)
{
	struct stat own, other;

	return real_library_own_directory(&own) && !stat(directory, &other) &&
	       own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* The name by which @map asks for the library; NULL: it does not. */
static const char *real_library_needed(const struct link_map *map)
{
	const char *strings = NULL;
	const ElfW(Dyn) *entry;

	for (entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_STRTAB)
			strings = (const char *)entry->d_un.d_ptr;
	for (entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag != DT_NEEDED)
			continue;
		for (size_t i = 0; abi_soname[i]; i++)
			if (!strcmp(strings + entry->d_un.d_val, abi_soname[i]))
				return abi_soname[i];
	}
	return NULL;
}

/* Look for @name where the linker does on behalf of @map before it looks into its cache. */
static bool real_library_search(struct link_map *map, const char *name, char *buf, size_t size)
{
	Dl_serinfo count, *dirs;

	if (dlinfo(map, RTLD_DI_SERINFOSIZE, &count))
		return false;
	dirs = alloca(count.dls_size);
	memcpy(dirs, &count, sizeof(count));
	if (dlinfo(map, RTLD_DI_SERINFO, dirs))
		return false;
	for (unsigned int i = 0; i < dirs->dls_cnt; i++) {
		if (dirs->dls_serpath[i].dls_flags & LA_SER_DEFAULT)
			continue;
		snprintf(buf, size, "%s/%s", dirs->dls_serpath[i].dls_name, name);
		if (!access(buf, R_OK) && !real_library_is_own(dirs->dls_serpath[i].dls_name))
			return true;
	}
	return false;
}

/* The alias of this library asks for this library. */
static bool real_library_is_alias(const struct link_map *map)
{
	const char *slash = strrchr(map->l_name, '/');
	char path[PATH_MAX];

	if (!slash || slash - map->l_name >= PATH_MAX)
		return false;
	snprintf(path, sizeof(path), "%.*s", (int)(slash - map->l_name), map->l_name);
	return real_library_is_own(path);
}

const char *real_library(char *const *envp, char *buf, size_t size)
{
	static const char variable[] = "CKPT_MPI_LIBRARY=";
	struct link_map *program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD), *map;
	const char *name = NULL;

	for (; envp && *envp; envp++)
		if (!strncmp(*envp, variable, strlen(variable)))
			return *envp + strlen(variable);
	for (map = program; map; map = map->l_next) {
		const char *needed = real_library_needed(map);

		if (!needed || real_library_is_alias(map))
			continue;
		if (real_library_search(map, needed, buf, size))
			return buf;
		name = name ? name : needed;
	}
	/* opened at run time: on behalf of whom is not known */
	if (!name && program && real_library_search(program, abi_soname[0], buf, size))
		return buf;
	return name ? name : abi_soname[0];
}
