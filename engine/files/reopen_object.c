// SPDX-License-Identifier: GPL-2.0-only
/*
 * Inodes without a name: deleted files, memfds, shared memory, huge pages.
 *
 * Each is made once, filled from its blob through a base descriptor, and opened
 * from there.  A deleted file is created where it was, under its old name if that is
 * free, because /proc shows the name, and removed again at once.  If that fails, for
 * example because the owner may not write there, it becomes an unnamed file of that
 * directory's file system, or else one in memory.  Modes and seals come last, as they
 * would forbid some of these steps.
 */
#include "base/error.h"
#include "engine/files/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/rights.h"

#define CHUNK		(1UL << 20)
#define PAGE		4096UL
#define NSEC		1000000000ULL
#define MEMFD_PREFIX	"/memfd:"
#define KERNEL_FMODE_WRITER	0x10000U	/* include/linux/fs.h; of f_mode in the record */
#ifndef MFD_EXEC
#define MFD_EXEC	0x0010U
#define MFD_NOEXEC_SEAL	0x0008U
#endif
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC	0x0020
#endif

/* ---------------------------------------------------------------- content */

/* Copy one extent of the blob to @map, or to @fd if @map is NULL. */
static int copy_extent(struct reopen *r, uint64_t blob, uint64_t offset, uint64_t len, int fd,
		       char *map)
{
	_cleanup_free_ char *buf = map ? NULL : malloc(CHUNK);
	int ret = map || buf ? 0 : -ENOMEM;

	while (len && !ret) {
		size_t n = len < CHUNK ? (size_t)len : CHUNK;

		ret = image_blob_read(r->reader, blob, offset, map ? map + offset : buf, n);
		if (ret)
			return error_fail(r->error, ret, "%s", image_reader_error(r->reader));
		if (!map)
			ret = reopen_pwrite_all(fd, buf, n, offset);
		offset += n;
		len -= n;
		r->bytes += n;
	}
	return ret;
}

int reopen_blob(struct reopen *r, const struct engine_rec_blob *blob, int fd, void *map)
{
	uint64_t cursor = 0, offset, len;
	int ret;

	if (!blob->blob)
		return 0;
	do {
		ret = image_blob_extent(r->reader, blob->blob, &cursor, &offset, &len);
		if (ret < 0)
			return error_fail(r->error, ret, "%s", image_reader_error(r->reader));
		if (ret == 0)
			return 0;
		if (offset > blob->size || len > blob->size - offset)
			return error_fail(r->error, -EBADMSG,
					   "blob %llu is longer than its record says",
					   (unsigned long long)blob->blob);
		ret = copy_extent(r, blob->blob, offset, len, fd, map);
	} while (!ret);
	return ret;
}

static int reopen_object_fill(struct reopen *r, const struct state_file *file, int fd, void *map)
{
	int ret = file->blob ? reopen_blob(r, file->blob, fd, map) : 0;

	if (!file->blob && file->rec->kind == CKPT_FILE_REG && file->rec->size)
		return error_fail(r->error, -EBADMSG, "the image has no content of %s", file->path);
	return ret ? reopen_failed(r, file, ret, "fill") : 0;
}

static uint64_t size_of(const struct state_file *file)
{
	return file->blob ? file->blob->size : file->rec->size;
}

/* ---------------------------------------------------------------- mapped */

static unsigned int hugepage_shift(const struct reopen *r, const struct state_file *file)
{
	if (file->rec->object >= 12 && file->rec->object < 48)
		return (unsigned int)file->rec->object;
	/* older images did not record it: take it from a mapping of the file */
	for (unsigned int i = 0; i < r->state->nr_vmas; i++) {
		const struct state_vma *vma = &r->state->vmas[i];

		if (vma->file && vma->file->rec->dev == file->rec->dev &&
		    vma->file->rec->ino == file->rec->ino && vma->rec->hugepage_shift)
			return vma->rec->hugepage_shift;
	}
	return 21;
}

static bool reopen_object_noreserve(const struct reopen *r, const struct state_file *file)
{
	for (unsigned int i = 0; i < r->state->nr_vmas; i++)
		if (r->state->vmas[i].file == file &&
		    r->state->vmas[i].rec->flags & CKPT_VM_NORESERVE)
			return true;
	return false;
}

