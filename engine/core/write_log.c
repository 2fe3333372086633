// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write log of a PID namespace, seen through the mounts of a process.
 *
 * /proc/PID/mountinfo tells for each mount its device and which directory of the file system is
 * mounted: with that a path in a file system becomes a path of the process, and each file
 * system gets a descriptor for the module. A mount that another one covers is not asked: a file
 * of it cannot be reached.
 */
#include "engine/core/write_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/core/kdev.h"

#define MOUNTS_MAX	4096U

struct write_mount {
	unsigned int major, minor;
	char *root;		/* directory of the file system that is mounted */
	char *point;		/* where */
	bool logged;
};

struct write_mounts {
	struct write_mount *all;
	unsigned int nr;
};

/* ---------------------------------------------------------------- mounts */

static void write_mounts_done(struct write_mounts *mounts)
{
	while (mounts->nr) {
		mounts->nr--;
		free(mounts->all[mounts->nr].root);
		free(mounts->all[mounts->nr].point);
	}
	free(mounts->all);
	mounts->all = NULL;
}

/* "\040" and others become the characters that they stand for, in place. */
static void write_mount_decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		unsigned int code;

		if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
			*to = (char)code;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
}

/* Does the file system hold files of users? */
static bool write_mount_holds(const char *type)
{
	static const char *const none[] = {
		"proc", "sysfs", "cgroup", "cgroup2", "devpts", "devtmpfs", "mqueue", "debugfs",
		"tracefs", "securityfs", "bpf", "pstore", "configfs", "fusectl", "autofs",
		"hugetlbfs", "binfmt_misc", "efivarfs", "rpc_pipefs", "nsfs", "selinuxfs", "nfsd",
		"squashfs", "iso9660",
	};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (!strcmp(type, none[i]))
			return false;
	return true;
}

static int write_mount_add(struct write_mounts *mounts, char *line)
{
	char root[PATH_MAX], point[PATH_MAX], options[256], type[64] = "";
	struct write_mount *more, *mount;
	unsigned int major, minor;
	const char *rest = strstr(line, " - ");

	if (sscanf(line, "%*u %*u %u:%u %4095s %4095s %255s", &major, &minor, root, point,
		   options) != 5 || !rest || sscanf(rest + 3, "%63s", type) != 1)
		return 0;
	if (mounts->nr == MOUNTS_MAX)
		return -E2BIG;
	more = reallocarray(mounts->all, mounts->nr + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	mounts->all = more;
	write_mount_decode(root);
	write_mount_decode(point);
	mount = &more[mounts->nr];
	*mount = (struct write_mount){ .major = major, .minor = minor, .root = strdup(root),
				       .point = strdup(point) };
	mounts->nr++;
	if (!mount->root || !mount->point)
		return -ENOMEM;
	mount->logged = write_mount_holds(type) && strncmp(options, "ro,", 3) != 0 &&
			strcmp(options, "ro") != 0 && strcmp(point, "/dev/shm") != 0;
	return 0;
}

static int write_mounts_read(pid_t pid, struct write_mounts *ret_mounts)
{
	char path[48];
	size_t room = 0;
	char *line = NULL;
	int ret = 0;
	FILE *file;

	*ret_mounts = (struct write_mounts){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!ret && getline(&line, &room, file) > 0)
		ret = write_mount_add(ret_mounts, line);
	free(line);
	fclose(file);
	if (ret)
		write_mounts_done(ret_mounts);
	return ret;
}

/* ---------------------------------------------------------------- start */

static bool write_mount_is_first(const struct write_mounts *mounts, unsigned int index)
{
	for (unsigned int i = 0; i < index; i++)
		if (mounts->all[i].logged && mounts->all[i].major == mounts->all[index].major &&
		    mounts->all[i].minor == mounts->all[index].minor)
			return false;
	return true;
}

/* Is the file system of /proc or /sys there? It may cover a mount. */
static bool write_mount_is_covered(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) || fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC;
}

/* A descriptor on each file system; one that cannot be entered is left out. */
static unsigned int write_mounts_open(const struct write_mounts *mounts, pid_t pid, int32_t *fds)
{
	unsigned int nr = 0;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	_cleanup_fd_ int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (unsigned int i = 0; root >= 0 && i < mounts->nr && nr < CKPT_WRITES_FS_MAX; i++) {
		const char *point = mounts->all[i].point;
		int fd;

		if (!mounts->all[i].logged || !write_mount_is_first(mounts, i))
			continue;
		fd = openat(root, point[1] ? point + 1 : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && write_mount_is_covered(fd))
			close(fd);
		else if (fd >= 0)
			fds[nr++] = fd;
	}
	return nr;
}

uint64_t write_log_tag(const char *label)
{
	uint64_t tag = 14695981039346656037ULL;		/* FNV-1a */

	while (*label)
		tag = (tag ^ (unsigned char)*label++) * 1099511628211ULL;
	return tag ?: 1;
}

