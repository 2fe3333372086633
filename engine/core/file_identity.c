// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hash of a file's tail, build-id of a program.
 *
 * Only pread(2), never read(2): the descriptor may be the job's own description, whose
 * position must not move.  An ELF file is untrusted input: a malformed one has "no
 * build-id", which is not an error.
 */
#include "engine/core/file_identity.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#define NOTES_MAX	16384U	/* bytes of one PT_NOTE segment; real ones have 100 */
#define SEGMENTS_MAX	128U
#define FRONT		4096U

/* Read @len bytes, or fail with -EPIPE if the file ends before that. */
static int read_exactly(int fd, void *buf, size_t len, uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)buf + done, len - done,
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EPIPE;
		done += (size_t)n;
	}
	return 0;
}

int file_identity_tail(int fd, uint64_t start, uint64_t len, uint8_t ret_hash[32])
{
	crypto_generichash_state hash;
	uint8_t buf[16384];
	int ret;

	crypto_generichash_init(&hash, NULL, 0, 32);
	while (len) {
		size_t n = len < sizeof(buf) ? (size_t)len : sizeof(buf);

		ret = read_exactly(fd, buf, n, start);
		if (ret)
			return ret;
		crypto_generichash_update(&hash, buf, n);
		start += n;
		len -= n;
	}
	crypto_generichash_final(&hash, ret_hash, 32);
	return 0;
}

static int find_note(const uint8_t *notes, size_t size, uint8_t *ret_id)
{
	Elf64_Nhdr note;
	size_t name, desc;

	while (size >= sizeof(note)) {
		memcpy(&note, notes, sizeof(note));
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		desc = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > size - sizeof(note) || desc > size - sizeof(note) - name)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + sizeof(note), "GNU", 4) == 0 &&
		    note.n_descsz <= FILE_BUILD_ID_MAX) {
			memcpy(ret_id, notes + sizeof(note) + name, note.n_descsz);
			return (int)note.n_descsz;
		}
		notes += sizeof(note) + name + desc;
		size -= sizeof(note) + name + desc;
	}
	return 0;
}

/* The first bytes of a file: linkers put the headers and notes there. */
struct front {
	uint8_t bytes[FRONT];
	size_t len;
};

/* Read a part of the file, out of the front if it lies there. */
static int read_part(int fd, const struct front *front, void *buf, size_t len, uint64_t offset)
{
	if (offset > front->len || len > front->len - offset)
		return read_exactly(fd, buf, len, offset);
	memcpy(buf, front->bytes + offset, len);
	return 0;
}

static int read_front(int fd, struct front *front)
{
	ssize_t n;

	do {
		n = pread(fd, front->bytes, sizeof(front->bytes), 0);
	} while (n < 0 && errno == EINTR);
	front->len = n > 0 ? (size_t)n : 0;
	return n < 0 ? -errno : 0;
}

int file_identity_build_id(int fd, uint8_t ret_id[FILE_BUILD_ID_MAX])
{
	uint8_t notes[NOTES_MAX];
	struct front front;
	Elf64_Ehdr elf;
	int len = 0;

	if (read_front(fd, &front) || read_part(fd, &front, &elf, sizeof(elf), 0) ||
	    memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf.e_phentsize != sizeof(Elf64_Phdr))
		return 0;
	for (unsigned int i = 0; i < elf.e_phnum && i < SEGMENTS_MAX && len == 0; i++) {
		Elf64_Phdr segment;

		if (read_part(fd, &front, &segment, sizeof(segment),
			      elf.e_phoff + i * sizeof(segment)))
			return 0;
		if (segment.p_type != PT_NOTE || segment.p_filesz > sizeof(notes))
			continue;
		if (read_part(fd, &front, notes, segment.p_filesz, segment.p_offset))
			return 0;
		len = find_note(notes, segment.p_filesz, ret_id);
	}
	return len;
}

void file_identity_hex(const uint8_t *id, unsigned int len, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned int i = 0; i < len; i++) {
		*ret_text++ = digits[id[i] >> 4];
		*ret_text++ = digits[id[i] & 15];
	}
	*ret_text = 0;
}
