// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening the files of an image on this node, with real files, memfds and devices: each is
 * what its record says, and what is not the same is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "engine/core/rights.h"
#include "engine/files/reopen_find.h"
#include "tests/unit/reopen_fixture.h"

/* ---------------------------------------------------------------- by kind */

static void test_regular(void **arg)
{
	struct opening f;
	const char *path = scratch_path(*arg, "out");

	store_file(path, "hello, world", 12);
	opening_begin(&f, *arg, "regular");
	opening_file(&f, 2, CKPT_FILE_REG, path, O_RDWR)->pos = 7;
	opening_file(&f, 3, CKPT_FILE_REG, path, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC);
	opening_start(&f, "regular");
	opening_all(&f);
	assert_int_equal(lseek(opening_fd(&f, 2), 0, SEEK_CUR), 7);
	assert_int_equal(fd_flags(opening_fd(&f, 2)), O_RDWR);
	assert_int_equal(fd_flags(opening_fd(&f, 3)), O_WRONLY | O_APPEND);
	fd_content_is(opening_fd(&f, 2), 0, "hello, world");
	opening_end(&f);
}

static void test_deleted(void **arg)
{
	struct opening f;
	const char *path = scratch_path(*arg, "gone");
	char name[256], want[256];
	struct stat st;

	opening_begin(&f, *arg, "deleted");
	for (uint32_t id = 2; id <= 3; id++) {
		struct ckpt_rec_file *rec = opening_file(&f, id, CKPT_FILE_REG, path,
						     id == 2 ? O_RDWR : O_RDONLY);

		rec->flags |= CKPT_FILE_DELETED;
		rec->ino = 1002;
		rec->pos = id;
		rec->mode = S_IFREG | 0400;
		rec->mtime_ns = 2000000000005ULL;
	}
	opening_blob(&f, ENGINE_BLOB_OBJECT, 2, path, "carried away", 0, S_IFREG | 0400);
	opening_start(&f, "deleted");
	opening_all(&f);
	assert_int_equal(reopen_seal(&f.r), 0);
	assert_int_equal(fstat(opening_fd(&f, 2), &st), 0);
	assert_int_equal(st.st_mtim.tv_sec, 2000);
	assert_int_equal(st.st_mtim.tv_nsec, 5);
	fd_content_is(opening_fd(&f, 3), 0, "carried away");
	assert_int_equal(lseek(opening_fd(&f, 2), 0, SEEK_CUR), 2);
	assert_int_equal(lseek(opening_fd(&f, 3), 0, SEEK_CUR), 3);
	assert_int_equal(pwrite(opening_fd(&f, 2), "C", 1, 0), 1);
	fd_content_is(opening_fd(&f, 3), 0, "Carried away");		/* one inode */
	fd_name(opening_fd(&f, 2), name, sizeof(name));
	snprintf(want, sizeof(want), "%s (deleted)", path);
	assert_string_equal(name, want);
	assert_false(path_exists(path));
	assert_int_equal(fstat(opening_fd(&f, 2), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0400);
	assert_int_equal(st.st_nlink, 0);
	opening_end(&f);
}

/* A directory below one that is gone, too, and a FIFO with data. */
static void test_gone(void **arg)
{
	const char *dir = scratch_path(*arg, "no/such"), *fifo = scratch_path(*arg, "gone-fifo");
	struct ckpt_rec_file *rec;
	struct opening f;
	struct stat st;
	char buf[16];

	opening_begin(&f, *arg, "gone");
	rec = opening_file(&f, 2, CKPT_FILE_DIR, dir, O_RDONLY | O_DIRECTORY);
	rec->flags |= CKPT_FILE_DELETED;
	rec->mode = S_IFDIR | 0750;
	rec = opening_file(&f, 3, CKPT_FILE_DIR, dir, 0);
	rec->flags = CKPT_FILE_DELETED;
	rec->ino = 1002;
	rec = opening_file(&f, 4, CKPT_FILE_FIFO, fifo, O_RDONLY);
	rec->flags |= CKPT_FILE_DELETED;
	rec->object = 7;
	rec->mode = S_IFIFO | 0640;
	stream_pipe(&f.stream, 7, "in it");
	opening_start(&f, "gone");
	opening_all(&f);
	assert_int_equal(reopen_seal(&f.r), 0);
	assert_int_equal(fstat(opening_fd(&f, 2), &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0750);
	assert_int_equal(openat(opening_fd(&f, 2), "new", O_WRONLY | O_CREAT, 0600), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(fcntl(opening_fd(&f, 3), F_GETFL) & O_PATH, O_PATH);
	assert_int_equal(fstat(opening_fd(&f, 4), &st), 0);
	assert_int_equal(st.st_mode, S_IFIFO | 0640);
	assert_int_equal(st.st_nlink, 0);
	assert_int_equal(read(opening_fd(&f, 4), buf, sizeof(buf)), 5);
	opening_end(&f);
	assert_false(path_exists(dir));
	assert_false(path_exists(fifo));
	assert_int_equal(count_entries(((const struct scratch *)*arg)->root), 1);
}

/* The name is another file's now, which must not suffer. */
static void test_deleted_taken(void **arg)
{
	struct opening f;
	const char *path = scratch_path(*arg, "taken");

	store_file(path, "another", 7);
	opening_begin(&f, *arg, "deleted-taken");
	opening_file(&f, 2, CKPT_FILE_REG, path, O_RDWR)->flags |= CKPT_FILE_DELETED;
	opening_blob(&f, ENGINE_BLOB_OBJECT, 2, path, "mine", 0, S_IFREG | 0600);
	opening_start(&f, "deleted-taken");
	opening_all(&f);
	fd_content_is(opening_fd(&f, 2), 0, "mine");
	opening_end(&f);
	assert_true(path_exists(path));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(count_entries(((const struct scratch *)*arg)->root), 1);
}

/* Removed while it was open, on NFS: what is there under that name is not looked at. */
static void test_deleted_nfs(void **arg)
{
	const char *path = scratch_path(*arg, ".nfs00000000000a2b3c0000001d");
	struct opening f;

	for (int there = 0; there < 2; there++) {
		if (there)
			store_file(path, "another", 7);
		opening_begin(&f, *arg, there ? "nfs-there" : "nfs-gone");
		opening_file(&f, 2, CKPT_FILE_REG, path, O_RDWR)->fs_magic = NFS_SUPER_MAGIC;
		opening_blob(&f, ENGINE_BLOB_OBJECT, 2, path, "mine", 0, S_IFREG | 0600);
		opening_start(&f, there ? "nfs-there" : "nfs-gone");
		opening_all(&f);
		fd_content_is(opening_fd(&f, 2), 0, "mine");
		assert_int_equal(reopen_put_back(&f.r), 0);
		opening_end(&f);
		assert_int_equal(path_exists(path), there);
	}
	assert_int_equal(unlink(path), 0);
}

static void add_place(struct opening *f, const char *path, const struct file_handle *handle)
{
	size_t path_len = path ? strlen(path) + 1 : 0;
	size_t handle_len = handle ? handle->handle_bytes : 0;
	struct engine_rec_file_place *place;
	char tail[512];

	memcpy(tail, path ? path : "", path_len);
	if (handle)
		memcpy(tail + path_len, handle->f_handle, handle_len);
	place = stream_add(&f->stream, ENGINE_REC_FILE_PLACE, sizeof(*place), tail,
			   path_len + handle_len);
	place->file_id = 2;
	place->flags = ENGINE_PLACE_LINK;
	place->path_len = (uint32_t)path_len;
	place->handle_len = (uint32_t)handle_len;
	place->handle_type = handle ? handle->handle_type : 0;
}

/* The opened name is gone; the file is found by another, or by its handle. */
static void linked(const struct scratch *s, const char *name, const struct file_handle *handle,
		   const char *new, const struct stat *st)
{
	struct ckpt_rec_file *rec;
	struct opening f;

	opening_begin(&f, s, name);
	rec = opening_file(&f, 2, CKPT_FILE_REG, scratch_path(s, "old"), O_RDWR);
	rec->flags |= CKPT_FILE_DELETED;
	rec->ino = st->st_ino;
	rec->mode = st->st_mode;
	rec->uid = st->st_uid;
	rec->gid = st->st_gid;
	add_place(&f, handle ? NULL : new, handle);
	opening_start(&f, name);
	opening_all(&f);
	assert_int_equal(pwrite(opening_fd(&f, 2), name, 3, 0), 3);
	opening_end(&f);
}

static void test_linked(void **arg)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h = { .handle.handle_bytes = MAX_HANDLE_SZ };
	char new[256];
	struct stat st;
	int mount, fd;

	strcpy(new, scratch_path(*arg, "new"));
	store_file(new, "linked", 6);
	fd = open(new, O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	linked(*arg, "by-name", NULL, new, &st);
	fd_content_is(fd, 0, "by-ked");
	if (!getuid() && !name_to_handle_at(fd, "", &h.handle, &mount, AT_EMPTY_PATH)) {
		linked(*arg, "and-by-handle", &h.handle, new, &st);
		fd_content_is(fd, 0, "andked");
	}
	close(fd);
}

/* Closed to its owner by now: the inode that was open is opened, no other. */
static void test_closed(void **arg)
{
	char path[256], away[256];
	struct ckpt_rec_file *rec;
	uint64_t all = rights_permitted();
	struct opening f;
	struct stat st;

	if (getuid() || RIGHTS_FILES & ~all)
		skip();
	strcpy(path, scratch_path(*arg, "closed"));
	strcpy(away, scratch_path(*arg, "away"));
	store_file(path, "closed", 6);
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(stat(path, &st), 0);
	opening_begin(&f, *arg, "mode");
	rec = opening_file(&f, 2, CKPT_FILE_REG, path, O_RDWR);
	rec->ino = st.st_ino;
	rec->mode = st.st_mode;
	rec->uid = st.st_uid;
	rec->gid = st.st_gid;
	opening_start(&f, "mode");
	assert_int_equal(rights_set(all, 0), 0);
	assert_int_equal(open(path, O_RDWR), -1);
	opening_all(&f);
	fd_content_is(opening_fd(&f, 2), 0, "closed");
	assert_int_equal(rename(path, away), 0);		/* by way of a link: no */
	assert_int_equal(symlink(away, path), 0);
	assert_int_equal(reopen_had(state_file_find(f.state, 2), O_RDWR), -EACCES);
	assert_int_equal(unlink(path), 0);
	store_file(path, "another", 7);				/* another inode: no */
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(reopen_had(state_file_find(f.state, 2), O_RDWR), -EACCES);
	assert_int_equal(rename(away, path), 0);
	assert_int_equal(chmod(path, 0200), 0);			/* another mode: no */
	assert_int_equal(reopen_had(state_file_find(f.state, 2), O_RDWR), -EACCES);
	assert_int_equal(rights_set(all, all), 0);
	opening_end(&f);
}

/* A working directory that its owner may not search: only the very one that was. */
static void test_closed_directory(void **arg)
{
	uint64_t all = rights_permitted();
	struct ckpt_rec_file *rec;
	char path[256], away[256];
	struct opening f;
	struct stat st;
	int fd;

	if (getuid() || RIGHTS_FILES & ~all)
		skip();
	strcpy(path, scratch_path(*arg, "closed"));
	strcpy(away, scratch_path(*arg, "away"));
	assert_int_equal(mkdir(path, 0), 0);
	assert_int_equal(stat(path, &st), 0);
	opening_begin(&f, *arg, "closed-dir");
	rec = opening_file(&f, 2, CKPT_FILE_DIR, path, 0);
	rec->flags = 0;
	rec->ino = st.st_ino;
	rec->mode = st.st_mode;
	rec->uid = st.st_uid;
	rec->gid = st.st_gid;
	opening_start(&f, "closed-dir");
	assert_int_equal(rights_set(all, 0), 0);
	opening_all(&f);
	fd = opening_fd(&f, 2);
	assert_int_equal(fchdir(fd), -1);
	assert_true(reopen_had_closed(state_file_find(f.state, 2), fd));
	assert_int_equal(rename(path, away), 0);		/* by way of a link: no */
	assert_int_equal(symlink(away, path), 0);
	assert_false(reopen_had_closed(state_file_find(f.state, 2), fd));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0), 0);			/* another one is there: no */
	assert_false(reopen_had_closed(state_file_find(f.state, 2), fd));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rename(away, path), 0);
	assert_true(reopen_had_closed(state_file_find(f.state, 2), fd));
	assert_int_equal(chmod(path, 0600), 0);			/* another mode: no */
	assert_false(reopen_had_closed(state_file_find(f.state, 2), fd));
	assert_int_equal(rights_set(all, all), 0);
	opening_end(&f);
}

