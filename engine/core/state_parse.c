// SPDX-License-Identifier: GPL-2.0-only
/*
 * The records of a stream, one by one.
 *
 * Owns the table of record types: for each, its least length and the function that
 * makes all checks that need no other record and appends the record to the model.
 * The arrays have been sized by a first walk, so appending cannot fail for want of
 * memory.
 *
 * The stream may come from a damaged or hostile image: no length, count or
 * string is used before it was checked here.  References between records are
 * not followed here; state.c links them.
 */
#include "engine/core/state_parse.h"
#include "engine/core/engine.h"
#include "engine/core/state_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_MASK_4K	4095ULL

int state_fail(struct state_parser *p, int err, const char *format, ...)
{
	va_list args;

	if (!p->error)
		return err;
	p->error->offset = p->offset;
	va_start(args, format);
	vsnprintf(p->error->text, sizeof(p->error->text), format, args);
	va_end(args);
	return err;
}

static bool state_parse_ends(const char *s, size_t size)
{
	return memchr(s, 0, size);
}

/* Is there room for a string of @len bytes at @s, and is its last byte its only NUL? */
static bool string_fits(const char *s, uint64_t len, uint64_t room)
{
	return len == 0 || (len <= room && s[len - 1] == 0 && strlen(s) == len - 1);
}

static int add_refusal(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_refusal *rec = (const void *)hdr;

	if (!state_parse_ends(rec->comm, sizeof(rec->comm)) ||
	    !state_parse_ends(rec->detail, sizeof(rec->detail)))
		return state_fail(p, -EBADMSG, "text of a refusal does not end");
	p->state->refusals[p->state->nr_refusals++] = rec;
	return 0;
}

static int add_system(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_system *rec = (const void *)hdr;

	if (p->state->system)
		return state_fail(p, -EBADMSG, "second SYSTEM record");
	if (!state_parse_ends(rec->release, sizeof(rec->release)))
		return state_fail(p, -EBADMSG, "kernel release does not end");
	p->state->system = rec;
	return 0;
}

static int add_cpu(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_cpu *rec = (const void *)hdr;

	if (p->state->cpu)
		return state_fail(p, -EBADMSG, "second CPU record");
	p->state->cpu = &rec->cpu;
	return 0;
}

static int state_parse_add_proc(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_proc *rec = (const void *)hdr;

	if (rec->pid <= 0 || rec->ppid < 0 || rec->pgid < 0 || rec->sid < 0)
		return state_fail(p, -EBADMSG, "process with bad number %d", rec->pid);
	if (rec->state < CKPT_PROC_RUNNING || rec->state > CKPT_PROC_ZOMBIE)
		return state_fail(p, -EBADMSG, "process %d in unknown state %u",
				  rec->pid, rec->state);
	if (!state_parse_ends(rec->comm, sizeof(rec->comm)))
		return state_fail(p, -EBADMSG, "name of process %d does not end", rec->pid);
	p->proc = &p->state->procs[p->state->nr_procs++];
	p->proc->rec = rec;
	p->proc->threads = p->state->threads + p->state->nr_threads;
	p->thread = NULL;
	return 0;
}

static int add_thread(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_thread *rec = (const void *)hdr;

	if (!p->proc || rec->pid != p->proc->rec->pid)
		return state_fail(p, -EBADMSG, "thread %d away from its process", rec->tid);
	if (rec->tid <= 0 || !state_parse_ends(rec->comm, sizeof(rec->comm)))
		return state_fail(p, -EBADMSG, "bad number or name of thread %d", rec->tid);
	p->thread = &p->state->threads[p->state->nr_threads++];
	p->thread->rec = rec;
	p->thread->proc = p->proc;
	p->proc->nr_threads++;
	return 0;
}

static int add_xstate(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_xstate *rec = (const void *)hdr;

	if (!p->thread || p->thread->rec->tid != rec->tid || p->thread->xstate)
		return state_fail(p, -EBADMSG, "XSTATE away from its thread %d", rec->tid);
	if (rec->size > hdr->len - sizeof(*rec))
		return state_fail(p, -EBADMSG, "XSTATE of thread %d too short", rec->tid);
	p->thread->xstate = rec;
	return 0;
}

static int add_groups(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_groups *rec = (const void *)hdr;

	if (!p->thread || p->thread->rec->tid != rec->tid || p->thread->groups)
		return state_fail(p, -EBADMSG, "GROUPS away from its thread %d", rec->tid);
	if (rec->nr > (hdr->len - sizeof(*rec)) / sizeof(__u32))
		return state_fail(p, -EBADMSG, "GROUPS of thread %d too short", rec->tid);
	p->thread->groups = rec;
	return 0;
}

