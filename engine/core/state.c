// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model of one process tree: links the records of a stream.
 *
 * After state_parse_records() every array is filled and every record is sound
 * in itself.  Here the arrays are sorted by number, duplicates are rejected, and
 * every reference is turned into a pointer, or the stream is rejected: a process
 * whose parent, memory map, descriptor table or file is not there does not leave
 * this file.  The parents form a forest (a loop is rejected).
 *
 * Nothing here touches a process, a file or the device.
 */
#include "engine/core/state.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/state_kind.h"
#include "engine/core/state_parse.h"

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* ---------------------------------------------------------------- order */

static int by_mm_id(const void *a, const void *b)
{
	const struct state_mm *x = a, *y = b;

	return COMPARE(x->rec->mm_id, y->rec->mm_id);
}

static int by_file_id(const void *a, const void *b)
{
	const struct state_file *x = a, *y = b;

	return COMPARE(x->rec->id, y->rec->id);
}

static int by_object(const void *a, const void *b)
{
	const struct state_pipe *x = a, *y = b;

	return COMPARE(x->rec->object, y->rec->object);
}

static int by_files_id(const void *a, const void *b)
{
	const struct state_fdtable *x = a, *y = b;

	return COMPARE(x->files_id, y->files_id);
}

static int by_table_and_fd(const void *a, const void *b)
{
	const struct state_fd *x = a, *y = b;
	int ret = COMPARE(x->rec->files_id, y->rec->files_id);

	return ret ? ret : COMPARE(x->rec->fd, y->rec->fd);
}

static int by_pid(const void *a, const void *b)
{
	struct state_proc *const *x = a, *const *y = b;

	return COMPARE((*x)->rec->pid, (*y)->rec->pid);
}

static int by_tid(const void *a, const void *b)
{
	struct state_thread *const *x = a, *const *y = b;

	return COMPARE((*x)->rec->tid, (*y)->rec->tid);
}

static int state_by_inode(const void *a, const void *b)
{
	const struct engine_rec_blob *const *x = a, *const *y = b;
	int ret = COMPARE((*x)->dev, (*y)->dev);

	return ret ? ret : COMPARE((*x)->ino, (*y)->ino);
}

/* ---------------------------------------------------------------- look up */

struct state_proc *state_proc_find(const struct state *state, pid_t pid)
{
	struct ckpt_rec_proc rec = { .pid = pid };
	struct state_proc key = { .rec = &rec }, *keyp = &key, **found;

	found = bsearch(&keyp, state->index->by_pid, state->nr_procs,
			sizeof(*found), by_pid);
	return found ? *found : NULL;
}

struct state_thread *state_thread_find(const struct state *state, pid_t tid)
{
	struct ckpt_rec_thread rec = { .tid = tid };
	struct state_thread key = { .rec = &rec }, *keyp = &key, **found;

	found = bsearch(&keyp, state->index->by_tid, state->nr_threads,
			sizeof(*found), by_tid);
	return found ? *found : NULL;
}

struct state_mm *state_mm_find(const struct state *state, uint32_t mm_id)
{
	struct ckpt_rec_mm rec = { .mm_id = mm_id };
	struct state_mm key = { .rec = &rec };

	return bsearch(&key, state->mms, state->nr_mms, sizeof(key), by_mm_id);
}

struct state_fdtable *state_fdtable_find(const struct state *state, uint32_t files_id)
{
	struct state_fdtable key = { .files_id = files_id };

	return bsearch(&key, state->fdtables, state->nr_fdtables, sizeof(key), by_files_id);
}

struct state_file *state_file_find(const struct state *state, uint32_t file_id)
{
	struct ckpt_rec_file rec = { .id = file_id };
	struct state_file key = { .rec = &rec };

	return bsearch(&key, state->files, state->nr_files, sizeof(key), by_file_id);
}

