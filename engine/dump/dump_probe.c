// SPDX-License-Identifier: GPL-2.0-only
/*
 * Facts that the records do not tell, and only this node can: where files lie whose path
 * is not from our root (dump_links.c: whose opened name is gone), whether terminals hold
 * bytes that nobody has read, and whether the tree sees the node as we do.
 *
 * Looks, and changes nothing: a terminal is asked for a count, never read.  Runs in a dry
 * run, too.  A file that is found elsewhere gets a FILE_PLACE record; one that is not
 * found may be refused here.  Searches that take long, and decide nothing in the pause,
 * are made after the thaw.
 */
#include "base/error.h"
#include "engine/dump/dump_run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int dump_file_fd(struct dump *d, const struct state_file *file)
{
	__u32 id = file->rec->id;
	__s32 fd = -1;
	struct ckpt_file_get get = { .nr = 1, .ids = (uintptr_t)&id, .fds = (uintptr_t)&fd };
	int ret = kdev_file_get(d->cap.dev, &get);

	return ret ? capture_failed(&d->cap, ret, "cannot get at a file of the tree",
				    d->error) : fd;
}

/* ---------------------------------------------------------------- places */

bool dump_deleted(const struct dump *d, const struct state_file *file)
{
	return state_file_deleted(file) && !dump_place(d, file)->link;
}

int dump_place_add(struct dump *d, const struct state_file *file, uint32_t flags,
		   const char *path, const struct file_handle *handle)
{
	size_t path_len = path ? strlen(path) + 1 : 0;
	size_t handle_len = handle ? handle->handle_bytes : 0;
	char tail[PATH_MAX + MAX_HANDLE_SZ];
	struct engine_rec_file_place *place;

	if (path)
		memcpy(tail, path, path_len);
	if (handle)
		memcpy(tail + path_len, handle->f_handle, handle_len);
	place = dump_record_add(d, ENGINE_REC_FILE_PLACE, sizeof(*place), tail,
				path_len + handle_len);
	if (!place)
		return error_fail(d->error, -ENOMEM, "out of memory");
	place->file_id = file->rec->id;
	place->flags = flags;
	place->path_len = (uint32_t)path_len;
	place->handle_len = (uint32_t)handle_len;
	place->handle_type = handle ? handle->handle_type : 0;
	dump_place(d, file)->link = flags & ENGINE_PLACE_LINK;
	dump_place(d, file)->handle = handle;
	return 0;
}

bool dump_is_same(const struct ckpt_rec_file *rec, const struct stat *st)
{
	return st->st_dev == rec->dev && st->st_ino == rec->ino &&
	       !((st->st_mode ^ rec->mode) & S_IFMT);
}

bool dump_is_at(const struct ckpt_rec_file *rec, int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && dump_is_same(rec, &st);
}

/* ---------------------------------------------------------------- roots */