static void test_memfd(void **arg)
{
	struct opening f;
	char name[256];

	opening_begin(&f, *arg, "memfd");
	opening_file(&f, 2, CKPT_FILE_MEMFD, "/memfd:some name", O_RDWR)->seals = F_SEAL_SHRINK;
	opening_file(&f, 3, CKPT_FILE_MEMFD, "/memfd:some name", O_RDWR)->ino = 1002;
	opening_blob(&f, ENGINE_BLOB_OBJECT, 2, "/memfd:some name", "sealed", 0, S_IFREG | 0777);
	opening_start(&f, "memfd");
	opening_all(&f);
	assert_int_equal(reopen_seal(&f.r), 0);
	fd_content_is(opening_fd(&f, 2), 0, "sealed");
	fd_name(opening_fd(&f, 2), name, sizeof(name));
	assert_string_equal(name, "/memfd:some name (deleted)");
	assert_int_equal(lseek(opening_fd(&f, 2), 3, SEEK_SET), 3);
	assert_int_equal(lseek(opening_fd(&f, 3), 0, SEEK_CUR), 0); /* a description of its own */
	assert_int_equal(fcntl(opening_fd(&f, 2), F_GET_SEALS), F_SEAL_SHRINK);
	assert_int_equal(ftruncate(opening_fd(&f, 2), 0), -1);
	opening_end(&f);
}