static int add_sigactions(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_sigactions *rec = (const void *)hdr;

	if (!p->proc || rec->pid != p->proc->rec->pid || p->proc->sigactions)
		return state_fail(p, -EBADMSG, "SIGACTIONS away from process %d", rec->pid);
	p->proc->sigactions = rec;
	return 0;
}

static int add_sigpending(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_sigpending *rec = (const void *)hdr;
	struct state_index *index = p->state->index;
	const struct ckpt_rec_sigpending **slot = &index->pending[index->nr_pending];
	const struct ckpt_rec_sigpending ***queue;
	unsigned int *nr;

	if (rec->signo < 1 || rec->signo > 64)
		return state_fail(p, -EBADMSG, "pending signal %u", rec->signo);
	if (rec->shared ? !p->proc || p->proc->rec->pid != rec->tid :
			  !p->thread || p->thread->rec->tid != rec->tid)
		return state_fail(p, -EBADMSG, "pending signal away from %d", rec->tid);
	queue = rec->shared ? &p->proc->pending : &p->thread->pending;
	nr = rec->shared ? &p->proc->nr_pending : &p->thread->nr_pending;
	if (*nr == 0)
		*queue = slot;
	else if (*queue + *nr != slot)
		return state_fail(p, -EBADMSG, "signals of %d are not in one place", rec->tid);
	*slot = rec;
	(*nr)++;
	index->nr_pending++;
	return 0;
}

static int add_mm(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_mm *rec = (const void *)hdr;

	if (rec->mm_id == 0)
		return state_fail(p, -EBADMSG, "memory map without a number");
	if (rec->nr_auxv > 64)
		return state_fail(p, -EBADMSG, "memory map %u has %u auxv words",
				  rec->mm_id, rec->nr_auxv);
	p->mm = &p->state->mms[p->state->nr_mms++];
	p->mm->rec = rec;
	p->mm->vmas = p->state->vmas + p->state->nr_vmas;
	p->proc = NULL;
	p->thread = NULL;
	return 0;
}

static int add_pkeys(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_pkeys *rec = (const void *)hdr;

	if (!p->mm || rec->mm_id != p->mm->rec->mm_id || p->mm->nr_vmas || p->mm->pkeys)
		return state_fail(p, -EBADMSG, "PKEYS away from memory map %u", rec->mm_id);
	p->mm->pkeys = rec;
	return 0;
}

static int add_vma(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_vma *rec = (const void *)hdr;
	struct state_mm *mm = p->mm;

	if (!mm || rec->mm_id != mm->rec->mm_id)
		return state_fail(p, -EBADMSG, "mapping away from memory map %u", rec->mm_id);
	if (rec->start >= rec->end || ((rec->start | rec->end) & PAGE_MASK_4K) ||
	    (mm->nr_vmas && rec->start < mm->vmas[mm->nr_vmas - 1].rec->end))
		return state_fail(p, -EBADMSG, "bad or overlapping mapping %#llx-%#llx",
				  (unsigned long long)rec->start,
				  (unsigned long long)rec->end);
	if (rec->kind < CKPT_VMA_ANON || rec->kind > CKPT_VMA_URING ||
	    !state_parse_ends(rec->name, sizeof(rec->name)))
		return state_fail(p, -EBADMSG, "mapping at %#llx of unknown kind %u",
				  (unsigned long long)rec->start, rec->kind);
	p->state->vmas[p->state->nr_vmas++].rec = rec;
	mm->nr_vmas++;
	return 0;
}

static int add_mempolicy(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_mempolicy *rec = (const void *)hdr;
	struct state_vma *vma = p->mm && p->mm->nr_vmas ? &p->mm->vmas[p->mm->nr_vmas - 1] : NULL;
	const struct ckpt_rec_mempolicy **slot = NULL;

	if (rec->tid && p->thread && p->thread->rec->tid == rec->tid)
		slot = &p->thread->mempolicy;
	else if (!rec->tid && vma && vma->rec->mm_id == rec->mm_id && vma->rec->start == rec->start)
		slot = &vma->mempolicy;
	if (!slot || *slot)
		return state_fail(p, -EBADMSG, "MEMPOLICY away from thread %d or mapping %#llx",
				  rec->tid, (unsigned long long)rec->start);
	*slot = rec;
	return 0;
}