/*
 * Make the object of an anonymous shared mapping.  A descriptor of it comes from
 * /proc/self/map_files, so that /proc/PID/maps shows it as before.  A program with such a
 * descriptor may have given the object a size that is no whole number of pages.
 */
static int make_anonymous(struct reopen *r, const struct state_file *file, int flags)
{
	size_t page = flags & MAP_HUGETLB ? 1UL << hugepage_shift(r, file) : PAGE;
	size_t size = ((size_t)size_of(file) + page - 1) & ~(page - 1);
	char path[80];
	char *map;
	int fd, ret;

	if (!size)
		size = page;
	if (reopen_object_noreserve(r, file))
		flags |= MAP_NORESERVE;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | flags, -1, 0);
	if (map == MAP_FAILED)
		return reopen_failed(r, file, -errno, "make");
	ret = reopen_object_fill(r, file, -1, map);
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)map,
		 (unsigned long)map + size);
	fd = ret ? -1 : open(path, O_RDWR | O_CLOEXEC);
	if (!ret && fd < 0)
		ret = reopen_failed(r, file, -errno, "get a descriptor of");
	munmap(map, size);
	if (!ret && size != size_of(file) && ftruncate(fd, (off_t)size_of(file))) {
		ret = reopen_failed(r, file, -errno, "size");
		close(fd);
	}
	return ret ? ret : fd;
}

static int fill_mapped(struct reopen *r, const struct state_file *file, int fd)
{
	size_t size = (size_t)size_of(file);
	char *map;
	int ret;

	if (!size || (file->blob && !file->blob->blob))
		return 0;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return reopen_failed(r, file, -errno, "map");
	ret = reopen_object_fill(r, file, -1, map);
	munmap(map, size);
	return ret;
}

/* ---------------------------------------------------------------- memfd */

static const char *memfd_name(const struct state_file *file, char *buf, size_t size)
{
	const char *name = file->path;
	size_t len;

	if (strncmp(name, MEMFD_PREFIX, strlen(MEMFD_PREFIX)) == 0)
		name += strlen(MEMFD_PREFIX);
	len = strlen(name);
	if (len > 10 && strcmp(name + len - 10, " (deleted)") == 0)
		len -= 10;
	if (len >= size)
		len = size - 1;
	memcpy(buf, name, len);
	buf[len] = 0;
	return buf;
}

/*
 * Create a memfd, executable if @exec.  Some nodes allow only memfds that can never be executed
 * (vm.memfd_noexec); kernels before 6.3 do not know the flags.
 */
static int create_memfd(const char *name, unsigned int flags, bool exec)
{
	int fd = exec ? memfd_create(name, flags | MFD_EXEC) : -1;

	if (!exec || (fd < 0 && errno == EACCES))
		fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	return fd < 0 ? -errno : fd;
}

static int make_memfd(struct reopen *r, const struct state_file *file, unsigned int flags)
{
	/* F_SEAL_EXEC freezes the mode: an executable memfd can have the seal, too */
	bool exec = !(file->rec->seals & F_SEAL_EXEC) || file->rec->mode & 0111;
	char name[250];		/* the kernel's limit is 249 */
	int fd, ret = 0;

	flags |= MFD_CLOEXEC | MFD_ALLOW_SEALING;
	memfd_name(file, name, sizeof(name));
	fd = create_memfd(name, flags, exec);
	if (fd < 0)
		return reopen_failed(r, file, fd, "make");
	if (ftruncate(fd, (off_t)size_of(file)))
		ret = reopen_failed(r, file, -errno, "size");
	if (!ret)
		ret = flags & MFD_HUGETLB ? fill_mapped(r, file, fd)
					  : reopen_object_fill(r, file, fd, NULL);
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

static int make_hugetlb_memfd(struct reopen *r, const struct state_file *file)
{
	return make_memfd(r, file, MFD_HUGETLB | hugepage_shift(r, file) << MFD_HUGE_SHIFT);
}

static int make_hugetlb(struct reopen *r, const struct state_file *file)
{
	unsigned int shift = hugepage_shift(r, file);

	if (strncmp(file->path, MEMFD_PREFIX, strlen(MEMFD_PREFIX)) == 0)
		return make_hugetlb_memfd(r, file);
	return make_anonymous(r, file, MAP_HUGETLB | (int)(shift << MAP_HUGE_SHIFT));
}

/* ---------------------------------------------------------------- deleted */

/* Create a file under @name, or under a name of ours, put into @name; the caller unlinks it. */
static int create_at(int dir, const struct state_file *file, char *name, size_t size)
{
	int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, name, flags, 0600);

	if (fd >= 0 || errno != EEXIST)
		return fd < 0 ? -errno : fd;
	snprintf(name, size, ".stillpoint-%u-%d", file->rec->id, getpid());
	fd = openat(dir, name, flags, 0600);
	return fd < 0 ? -errno : fd;
}

