// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads memory of an image for unwinding; see image_memory.h. Owns the descriptors of mapped files,
 * and one page for each process. An image is authentic, but the process may have mapped anything:
 * an address that leads nowhere is an address without memory, never an error.
 */
#include "supervisor/diagnose/image_memory.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/core/file_identity.h"

#define PAGE		4096ull
#define FILE_UNTRIED	(-1)
#define FILE_BAD	(-2)

struct image_files {
	const struct state *state;
	int *fd;		/* by index of state->files; or FILE_* */
};

struct image_memory {
	struct image_reader *reader;
	const struct state_mm *mm;
	struct image_files *files;
	struct places *places;
	uint64_t at;		/* address of @page; 1: none */
	char page[PAGE];
};

/* ------------------------------------------------------------------ files */

int image_files_new(const struct state *state, struct image_files **ret_files)
{
	struct image_files *files = calloc(1, sizeof(*files));

	if (files)
		files->fd = calloc(state->nr_files + 1, sizeof(*files->fd));
	if (!files || !files->fd) {
		free(files);
		return -ENOMEM;
	}
	files->state = state;
	for (unsigned int i = 0; i < state->nr_files; i++)
		files->fd[i] = FILE_UNTRIED;
	*ret_files = files;
	return 0;
}

void image_files_free(struct image_files *files)
{
	if (!files)
		return;
	for (unsigned int i = 0; i < files->state->nr_files; i++) {
		if (files->fd[i] >= 0)
			close(files->fd[i]);
	}
	free(files->fd);
	free(files);
}

void image_files_bad(const struct image_files *files, void (*fn)(const char *path, void *arg),
		     void *arg)
{
	for (unsigned int i = 0; i < files->state->nr_files; i++) {
		if (files->fd[i] == FILE_BAD)
			fn(files->state->files[i].path, arg);
	}
}