static int add_fd(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_fd *rec = (const void *)hdr;

	if (rec->files_id == 0 || rec->fd < 0 || rec->file <= 0)
		return state_fail(p, -EBADMSG, "bad descriptor %d", rec->fd);
	p->state->fds[p->state->nr_fds++].rec = rec;
	return 0;
}

static int add_file(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_file *rec = (const void *)hdr;
	const char *path = (const char *)(rec + 1);
	struct state_file *file;

	if (rec->id == 0 || rec->id > INT32_MAX)
		return state_fail(p, -EBADMSG, "file with bad number %u", rec->id);
	if (!string_fits(path, rec->path_len, hdr->len - sizeof(*rec)))
		return state_fail(p, -EBADMSG, "path of file %u is not a string", rec->id);
	file = &p->state->files[p->state->nr_files++];
	file->rec = rec;
	file->path = rec->path_len ? path : "";
	return 0;
}

static int add_lock(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_lock *rec = (const void *)hdr;

	if (rec->file <= 0 || rec->kind < CKPT_LOCK_FLOCK || rec->kind > CKPT_LOCK_LEASE ||
	    (rec->type != F_RDLCK && rec->type != F_WRLCK) || rec->start > rec->end ||
	    (rec->kind == CKPT_LOCK_LEASE && rec->type != F_RDLCK) ||
	    rec->end > INT64_MAX || (rec->files_id != 0) != (rec->kind == CKPT_LOCK_POSIX))
		return state_fail(p, -EBADMSG, "bad lock on file %d", rec->file);
	p->state->locks[p->state->nr_locks++].rec = rec;
	return 0;
}

static int add_tree(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_tree *rec = (const void *)hdr;

	if (p->state->tree)
		return state_fail(p, -EBADMSG, "second TREE record");
	if (rec->nr_roots > (hdr->len - sizeof(*rec)) / sizeof(__s32))
		return state_fail(p, -EBADMSG, "TREE record too short");
	if (!state_parse_ends(rec->boot_id, sizeof(rec->boot_id)) ||
	    !state_parse_ends(rec->job, sizeof(rec->job)) ||
	    !state_parse_ends(rec->hostname, sizeof(rec->hostname)))
		return state_fail(p, -EBADMSG, "text of the TREE record does not end");
	p->state->tree = rec;
	p->state->root_pids = (const int32_t *)(rec + 1);
	return 0;
}

static int add_track(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_file_track *rec = (const void *)hdr;

	if (rec->build_id_len > sizeof(rec->build_id))
		return state_fail(p, -EBADMSG, "build-id of file %u too long", rec->file_id);
	p->state->index->tracks[p->state->index->nr_tracks++] = rec;
	return 0;
}

static int add_place(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_file_place *rec = (const void *)hdr;
	uint64_t room = hdr->len - sizeof(*rec);

	if (!string_fits((const char *)(rec + 1), rec->path_len, room) ||
	    rec->handle_len > room - rec->path_len || rec->handle_len > MAX_HANDLE_SZ)
		return state_fail(p, -EBADMSG, "place of file %u is not well formed",
				  rec->file_id);
	p->state->index->places[p->state->index->nr_places++] = rec;
	return 0;
}

static int add_mark(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_file_mark *rec = (const void *)hdr;

	if (rec->handle_len > hdr->len - sizeof(*rec) || rec->handle_len > MAX_HANDLE_SZ)
		return state_fail(p, -EBADMSG, "mark of file %u is not well formed", rec->file_id);
	p->state->index->marks[p->state->index->nr_marks++] = rec;
	return 0;
}

static int add_blob(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_blob *rec = (const void *)hdr;
	const char *path = (const char *)(rec + 1);
	uint64_t room = hdr->len - sizeof(*rec);

	if (rec->kind < ENGINE_BLOB_OBJECT || rec->kind > ENGINE_BLOB_SHM_DIR)
		return state_fail(p, -EBADMSG, "content of unknown kind %u", rec->kind);
	if (!string_fits(path, rec->path_len, room) ||
	    !string_fits(path + rec->path_len, rec->target_len, room - rec->path_len))
		return state_fail(p, -EBADMSG, "path of a content is not a string");
	if (rec->kind == ENGINE_BLOB_SHM_DIR && (rec->file_id || !rec->path_len))
		return state_fail(p, -EBADMSG, "/dev/shm entry without a path");
	if (rec->size > INT64_MAX)
		return state_fail(p, -EBADMSG, "content of impossible size");
	p->state->blobs[p->state->nr_blobs++] = rec;
	return 0;
}

