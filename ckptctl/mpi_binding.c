// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where an interpreter has its module for MPI; see mpi_binding.h.
 *
 * Only the interpreter knows its search path: virtual environments, PYTHONPATH, R_LIBS. So it is
 * asked, and says where the module lies without loading it. A module may have a library for each
 * MPI library (mpi4py 4); the one that would be loaded is then not known, and must be said.
 */
#include "ckptctl/mpi_binding.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Prints the module's libraries, one a line. */
static const struct {
	const char *name;	/* of the interpreter, up to its version */
	const char *option;
	const char *question;
} bindings[] = {
	{ "python", "-c",
	  /* not what lies in the working directory, which the program would not import either */
	  "import sys\n"
	  "sys.path = [place for place in sys.path if place]\n"
	  "import glob, importlib.util, os\n"
	  "spec = importlib.util.find_spec('mpi4py')\n"
	  "for place in spec.submodule_search_locations if spec else []:\n"
	  "    for name in sorted(glob.glob(os.path.join(glob.escape(place), 'MPI*.so'))):\n"
	  "        print(os.path.realpath(name))\n" },
	{ "Rscript", "-e",
	  "cat(normalizePath(system.file('libs', 'Rmpi.so', package = 'Rmpi')), '\\n', sep = '')" },
	{ "R", NULL,
	  "cat(normalizePath(system.file('libs', 'Rmpi.so', package = 'Rmpi')), '\\n', sep = '')" },
};

static bool mpi_binding_is_named(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t len = strlen(name);

	return !strncmp(base, name, len) &&
	       strspn(base + len, "0123456789.") == strlen(base + len);
}

/* The libraries of the interpreter's module, one a line; NULL: none. */
static char *mpi_binding_ask(const char *interpreter, const char *dir)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bindings); i++) {
		char *r[] = { (char *)interpreter, "--no-echo", "--no-restore", "-e",
			      (char *)bindings[i].question, NULL };
		char *other[] = { (char *)interpreter, (char *)bindings[i].option,
				  (char *)bindings[i].question, NULL };

		if (mpi_binding_is_named(interpreter, bindings[i].name))
			return mpi_closure_output(bindings[i].option ? other : r, dir, NULL);
	}
	return NULL;
}

/* Any program of this machine has the linker that a module is loaded by. */
static int mpi_binding_library(const char *linker, const char *module, const char *dir,
			       struct mpi_need *need, struct ckpt_error *error)
{
	struct mpi_need found;
	int err = mpi_closure_find(linker, module, dir, &found, error);

	if (err || found.library.kind <= MPI_LIBRARY_FRONT)
		return err;
	if (need->library.kind > MPI_LIBRARY_FRONT && strcmp(need->path, found.path))
		return error_set(error, -ENOTUNIQ,
				 "its MPI module can load two MPI libraries, %s and %s", need->path,
				 found.path);
	*need = found;
	return 0;
}

int mpi_binding_find(const char *interpreter, const char *dir, struct mpi_need *ret_need,
		     struct ckpt_error *error)
{
	_cleanup_free_ char *text = mpi_binding_ask(interpreter, dir);
	_cleanup_free_ struct mpi_need *need = calloc(1, sizeof(*need));
	char *save = NULL, *line = text ? strtok_r(text, "\n", &save) : NULL;
	struct mpi_elf *self;
	int err = need ? 0 : -ENOMEM;

	if (!err)
		err = mpi_elf_open("/proc/self/exe", &self);
	if (err)
		return error_set(error, err, "%s", strerror(-err));
	for (; line && !err; line = strtok_r(NULL, "\n", &save)) {
		if (line[0] == '/')
			err = mpi_binding_library(mpi_elf_linker(self), line, dir, need, error);
	}
	mpi_elf_close(self);
	if (!err && need->library.kind <= MPI_LIBRARY_FRONT)
		err = error_set(error, -ENOEXEC, "it has no module for MPI");
	if (!err)
		*ret_need = *need;
	return err;
}
