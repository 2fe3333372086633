// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests of opening files share; see reopen_fixture.h.
 *
 * Owns nothing: directories and keys are image_fixture.h's, records stream.h's.
 */
#include "tests/unit/reopen_fixture.h"

#include "base/error.h"
#include "engine/core/file_identity.h"
#include "engine/core/file_mark.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void opening_begin(struct opening *f, const struct scratch *s, const char *name)
{
	const struct image_options options = { 0 };
	struct image_writer *writer;
	struct ckpt_error error;
	struct engine_rec_tree *tree;

	memset(f, 0, sizeof(*f));
	f->s = s;
	assert_int_equal(image_writer_posix_create(scratch_path(s, name), &writer, &error), 0);
	assert_int_equal(image_create(writer, s->key, &options, &f->img, &error), 0);
	tree = stream_add(&f->stream, ENGINE_REC_TREE, sizeof(*tree), NULL, 0);
	tree->generation = 7;
	tree->files = ENGINE_FILES_KEEP;
	gethostname(tree->hostname, sizeof(tree->hostname) - 1);
	stream_system(&f->stream);
	stream_proc(&f->stream, 100, 0, 1, 1, 1);
	stream_mm(&f->stream, 1, 100, 0);
	stream_file(&f->stream, STREAM_CWD, CKPT_FILE_DIR, "/")->pid = 100;
}

struct ckpt_rec_file *opening_file(struct opening *f, uint32_t id, uint32_t kind,
				   const char *path, uint32_t flags)
{
	struct ckpt_rec_file *rec = stream_file(&f->stream, id, kind, path);

	rec->pid = 100;
	rec->flags = CKPT_FILE_OPEN;
	rec->f_flags = flags;
	return rec;
}

/* The inode in the FILE record of @id; with 0 one that no file has. */
static void opening_inode(const struct opening *f, uint32_t id, __u64 *ret_dev, __u64 *ret_ino)
{
	const struct ckpt_rec_file *file;

	*ret_dev = 1;
	*ret_ino = id ? 1000 + id : 5000 + f->last_blob;
	for (size_t at = 0; id && at < f->stream.len; at += file->hdr.len) {
		file = (const void *)((const char *)f->stream.buf + at);
		if (file->hdr.type != CKPT_REC_FILE || file->id != id)
			continue;
		*ret_dev = file->dev;
		*ret_ino = file->ino;
	}
}

void opening_blob(struct opening *f, uint32_t kind, uint32_t id, const char *path,
		  const char *content, uint64_t mtime_ns, uint32_t mode)
{
	struct engine_rec_blob *rec;
	size_t len = strlen(content);

	f->last_blob++;
	assert_int_equal(image_blob_begin(f->img, f->last_blob), 0);
	assert_int_equal(image_blob_append(f->img, 0, content, len), 0);
	assert_int_equal(image_blob_end(f->img, len), 0);
	rec = stream_add(&f->stream, ENGINE_REC_BLOB, sizeof(*rec), path, strlen(path) + 1);
	rec->kind = kind;
	rec->file_id = id;
	rec->blob = f->last_blob;
	rec->size = len;
	opening_inode(f, id, &rec->dev, &rec->ino);
	rec->mode = mode;
	rec->uid = getuid();
	rec->gid = getgid();
	rec->mtime_ns = mtime_ns;
	rec->path_len = (uint32_t)strlen(path) + 1;
}

/* Give the FILE record of @id the inode of @fd, and a mark. */
static void opening_mark(struct opening *f, uint32_t id, int fd)
{
	struct engine_rec_file_mark *rec;
	struct ckpt_rec_file *file;
	struct file_mark mark;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	for (size_t at = 0; at < f->stream.len; at += file->hdr.len) {
		file = (void *)((char *)f->stream.buf + at);
		if (file->hdr.type != CKPT_REC_FILE || file->id != id)
			continue;
		file->dev = st.st_dev;
		file->ino = st.st_ino;
		file->nlink = (uint32_t)st.st_nlink;
	}
	file_mark_read(fd, &mark);
	rec = stream_add(&f->stream, ENGINE_REC_FILE_MARK | CKPT_REC_OPTIONAL, sizeof(*rec),
			 mark.handle, mark.handle_len);
	rec->file_id = id;
	rec->btime_ns = mark.btime_ns;
	rec->handle_type = mark.handle_type;
	rec->handle_len = mark.handle_len;
}

void opening_track(struct opening *f, uint32_t id, const char *path, uint32_t flags)
{
	struct engine_rec_file_track *rec;
	_cleanup_fd_ int fd = open(path, O_RDONLY);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	opening_mark(f, id, fd);
	rec = stream_add(&f->stream, ENGINE_REC_FILE_TRACK, sizeof(*rec), NULL, 0);
	rec->file_id = id;
	rec->flags = flags | ENGINE_TRACK_TAIL;
	rec->size = (uint64_t)st.st_size;
	rec->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000ULL + (uint64_t)st.st_mtim.tv_nsec;
	rec->tail_len = rec->size < FILE_TAIL_WRITTEN ? rec->size : FILE_TAIL_WRITTEN;
	rec->tail_start = rec->size - rec->tail_len;
	assert_int_equal(file_identity_tail(fd, rec->tail_start, rec->tail_len, rec->tail_hash),
			 0);
	rec->build_id_len = (uint32_t)file_identity_build_id(fd, rec->build_id);
	if (rec->build_id_len)
		rec->flags |= ENGINE_TRACK_BUILD_ID;
}

void opening_start(struct opening *f, const char *name)
{
	struct ckpt_error error;
	struct state_error why;

	assert_int_equal(image_commit(f->img, &error), 0);
	image_destroy(f->img);
	assert_int_equal(image_open(scratch_path(f->s, name), f->s->key, NULL, &f->reader, &error),
			 0);
	if (state_parse(f->stream.buf, f->stream.len, &f->state, &why))
		fail_msg("%s", why.text);
	assert_int_equal(reopen_init(&f->r, f->state, f->reader, &f->options, &f->error), 0);
}

void opening_all(struct opening *f)
{
	if (reopen_check(&f->r) || reopen_all(&f->r))
		fail_msg("%s", f->error.text);
}

void opening_end(struct opening *f)
{
	reopen_done(&f->r);
	state_free(f->state);
	image_close(f->reader);
	error_done(&f->error);
	stream_done(&f->stream);
}

int opening_fd(const struct opening *f, uint32_t id)
{
	int fd = reopen_fd(&f->r, state_file_find(f->state, id));

	assert_true(fd >= 0);
	return fd;
}

void fd_content_is(int fd, uint64_t offset, const char *text)
{
	char buf[4096];
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, (off_t)offset);

	assert_true(n >= 0);
	buf[n] = 0;
	assert_string_equal(buf, text);
}

void fd_name(int fd, char *buf, size_t size)
{
	char path[40];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, buf, size - 1);
	assert_true(n > 0);
	buf[n] = 0;
}

int fd_flags(int fd)
{
	return fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK);
}