int reopen_memory(const char *name)
{
	char cut[250];		/* the kernel's limit is 249 */

	snprintf(cut, sizeof(cut), "%s", name);
	return create_memfd(cut, MFD_CLOEXEC, true);
}

/* Was the file opened with O_TMPFILE? Only such a file, not a deleted one, can be given a name. */
static bool is_nameless(const struct state_file *file, const char *name)
{
	char own[32];

	snprintf(own, sizeof(own), "#%llu", (unsigned long long)file->rec->ino);
	return strcmp(name, own) == 0;
}

static int create_deleted(struct reopen *r, const struct state_file *file)
{
	const char *old = NULL;
	_cleanup_fd_ int dir = reopen_parent(file->path, &old);
	char name[300];
	int fd;

	if (dir >= 0) {
		snprintf(name, sizeof(name), "%s", old);
		fd = is_nameless(file, name) ?
		     openat(dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600) : -1;
		if (fd >= 0)
			return fd;
		fd = create_at(dir, file, name, sizeof(name));
		if (fd >= 0) {
			unlinkat(dir, name, 0);
			return fd;
		}
		fd = openat(dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
	}
	return reopen_memory(old ? old : "deleted");
}

bool reopen_is_program(const struct reopen *r, uint64_t dev, uint64_t ino)
{
	for (unsigned int i = 0; i < r->state->nr_mms; i++) {
		const struct state_file *exe = r->state->mms[i].exe;

		if (exe && exe->rec->dev == dev && exe->rec->ino == ino)
			return true;
	}
	return false;
}

/* Make a file executable and reopen it for reading: a file open for writing cannot be executed. */
static int make_program(struct reopen *r, const struct state_file *file, int fd)
{
	int ro = reopen_again(fd, O_RDONLY | O_CLOEXEC), ret = ro < 0 ? ro : 0;

	if (!ret && fchmod(ro, file->rec->mode & 07777))
		ret = -errno;
	if (ret && ro >= 0)
		close(ro);
	close(fd);
	return ret ? reopen_failed(r, file, ret, "make a program of") : ro;
}

static int make_deleted(struct reopen *r, const struct state_file *file)
{
	bool huge = file->rec->fs_magic == HUGETLBFS_MAGIC;
	int fd = create_deleted(r, file), ret = 0;

	if (fd < 0)
		return reopen_failed(r, file, fd, "create again");
	if (huge && !reopen_is_huge(fd)) {	/* no hugetlbfs is mounted there */
		close(fd);
		return make_hugetlb_memfd(r, file);
	}
	if (ftruncate(fd, (off_t)size_of(file)))
		ret = reopen_failed(r, file, -errno, "size");
	if (!ret)
		ret = huge ? fill_mapped(r, file, fd) : reopen_object_fill(r, file, fd, NULL);
	if (ret) {
		close(fd);
		return ret;
	}
	if (reopen_is_program(r, file->rec->dev, file->rec->ino))
		return make_program(r, file, fd);
	return fd;
}

/* ---------------------------------------------------------------- all */

static int reopen_object_make(struct reopen *r, const struct state_file *file)
{
	switch (file->rec->kind) {
	case CKPT_FILE_SHM:
		return make_anonymous(r, file, 0);
	case CKPT_FILE_MEMFD:
		return make_memfd(r, file, 0);
	case CKPT_FILE_HUGETLB:
		return make_hugetlb(r, file);
	default:
		return make_deleted(r, file);
	}
}

/*
 * Is it the description that memfd_create() itself made?  The kernel does not count that one as
 * a writer, so a program in the memfd can be executed.  A description opened later for writing
 * counts.
 */
static bool is_creators(const struct state_file *file)
{
	const struct ckpt_rec_file *rec = file->rec;

	return (rec->kind == CKPT_FILE_MEMFD || rec->kind == CKPT_FILE_HUGETLB) &&
	       (rec->f_flags & O_ACCMODE) == O_RDWR && !(rec->f_mode & KERNEL_FMODE_WRITER);
}

/* At most one description of an inode can be the base's own. */
static bool takes_base(const struct reopen *r, const struct state_file *file)
{
	unsigned int index = (unsigned int)(file - r->state->files), first = r->first[index];

	if (!is_creators(file))
		return false;
	for (unsigned int i = first; i < index; i++)
		if (r->first[i] == first && is_creators(&r->state->files[i]))
			return false;
	return true;
}

static int share_base(int base, const struct state_file *file)
{
	int flags = (int)file->rec->f_flags & (O_APPEND | O_NONBLOCK | O_DIRECT | O_NOATIME);
	int fd = fcntl(base, F_DUPFD_CLOEXEC, 0), ret;

	if (fd < 0)
		return -errno;
	ret = flags && fcntl(fd, F_SETFL, flags) ? -errno : 0;
	if (ret)
		close(fd);
	return ret ? ret : fd;
}

int reopen_object(struct reopen *r, const struct state_file *file)
{
	unsigned int first = r->first[file - r->state->files];
	int fd;

	if (r->bases[first] < 0) {
		fd = reopen_object_make(r,
					file); /* not of the first file: that one may have a name */
		if (fd < 0)
			return fd;
		r->bases[first] = fd;
	}
	if (takes_base(r, file))
		fd = share_base(r->bases[first], file);
	else
		fd = reopen_again(r->bases[first], reopen_flags(file));
	return fd < 0 ? reopen_failed(r, file, fd, "open") : fd;
}

static struct timespec time_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NSEC), .tv_nsec = (long)(ns % NSEC) };
}