struct state_pipe *state_pipe_find(const struct state *state, uint64_t object)
{
	struct ckpt_rec_pipe rec = { .object = object };
	struct state_pipe key = { .rec = &rec };

	return bsearch(&key, state->pipes, state->nr_pipes, sizeof(key), by_object);
}

const char *state_blob_path(const struct engine_rec_blob *rec)
{
	return rec->path_len ? (const char *)(rec + 1) : NULL;
}

const char *state_blob_target(const struct engine_rec_blob *rec)
{
	return rec->target_len ? (const char *)(rec + 1) + rec->path_len : NULL;
}

struct state_proc *state_proc_next(const struct state *state, const struct state_proc *proc)
{
	if (!proc)
		return state->roots;
	if (proc->child)
		return proc->child;
	while (proc && !proc->sibling)
		proc = proc->parent;
	return proc ? proc->sibling : NULL;
}

/* ---------------------------------------------------------------- link */

static int state_duplicate(struct state_parser *p, const char *what, long long number)
{
	return state_fail(p, -EBADMSG, "%s %lld appears twice", what, number);
}

static int sort_procs(struct state_parser *p)
{
	struct state *state = p->state;
	struct state_proc **procs = state->index->by_pid;
	struct state_thread **threads = state->index->by_tid;
	unsigned int i;

	for (i = 0; i < state->nr_procs; i++)
		procs[i] = &state->procs[i];
	qsort(procs, state->nr_procs, sizeof(*procs), by_pid);
	for (i = 1; i < state->nr_procs; i++)
		if (by_pid(&procs[i - 1], &procs[i]) == 0)
			return state_duplicate(p, "process", procs[i]->rec->pid);

	for (i = 0; i < state->nr_threads; i++)
		threads[i] = &state->threads[i];
	qsort(threads, state->nr_threads, sizeof(*threads), by_tid);
	for (i = 1; i < state->nr_threads; i++)
		if (by_tid(&threads[i - 1], &threads[i]) == 0)
			return state_duplicate(p, "thread", threads[i]->rec->tid);
	return 0;
}

static int sort_objects(struct state_parser *p)
{
	struct state *state = p->state;
	unsigned int i;

	qsort(state->mms, state->nr_mms, sizeof(*state->mms), by_mm_id);
	for (i = 1; i < state->nr_mms; i++)
		if (by_mm_id(&state->mms[i - 1], &state->mms[i]) == 0)
			return state_duplicate(p, "memory map", state->mms[i].rec->mm_id);

	qsort(state->files, state->nr_files, sizeof(*state->files), by_file_id);
	for (i = 1; i < state->nr_files; i++)
		if (by_file_id(&state->files[i - 1], &state->files[i]) == 0)
			return state_duplicate(p, "file", state->files[i].rec->id);

	qsort(state->pipes, state->nr_pipes, sizeof(*state->pipes), by_object);
	for (i = 1; i < state->nr_pipes; i++)
		if (by_object(&state->pipes[i - 1], &state->pipes[i]) == 0)
			return state_duplicate(p, "pipe", (long long)state->pipes[i].rec->object);

	qsort(state->fds, state->nr_fds, sizeof(*state->fds), by_table_and_fd);
	for (i = 1; i < state->nr_fds; i++)
		if (by_table_and_fd(&state->fds[i - 1], &state->fds[i]) == 0)
			return state_duplicate(p, "descriptor", state->fds[i].rec->fd);
	return 0;
}

static int find_file(struct state_parser *p, uint32_t id, bool needed,
		     struct state_file **ret_file)
{
	*ret_file = id ? state_file_find(p->state, id) : NULL;
	if (!*ret_file && (id || needed))
		return state_fail(p, -EBADMSG, "file %u is not in the stream", id);
	return 0;
}

/* Tables are found through the processes that have them: an empty table has no record. */
static int no_owner(struct state_parser *p, unsigned int table)
{
	return state_fail(p, -EBADMSG, "descriptor table %u belongs to nobody", table);
}

