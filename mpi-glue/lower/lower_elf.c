// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maps the two files that the lower half starts from, ckpt-lower and its dynamic
 * linker, as the kernel does at exec. The linker maps every other file itself.
 *
 * Only position-independent x86-64 files are accepted. On an error, segments mapped so
 * far stay: lower_load() unmaps the whole range.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi-glue/lower/lower_internal.h"
#include "mpi-glue/lower/lower_raw.h"

#define PHDRS_MAX	32

struct elf {
	int fd;
	Elf64_Ehdr header;
	Elf64_Phdr phdrs[PHDRS_MAX];
};

static bool header_fits(const Elf64_Ehdr *h)
{
	return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_machine == EM_X86_64 && h->e_type == ET_DYN &&
	       h->e_phentsize == sizeof(Elf64_Phdr) && h->e_phnum && h->e_phnum <= PHDRS_MAX;
}

static int read_headers(struct elf *elf, const char *path, char *ret_why)
{
	size_t len;

	if (pread(elf->fd, &elf->header, sizeof(elf->header), 0) != sizeof(elf->header) ||
	    !header_fits(&elf->header)) {
		snprintf(ret_why, LOWER_WHY_SIZE, "%s is no position-independent x86-64 program",
			 path);
		return -ENOEXEC;
	}
	len = elf->header.e_phnum * sizeof(Elf64_Phdr);
	if (pread(elf->fd, elf->phdrs, len, elf->header.e_phoff) != (ssize_t)len) {
		snprintf(ret_why, LOWER_WHY_SIZE, "%s is cut short", path);
		return -ENOEXEC;
	}
	return 0;
}

static int lower_elf_protection(const Elf64_Phdr *ph)
{
	return (ph->p_flags & PF_R ? PROT_READ : 0) | (ph->p_flags & PF_W ? PROT_WRITE : 0) |
	       (ph->p_flags & PF_X ? PROT_EXEC : 0);
}

/*
 * Zero the rest of the last page of data up to the page's end, not just up to the
 * segment's end: the dynamic linker's first malloc hands that memory out.
 */
static int map_bss(const Elf64_Phdr *ph, unsigned long bias)
{
	unsigned long data = bias + ph->p_vaddr + ph->p_filesz, page = lower_page_up(data);
	unsigned long end = lower_page_up(bias + ph->p_vaddr + ph->p_memsz);
	long ret = 0;

	memset((void *)data, 0, page - data);
	if (end > page)
		ret = lower_range_map(page, end - page, lower_elf_protection(ph),
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return ret < 0 ? (int)ret : 0;
}

static int map_segment(const struct elf *elf, const Elf64_Phdr *ph, unsigned long bias)
{
	unsigned long start = (bias + ph->p_vaddr) & ~(LOWER_PAGE - 1);
	unsigned long lead = bias + ph->p_vaddr - start;
	long ret;

	if (ph->p_filesz) {
		ret = lower_range_map(start, ph->p_filesz + lead, lower_elf_protection(ph),
				      MAP_PRIVATE | MAP_FIXED, elf->fd, ph->p_offset - lead);
		if (ret < 0)
			return ret;
		if (ph->p_flags & PF_X) {
			ret = lower_patch_text(start, ph->p_filesz + lead, elf->fd);
			if (ret < 0)
				return ret;
		}
	}
	return ph->p_memsz > ph->p_filesz && ph->p_flags & PF_W ? map_bss(ph, bias) : 0;
}

static int map_segments(const struct elf *elf, unsigned long *ret_bias)
{
	unsigned long low = -1UL, high = 0;
	const Elf64_Phdr *ph = elf->phdrs, *end = ph + elf->header.e_phnum;
	long at;
	int err;

	for (; ph < end; ph++) {
		if (ph->p_type != PT_LOAD)
			continue;
		if (ph->p_vaddr < low)
			low = ph->p_vaddr & ~(LOWER_PAGE - 1);
		if (ph->p_vaddr + ph->p_memsz > high)
			high = ph->p_vaddr + ph->p_memsz;
	}
	if (high <= low || high - low > LOWER_FILES_END - LOWER_FILES)
		return -ENOEXEC;
	/* reserve with the file, so that the place is among files; then map each segment */
	at = lower_range_map(0, lower_page_up(high - low), PROT_NONE, MAP_PRIVATE, elf->fd, 0);
	if (at < 0)
		return at;
	*ret_bias = at - low;
	for (ph = elf->phdrs; ph < end; ph++) {
		err = ph->p_type == PT_LOAD ? map_segment(elf, ph, *ret_bias) : 0;
		if (err)
			return err;
	}
	return 0;
}

static int fill_image(const struct elf *elf, struct lower_image *image)
{
	const Elf64_Phdr *ph = elf->phdrs, *end = ph + elf->header.e_phnum;

	image->entry = image->bias + elf->header.e_entry;
	image->phdr = image->bias + elf->header.e_phoff;
	image->phnum = elf->header.e_phnum;
	image->interpreter[0] = 0;
	for (; ph < end; ph++) {
		if (ph->p_type != PT_INTERP)
			continue;
		if (ph->p_filesz >= sizeof(image->interpreter) ||
		    pread(elf->fd, image->interpreter, ph->p_filesz, ph->p_offset) !=
		    (ssize_t)ph->p_filesz)
			return -ENOEXEC;
		image->interpreter[ph->p_filesz] = 0;
	}
	return 0;
}

int lower_elf_map(const char *path, struct lower_image *ret_image, char *ret_why)
{
	struct elf elf;
	int err;

	elf.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (elf.fd < 0) {
		err = -errno;
		snprintf(ret_why, LOWER_WHY_SIZE, "%s: %s", path, strerror(-err));
		return err;
	}
	err = read_headers(&elf, path, ret_why);
	if (!err) {
		snprintf(ret_why, LOWER_WHY_SIZE, "%s could not be mapped", path);
		err = map_segments(&elf, &ret_image->bias);
	}
	if (!err)
		err = fill_image(&elf, ret_image);
	close(elf.fd);
	return err;
}
