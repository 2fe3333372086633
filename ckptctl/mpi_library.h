/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The MPI library in a file: whose it is, its version, and if Stillpoint's library can stand in
 * front of it. The answer comes from the file's symbols and texts, never from its name.
 */
#ifndef STILLPOINT_MPI_LIBRARY_H
#define STILLPOINT_MPI_LIBRARY_H

#include "ckptctl/mpi_elf.h"
#include "shim/ranks.h"

/* In rising order of what is known. */
enum mpi_library_kind {
	MPI_LIBRARY_NONE,	/* no MPI library */
	MPI_LIBRARY_FRONT,	/* it defines MPI_Init() alone: a tool, or a stand-in for MPI */
	MPI_LIBRARY_UNKNOWN,	/* an MPI library, and more is not known */
	MPI_LIBRARY_OTHER,	/* known, in a version or from a vendor that is not supported */
	MPI_LIBRARY_SUPPORTED,
};

/**
 * struct mpi_library - one MPI library
 * @kind: what is known of it
 * @mpi: the interface that it has; RANKS_NONE: none that is known here
 * @name: its name and version for people, "MPICH 4.0.2"
 */
struct mpi_library {
	enum mpi_library_kind kind;
	enum ranks_mpi mpi;
	char name[80];
};

/*
 * mpi_library_identify() - recognise the MPI library that @elf is, or has linked into itself
 * @ret_library: always filled in
 */
void mpi_library_identify(const struct mpi_elf *elf, struct mpi_library *ret_library);

/*
 * mpi_library_guess() - recognise the library inside a program whose symbols were removed
 *
 * Its texts tell. Ask only of a program without a dynamic linker.
 */
void mpi_library_guess(const struct mpi_elf *elf, struct mpi_library *ret_library);

/* The versions that are supported of an interface, for people. */
const char *mpi_library_supported(enum ranks_mpi mpi);

#endif /* STILLPOINT_MPI_LIBRARY_H */