static int link_fdtables(struct state_parser *p)
{
	struct state *state = p->state;
	unsigned int i, nr = 0, fd = 0;
	int ret;

	for (i = 0; i < state->nr_procs; i++)
		if (state->procs[i].rec->files_id)
			state->fdtables[nr++].files_id = state->procs[i].rec->files_id;
	qsort(state->fdtables, nr, sizeof(*state->fdtables), by_files_id);
	for (i = 0; i < nr; i++)
		if (i == 0 || state->fdtables[i].files_id != state->fdtables[i - 1].files_id)
			state->fdtables[state->nr_fdtables++] = state->fdtables[i];

	for (i = 0; i < state->nr_fdtables; i++) {
		struct state_fdtable *table = &state->fdtables[i];

		table->fds = state->fds + fd;
		while (fd < state->nr_fds && state->fds[fd].rec->files_id == table->files_id) {
			ret = find_file(p, state->fds[fd].rec->file, true, &state->fds[fd].file);
			if (ret)
				return ret;
			state->fds[fd++].file->nr_fds++;
			table->nr_fds++;
		}
	}
	return fd < state->nr_fds ? no_owner(p, state->fds[fd].rec->files_id) : 0;
}

static bool has_file(const struct state_fdtable *table, const struct state_file *file)
{
	for (unsigned int i = 0; i < table->nr_fds; i++)
		if (table->fds[i].file == file)
			return true;
	return false;
}

static int link_locks(struct state_parser *p)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < p->state->nr_locks; i++) {
		struct state_lock *lock = &p->state->locks[i];

		ret = find_file(p, (uint32_t)lock->rec->file, true, &lock->file);
		if (ret || lock->rec->kind != CKPT_LOCK_POSIX)
			continue;
		lock->table = state_fdtable_find(p->state, lock->rec->files_id);
		if (!lock->table || !has_file(lock->table, lock->file))
			ret = state_fail(p, -EBADMSG, "lock on file %d belongs to nobody",
					 lock->rec->file);
	}
	return ret;
}

static int link_mms(struct state_parser *p)
{
	struct state *state = p->state;
	int ret;

	for (unsigned int i = 0; i < state->nr_mms; i++) {
		struct state_mm *mm = &state->mms[i];

		if (mm->nr_vmas != mm->rec->nr_vmas)
			return state_fail(p, -EBADMSG, "memory map %u: %u mappings of %u",
					  mm->rec->mm_id, mm->nr_vmas, mm->rec->nr_vmas);
		ret = find_file(p, mm->rec->exe, false, &mm->exe);
		for (unsigned int v = 0; !ret && v < mm->nr_vmas; v++) {
			struct state_vma *vma = &mm->vmas[v];

			vma->mm = mm;
			if (vma->rec->kind == CKPT_VMA_AIO && !vma->aio)
				return state_fail(p, -EBADMSG, "ring at %#llx without its AIO",
						  (unsigned long long)vma->rec->start);
			ret = find_file(p, vma->rec->file,
					vma->rec->kind == CKPT_VMA_FILE_PRIVATE ||
					vma->rec->kind == CKPT_VMA_FILE_SHARED ||
					vma->rec->kind == CKPT_VMA_SHM ||
					vma->rec->kind == CKPT_VMA_SYSV ||
					vma->rec->kind == CKPT_VMA_URING ||
					vma->rec->kind == CKPT_VMA_HUGETLB_SHARED,
					&vma->file);
		}
		if (ret)
			return ret;
	}
	return 0;
}