static void test_shm(void **arg)
{
	struct opening f;
	char name[256];
	struct stat st;
	char *map;

	opening_begin(&f, *arg, "shm");
	opening_file(&f, 2, CKPT_FILE_SHM, "/dev/zero", O_RDWR)->size = 8192;
	opening_blob(&f, ENGINE_BLOB_OBJECT, 2, "/dev/zero", "shared words", 0, S_IFREG | 0777);
	((struct engine_rec_blob *)((char *)f.stream.buf + f.stream.len -
				    sizeof(struct engine_rec_blob) - 16))->size = 8192;
	opening_start(&f, "shm");
	if (reopen_all(&f.r)) {		/* needs CAP_CHECKPOINT_RESTORE */
		assert_int_equal(f.error.err, -EPERM);
		opening_end(&f);
		skip();
	}
	map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, opening_fd(&f, 2), 0);
	assert_true(map != MAP_FAILED);
	assert_string_equal(map, "shared words");
	munmap(map, 8192);
	fd_name(opening_fd(&f, 2), name, sizeof(name));
	assert_string_equal(name, "/dev/zero (deleted)");
	assert_int_equal(fstat(opening_fd(&f, 2), &st), 0);
	assert_int_equal(st.st_size, 8192);
	opening_end(&f);
}

