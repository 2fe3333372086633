/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of functions: an address of a module, by the symbols of its file here. Read with libelf.
 * The file counts only if its build-id is the one that was asked for.
 */
#ifndef STILLPOINT_SYMBOL_H
#define STILLPOINT_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

/*
 * symbol_name() - "function+0x12" into @buf
 * @build_id: hexadecimal; empty: the module has none, and any file of that path will do
 * @address: as in the file's symbols
 *
 * Return: 0; -ENOENT: no file, or no symbol there; -ESTALE: the file is of another build
 */
int symbol_name(const char *path, const char *build_id, uint64_t address, char *buf, size_t size);

#endif /* STILLPOINT_SYMBOL_H */