static int link_proc(struct state_parser *p, struct state_proc *proc)
{
	const struct ckpt_rec_proc *rec = proc->rec;
	int ret;

	if (proc->nr_threads != rec->nr_threads ||
	    (rec->state != CKPT_PROC_ZOMBIE) != (proc->nr_threads > 0))
		return state_fail(p, -EBADMSG, "process %d: %u threads of %u",
				  rec->pid, proc->nr_threads, rec->nr_threads);
	if (rec->state == CKPT_PROC_ZOMBIE)
		return 0;
	proc->mm = state_mm_find(p->state, rec->mm_id);
	proc->fdtable = state_fdtable_find(p->state, rec->files_id);
	if (!proc->mm || !proc->fdtable || !proc->sigactions)
		return state_fail(p, -EBADMSG,
				  "process %d lacks memory map, descriptors or signal actions",
				  rec->pid);
	if (!(rec->flags & CKPT_PROC_LEADER_DEAD) && proc->threads[0].rec->tid != rec->pid)
		return state_fail(p, -EBADMSG, "process %d: the leader is not first", rec->pid);
	if (proc->mm->nr_users++ == 0)
		proc->mm->owner = proc;
	if (proc->fdtable->nr_users++ == 0)
		proc->fdtable->owner = proc;
	ret = find_file(p, rec->cwd, true, &proc->cwd);
	return ret ? ret : find_file(p, rec->root, true, &proc->root);
}

static int link_procs(struct state_parser *p)
{
	struct state *state = p->state;
	int ret;

	for (unsigned int i = 0; i < state->nr_procs; i++) {
		ret = link_proc(p, &state->procs[i]);
		if (ret)
			return ret;
	}
	for (unsigned int i = 0; i < state->nr_mms; i++)
		if (!state->mms[i].owner)
			return state_fail(p, -EBADMSG, "memory map %u belongs to nobody",
					  state->mms[i].rec->mm_id);
	for (unsigned int i = 0; i < state->nr_fdtables; i++)
		if (!state->fdtables[i].owner)	/* only a zombie names it */
			return no_owner(p, state->fdtables[i].files_id);
	return 0;
}

/* ".nfs", the file's number in 16 digits and a counter of the client in 8: fs/nfs/unlink.c */
bool state_name_silly(const char *name)
{
	return !strncmp(name, ".nfs", 4) && strlen(name) == 28 &&
	       strspn(name + 4, "0123456789abcdef") == 24;
}

/*
 * Is it an open file that was removed on NFS? NFS renames it to a .nfs… name until the last
 * close, so to the kernel it is a file like any other.
 */
static bool is_silly(const struct state_file *file)
{
	const char *name = strrchr(file->path, '/');

	return file->rec->fs_magic == NFS_SUPER_MAGIC && file->rec->kind == CKPT_FILE_REG &&
	       name && state_name_silly(name + 1);
}

bool state_file_deleted(const struct state_file *file)
{
	return (file->rec->flags & CKPT_FILE_DELETED || is_silly(file)) &&
	       !(file->place && file->place->flags & ENGINE_PLACE_LINK);
}

bool state_file_in_memory(const struct state_file *file)
{
	return file->rec->fs_magic == TMPFS_MAGIC || file->rec->fs_magic == RAMFS_MAGIC ||
	       file->rec->fs_magic == HUGETLBFS_MAGIC;
}

const void *state_file_handle(const struct state_file *file)
{
	const struct engine_rec_file_place *place = file->place;

	if (!place || !place->handle_len || file->mapped)
		return NULL;
	return (const char *)(place + 1) + place->path_len;
}

/* Prepend from last to first, so that children and roots come in stream order. */
static int link_tree(struct state_parser *p)
{
	struct state *state = p->state;
	unsigned int seen = 0;

	for (unsigned int i = state->nr_procs; i-- > 0;) {
		struct state_proc *proc = &state->procs[i];
		struct state_proc **list = &state->roots;

		if (!(proc->rec->flags & CKPT_PROC_ROOT)) {
			proc->parent = state_proc_find(state, proc->rec->ppid);
			if (!proc->parent)
				return state_fail(p, -EBADMSG,
						  "process %d: no parent %d in the stream",
						  proc->rec->pid, proc->rec->ppid);
			list = &proc->parent->child;
		}
		proc->sibling = *list;
		*list = proc;
	}
	/* a loop of parents is not reached from the roots */
	for (struct state_proc *proc = NULL; (proc = state_proc_next(state, proc));)
		seen++;
	if (seen != state->nr_procs)
		return state_fail(p, -EBADMSG, "the parents of %u processes form a loop",
				  state->nr_procs - seen);
	return 0;
}

