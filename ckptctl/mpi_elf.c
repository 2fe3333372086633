// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols and dynamic section of an ELF file; see mpi_elf.h.
 *
 * libelf reads the file and checks its offsets. Nothing of the file is executed here, and every
 * text that is taken from it is checked to end within its section.
 */
#include "ckptctl/mpi_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

struct mpi_elf {
	Elf *elf;
	int fd;
	char linker[256];
};

/* True if the file is for this machine. */
static bool mpi_elf_is_ours(Elf *elf)
{
	GElf_Ehdr header;

	return elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
	       header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == EM_X86_64;
}

static void mpi_elf_read_linker(struct mpi_elf *e)
{
	size_t i, nr = 0, len = 0;
	GElf_Phdr segment;
	const char *file;

	if (elf_getphdrnum(e->elf, &nr))
		return;
	file = elf_rawfile(e->elf, &len);
	for (i = 0; file && i < nr; i++) {
		if (!gelf_getphdr(e->elf, (int)i, &segment) || segment.p_type != PT_INTERP)
			continue;
		if (segment.p_offset < len && segment.p_filesz <= len - segment.p_offset &&
		    segment.p_filesz > 1 && segment.p_filesz <= sizeof(e->linker) &&
		    !file[segment.p_offset + segment.p_filesz - 1])
			memcpy(e->linker, file + segment.p_offset, segment.p_filesz);
		return;
	}
}

int mpi_elf_open(const char *path, struct mpi_elf **ret_elf)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct mpi_elf *e;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!mpi_elf_is_ours(e->elf)) {
		elf_end(e->elf);
		free(e);
		return -ENOEXEC;
	}
	e->fd = take_fd(&fd);
	mpi_elf_read_linker(e);
	*ret_elf = e;
	return 0;
}

void mpi_elf_close(struct mpi_elf *elf)
{
	if (!elf)
		return;
	elf_end(elf->elf);
	close(elf->fd);
	free(elf);
}

const char *mpi_elf_linker(const struct mpi_elf *elf)
{
	return elf->linker[0] == '/' ? elf->linker : NULL;
}

/* The section after @section that has one of two types; NULL: there are no more. */
static Elf_Scn *mpi_elf_section(const struct mpi_elf *e, Elf_Scn *section, GElf_Word type,
				GElf_Word other, GElf_Shdr *ret_header)
{
	while ((section = elf_nextscn(e->elf, section))) {
		if (gelf_getshdr(section, ret_header) &&
		    (ret_header->sh_type == type || ret_header->sh_type == other))
			return section;
	}
	return NULL;
}

/* The definition of @name in one table of symbols. */
static bool mpi_elf_search(const struct mpi_elf *e, Elf_Scn *table, const GElf_Shdr *header,
			   const char *name, GElf_Sym *ret_symbol)
{
	Elf_Data *data = elf_getdata(table, NULL);
	const char *found;
	size_t i, nr;

	nr = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	for (i = 0; i < nr; i++) {
		if (!gelf_getsym(data, (int)i, ret_symbol))
			return false;
		if (ret_symbol->st_shndx == SHN_UNDEF)
			continue;
		found = elf_strptr(e->elf, header->sh_link, ret_symbol->st_name);
		if (found && !strcmp(found, name))
			return true;
	}
	return false;
}

static bool mpi_elf_symbol(const struct mpi_elf *e, const char *name, GElf_Sym *ret_symbol)
{
	Elf_Scn *table = NULL;
	GElf_Shdr header;

	while ((table = mpi_elf_section(e, table, SHT_DYNSYM, SHT_SYMTAB, &header))) {
		if (mpi_elf_search(e, table, &header, name, ret_symbol))
			return true;
	}
	return false;
}

bool mpi_elf_defines(const struct mpi_elf *elf, const char *symbol)
{
	GElf_Sym found;

	return mpi_elf_symbol(elf, symbol, &found);
}

bool mpi_elf_text(const struct mpi_elf *elf, const char *symbol, char *buf, size_t size)
{
	GElf_Shdr header;
	GElf_Sym found;
	Elf_Scn *section;
	Elf_Data *data;
	size_t at;

	if (!mpi_elf_symbol(elf, symbol, &found))
		return false;
	section = elf_getscn(elf->elf, found.st_shndx);
	data = section ? elf_getdata(section, NULL) : NULL;
	if (!data || !data->d_buf || !gelf_getshdr(section, &header) ||
	    found.st_value < header.sh_addr)
		return false;
	at = found.st_value - header.sh_addr;
	if (at >= data->d_size || !memchr((char *)data->d_buf + at, 0, data->d_size - at))
		return false;
	snprintf(buf, size, "%s", (char *)data->d_buf + at);
	return true;
}

const char *mpi_elf_find(const struct mpi_elf *elf, const char *text)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = mpi_elf_section(elf, section, SHT_PROGBITS, SHT_PROGBITS, &header))) {
		Elf_Data *data;
		char *found;

		if (header.sh_flags & (SHF_WRITE | SHF_EXECINSTR | SHF_COMPRESSED) ||
		    !(header.sh_flags & SHF_ALLOC))
			continue;
		data = elf_getdata(section, NULL);
		found = data && data->d_buf ?
			memmem(data->d_buf, data->d_size, text, strlen(text)) : NULL;
		if (found && memchr(found, 0, data->d_size - (size_t)(found - (char *)data->d_buf)))
			return found;
	}
	return NULL;
}