static void test_devices(void **arg)
{
	struct opening f;
	struct stat st;

	opening_begin(&f, *arg, "devices");
	opening_file(&f, 2, CKPT_FILE_CHR, "/dev/null", O_RDWR)->rdev = makedev(1, 3);
	opening_file(&f, 3, CKPT_FILE_CHR, "/srv/jail/dev/zero", O_RDONLY)->rdev = makedev(1, 5);
	opening_start(&f, "devices");
	opening_all(&f);
	assert_int_equal(fstat(opening_fd(&f, 2), &st), 0);
	assert_int_equal(st.st_rdev, makedev(1, 3));
	assert_int_equal(fstat(opening_fd(&f, 3), &st), 0);
	assert_int_equal(st.st_rdev, makedev(1, 5));
	opening_end(&f);
}

/* ---------------------------------------------------------------- contents */

static void test_carried(void **arg)
{
	struct opening f;
	char gone[256], old[256], kept[300];
	struct stat st, before;

	strcpy(gone, scratch_path(*arg, "c-gone"));
	strcpy(old, scratch_path(*arg, "c-old"));
	snprintf(kept, sizeof(kept), "%s", scratch_path(*arg, ".c-old.stillpoint-old-7"));
	store_file(old, "something else, longer", 22);
	assert_int_equal(stat(old, &before), 0);
	opening_begin(&f, *arg, "carried");
	opening_file(&f, 2, CKPT_FILE_REG, gone, O_RDWR);
	opening_file(&f, 3, CKPT_FILE_REG, old, O_RDONLY);
	opening_blob(&f, ENGINE_BLOB_FILE, 2, gone, "made again", 1234567890123456789ULL,
		     S_IFREG | 0640);
	opening_blob(&f, ENGINE_BLOB_FILE, 3, old, "as it was", 1000, S_IFREG | 0644);
	opening_start(&f, "carried");
	opening_all(&f);
	fd_content_is(opening_fd(&f, 2), 0, "made again");
	/* what is there is put back last, and taken back if the commit fails */
	fd_content_is(opening_fd(&f, 3), 0, "something else, longer");
	assert_int_equal(reopen_put_back(&f.r), 0);
	fd_content_is(opening_fd(&f, 3), 0, "as it was");
	assert_true(path_exists(kept));
	assert_int_equal(stat(gone, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(st.st_mtim.tv_nsec, 123456789);
	reopen_undo(&f.r);
	assert_false(path_exists(gone));
	assert_false(path_exists(kept));
	fd_content_is(opening_fd(&f, 3), 0, "something else, longer");
	assert_int_equal(stat(old, &st), 0);
	assert_int_equal(st.st_mode, before.st_mode);
	assert_int_equal(st.st_mtim.tv_sec, before.st_mtim.tv_sec);
	opening_end(&f);
}

static void test_shm_dir(void **arg)
{
	struct opening f;
	char dir[256], file[300], outside[300];
	struct engine_rec_blob *rec;

	snprintf(dir, sizeof(dir), "%s", scratch_path(*arg, "shm-dir"));
	snprintf(file, sizeof(file), "%s/sub/segment", dir);
	snprintf(outside, sizeof(outside), "%s", scratch_path(*arg, "outside"));
	assert_int_equal(mkdir(dir, 0700), 0);
	opening_begin(&f, *arg, "shmdir");
	rec = stream_add(&f.stream, ENGINE_REC_BLOB, sizeof(*rec), "sub", 4);
	rec->kind = ENGINE_BLOB_SHM_DIR;
	rec->mode = S_IFDIR | 0750;
	rec->uid = getuid();
	rec->gid = getgid();
	rec->path_len = 4;
	opening_blob(&f, ENGINE_BLOB_SHM_DIR, 0, "sub/segment", "of memory", 5, S_IFREG | 0600);
	opening_file(&f, 2, CKPT_FILE_REG, file, O_RDWR);
	f.options.shm_dir = dir;
	opening_start(&f, "shmdir");
	assert_int_equal(reopen_all(&f.r), 0);
	fd_content_is(opening_fd(&f, 2), 0, "of memory");
	opening_end(&f);

	opening_begin(&f, *arg, "escape");
	opening_blob(&f, ENGINE_BLOB_SHM_DIR, 0, "../outside", "!", 5, S_IFREG | 0600);
	f.options.shm_dir = dir;
	opening_start(&f, "escape");
	assert_int_not_equal(reopen_all(&f.r), 0);
	assert_false(path_exists(outside));
	opening_end(&f);
	unlink(file);
}

/* A rollback begins with an empty /dev/shm, whatever the tree has put there. */
static void test_shm_clear(void **arg)
{
	struct opening f;
	char dir[256], path[300], outside[300];

	snprintf(dir, sizeof(dir), "%s", scratch_path(*arg, "shm-clear"));
	snprintf(outside, sizeof(outside), "%s", scratch_path(*arg, "stays"));
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(mkdir(outside, 0700), 0);
	snprintf(path, sizeof(path), "%s/sub", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/sub/segment", dir);
	assert_int_equal(mknod(path, S_IFREG | 0400, 0), 0);
	snprintf(path, sizeof(path), "%s/sub/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/link", dir);
	assert_int_equal(symlink(outside, path), 0);
	opening_begin(&f, *arg, "shmclear");
	f.options.shm_dir = dir;
	opening_start(&f, "shmclear");
	assert_int_equal(reopen_shm_clear(&f.r), 0);
	assert_true(path_exists(outside));
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(reopen_shm_clear(&f.r), -ENOENT);
	opening_end(&f);
	rmdir(outside);
}

/* ---------------------------------------------------------------- checks */

/* A file tracked with @flags as @before, found as @after: the refusal, or NONE. */
static uint32_t judge(const struct scratch *s, uint32_t flags, const char *before,
		      const char *after, bool accept, unsigned int *ret_cuts)
{
	struct opening f;
	uint32_t reason = CKPT_R_NONE;
	char path[256];

	snprintf(path, sizeof(path), "%s", scratch_path(s, "judged"));
	store_file(path, before, strlen(before));
	opening_begin(&f, s, "judge");
	opening_file(&f, 2, CKPT_FILE_REG, path,
		 flags & ENGINE_TRACK_WRITES ? O_WRONLY : O_RDONLY);
	opening_track(&f, 2, path, flags);
	f.options.accept_changed = accept;
	usleep(20000);		/* another time stamp */
	if (after)
		store_file(path, after, strlen(after));
	else
		unlink(path);
	opening_start(&f, "judge");
	if (reopen_check(&f.r))
		reason = f.error.refusals[0].reason;
	*ret_cuts = f.r.nr_puts;
	if (!reason && f.r.nr_puts)
		assert_int_equal(reopen_put_back(&f.r), 0);
	opening_end(&f);
	remove_image(scratch_path(s, "judge"));
	return reason;
}

static void test_judge(void **arg)
{
	const struct scratch *s = *arg;
	const uint32_t w = ENGINE_TRACK_WRITES;
	unsigned int cuts;
	char cut[256];
	size_t len;
	char *data;

	snprintf(cut, sizeof(cut), "%s", scratch_path(s, ".judged.stillpoint-cut-7"));

	assert_int_equal(judge(s, w, "output", "output", false, &cuts), CKPT_R_NONE);
	assert_int_equal(judge(s, w, "output", "outp", false, &cuts), CKPT_R_FILE_CHANGED);
	assert_int_equal(judge(s, w, "output", "OUTPUT", false, &cuts), CKPT_R_FILE_CHANGED);
	assert_int_equal(judge(s, w, "output", "OUTPUT and more", false, &cuts),
			 CKPT_R_FILE_CHANGED);
	assert_int_equal(judge(s, w, "output", "OUTPUT", true, &cuts), CKPT_R_NONE);
	assert_int_equal(judge(s, w, "output", NULL, true, &cuts), CKPT_R_FILE_MISSING);
	assert_int_equal(judge(s, w, "", "", false, &cuts), CKPT_R_NONE);
	assert_int_equal(judge(s, 0, "input", "input", false, &cuts), CKPT_R_NONE);
	assert_int_equal(judge(s, 0, "input", "inputs", false, &cuts), CKPT_R_FILE_CHANGED);
	assert_int_equal(judge(s, 0, "input", "INPUT", false, &cuts), CKPT_R_FILE_CHANGED);
	assert_int_equal(judge(s, 0, "input", "INPUT", true, &cuts), CKPT_R_NONE);
	assert_int_equal(judge(s, ENGINE_TRACK_EXEC, "code", "code", false, &cuts), CKPT_R_NONE);
	assert_int_equal(judge(s, ENGINE_TRACK_EXEC, "code", "CODE", true, &cuts),
			 CKPT_R_FILE_CHANGED);
	/* watched: any other time of modification */
	assert_int_equal(judge(s, w | ENGINE_TRACK_WATCHED, "field", "field", false, &cuts),
			 CKPT_R_FILE_CHANGED);
	assert_int_equal(judge(s, w | ENGINE_TRACK_WATCHED, "field", "fields", false, &cuts),
			 CKPT_R_FILE_CHANGED);
	assert_int_equal(judge(s, w | ENGINE_TRACK_WATCHED, "field", "FIELD", true, &cuts),
			 CKPT_R_NONE);
	assert_false(path_exists(cut));

	assert_int_equal(judge(s, w, "output", "output and more", false, &cuts), CKPT_R_NONE);
	assert_int_equal(cuts, 1);
	data = load_file(cut, &len);
	assert_int_equal(len, 9);
	assert_memory_equal(data, " and more", 9);
	free(data);
	data = load_file(scratch_path(s, "judged"), &len);
	assert_int_equal(len, 6);
	free(data);
	/* a second tail has a name of its own */
	assert_int_equal(judge(s, w, "", "all of it", false, &cuts), CKPT_R_NONE);
	assert_true(path_exists(scratch_path(s, ".judged.stillpoint-cut-7.1")));
}

/* What is executed cannot be open for writing: it is put back at once. */
static void test_carried_program(void **arg)
{
	struct ckpt_rec_mm *mm;
	struct opening f;
	char path[256];
	int fd;

	strcpy(path, scratch_path(*arg, "program"));
	store_file(path, "another build", 13);
	opening_begin(&f, *arg, "carried-program");
	opening_file(&f, 2, CKPT_FILE_REG, path, O_RDONLY);
	opening_blob(&f, ENGINE_BLOB_FILE, 2, path, "program", 1000, S_IFREG | 0755);
	for (size_t at = 0; at < f.stream.len; at += mm->hdr.len) {
		mm = (void *)((char *)f.stream.buf + at);
		if (mm->hdr.type == CKPT_REC_MM)
			mm->exe = 2;
	}
	opening_start(&f, "carried-program");
	opening_all(&f);
	fd_content_is(opening_fd(&f, 2), 0, "program");
	fd = open(path, O_RDONLY);
	assert_int_equal(fcntl(fd, F_SETLEASE, F_RDLCK), 0);	/* nobody writes */
	assert_int_equal(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
	assert_int_equal(reopen_put_back(&f.r), 0);
	reopen_undo(&f.r);
	fd_content_is(fd, 0, "another build");
	close(fd);
	opening_end(&f);
}

/* Another build of a program: both build-ids are named. */
static void test_build_id(void **arg)
{
	const char *path = scratch_path(*arg, "program");
	struct opening f;
	struct engine_rec_file_track *rec;
	size_t len;
	char *data = load_file("/proc/self/exe", &len);

	store_file(path, data, len);
	free(data);
	opening_begin(&f, *arg, "build");
	opening_file(&f, 2, CKPT_FILE_REG, path, O_RDONLY);
	opening_track(&f, 2, path, ENGINE_TRACK_EXEC);
	rec = (void *)((char *)f.stream.buf + f.stream.len - sizeof(*rec));
	assert_true(rec->build_id_len > 0);
	rec->build_id[0] ^= 1;
	opening_start(&f, "build");
	assert_int_equal(reopen_check(&f.r), -EOPNOTSUPP);
	assert_int_equal(f.error.refusals[0].reason, CKPT_R_FILE_CHANGED);
	assert_non_null(strstr(f.error.refusals[0].detail, "build-id"));
	assert_non_null(strstr(f.error.refusals[0].detail, "program"));
	opening_end(&f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_regular),
		TEST(test_deleted),
		TEST(test_gone),
		TEST(test_deleted_taken),
		TEST(test_deleted_nfs),
		TEST(test_linked),
		TEST(test_closed),
		TEST(test_closed_directory),
		TEST(test_memfd),
		TEST(test_shm),
		TEST(test_devices),
		TEST(test_carried),
		TEST(test_carried_program),
		TEST(test_shm_dir), TEST(test_shm_clear),
		TEST(test_judge),
		TEST(test_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