static bool state_has_content(const struct ckpt_rec_file *rec)
{
	return rec->kind == CKPT_FILE_REG || rec->kind == CKPT_FILE_SHM ||
	       rec->kind == CKPT_FILE_SYSV || rec->kind == CKPT_FILE_MEMFD ||
	       rec->kind == CKPT_FILE_HUGETLB;
}

static int link_blobs(struct state_parser *p)
{
	struct state *state = p->state;
	struct state_index *index = state->index;
	const struct engine_rec_blob **blobs = index->blobs_by_inode;
	struct state_file *file;
	unsigned int nr = 0;
	int ret;

	for (unsigned int i = 0; i < state->nr_blobs; i++) {
		if (state->blobs[i]->kind == ENGINE_BLOB_SHM_DIR)
			continue;
		ret = find_file(p, state->blobs[i]->file_id, true, &file);
		if (ret)
			return ret;
		blobs[nr++] = state->blobs[i];
	}
	qsort(blobs, nr, sizeof(*blobs), state_by_inode);
	for (unsigned int i = 1; i < nr; i++)
		if (state_by_inode(&blobs[i - 1], &blobs[i]) == 0)
			return state_duplicate(p, "content of file", blobs[i]->file_id);
	index->nr_blobs_by_inode = nr;
	return 0;
}

static int link_places(struct state_parser *p)
{
	struct state_index *index = p->state->index;
	struct state_file *file;
	int ret = 0;

	for (unsigned int i = 0; !ret && i < index->nr_places; i++) {
		const struct engine_rec_file_place *place = index->places[i];

		ret = find_file(p, place->file_id, true, &file);
		if (!ret && file->place)
			ret = state_duplicate(p, "place of file", file->rec->id);
		if (ret)
			break;
		file->place = place;
		if (place->path_len)
			file->path = (const char *)(place + 1);
	}
	return ret;
}

/* Give each file the record of its kind. */
static int link_own(struct state_parser *p)
{
	struct state_index *index = p->state->index;
	const struct state_kind *kind;
	struct state_file *file;
	int ret = 0;

	for (unsigned int i = 0; !ret && i < index->nr_own; i++) {
		const struct ckpt_rec_of_file *rec = index->own[i];

		kind = state_kind_of_record(rec->hdr.type & ~CKPT_REC_OPTIONAL);
		ret = find_file(p, rec->file, true, &file);
		if (!ret && state_kind_of_file(file->rec->kind) != kind)
			ret = state_fail(p, -EBADMSG, "%s of file %u, which is of another kind",
					 kind->name, rec->file);
		if (!ret && file->own)
			ret = state_duplicate(p, "state of file", rec->file);
		if (!ret)
			file->own = rec;
	}
	for (unsigned int i = 0; !ret && i < p->state->nr_files; i++) {
		file = &p->state->files[i];
		kind = state_kind_of_file(file->rec->kind);
		if (kind && kind->file_has_record && !file->own)
			ret = state_fail(p, -EBADMSG, "the stream has no %s of file %u",
					 kind->name, file->rec->id);
	}
	return ret;
}