static int add_external(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_external *rec = (const void *)hdr;

	if (!state_parse_ends(rec->name, sizeof(rec->name)))
		return state_fail(p, -EBADMSG, "name of an external does not end");
	p->state->externals[p->state->nr_externals++] = rec;
	return 0;
}

static int add_closed(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_closed *rec = (const void *)hdr;
	const char *path = (const char *)(rec + 1);
	struct state_closed *closed = &p->state->closed[p->state->nr_closed++];

	if (!rec->path_len || !string_fits(path, rec->path_len, hdr->len - sizeof(*rec)) ||
	    path[0] != '/')
		return state_fail(p, -EBADMSG, "path of a closed file is no path");
	if (!rec->flags || rec->flags & (rec->flags - 1) || rec->flags > ENGINE_CLOSED_LINK)
		return state_fail(p, -EBADMSG, "closed file of unknown kind %#x", rec->flags);
	if (rec->flags == ENGINE_CLOSED_LINK) {
		size_t room = hdr->len - sizeof(*rec) - rec->path_len;

		if (!rec->size || rec->size >= PATH_MAX ||
		    !string_fits(path + rec->path_len, rec->size + 1, room))
			return state_fail(p, -EBADMSG, "symbolic link without a target");
		closed->target = path + rec->path_len;
	}
	if (rec->size > INT64_MAX || rec->tail_len > rec->size)
		return state_fail(p, -EBADMSG, "closed file of impossible size");
	closed->rec = rec;
	closed->path = path;
	return 0;
}

static int add_writes(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	if (p->state->writes)
		return state_fail(p, -EBADMSG, "two write logs");
	p->state->writes = (const void *)hdr;
	return 0;
}

/* ---------------------------------------------------------------- records of files */

/* Append a record of a file to the model; state.c gives it to its file. */
static int add_own(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct state_kind_record *record = state_kind_record(hdr->type);
	const struct ckpt_rec_of_file *rec = (const void *)hdr;

	if (rec->file == 0 || rec->file > INT32_MAX)
		return state_fail(p, -EBADMSG, "%s of a file with bad number %u",
				  state_kind_of_record(hdr->type)->name, rec->file);
	p->state->index->own[p->state->index->nr_own++] = rec;
	return record->parse ? record->parse(p, hdr) : 0;
}

/* ---------------------------------------------------------------- all */

struct record_type {
	uint16_t type;
	uint16_t min_len;
	int (*add)(struct state_parser *p, const struct ckpt_rec_hdr *hdr);
};

/* The records that every image has; those of kinds of state are in engine/kinds/. */
static const struct record_type record_types[] = {
	{ CKPT_REC_REFUSAL, sizeof(struct ckpt_rec_refusal), add_refusal },
	{ CKPT_REC_SYSTEM, sizeof(struct ckpt_rec_system), add_system },
	{ CKPT_REC_CPU, sizeof(struct ckpt_rec_cpu), add_cpu },
	{ CKPT_REC_PROC, sizeof(struct ckpt_rec_proc), state_parse_add_proc },
	{ CKPT_REC_THREAD, sizeof(struct ckpt_rec_thread), add_thread },
	{ CKPT_REC_XSTATE, sizeof(struct ckpt_rec_xstate), add_xstate },
	{ CKPT_REC_GROUPS, sizeof(struct ckpt_rec_groups), add_groups },
	{ CKPT_REC_SIGACTIONS, sizeof(struct ckpt_rec_sigactions), add_sigactions },
	{ CKPT_REC_SIGPENDING, sizeof(struct ckpt_rec_sigpending), add_sigpending },
	{ CKPT_REC_MM, sizeof(struct ckpt_rec_mm), add_mm },
	{ CKPT_REC_PKEYS, sizeof(struct ckpt_rec_pkeys), add_pkeys },
	{ CKPT_REC_VMA, sizeof(struct ckpt_rec_vma), add_vma },
	{ CKPT_REC_MEMPOLICY, sizeof(struct ckpt_rec_mempolicy), add_mempolicy },
	{ CKPT_REC_FD, sizeof(struct ckpt_rec_fd), add_fd },
	{ CKPT_REC_FILE, sizeof(struct ckpt_rec_file), add_file },
	{ CKPT_REC_LOCK, sizeof(struct ckpt_rec_lock), add_lock },
	{ ENGINE_REC_TREE, sizeof(struct engine_rec_tree), add_tree },
	{ ENGINE_REC_FILE_TRACK, sizeof(struct engine_rec_file_track), add_track },
	{ ENGINE_REC_BLOB, sizeof(struct engine_rec_blob), add_blob },
	{ ENGINE_REC_FILE_PLACE, sizeof(struct engine_rec_file_place), add_place },
	{ ENGINE_REC_FILE_MARK, sizeof(struct engine_rec_file_mark), add_mark },
	{ ENGINE_REC_EXTERNAL, sizeof(struct engine_rec_external), add_external },
	{ ENGINE_REC_CLOSED, sizeof(struct engine_rec_closed), add_closed },
	{ ENGINE_REC_WRITES, sizeof(struct engine_rec_writes), add_writes },
};