static bool image_file_is_same(const struct state_file *file, int fd)
{
	const struct engine_rec_file_track *track = file->track;
	uint8_t id[FILE_BUILD_ID_MAX];
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	if (track && track->flags & ENGINE_TRACK_BUILD_ID)
		return file_identity_build_id(fd, id) == (int)track->build_id_len &&
		       !memcmp(id, track->build_id, track->build_id_len);
	return (uint64_t)st.st_size == file->rec->size &&
	       (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec ==
		       file->rec->mtime_ns;
}

/* A descriptor of the file, borrowed; negative: it is missing, or another one. */
static int image_file_get(struct image_files *files, const struct state_file *file)
{
	int *fd = &files->fd[file - files->state->files];

	if (*fd != FILE_UNTRIED)
		return *fd;
	*fd = file->rec->kind == CKPT_FILE_REG && file->path[0] == '/' ?
	      open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
	if (*fd >= 0 && image_file_is_same(file, *fd))
		return *fd;
	if (*fd >= 0)
		close(*fd);
	*fd = FILE_BAD;
	return *fd;
}

/* ----------------------------------------------------------------- memory */

static const struct state_vma *image_memory_vma(const struct state_mm *mm, uint64_t at)
{
	unsigned int low = 0, high = mm->nr_vmas;

	while (low < high) {
		unsigned int mid = (low + high) / 2;

		if (mm->vmas[mid].rec->end <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < mm->nr_vmas && mm->vmas[low].rec->start <= at ? &mm->vmas[low] : NULL;
}

/* A page that the image does not hold. */
static bool image_memory_absent(struct image_memory *m, uint64_t at)
{
	const struct state_vma *vma = image_memory_vma(m->mm, at);
	ssize_t n;
	int fd;

	if (!vma)
		return false;
	memset(m->page, 0, sizeof(m->page));
	if (vma->rec->kind == CKPT_VMA_ANON)
		return true;	/* never written */
	if (!vma->file || (vma->rec->kind != CKPT_VMA_FILE_PRIVATE &&
			   vma->rec->kind != CKPT_VMA_FILE_SHARED))
		return false;
	fd = image_file_get(m->files, vma->file);
	n = fd < 0 ? -1 : pread(fd, m->page, sizeof(m->page),
				(off_t)(vma->rec->pgoff * PAGE + (at - vma->rec->start)));
	return n > 0;
}

static bool image_memory_page(struct image_memory *m, uint64_t at)
{
	int ret;

	if (m->at == at)
		return true;
	m->at = 1;
	ret = image_pages_read(m->reader, m->mm->rec->mm_id, at, 1, m->page);
	if (ret && (ret != -ENOENT || !image_memory_absent(m, at)))
		return false;
	m->at = at;
	return true;
}

static bool image_memory_read(void *arg, uint64_t at, void *buf, size_t size)
{
	struct image_memory *m = arg;
	char *out = buf;

	while (size) {
		size_t in = at % PAGE, n = PAGE - in < size ? PAGE - in : size;

		if (!image_memory_page(m, at - in))
			return false;
		memcpy(out, m->page + in, n);
		out += n;
		at += n;
		size -= n;
	}
	return true;
}

static const char *image_vma_path(const struct state_vma *vma)
{
	if (vma->rec->kind == CKPT_VMA_VDSO)
		return "[vdso]";
	return vma->file ? vma->file->path : "";
}

int image_memory_open(struct image_reader *reader, const struct state_mm *mm,
		      struct image_files *files, struct image_memory **ret_memory)
{
	struct image_memory *m = calloc(1, sizeof(*m));
	int err = m ? 0 : -ENOMEM;

	if (err)
		return err;
	*m = (struct image_memory){ .reader = reader, .mm = mm, .files = files, .at = 1 };
	err = places_new(image_memory_read, m, mm->exe ? mm->exe->path : "", &m->places);
	for (unsigned int i = 0; i < mm->nr_vmas && !err; i++) {
		const struct state_vma *vma = &mm->vmas[i];

		err = places_map(m->places, vma->rec->start, vma->rec->end,
				 vma->file ? vma->rec->pgoff * PAGE : 0, image_vma_path(vma));
	}
	if (err)
		image_memory_close(m);
	else
		*ret_memory = m;
	return err;
}

void image_memory_close(struct image_memory *m)
{
	if (!m)
		return;
	places_close(m->places);
	free(m);
}

struct places *image_memory_places(struct image_memory *m)
{
	return m->places;
}

/* ---------------------------------------------------------------- modules */

/* The mapping of the first byte of @vma's file; NULL. */
static const struct state_vma *image_memory_first(const struct state_mm *mm,
						  const struct state_vma *vma)
{
	while (vma->rec->pgoff) {
		if (vma == mm->vmas || vma[-1].file != vma->file)
			return NULL;
		vma--;
	}
	return vma;
}

bool image_memory_find(struct image_memory *m, uint64_t ip, struct place *ret_place)
{
	const struct state_vma *vma = image_memory_vma(m->mm, ip), *first;
	const struct engine_rec_file_track *track;

	if (!vma || !places_find(m->places, ip, ret_place))
		return false;
	track = vma->file ? vma->file->track : NULL;
	first = track ? image_memory_first(m->mm, vma) : NULL;
	if (!first || ret_place->build_id[0] || !(track->flags & ENGINE_TRACK_BUILD_ID) ||
	    2 * track->build_id_len >= PLACE_ID_MAX)
		return true;
	/* the file is of another build: names must not be taken from it */
	file_identity_hex(track->build_id, track->build_id_len, ret_place->build_id);
	ret_place->address = ip - first->rec->start;
	ret_place->function = 0;
	return true;
}

static bool image_vma_is_code(const struct state_vma *vma)
{
	return vma->rec->flags & CKPT_VM_EXEC && vma->rec->kind == CKPT_VMA_FILE_PRIVATE &&
	       vma->file;
}

int image_memory_report(Dwfl *dwfl, void *arg)
{
	struct image_memory *m = arg;
	const struct state_vma *done = NULL;

	for (unsigned int i = 0; i < m->mm->nr_vmas; i++) {
		const struct state_vma *vma = &m->mm->vmas[i], *first;
		uint64_t bias;
		int fd;

		if (!image_vma_is_code(vma))
			continue;
		first = image_memory_first(m->mm, vma);
		if (!first || first == done ||
		    !places_module(m->places, first->rec->start, &bias))
			continue;
		done = first;
		fd = image_file_get(m->files, vma->file);
		fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
		/* libdw takes the descriptor over if it reports the module */
		if (fd >= 0 && !dwfl_report_elf(dwfl, vma->file->path, vma->file->path, fd, bias,
						true))
			close(fd);
	}
	return 0;
}