static int state_link_files(struct state_parser *p)
{
	struct state *state = p->state;
	struct state_index *index = state->index;
	struct state_file *file;
	int ret = link_blobs(p);

	for (unsigned int i = 0; !ret && i < state->nr_files; i++) {
		struct engine_rec_blob key, *keyp = &key;
		const struct engine_rec_blob **blob;

		file = &state->files[i];
		if (file->rec->kind == CKPT_FILE_PIPE || file->rec->kind == CKPT_FILE_FIFO) {
			file->pipe = state_pipe_find(state, file->rec->object);
			if (!file->pipe)
				ret = state_fail(p, -EBADMSG, "pipe %llu is not in the stream",
						 (unsigned long long)file->rec->object);
		}
		if (!state_has_content(file->rec))
			continue;
		key.dev = file->rec->dev;
		key.ino = file->rec->ino;
		blob = bsearch(&keyp, index->blobs_by_inode, index->nr_blobs_by_inode,
			       sizeof(*blob), state_by_inode);
		file->blob = blob ? *blob : NULL;
	}
	for (unsigned int i = 0; !ret && i < index->nr_tracks; i++) {
		ret = find_file(p, index->tracks[i]->file_id, true, &file);
		if (!ret && file->track)
			ret = state_duplicate(p, "track of file", file->rec->id);
		if (!ret)
			file->track = index->tracks[i];
	}
	for (unsigned int i = 0; !ret && i < index->nr_marks; i++) {
		ret = find_file(p, index->marks[i]->file_id, true, &file);
		if (!ret)
			file->mark = index->marks[i];
	}
	if (!ret)
		ret = link_places(p);
	for (unsigned int i = 0; !ret && i < state->nr_externals; i++) {
		ret = find_file(p, state->externals[i]->file_id, true, &file);
		if (!ret)
			file->external = state->externals[i];
	}
	if (!ret)
		ret = link_own(p);
	return ret;
}

static int link_all(struct state_parser *p)
{
	int ret;

	if (p->state->nr_procs && !p->state->system)
		return state_fail(p, -EBADMSG, "the stream has no SYSTEM record");
	ret = sort_procs(p);
	if (!ret)
		ret = sort_objects(p);
	if (!ret)
		ret = link_fdtables(p);
	if (!ret)
		ret = link_locks(p);
	if (!ret)
		ret = link_mms(p);
	if (!ret)
		ret = link_procs(p);
	if (!ret)
		ret = link_tree(p);
	if (!ret)
		ret = state_link_files(p);
	if (!ret)
		ret = state_socks_link(p);
	return ret;
}

int state_parse(const void *buf, size_t len, struct state **ret_state,
		struct state_error *error)
{
	struct state_parser parser = { .buf = buf, .error = error };
	int ret;

	parser.state = calloc(1, sizeof(*parser.state));
	if (!parser.state)
		return state_fail(&parser, -ENOMEM, "out of memory");
	if ((uintptr_t)buf % 8)
		ret = state_fail(&parser, -EINVAL, "the stream is not aligned");
	else
		ret = state_parse_records(&parser, len);
	if (!ret)
		ret = link_all(&parser);
	if (ret) {
		state_free(parser.state);
		return ret;
	}
	*ret_state = parser.state;
	return 0;
}

struct state *state_free(struct state *state)
{
	struct state_index *index;

	if (!state)
		return NULL;
	index = state->index;
	if (index) {
		free(index->by_pid);
		free(index->by_tid);
		free(index->pending);
		free(index->tracks);
		free(index->places);
		free(index->marks);
		free(index->blobs_by_inode);
		free(index->own);
		free(index->sock_options);
		free(index);
	}
	free(state->procs);
	free(state->threads);
	free(state->mms);
	free(state->vmas);
	free(state->fdtables);
	free(state->locks);
	free(state->fds);
	free(state->files);
	free(state->pipes);
	free(state->socks);
	free(state->sock_msgs);
	free(state->refusals);
	free(state->blobs);
	free(state->ttys);
	free(state->tty_data);
	free(state->externals);
	free(state->closed);
	free(state->ipcs);
	free(state->mqueues);
	free(state->fowns);
	free(state);
	return NULL;
}