#define NR_TYPES (sizeof(record_types) / sizeof(record_types[0]))

#define KERNEL_TYPES	64	/* numbers of enum ckpt_rec_type are below */
#define ENGINE_TYPES	64	/* the same of engine.h, from ENGINE_REC_TREE on */

/* Records that the first walk has met. */
struct record_counts {
	unsigned int of[KERNEL_TYPES + ENGINE_TYPES];	/* by type_slot() */
	unsigned int own;				/* of files' kinds */
};

/* A small number for each record type; -1: there is no such type. */
static int type_slot(uint16_t number)
{
	if (number < KERNEL_TYPES)
		return number;
	if (number < ENGINE_REC_TREE || number >= ENGINE_REC_TREE + ENGINE_TYPES)
		return -1;
	return KERNEL_TYPES + number - ENGINE_REC_TREE;
}

/* How a record of the type is read; false: the type is not known. */
static bool find_type(uint16_t number, struct record_type *ret_type)
{
	const struct state_kind_record *record;

	if (type_slot(number) < 0)
		return false;
	for (size_t i = 0; i < NR_TYPES; i++)
		if (record_types[i].type == number) {
			*ret_type = record_types[i];
			return true;
		}
	record = state_kind_record(number);
	if (!record)
		return false;
	*ret_type = (struct record_type){ number, record->min_len, record->parse };
	if (record->owner == STATE_OWNER_FILE)
		ret_type->add = add_own;
	return true;
}

/* The newest version of a record that we know. */
static unsigned int newest_version(uint16_t number)
{
	const struct state_kind *kind = state_kind_of_record(number);

	return kind && kind->newest ? kind->newest : 1;
}

/* Check a record's header; ret_type->add is NULL if the record may be skipped. */
static int check_header(struct state_parser *p, const struct ckpt_rec_hdr *hdr,
			size_t room, struct record_type *ret_type)
{
	uint16_t number = hdr->type & ~CKPT_REC_OPTIONAL;

	if (room < sizeof(*hdr) || hdr->len < sizeof(*hdr) || hdr->len > room ||
	    hdr->len % 8)
		return state_fail(p, -EBADMSG, "stream ends within a record");
	if (!hdr->version || hdr->version > newest_version(number) ||
	    !find_type(number, ret_type)) {
		ret_type->add = NULL;
		if (hdr->type & CKPT_REC_OPTIONAL)
			return 0;
		return state_fail(p, -EPROTONOSUPPORT,
				  "record type %#x version %u is newer than this program",
				  number, hdr->version);
	}
	if (hdr->len < ret_type->min_len)
		return state_fail(p, -EBADMSG, "record of type %#x is only %u bytes",
				  number, hdr->len);
	return 0;
}

static unsigned int count_of(const struct record_counts *counts, uint16_t number)
{
	return counts->of[type_slot(number)];
}

/* calloc() that returns an address also for no elements */
static void *state_parse_array(unsigned int nr, size_t size)
{
	return calloc((size_t)nr + 1, size);
}