static bool write_log_is_there(const struct kdev *dev)
{
	return dev->info.features & CKPT_FEAT_WRITES &&
	       dev->info.features & CKPT_FEAT_WRITES_STATE;
}

/*
 * May the namespace's user have files in the mount? Logins and containers come with mounts of
 * their own, where he has none unless the root is his.
 */
static bool write_mount_is_his(int fd, uid_t user)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) || fstatfs(fd, &fs) || !S_ISDIR(st.st_mode))
		return false;
	return (fs.f_type != TMPFS_MAGIC && fs.f_type != OVERLAYFS_SUPER_MAGIC) ||
	       st.st_uid == user || st.st_mode & S_IWOTH;
}

/* Add one file system after the other; was one of them there before the log knew it? */
static int write_log_extend_by(struct kdev *dev, const struct ckpt_writes_start *all,
			       const int32_t *fds)
{
	struct ckpt_writes_start start;
	bool lost = false;
	char path[40];
	struct stat st;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%d", all->pid);
	if (stat(path, &st))
		return -ESRCH;
	for (unsigned int i = 0; i < all->nr && !ret; i++) {
		start = *all;
		start.nr = 1;
		start.fds = (uintptr_t)&fds[i];
		ret = kdev_writes_start(dev, &start);
		lost |= !ret && start.nr_added && write_mount_is_his(fds[i], st.st_uid);
	}
	start = *all;
	start.nr = 0;
	start.flags = CKPT_WRITES_START_LOST;
	return ret || !lost ? ret : kdev_writes_start(dev, &start);
}

static int write_log_mark(struct kdev *dev, pid_t init, uint64_t tag, bool later)
{
	struct ckpt_writes_start start = { .pid = init, .tag = tag };
	struct write_mounts mounts;
	int32_t *fds;
	int ret;

	if (!write_log_is_there(dev))
		return -EOPNOTSUPP;
	ret = write_mounts_read(init, &mounts);
	if (ret)
		return ret;
	fds = calloc(CKPT_WRITES_FS_MAX, sizeof(*fds));
	if (!fds) {
		write_mounts_done(&mounts);
		return -ENOMEM;
	}
	start.nr = write_mounts_open(&mounts, init, fds);
	start.fds = (uintptr_t)fds;
	ret = later ? write_log_extend_by(dev, &start, fds) : kdev_writes_start(dev, &start);
	for (unsigned int i = 0; i < start.nr; i++)
		close(fds[i]);
	free(fds);
	write_mounts_done(&mounts);
	return ret;
}

int write_log_start(struct kdev *dev, pid_t init, uint64_t tag)
{
	return write_log_mark(dev, init, tag, false);
}

int write_log_extend(struct kdev *dev, pid_t init, uint64_t tag)
{
	return write_log_mark(dev, init, tag, true);
}

int write_log_begin(pid_t init, uint64_t tag)
{
	struct ckpt_error error = { 0 };
	struct kdev *dev;
	int ret = kdev_open(&dev, &error);

	error_done(&error);
	if (ret)
		return ret;
	ret = write_log_start(dev, init, tag);
	kdev_close(dev);
	return ret;
}

/* ---------------------------------------------------------------- read */

/* Where the mount shows @path of its file system, NULL: not at all. The rest of it. */
static const char *write_mount_below(const struct write_mount *mount, const char *path)
{
	size_t len = strlen(mount->root);

	if (len == 1)
		return path;
	return strncmp(path, mount->root, len) == 0 && path[len] == '/' ? path + len : NULL;
}

/* Is @path, of the process, on the file system? The topmost mount that holds it decides. */
static bool write_mounts_on_top(const struct write_mounts *mounts, const char *path,
				const struct write_mount *mount)
{
	const struct write_mount *top = NULL;
	size_t most = 0;

	for (unsigned int i = 0; i < mounts->nr; i++) {
		const char *point = mounts->all[i].point;
		size_t len = point[1] ? strlen(point) : 0;

		if (strncmp(path, point, len) || path[len] != '/' || (top && len < most))
			continue;
		top = &mounts->all[i];
		most = len;
	}
	return top == mount;
}

/* Write the path of @write as the process sees it to @buf; false if it does not see it. */
static bool write_mounts_path(const struct write_mounts *mounts,
			      const struct ckpt_write_state *state, char *buf, size_t size)
{
	const struct ckpt_write *write = &state->write;
	const char *path = (const char *)(state + 1);

	for (unsigned int i = 0; i < mounts->nr; i++) {
		const struct write_mount *mount = &mounts->all[i];
		const char *rest;

		if (!mount->logged || mount->major != write->major ||
		    mount->minor != write->minor)
			continue;
		rest = write_mount_below(mount, path);
		if (!rest || snprintf(buf, size, "%s%s", mount->point[1] ? mount->point : "",
				      rest) >= (int)size)
			continue;
		if (write_mounts_on_top(mounts, buf, mount))
			return true;
	}
	return false;
}

