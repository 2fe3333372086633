// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reducing an image to some of its trees; see restore_subset.h.
 *
 * Every process is marked as staying (restored here) or going (restored elsewhere), and every
 * object with the marks of the processes that have it. An object with both marks that cannot be
 * in two places is refused. Then the records of all that stays are copied. The caller parses the
 * copy like any stream, which would find a missing record.
 *
 * The stream has been parsed, so its lengths and references are valid.
 */
#include "engine/restore/restore_subset.h"
#include "engine/core/state_kind.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAYS	1U
#define GOES	2U
#define BOTH	(STAYS | GOES)

struct subset {
	const struct state *state;
	const struct restore_subset *which;
	struct ckpt_error *error;
	char *out;
	size_t len;
	bool stays;	/* the process whose records are being read */
};

static bool is_in(const pid_t *pids, unsigned int nr, pid_t pid)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (pids[i] == pid)
			return true;
	}
	return false;
}

__attribute__((format(printf, 3, 4))) static void
restore_subset_refuse(const struct subset *s, const struct state_proc *proc, const char *what, ...);

static void restore_subset_refuse(const struct subset *s, const struct state_proc *proc,
				  const char *what, ...)
{
	struct error_refusal refusal = { .reason = CKPT_R_RANKS_SHARE };
	char text[104];
	va_list args;

	if (proc) {
		refusal.pid = proc->rec->pid;
		memcpy(refusal.comm, proc->rec->comm, sizeof(refusal.comm));
	}
	va_start(args, what);
	vsnprintf(text, sizeof(text), what, args);
	va_end(args);
	error_refuse(s->error, &refusal, "%s", text);
}

/* ----------------------------------------------------------------- marks */

static unsigned int mark_of(const struct subset *s, pid_t pid)
{
	if (is_in(s->which->roots, s->which->nr_roots, pid))
		return STAYS;
	return is_in(s->which->others, s->which->nr_others, pid) ? GOES : 0;
}

static int mark_procs(const struct subset *s)
{
	const struct state *state = s->state;

	for (unsigned int i = 0; i < s->which->nr_roots; i++) {
		const struct state_proc *root = state_proc_find(state, s->which->roots[i]);

		if (!root || root->parent)
			return error_fail(s->error, -ESRCH, "process %d is no root of the image",
					   s->which->roots[i]);
	}
	for (struct state_proc *p = NULL; (p = state_proc_next(state, p));) {
		unsigned int mark = p->parent ? (unsigned int)p->parent->user :
				    mark_of(s, p->rec->pid);

		if (!mark)
			mark = mark_of(s, p->rec->sid);
		if (!mark)
			restore_subset_refuse(s, p,
					      "it is no rank's, and could be needed on several "
					      "nodes");
		p->user = mark;
	}
	return 0;
}

static void mark_file(struct state_file *file, unsigned int mark)
{
	if (!file)
		return;
	file->user |= mark;
	if (file->pipe && !file->external)
		file->pipe->user |= mark;
}

/* Note @marks for the socket, and for the files that travel to it; true if that is news. */
static bool mark_sock(const struct subset *s, struct state_sock *sock, uint64_t marks)
{
	if (!sock || !(marks & ~sock->user))
		return false;
	sock->user |= marks;
	for (unsigned int i = 0; i < sock->nr_msgs; i++)
		for (unsigned int k = 0; k < sock->msgs[i].rec->nr_files; k++)
			mark_file(state_file_find(s->state, sock->msgs[i].files[k]),
				  (unsigned int)marks);
	return true;
}

/* Connected sockets, senders of what is unread, and listening sockets go together. */
static void mark_socks(const struct subset *s)
{
	const struct state *state = s->state;
	bool more = true;

	while (more) {
		more = false;
		for (unsigned int i = 0; i < state->nr_socks; i++) {
			struct state_sock *sock = &state->socks[i];

			if (sock->file)
				more |= mark_sock(s, sock, sock->file->user);
			if (sock->peer) {
				more |= mark_sock(s, sock->peer, sock->user);
				more |= mark_sock(s, sock, sock->peer->user);
			}
			if (sock->listener) {
				more |= mark_sock(s, sock, sock->listener->user);
				more |= mark_sock(s, sock->listener, sock->user);
			}
			for (unsigned int k = 0; k < sock->nr_msgs; k++)
				more |= mark_sock(s, sock->msgs[k].sender, sock->user);
		}
	}
}