static int state_parse_allocate(struct state *state, const struct record_counts *counts)
{
	struct state_index *index = state_parse_array(1, sizeof(*index));
	unsigned int procs = count_of(counts, CKPT_REC_PROC);
	unsigned int threads = count_of(counts, CKPT_REC_THREAD);
	unsigned int blobs = count_of(counts, ENGINE_REC_BLOB);

	state->index = index;
	if (!index)
		return -ENOMEM;
	state->procs = state_parse_array(procs, sizeof(*state->procs));
	state->threads = state_parse_array(threads, sizeof(*state->threads));
	state->mms = state_parse_array(count_of(counts, CKPT_REC_MM), sizeof(*state->mms));
	state->vmas = state_parse_array(count_of(counts, CKPT_REC_VMA), sizeof(*state->vmas));
	state->fds = state_parse_array(count_of(counts, CKPT_REC_FD), sizeof(*state->fds));
	state->fdtables = state_parse_array(procs, sizeof(*state->fdtables));
	state->files = state_parse_array(count_of(counts, CKPT_REC_FILE), sizeof(*state->files));
	state->locks = state_parse_array(count_of(counts, CKPT_REC_LOCK), sizeof(*state->locks));
	state->pipes = state_parse_array(count_of(counts, CKPT_REC_PIPE), sizeof(*state->pipes));
	state->socks = state_parse_array(count_of(counts, CKPT_REC_SOCK), sizeof(*state->socks));
	state->sock_msgs = state_parse_array(count_of(counts, CKPT_REC_SOCK_MSG),
					     sizeof(*state->sock_msgs));
	index->sock_options = state_parse_array(count_of(counts, ENGINE_REC_SOCK_OPTIONS),
						sizeof(void *));
	state->refusals = state_parse_array(count_of(counts, CKPT_REC_REFUSAL), sizeof(void *));
	state->blobs = state_parse_array(blobs, sizeof(void *));
	state->ttys = state_parse_array(count_of(counts, ENGINE_REC_TTY), sizeof(void *));
	state->tty_data = state_parse_array(count_of(counts, ENGINE_REC_TTY_DATA), sizeof(void *));
	state->externals = state_parse_array(count_of(counts, ENGINE_REC_EXTERNAL), sizeof(void *));
	state->fowns = state_parse_array(count_of(counts, ENGINE_REC_FOWN), sizeof(void *));
	state->ipcs = state_parse_array(count_of(counts, ENGINE_REC_IPC), sizeof(void *));
	state->mqueues = state_parse_array(count_of(counts, ENGINE_REC_MQUEUE), sizeof(void *));
	state->closed = state_parse_array(count_of(counts, ENGINE_REC_CLOSED),
					  sizeof(*state->closed));
	index->by_pid = state_parse_array(procs, sizeof(void *));
	index->by_tid = state_parse_array(threads, sizeof(void *));
	index->pending = state_parse_array(count_of(counts, CKPT_REC_SIGPENDING), sizeof(void *));
	index->tracks = state_parse_array(count_of(counts, ENGINE_REC_FILE_TRACK), sizeof(void *));
	index->places = state_parse_array(count_of(counts, ENGINE_REC_FILE_PLACE), sizeof(void *));
	index->marks = state_parse_array(count_of(counts, ENGINE_REC_FILE_MARK), sizeof(void *));
	index->blobs_by_inode = state_parse_array(blobs, sizeof(void *));
	index->own = state_parse_array(counts->own, sizeof(void *));
	if (!state->socks || !state->sock_msgs || !index->sock_options ||
	    !state->procs || !state->threads || !state->mms || !state->vmas ||
	    !state->fds || !state->fdtables || !state->files || !state->pipes || !state->locks ||
	    !state->refusals || !state->blobs || !state->ttys || !state->tty_data ||
	    !state->externals || !state->closed || !state->ipcs || !state->fowns ||
	    !state->mqueues ||
	    !index->by_pid || !index->by_tid || !index->pending || !index->tracks ||
	    !index->places || !index->marks || !index->blobs_by_inode || !index->own)
		return -ENOMEM;
	return 0;
}

int state_parse_records(struct state_parser *p, size_t len)
{
	struct record_counts counts = { .own = 0 };
	struct record_type type;
	const struct ckpt_rec_hdr *hdr;
	int ret;

	for (p->offset = 0; p->offset < len; p->offset += hdr->len) {
		hdr = (const void *)((const char *)p->buf + p->offset);
		if (len - p->offset < sizeof(*hdr))
			return state_fail(p, -EBADMSG, "stream ends within a record");
		ret = check_header(p, hdr, len - p->offset, &type);
		if (ret)
			return ret;
		if (!type.add)
			continue;
		counts.of[type_slot(type.type)]++;
		counts.own += type.add == add_own;
	}
	ret = state_parse_allocate(p->state, &counts);
	if (ret)
		return state_fail(p, ret, "out of memory");
	for (p->offset = 0; p->offset < len; p->offset += hdr->len) {
		hdr = (const void *)((const char *)p->buf + p->offset);
		ret = check_header(p, hdr, len - p->offset, &type);
		if (!ret && type.add)
			ret = type.add(p, hdr);
		if (ret)
			return ret;
	}
	return 0;
}