static int write_log_parse(const char *buf, size_t len, const struct write_mounts *mounts,
			   struct write_log *log)
{
	size_t used = 0, room = 0;
	char path[PATH_MAX];
	size_t *offsets = calloc(len / sizeof(struct ckpt_write) + 1, sizeof(*offsets));

	log->names = calloc(len / sizeof(struct ckpt_write) + 1, sizeof(*log->names));
	if (!log->names || !offsets)
		goto no_memory;
	for (size_t at = 0; at < len; at += ((const struct ckpt_write *)(buf + at))->len) {
		const struct ckpt_write_state *state = (const void *)(buf + at);
		size_t more;

		if (!write_mounts_path(mounts, state, path, sizeof(path))) {
			log->unplaced += !(state->write.flags & CKPT_WRITE_GONE);
			continue;
		}
		more = strlen(path) + 1;
		if (used + more > room) {
			char *text = realloc(log->text, room = 2 * (used + more));

			if (!text)
				goto no_memory;
			log->text = text;
		}
		memcpy(log->text + used, path, more);
		offsets[log->nr] = used;
		log->names[log->nr++] = (struct write_log_name){
			.flags = state->write.flags, .writes = state->write.writes,
			.seq = state->seq, .ino = state->ino, .bytes = state->bytes,
			.mtime_ns = state->mtime_ns,
		};
		used += more;
	}
	for (unsigned int i = 0; i < log->nr; i++)
		log->names[i].path = log->text + offsets[i];
	free(offsets);
	return 0;

no_memory:
	free(offsets);
	return -ENOMEM;
}

/* @read: which log, and what of it; @pid: whose mounts tell the paths */
static int write_log_take(struct kdev *dev, struct ckpt_writes_read *read, pid_t pid,
			  struct write_log *ret_log)
{
	struct write_mounts mounts = { 0 };
	char *buf = NULL;
	int ret = -ENOSPC;

	*ret_log = (struct write_log){ 0 };
	if (!write_log_is_there(dev))
		return -EOPNOTSUPP;
	read->flags = CKPT_WRITES_READ_STATE;
	while (ret == -ENOSPC) {
		free(buf);
		read->len += 4096;	/* it may grow until the next call */
		buf = malloc(read->len);
		read->buf = (uintptr_t)buf;
		ret = buf ? kdev_writes_read(dev, read) : -ENOMEM;
	}
	if (!ret)
		ret = write_mounts_read(pid, &mounts);
	if (!ret)
		ret = write_log_parse(buf, read->len, &mounts, ret_log);
	ret_log->flags = read->log_flags;
	ret_log->since_ns = read->since_ns;
	ret_log->seq = read->seq;
	free(buf);
	write_mounts_done(&mounts);
	if (ret)
		write_log_done(ret_log);
	return ret;
}

int write_log_read(struct kdev *dev, pid_t pid, uint64_t after, struct write_log *ret_log)
{
	struct ckpt_writes_read read = { .pid = pid, .after = after };

	return write_log_take(dev, &read, pid, ret_log);
}

int write_log_read_ended(struct kdev *dev, uint64_t tag, struct write_log *ret_log)
{
	struct ckpt_writes_read read = { .tag = tag };

	return write_log_take(dev, &read, getpid(), ret_log);
}

int write_log_drop_ended(struct kdev *dev, uint64_t tag)
{
	struct ckpt_writes_read read = {
		.flags = CKPT_WRITES_READ_DROP, .tag = tag, .after = UINT64_MAX,
	};

	return write_log_is_there(dev) ? kdev_writes_read(dev, &read) : -EOPNOTSUPP;
}

void write_log_done(struct write_log *log)
{
	free(log->names);
	free(log->text);
	*log = (struct write_log){ 0 };
}

int write_log_add(struct kdev *dev, int dir, const char *name, uint32_t flags, uint32_t writes)
{
	struct ckpt_writes_add add = {
		.dir = dir, .name = (uintptr_t)name, .name_len = (uint32_t)strlen(name),
		.write_flags = flags, .writes = writes,
	};

	if (!write_log_is_there(dev))
		return -EOPNOTSUPP;
	return kdev_writes_add(dev, &add);
}

int write_log_clear(struct kdev *dev, bool lost)
{
	struct ckpt_writes_add add = {
		.flags = CKPT_WRITES_ADD_CLEAR | (lost ? CKPT_WRITES_ADD_LOST : 0), .dir = -1,
	};

	if (!write_log_is_there(dev))
		return -EOPNOTSUPP;
	return kdev_writes_add(dev, &add);
}