static void mark_objects(const struct subset *s)
{
	const struct state *state = s->state;

	for (unsigned int i = 0; i < state->nr_procs; i++) {
		const struct state_proc *p = &state->procs[i];

		if (p->mm)
			p->mm->user |= p->user;
		if (p->fdtable)
			p->fdtable->user |= p->user;
		mark_file(p->cwd, (unsigned int)p->user);
		mark_file(p->root, (unsigned int)p->user);
	}
	for (unsigned int i = 0; i < state->nr_mms; i++)
		mark_file(state->mms[i].exe, (unsigned int)state->mms[i].user);
	for (unsigned int i = 0; i < state->nr_vmas; i++)
		mark_file(state->vmas[i].file, (unsigned int)state->vmas[i].mm->user);
	for (unsigned int i = 0; i < state->nr_fdtables; i++) {
		const struct state_fdtable *table = &state->fdtables[i];

		for (unsigned int k = 0; k < table->nr_fds; k++)
			mark_file(table->fds[k].file, (unsigned int)table->user);
	}
	mark_socks(s);
	/* Keep the record also of a pipe that a staying process has only as an external. */
	for (unsigned int i = 0; i < state->nr_files; i++) {
		if (state->files[i].pipe)
			state->files[i].pipe->user |= state->files[i].user & STAYS;
	}
}

/* ------------------------------------------------------------- shared objects */

static const struct state_proc *staying_user(const struct subset *s, const struct state_mm *mm,
					     const struct state_fdtable *table)
{
	for (unsigned int i = 0; i < s->state->nr_procs; i++) {
		const struct state_proc *p = &s->state->procs[i];

		if (p->user == STAYS && ((mm && p->mm == mm) || (table && p->fdtable == table)))
			return p;
	}
	return NULL;
}

static void check_tables(const struct subset *s)
{
	const struct state *state = s->state;

	for (unsigned int i = 0; i < state->nr_mms; i++) {
		if (state->mms[i].user == BOTH)
			restore_subset_refuse(s, staying_user(s, &state->mms[i], NULL),
			       "its memory is also that of a rank that goes elsewhere");
	}
	for (unsigned int i = 0; i < state->nr_fdtables; i++) {
		if (state->fdtables[i].user == BOTH)
			restore_subset_refuse(s, staying_user(s, NULL, &state->fdtables[i]),
			       "its descriptors are also those of a rank that goes elsewhere");
	}
}

/* Is it an object that exists on one node only: without a name, or in the job's /dev/shm? */
static bool is_of_node(const struct state_file *file)
{
	const struct ckpt_rec_file *rec = file->rec;

	switch (rec->kind) {
	case CKPT_FILE_SHM:
	case CKPT_FILE_SYSV:
	case CKPT_FILE_MQUEUE:
	case CKPT_FILE_MEMFD:
	case CKPT_FILE_HUGETLB:
	case CKPT_FILE_FIFO:
	case CKPT_FILE_PTS:
	case CKPT_FILE_PTM:
		return true;
	case CKPT_FILE_REG:
		return state_file_deleted(file) || !strncmp(file->path, "/dev/shm/", 9);
	default:
		return false;
	}
}