/* Give the file away with raised rights. After that it cannot be changed, so this comes last. */
static void give_away(int fd, const struct ckpt_rec_file *rec)
{
	uint64_t before;

	if (rights_raise(RIGHTS_FILES, &before))
		return;
	/* fails on a file system without owners: then it stays as it is */
	(void)!fchown(fd, rec->uid, rec->gid);
	rights_lower(before);
}

/* Set owner, mode and times of a new file, as far as we may. */
int reopen_seal_fd(struct reopen *r, const struct state_file *file, int fd)
{
	const struct ckpt_rec_file *rec = file->rec;
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT }, time_of(rec->mtime_ns),
	};

	bool given = !fchown(fd, rec->uid, rec->gid);

	if (!given && errno != EPERM)
		return reopen_failed(r, file, -errno, "give away");
	if (fchmod(fd, rec->mode & 07777))
		return reopen_failed(r, file, -errno, "set the mode of");
	if (futimens(fd, times))
		return reopen_failed(r, file, -errno, "set the times of");
	if (!given)
		give_away(fd, rec);
	return 0;
}

/* Add the recorded seals, unless the new memfd has them all already. */
static int add_seals(struct reopen *r, const struct state_file *file, int fd)
{
	const struct ckpt_rec_file *rec = file->rec;
	int have;

	if ((rec->kind != CKPT_FILE_MEMFD && rec->kind != CKPT_FILE_HUGETLB) || !rec->seals)
		return 0;
	have = fcntl(fd, F_GET_SEALS);
	if (have >= 0 && !(rec->seals & ~(unsigned int)have))
		return 0;
	return fcntl(fd, F_ADD_SEALS, rec->seals) ? reopen_failed(r, file, -errno, "seal") : 0;
}

int reopen_seal_object(struct reopen *r, const struct state_file *file)
{
	const struct ckpt_rec_file *rec = file->rec;
	int fd = r->bases[file - r->state->files], ret;

	if (rec->kind == CKPT_FILE_SHM || rec->kind == CKPT_FILE_SYSV || fd < 0)
		return 0;
	ret = reopen_seal_fd(r, file, fd);
	if (ret)
		return ret;
	return add_seals(r, file, fd);
}
