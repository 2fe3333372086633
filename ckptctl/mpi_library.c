// SPDX-License-Identifier: GPL-2.0-only
/*
 * Knows the MPI libraries; see mpi_library.h.
 *
 * Vendors build on MPICH or on Open MPI and keep the symbols of these, so a vendor's own text is
 * looked for first. A new library is a row of a table here; it is "supported" once the tests of
 * tests/mpi have run with it.
 */
#include "ckptctl/mpi_library.h"

#include <stdio.h>
#include <string.h>

/* Texts of MPI_Get_library_version() of vendors' libraries, up to the version. */
static const struct {
	const char *text;
	const char *name;
	enum ranks_mpi mpi;
} vendors[] = {
	{ "Intel(R) MPI Library", "Intel MPI", RANKS_MPICH },
	{ "MVAPICH2 Version", "MVAPICH2", RANKS_MPICH },
	{ "MVAPICH Version", "MVAPICH", RANKS_MPICH },
	{ "CRAY MPICH version", "Cray MPICH", RANKS_MPICH },
	{ "ParaStation MPI", "ParaStation MPI", RANKS_MPICH },
	{ "IBM Spectrum MPI", "IBM Spectrum MPI", RANKS_OMPI },
};

/* The symbol whose text is the version, and how supported versions begin. */
static const struct {
	const char *symbol;
	const char *name;
	enum ranks_mpi mpi;
	const char *supported;	/* NULL: no version is */
} versions[] = {
	{ "MPII_Version_string", "MPICH", RANKS_MPICH, "4." },
	{ "MPIR_Version_string", "MPICH", RANKS_MPICH, NULL },
	{ "ompi_version_string", "Open MPI", RANKS_OMPI, "4.1." },
};

/* Texts of a program that the library was linked into and that has no symbols left. */
static const struct {
	const char *text;
	const char *name;
	enum ranks_mpi mpi;
} marks[] = {
	{ "MPICH Version:\t", "MPICH", RANKS_MPICH },
	{ "Open MPI v%d.%d.%d", "Open MPI", RANKS_OMPI },
};

const char *mpi_library_supported(enum ranks_mpi mpi)
{
	return mpi == RANKS_MPICH ? "MPICH 4" : mpi == RANKS_OMPI ? "Open MPI 4.1" : "none";
}

static bool mpi_library_vendor(const struct mpi_elf *elf, struct mpi_library *library)
{
	size_t i;

	for (i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++) {
		if (!mpi_elf_find(elf, vendors[i].text))
			continue;
		library->kind = MPI_LIBRARY_OTHER;
		library->mpi = vendors[i].mpi;
		snprintf(library->name, sizeof(library->name), "%s", vendors[i].name);
		return true;
	}
	return false;
}

static bool mpi_library_version(const struct mpi_elf *elf, struct mpi_library *library)
{
	char version[32];
	size_t i;

	for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		const char *begin = versions[i].supported;

		if (!mpi_elf_text(elf, versions[i].symbol, version, sizeof(version)))
			continue;
		library->kind = begin && !strncmp(version, begin, strlen(begin)) ?
				MPI_LIBRARY_SUPPORTED : MPI_LIBRARY_OTHER;
		library->mpi = versions[i].mpi;
		snprintf(library->name, sizeof(library->name), "%s %s", versions[i].name, version);
		return true;
	}
	return false;
}

void mpi_library_guess(const struct mpi_elf *elf, struct mpi_library *ret_library)
{
	size_t i;

	*ret_library = (struct mpi_library){ .kind = MPI_LIBRARY_NONE };
	if (mpi_library_vendor(elf, ret_library))
		return;
	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (!mpi_elf_find(elf, marks[i].text))
			continue;
		ret_library->kind = MPI_LIBRARY_OTHER;
		ret_library->mpi = marks[i].mpi;
		snprintf(ret_library->name, sizeof(ret_library->name), "%s", marks[i].name);
		return;
	}
}

void mpi_library_identify(const struct mpi_elf *elf, struct mpi_library *ret_library)
{
	*ret_library = (struct mpi_library){ .kind = MPI_LIBRARY_NONE };
	/* a tool that wraps MPI calls defines no PMPI_Init() */
	if (!mpi_elf_defines(elf, "PMPI_Init")) {
		if (mpi_elf_defines(elf, "MPI_Init"))
			ret_library->kind = MPI_LIBRARY_FRONT;
		return;
	}
	if (mpi_library_vendor(elf, ret_library) || mpi_library_version(elf, ret_library))
		return;
	ret_library->kind = MPI_LIBRARY_UNKNOWN;
	snprintf(ret_library->name, sizeof(ret_library->name), "an MPI library not known here");
}