static int restore_subset_by_inode(const void *a, const void *b)
{
	const struct ckpt_rec_file *x = (*(struct state_file *const *)a)->rec;
	const struct ckpt_rec_file *y = (*(struct state_file *const *)b)->rec;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* Check the files of one inode: refuse if both sides have an inode that exists on one node only. */
static void check_inode(const struct subset *s, struct state_file *const *files, unsigned int nr)
{
	unsigned int marks = 0;
	bool open = false, of_node = false;

	for (unsigned int i = 0; i < nr; i++) {
		const struct ckpt_rec_file *rec = files[i]->rec;

		if (files[i]->external)
			continue;
		marks |= (unsigned int)files[i]->user;
		open |= rec->flags & (CKPT_FILE_OPEN | CKPT_FILE_MAPPED_SHARED_WRITE);
		of_node |= is_of_node(files[i]);
	}
	if (marks == BOTH && open && of_node)
		restore_subset_refuse(s, NULL, "%.60s is also that of a rank that goes elsewhere",
				      files[0]->path[0] ? files[0]->path : "shared memory");
}

/* Nobody knows which ranks use a set or a queue, will attach a segment or open a queue. */
static void check_ipc(const struct subset *s)
{
	bool goes = false;

	for (unsigned int i = 0; i < s->state->nr_procs; i++)
		goes |= !!(s->state->procs[i].user & GOES);
	if (goes && s->state->nr_ipcs)
		restore_subset_refuse(s, NULL, "System V object %d may also be used by a rank that "
				      "goes elsewhere", s->state->ipcs[0]->id);
	if (goes && s->state->nr_mqueues)
		restore_subset_refuse(s, NULL, "POSIX message queue %.60s may also be used by a "
				      "rank that goes elsewhere",
				      (const char *)(s->state->mqueues[0] + 1));
}

static int check_files(const struct subset *s)
{
	const struct state *state = s->state;
	struct state_file **files = calloc(state->nr_files + 1, sizeof(struct state_file *));
	unsigned int first, i;

	if (!files)
		return error_fail(s->error, -ENOMEM, "out of memory");
	for (i = 0; i < state->nr_files; i++) {
		struct state_file *file = &state->files[i];

		files[i] = file;
		/* both sides would move the one position of the description */
		if (file->user == BOTH && file->nr_fds && !file->external &&
		    (file->rec->kind == CKPT_FILE_REG || file->rec->kind == CKPT_FILE_DIR ||
		     state_kind_one_description(file)))
			restore_subset_refuse(s, NULL,
			       "%.60s was opened once, also for a rank that goes elsewhere",
			       file->path);
	}
	qsort(files, state->nr_files, sizeof(struct state_file *), restore_subset_by_inode);
	for (first = 0; first < state->nr_files; first = i) {
		for (i = first + 1;
		     i < state->nr_files && !restore_subset_by_inode(&files[first], &files[i]);)
			i++;
		check_inode(s, files + first, i - first);
	}
	free(files);
	for (i = 0; i < state->nr_pipes; i++) {
		if (state->pipes[i].user == BOTH)
			restore_subset_refuse(s, NULL,
					      "a pipe leads to a rank that goes elsewhere");
	}
	for (i = 0; i < state->nr_socks; i++) {
		if (state->socks[i].user == BOTH) {
			restore_subset_refuse(s, NULL,
					      "a socket leads to a rank that goes elsewhere");
			break;
		}
	}
	return 0;
}

static void check_fs(const struct subset *s)
{
	const struct state *state = s->state;

	for (unsigned int i = 0; i < state->nr_procs; i++) {
		const struct state_proc *a = &state->procs[i];

		for (unsigned int k = 0; a->user == STAYS && a->mm && k < state->nr_procs; k++) {
			const struct state_proc *b = &state->procs[k];

			if (b->user == GOES && b->mm && b->rec->fs_id == a->rec->fs_id)
				restore_subset_refuse(s, a,
						      "its directories are also those of a rank "
						      "that goes elsewhere");
		}
	}
}

/* ------------------------------------------------------------------ copy */

static struct ckpt_rec_hdr *restore_subset_put(struct subset *s, const void *record)
{
	const struct ckpt_rec_hdr *hdr = record;
	struct ckpt_rec_hdr *at = (void *)(s->out + s->len);

	memcpy(at, record, hdr->len);
	s->len += hdr->len;
	return at;
}

static bool file_stays(const struct subset *s, uint32_t id)
{
	const struct state_file *file = state_file_find(s->state, id);

	return file && file->user & STAYS;
}

static bool lock_stays(const struct subset *s, const struct ckpt_rec_lock *lock)
{
	return lock->kind == CKPT_LOCK_POSIX ?
		state_fdtable_find(s->state, lock->files_id)->user & STAYS :
		file_stays(s, (uint32_t)lock->file);
}

/* Copy the one content record of an inode; it must name a file of the inode that stays. */
static void put_blob(struct subset *s, const struct engine_rec_blob *blob)
{
	const struct state_file *stays = NULL;
	struct engine_rec_blob *copy;

	for (unsigned int i = 0; i < s->state->nr_files && !stays; i++) {
		const struct state_file *file = &s->state->files[i];

		if (file->user & STAYS && file->rec->dev == blob->dev &&
		    file->rec->ino == blob->ino)
			stays = file;
	}
	if (!stays && !file_stays(s, blob->file_id))
		return;
	copy = (void *)restore_subset_put(s, blob);
	if (!file_stays(s, blob->file_id))
		copy->file_id = stays->rec->id;
}

static void put_tree(struct subset *s, const struct engine_rec_tree *tree)
{
	struct engine_rec_tree *copy = (void *)restore_subset_put(s, tree);
	int32_t *pids = (int32_t *)(copy + 1);
	uint32_t nr = 0;

	for (uint32_t i = 0; i < tree->nr_roots; i++) {
		const struct state_proc *p = state_proc_find(s->state, pids[i]);

		if (p && p->user == STAYS)
			pids[nr++] = pids[i];
	}
	copy->nr_roots = nr;
}

/* Does a record of engine/kinds/ stay? Unknown ones do. */
static bool kind_stays(const struct subset *s, const struct ckpt_rec_hdr *hdr)
{
	const uint16_t type = hdr->type & ~CKPT_REC_OPTIONAL;
	const struct state_kind_record *record = state_kind_record(type);

	switch (record ? record->owner : STATE_OWNER_ALL) {
	case STATE_OWNER_PROC:
		return s->stays;
	case STATE_OWNER_FILE:
		return file_stays(s, ((const struct ckpt_rec_of_file *)hdr)->file);
	case STATE_OWNER_OBJECT:
		return state_kind_of_record(type)->marks(s->state, hdr) & STAYS;
	default:
		return true;
	}
}

static bool record_stays(struct subset *s, const struct ckpt_rec_hdr *hdr)
{
	const struct state *state = s->state;
	const void *rec = hdr;
	const struct ckpt_rec_mempolicy *policy;

	switch (hdr->type & ~CKPT_REC_OPTIONAL) {
	case CKPT_REC_PROC:
		s->stays = state_proc_find(state,
					   ((const struct ckpt_rec_proc *)rec)->pid)->user == STAYS;
		return s->stays;
	case CKPT_REC_THREAD:
	case CKPT_REC_XSTATE:
	case CKPT_REC_GROUPS:
	case CKPT_REC_SIGACTIONS:
	case CKPT_REC_SIGPENDING:
		return s->stays;
	case CKPT_REC_MM:
		return state_mm_find(state, ((const struct ckpt_rec_mm *)rec)->mm_id)->user & STAYS;
	case CKPT_REC_PKEYS:
		return state_mm_find(state, ((const struct ckpt_rec_pkeys *)rec)->mm_id)->user &
		       STAYS;
	case CKPT_REC_VMA:
		return state_mm_find(state, ((const struct ckpt_rec_vma *)rec)->mm_id)->user &
		       STAYS;
	case CKPT_REC_MEMPOLICY:
		policy = rec;
		return policy->tid ? s->stays : state_mm_find(state, policy->mm_id)->user & STAYS;
	case CKPT_REC_FD:
		return state_fdtable_find(state,
					  ((const struct ckpt_rec_fd *)rec)->files_id)->user &
		       STAYS;
	case CKPT_REC_LOCK:
		return lock_stays(s, rec);
	case CKPT_REC_FILE:
		return file_stays(s, ((const struct ckpt_rec_file *)rec)->id);
	case ENGINE_REC_FILE_TRACK:
		return file_stays(s, ((const struct engine_rec_file_track *)rec)->file_id);
	case ENGINE_REC_FILE_MARK:
		return file_stays(s, ((const struct engine_rec_file_mark *)rec)->file_id);
	case ENGINE_REC_FILE_PLACE:
		return file_stays(s, ((const struct engine_rec_file_place *)rec)->file_id);
	case ENGINE_REC_EXTERNAL:
		return file_stays(s, ((const struct engine_rec_external *)rec)->file_id);
	case ENGINE_REC_CLOSED:
	case ENGINE_REC_WRITES:
		/* files that nobody has open are put back once, with the first tree */
		return state->roots && state->roots->user == STAYS;
	default:
		return kind_stays(s, hdr);
	}
}

static void copy_records(struct subset *s, const char *buf, size_t len)
{
	const struct ckpt_rec_hdr *hdr;

	for (size_t at = 0; at < len; at += hdr->len) {
		const struct engine_rec_blob *blob;

		hdr = (const void *)(buf + at);
		blob = (const void *)hdr;
		if (hdr->type == ENGINE_REC_TREE)
			put_tree(s, (const void *)hdr);
		else if (hdr->type == ENGINE_REC_BLOB && blob->kind != ENGINE_BLOB_SHM_DIR)
			put_blob(s, blob);
		else if (record_stays(s, hdr))
			restore_subset_put(s, hdr);
	}
}

int restore_subset_make(const struct state *state, const void *buf, size_t len,
			const struct restore_subset *subset, void **ret_buf, size_t *ret_len,
			struct ckpt_error *error)
{
	struct subset s = { .state = state, .which = subset, .error = error };
	int ret = mark_procs(&s);

	if (!ret) {
		mark_objects(&s);
		check_tables(&s);
		check_fs(&s);
		check_ipc(&s);
		ret = check_files(&s);
	}
	if (!ret)
		ret = error_refused(error, "restore");
	if (ret)
		return ret;
	/* malloc() aligns to 16 */
	s.out = malloc(len + 8);
	if (!s.out)
		return error_fail(error, -ENOMEM, "out of memory");
	copy_records(&s, buf, len);
	*ret_buf = s.out;
	*ret_len = s.len;
	return 0;
}