/* Find the root from which the file's path is given, into p->root: "" if it is our own. */
static int find_root(struct dump_probe *p, const struct state_file *file)
{
	char path[40];
	ssize_t len;

	if (p->pid == file->rec->pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/root", file->rec->pid);
	len = readlink(path, p->root, sizeof(p->root) - 1);
	if (len < 0 && errno != ENOENT)		/* -ENOENT: the process was killed */
		return error_fail(p->d->error, -errno, "%s: %s", path, strerror(errno));
	p->root[len <= 1 ? 0 : len] = 0;
	p->pid = file->rec->pid;
	return 0;
}

int dump_probe_path(struct dump_probe *p, const struct state_file *file, char *buf, size_t size)
{
	int ret = find_root(p, file), len;
	const char *root = p->root, *path = file->path;

	if (ret)
		return ret;
	/* the kernel names a file that its process cannot reach from the real root */
	if (file->rec->flags & CKPT_FILE_UNREACHABLE)
		root = "";
	if (root[0] && !strcmp(path, "/"))
		path = "";
	len = snprintf(buf, size, "%s%s", root, path);
	return len < (int)size ? 0 : error_fail(p->d->error, -ENAMETOOLONG, "%s: path too long",
						 file->path);
}

static bool has_path(const struct ckpt_rec_file *rec)
{
	switch (rec->kind) {
	case CKPT_FILE_REG:
	case CKPT_FILE_DIR:
	case CKPT_FILE_FIFO:
	case CKPT_FILE_PATH:
	case CKPT_FILE_SYMLINK:
	case CKPT_FILE_CHR:
		return true;
	default:
		return false;
	}
}

/*
 * Does the path lead to another file in our view? Another mount may lie above it, or the
 * tree's mounts may differ from ours; a restore would open the wrong file.  Paths in /proc
 * and /dev/shm are not checked, as every job has its own.
 */
static bool leads_elsewhere(const struct state_file *file, const char *path)
{
	static const char shm[] = "/dev/shm";
	const struct ckpt_rec_file *rec = file->rec;
	struct stat st;

	if (state_file_deleted(file) || rec->kind == CKPT_FILE_CHR ||
	    rec->fs_magic == PROC_SUPER_MAGIC || strncmp(path, shm, sizeof(shm) - 1) == 0)
		return false;
	if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT || errno == ENOTDIR;	/* other errors: we may not look */
	return !dump_is_same(rec, &st);
}

static int probe_path(struct dump_probe *p, const struct state_file *file)
{
	struct dump *d = p->d;
	const struct ckpt_rec_file *rec = file->rec;
	char path[PATH_MAX];
	int ret = dump_probe_path(p, file, path, sizeof(path));

	if (ret)
		return ret;
	if (!(rec->flags & CKPT_FILE_UNREACHABLE) && !strcmp(path, file->path)) {
		if (path[0] == '/' && leads_elsewhere(file, path) && !dump_external_name(d, file))
			dump_refuse(d, file, CKPT_R_FD_KIND,
				    "outside the tree its path leads to another file:");
		return 0;
	}
	if (dump_external_name(d, file))
		return 0;
	if (!state_file_deleted(file) && rec->kind != CKPT_FILE_CHR &&
	    !dump_is_at(rec, AT_FDCWD, path)) {
		dump_refuse(d, file, CKPT_R_FD_KIND, "not reachable from here:");
		return 0;
	}
	return dump_place_add(d, file, 0, path, NULL);
}

void dump_probe_done(struct dump *d)
{
	for (unsigned int i = 0; i < d->nr_places; i++)
		free(d->places[i].gone);
	free(d->places);
	d->places = NULL;
	d->nr_places = 0;
}

/* ---------------------------------------------------------------- namespaces */

/* Refuse a tree in other namespaces than ours of kinds that a restore does not make. */
static void probe_namespaces(struct dump *d, const struct ckpt_rec_proc *rec)
{
	static const char *const kinds[] = { "net", "uts", "cgroup" };
	struct error_refusal refusal = {
		.reason = CKPT_R_NAMESPACE, .pid = rec->host_pid,
	};
	struct stat theirs, ours;
	char path[48];

	memcpy(refusal.comm, rec->comm, sizeof(refusal.comm));
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i]);
		if (stat(path, &ours))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", rec->host_pid, kinds[i]);
		if (stat(path, &theirs))
			continue;	/* the process was killed */
		if (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
			error_refuse(d->error, &refusal, "its %s namespace is not ours", kinds[i]);
	}
}

/* ---------------------------------------------------------------- all */

static int dump_probe_fd(struct dump_probe *p, const struct state_file *file)
{
	struct dump *d = p->d;
	const struct ckpt_rec_file *rec = file->rec;

	/* dump_external_name() last: it costs more than the other checks */
	if (rec->kind == CKPT_FILE_REG && state_file_deleted(file) &&
	    rec->nlink > (rec->flags & CKPT_FILE_DELETED ? 0 : 1))
		return dump_external_name(d, file) ? 0 : dump_probe_link(p, file);
	if (has_path(rec))
		return probe_path(p, file);
	return rec->kind == CKPT_FILE_PTM || rec->kind == CKPT_FILE_PTS ?
	       dump_tty_probe(d, file) : 0;
}

int dump_probe(struct dump *d)
{
	struct dump_probe p = { .d = d };
	int ret = 0;

	d->places = calloc(d->cap.state->nr_files + 1, sizeof(*d->places));
	if (!d->places)
		return error_fail(d->error, -ENOMEM, "out of memory");
	d->nr_places = d->cap.state->nr_files;
	for (unsigned int i = 0; !ret && i < d->cap.state->nr_files; i++)
		ret = dump_probe_fd(&p, &d->cap.state->files[i]);
	for (unsigned int i = 0; i < d->cap.state->nr_procs; i++) {
		const struct state_proc *proc = &d->cap.state->procs[i];

		if (proc->parent || !proc->mm)
			continue;
		probe_namespaces(d, proc->rec);
		dump_probe_mounts(d, proc->rec);
	}
	return ret ? ret : dump_sysv_check(d);
}
