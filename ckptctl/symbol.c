// SPDX-License-Identifier: GPL-2.0-only
/*
 * Looks addresses up in the symbols of ELF files; see symbol.h. Owns nothing beyond a call. Must
 * not trust the file, which may be anything: a damaged part counts as absent, and a symbol that
 * does not cover the address names nothing.
 */
#include "ckptctl/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool symbol_note_is(Elf_Data *data, const char *build_id)
{
	size_t at = 0, name, desc, next;
	char text[41] = "";
	GElf_Nhdr note;

	while ((next = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
		const unsigned char *id = (unsigned char *)data->d_buf + desc;

		at = next;
		if (note.n_type != NT_GNU_BUILD_ID || 2 * note.n_descsz >= sizeof(text))
			continue;
		for (size_t i = 0; i < note.n_descsz; i++)
			snprintf(text + 2 * i, 3, "%02x", id[i]);
		if (!strcmp(text, build_id))
			return true;
	}
	return false;
}

/* True if the file has that build-id. */
static bool symbol_is_build(Elf *elf, const char *build_id)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &head) && head.sh_type == SHT_NOTE &&
		    symbol_note_is(elf_getdata(section, NULL), build_id))
			return true;
	}
	return false;
}

struct symbol_best {
	uint64_t address;	/* wanted */
	uint64_t start;
	bool inside;		/* the symbol has a size, and the address lies in it */
	const char *name;	/* lives as long as the file is open */
};

static void symbol_look(Elf *elf, Elf_Scn *section, const GElf_Shdr *head, struct symbol_best *best)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t nr = head->sh_entsize ? head->sh_size / head->sh_entsize : 0;
	GElf_Sym sym;

	for (size_t i = 0; data && i < nr && gelf_getsym(data, (int)i, &sym); i++) {
		bool inside = best->address - sym.st_value < sym.st_size;

		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF ||
		    sym.st_value > best->address || best->inside > inside ||
		    (best->inside == inside && best->name && sym.st_value <= best->start))
			continue;
		best->name = elf_strptr(elf, head->sh_link, sym.st_name);
		best->start = sym.st_value;
		best->inside = inside;
	}
}

static int symbol_find(Elf *elf, const char *build_id, struct symbol_best *best)
{
	static const unsigned int types[] = { SHT_SYMTAB, SHT_DYNSYM };
	GElf_Shdr head;

	if (elf_kind(elf) != ELF_K_ELF)
		return -ENOENT;
	if (*build_id && !symbol_is_build(elf, build_id))
		return -ESTALE;
	for (size_t i = 0; i < ARRAY_SIZE(types) && !best->name; i++) {
		Elf_Scn *section = NULL;

		while ((section = elf_nextscn(elf, section))) {
			if (gelf_getshdr(section, &head) && head.sh_type == types[i])
				symbol_look(elf, section, &head, best);
		}
	}
	/* a symbol far before says nothing */
	return best->name && *best->name && best->inside ? 0 : -ENOENT;
}

/* Open a regular file, and nothing that does something when it is opened. */
static int symbol_open(const char *path)
{
	_cleanup_fd_ int at = open(path, O_PATH | O_CLOEXEC);
	char again[40];
	struct stat st;

	if (at < 0 || fstat(at, &st) || !S_ISREG(st.st_mode))
		return -ENOENT;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", at);
	return open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int symbol_name(const char *path, const char *build_id, uint64_t address, char *buf, size_t size)
{
	struct symbol_best best = { .address = address };
	_cleanup_fd_ int fd = -1;
	Elf *elf;
	int err;

	if (*path != '/')
		return -ENOENT;
	fd = symbol_open(path);
	if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
		return -ENOENT;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return -ENOENT;
	err = symbol_find(elf, build_id, &best);
	if (!err)
		snprintf(buf, size, "%s+0x%llx", best.name,
			 (unsigned long long)(address - best.start));
	elf_end(elf);
	return err;
}
