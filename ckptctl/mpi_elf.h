/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An ELF file of this machine, as its symbols and its dynamic section describe it. Read with
 * libelf. The file may be anything: what is damaged counts as absent.
 */
#ifndef STILLPOINT_MPI_ELF_H
#define STILLPOINT_MPI_ELF_H

#include <stdbool.h>
#include <stddef.h>

struct mpi_elf;

/*
 * mpi_elf_open() - open a program or a library
 *
 * Return: 0, *ret_elf is the caller's; -ENOEXEC: no ELF file for this machine; other negative
 * errno of open().
 */
int mpi_elf_open(const char *path, struct mpi_elf **ret_elf);
/* NULL is fine. */
void mpi_elf_close(struct mpi_elf *elf);

/* The dynamic linker that the file asks for; NULL: none. Lives as long as @elf. */
const char *mpi_elf_linker(const struct mpi_elf *elf);

/* True if the file itself defines @symbol, also if only the linker's own table names it. */
bool mpi_elf_defines(const struct mpi_elf *elf, const char *symbol);

/* Copy the text that the symbol of an array of characters has; false: there is none. */
bool mpi_elf_text(const struct mpi_elf *elf, const char *symbol, char *buf, size_t size);

/* Find @text in the file's read-only data. Lives as long as @elf; NULL: it is not there. */
const char *mpi_elf_find(const struct mpi_elf *elf, const char *text);

#endif /* STILLPOINT_MPI_ELF_H */
