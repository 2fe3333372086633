// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parser of record streams: what a good stream becomes, what is rejected.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/reason.h"
#include "base/error.h"
#include "engine/core/engine.h"
#include "engine/core/state.h"
#include "tests/unit/stream.h"

#define VMA_A	0x400000ULL
#define VMA_B	0x7f0000000000ULL

static void add_mempolicy(struct stream *s, int tid, uint32_t mm_id, uint64_t start)
{
	struct ckpt_rec_mempolicy *rec = stream_add(s, CKPT_REC_MEMPOLICY, sizeof(*rec), NULL, 0);

	rec->tid = tid;
	rec->mm_id = mm_id;
	rec->start = start;
	rec->mode = 2;
	rec->nodes[0] = 1;
}

/* 100 ── 110 (2 threads, shares mm 1's table) ── 120 zombie;  100 ── 130 */
static void add_timer(struct stream *s, int pid, int id)
{
	struct ckpt_rec_timer *rec = stream_add(s, CKPT_REC_TIMER, sizeof(*rec), NULL, 0);

	rec->pid = pid;
	rec->id = id;
}

static void good_tree(struct stream *s)
{
	struct ckpt_rec_sigpending *pending;

	stream_system(s);
	stream_proc(s, 100, 0, 1, 1, 1);
	pending = stream_add(s, CKPT_REC_SIGPENDING, sizeof(*pending), NULL, 0);
	pending->tid = 100;
	pending->shared = 1;
	pending->signo = 10;
	stream_proc(s, 110, 100, 2, 2, 2);
	stream_zombie(s, 120, 110, 0x300);
	stream_proc(s, 130, 100, 1, 1, 1);
	add_mempolicy(s, 130, 0, 0);
	add_timer(s, 130, 4);
	add_timer(s, 130, 7);
	stream_mm(s, 1, 100, 2);
	stream_vma(s, 1, VMA_A, VMA_A + 0x2000, CKPT_VMA_FILE_PRIVATE, CKPT_VM_READ, 2);
	stream_vma(s, 1, VMA_B, VMA_B + 0x1000, CKPT_VMA_ANON, CKPT_VM_READ, 0);
	add_mempolicy(s, 0, 1, VMA_B);
	stream_mm(s, 2, 110, 1);
	stream_vma(s, 2, VMA_B, VMA_B + 0x1000, CKPT_VMA_ANON, CKPT_VM_READ, 0);
	stream_fd(s, 1, 1, 4);
	stream_fd(s, 1, 0, 3);
	stream_file(s, STREAM_CWD, CKPT_FILE_DIR, "/");
	stream_file(s, 2, CKPT_FILE_REG, "/bin/made-up");
	stream_file(s, 3, CKPT_FILE_PIPE, "pipe:[77]")->object = 77;
	stream_file(s, 4, CKPT_FILE_REG, "/tmp/out");
	stream_lock(s, 4, 1);
	stream_lock(s, 2, 0);
	stream_pipe(s, 77, "in the pipe");
}

static struct state *parse(struct stream *s)
{
	struct state_error error = { 0 };
	struct state *state = NULL;
	int ret = state_parse(s->buf, s->len, &state, &error);

	if (ret)
		print_message("at %zu: %s\n", error.offset, error.text);
	assert_int_equal(ret, 0);
	return state;
}

static void rejected(struct stream *s, int err)
{
	struct state_error error = { 0 };
	struct state *state = (void *)1;

	assert_int_equal(state_parse(s->buf, s->len, &state, &error), err);
	assert_true(error.text[0]);
	assert_ptr_equal(state, (void *)1);
}

static void test_good(void **unused)
{
	struct stream s = { 0 };
	struct state *state;
	struct state_proc *proc;

	good_tree(&s);
	state = parse(&s);
	assert_int_equal(state->nr_procs, 4);
	assert_int_equal(state->nr_threads, 4);
	proc = state_proc_next(state, NULL);
	assert_int_equal(proc->rec->pid, 100);
	assert_int_equal(proc->nr_pending, 1);
	assert_int_equal(proc->pending[0]->signo, 10);
	assert_null(proc->parent);
	assert_int_equal(proc->mm->nr_users, 2);
	assert_string_equal(proc->cwd->path, "/");
	proc = state_proc_next(state, proc);
	assert_int_equal(proc->rec->pid, 110);
	assert_int_equal(proc->nr_threads, 2);
	assert_int_equal(proc->threads[1].rec->tid, 111);
	assert_int_equal(proc->threads[1].xstate->size, 5);
	assert_int_equal(proc->fdtable->nr_fds, 0);
	proc = state_proc_next(state, proc);
	assert_int_equal(proc->rec->pid, 120);
	assert_null(proc->mm);
	proc = state_proc_next(state, proc);
	assert_int_equal(proc->rec->pid, 130);
	assert_null(state_proc_next(state, proc));
	assert_int_equal(proc->fdtable->fds[0].rec->fd, 0);
	assert_memory_equal(proc->fdtable->fds[0].file->pipe->data, "in the pipe", 11);
	assert_ptr_equal(proc->mm->vmas[0].file, state_file_find(state, 2));
	assert_null(proc->mm->vmas[0].mempolicy);
	assert_int_equal(proc->mm->vmas[1].mempolicy->nodes[0], 1);
	assert_int_equal(proc->threads[0].mempolicy->tid, 130);
	assert_null(state_thread_find(state, 111)->mempolicy);
	assert_int_equal(proc->nr_timers, 2);
	assert_int_equal(proc->timers->id, 4);
	assert_int_equal(proc->timers[1].id, 7);
	assert_int_equal(state->nr_locks, 2);
	assert_ptr_equal(state->locks[0].file, state_file_find(state, 4));
	assert_ptr_equal(state->locks[0].table, proc->fdtable);
	assert_ptr_equal(state->locks[1].file, state_file_find(state, 2));
	assert_null(state->locks[1].table);
	assert_null(state_file_find(state, 9));
	assert_null(state_proc_find(state, 111));
	assert_ptr_equal(state_thread_find(state, 111)->proc, state_proc_find(state, 110));
	assert_null(state_free(state));
	stream_done(&s);
}

static void test_engine_records(void **unused)
{
	struct engine_rec_file_track *track;
	struct engine_rec_external *external;
	struct engine_rec_tree *tree;
	struct engine_rec_blob *blob;
	struct state *state;
	struct stream s = { 0 };
	int32_t roots[] = { 100 };

	tree = stream_add(&s, ENGINE_REC_TREE, sizeof(*tree), roots, sizeof(roots));
	tree->nr_roots = 1;
	good_tree(&s);
	track = stream_add(&s, ENGINE_REC_FILE_TRACK, sizeof(*track), NULL, 0);
	track->file_id = 4;
	external = stream_add(&s, ENGINE_REC_EXTERNAL, sizeof(*external), NULL, 0);
	external->file_id = 3;
	strcpy(external->name, "stdin");
	blob = stream_add(&s, ENGINE_REC_BLOB, sizeof(*blob), NULL, 0);
	blob->kind = ENGINE_BLOB_OBJECT;
	blob->file_id = 2;
	blob->dev = 1;
	blob->ino = 1002;
	blob = stream_add(&s, ENGINE_REC_BLOB, sizeof(*blob), "d/l\0target", 11);
	blob->kind = ENGINE_BLOB_SHM_DIR;
	blob->path_len = 4;
	blob->target_len = 7;
	state = parse(&s);
	assert_int_equal(state->root_pids[0], 100);
	assert_non_null(state_file_find(state, 4)->track);
	assert_null(state_file_find(state, 4)->blob);
	assert_non_null(state_file_find(state, 2)->blob);
	assert_string_equal(state_file_find(state, 3)->external->name, "stdin");
	assert_string_equal(state_blob_path(state->blobs[1]), "d/l");
	assert_string_equal(state_blob_target(state->blobs[1]), "target");
	state_free(state);
	stream_done(&s);
}

static void *record(struct stream *s, uint16_t type, unsigned int nth)
{
	struct ckpt_rec_hdr *hdr;

	for (size_t at = 0; at < s->len; at += hdr->len) {
		hdr = (void *)((char *)s->buf + at);
		if (hdr->type == type && nth-- == 0)
			return hdr;
	}
	fail_msg("no record of type %u", type);
	return NULL;
}

#define SPOIL(type, struct_name, nth, statement) do {				\
	struct stream s = { 0 };						\
	struct struct_name *rec;						\
	good_tree(&s);								\
	rec = record(&s, type, nth);						\
	statement;								\
	rejected(&s, -EBADMSG);							\
	stream_done(&s);							\
} while (0)

static void test_rejected(void **unused)
{
	SPOIL(CKPT_REC_PROC, ckpt_rec_proc, 0, rec->pid = 0);
	SPOIL(CKPT_REC_PROC, ckpt_rec_proc, 0, rec->state = 9);
	SPOIL(CKPT_REC_PROC, ckpt_rec_proc, 1, rec->ppid = 77);
	SPOIL(CKPT_REC_PROC, ckpt_rec_proc, 1, rec->mm_id = 77);
	SPOIL(CKPT_REC_PROC, ckpt_rec_proc, 1, rec->files_id = 0);
	SPOIL(CKPT_REC_PROC, ckpt_rec_proc, 1, rec->cwd = 77);
	SPOIL(CKPT_REC_PROC, ckpt_rec_proc, 1, rec->nr_threads = 3);
	SPOIL(CKPT_REC_PROC, ckpt_rec_proc, 2, rec->state = CKPT_PROC_RUNNING);
	SPOIL(CKPT_REC_PROC, ckpt_rec_proc, 3, memset(rec->comm, 'x', 16));
	SPOIL(CKPT_REC_THREAD, ckpt_rec_thread, 1, rec->tid = 100);
	SPOIL(CKPT_REC_THREAD, ckpt_rec_thread, 1, rec->pid = 100);
	SPOIL(CKPT_REC_XSTATE, ckpt_rec_xstate, 1, rec->size = 4096);
	SPOIL(CKPT_REC_SIGPENDING, ckpt_rec_sigpending, 0, rec->signo = 65);
	SPOIL(CKPT_REC_SIGPENDING, ckpt_rec_sigpending, 0, rec->tid = 110);
	SPOIL(CKPT_REC_MM, ckpt_rec_mm, 0, rec->nr_vmas = 1);
	SPOIL(CKPT_REC_MM, ckpt_rec_mm, 1, rec->mm_id = 1);
	SPOIL(CKPT_REC_MM, ckpt_rec_mm, 1, rec->nr_auxv = 65);
	SPOIL(CKPT_REC_VMA, ckpt_rec_vma, 1, rec->end = rec->start);
	SPOIL(CKPT_REC_VMA, ckpt_rec_vma, 1, rec->start = VMA_A + 0x1000);
	SPOIL(CKPT_REC_VMA, ckpt_rec_vma, 1, rec->start += 8);
	SPOIL(CKPT_REC_VMA, ckpt_rec_vma, 0, rec->file = -1);
	SPOIL(CKPT_REC_VMA, ckpt_rec_vma, 0, rec->file = 0);
	SPOIL(CKPT_REC_VMA, ckpt_rec_vma, 0, rec->kind = 99);
	SPOIL(CKPT_REC_VMA, ckpt_rec_vma, 0, memset(rec->name, 'x', sizeof(rec->name)));
	SPOIL(CKPT_REC_MEMPOLICY, ckpt_rec_mempolicy, 0, rec->tid = 110);
	SPOIL(CKPT_REC_MEMPOLICY, ckpt_rec_mempolicy, 0, rec->tid = 0);
	SPOIL(CKPT_REC_MEMPOLICY, ckpt_rec_mempolicy, 1, rec->mm_id = 2);
	SPOIL(CKPT_REC_MEMPOLICY, ckpt_rec_mempolicy, 1, rec->start = VMA_A);
	SPOIL(CKPT_REC_MEMPOLICY, ckpt_rec_mempolicy, 1, rec->tid = 130);
	SPOIL(CKPT_REC_TIMER, ckpt_rec_timer, 0, rec->pid = 110);
	SPOIL(CKPT_REC_FD, ckpt_rec_fd, 0, rec->fd = 0);
	SPOIL(CKPT_REC_FD, ckpt_rec_fd, 0, rec->file = 99);
	SPOIL(CKPT_REC_FD, ckpt_rec_fd, 0, rec->files_id = 9);
	SPOIL(CKPT_REC_LOCK, ckpt_rec_lock, 0, rec->file = 99);
	SPOIL(CKPT_REC_LOCK, ckpt_rec_lock, 0, rec->file = 2);	/* not in the table */
	SPOIL(CKPT_REC_LOCK, ckpt_rec_lock, 0, rec->files_id = 9);
	SPOIL(CKPT_REC_LOCK, ckpt_rec_lock, 0, rec->files_id = 0);
	SPOIL(CKPT_REC_LOCK, ckpt_rec_lock, 1, rec->files_id = 1);
	SPOIL(CKPT_REC_LOCK, ckpt_rec_lock, 1, rec->kind = 5);
	SPOIL(CKPT_REC_LOCK, ckpt_rec_lock, 0, rec->kind = CKPT_LOCK_LEASE);	/* to write */
	SPOIL(CKPT_REC_LOCK, ckpt_rec_lock, 1, rec->type = F_UNLCK);
	SPOIL(CKPT_REC_LOCK, ckpt_rec_lock, 1, rec->end = 1ULL << 63);
	SPOIL(CKPT_REC_LOCK, ckpt_rec_lock, 1, rec->start = rec->end + 1);
	SPOIL(CKPT_REC_FILE, ckpt_rec_file, 0, rec->path_len = 1);
	SPOIL(CKPT_REC_FILE, ckpt_rec_file, 0, rec->path_len = 4096);
	SPOIL(CKPT_REC_FILE, ckpt_rec_file, 1, rec->id = 1);
	SPOIL(CKPT_REC_PIPE, ckpt_rec_pipe, 0, rec->object = 78);
	SPOIL(CKPT_REC_PIPE, ckpt_rec_pipe, 0, rec->data_len = 4096);
	SPOIL(CKPT_REC_SYSTEM, ckpt_rec_system, 0, rec->hdr.len = 12);
	SPOIL(CKPT_REC_SYSTEM, ckpt_rec_system, 0, rec->hdr.len = 8);
	SPOIL(CKPT_REC_SYSTEM, ckpt_rec_system, 0, rec->hdr.len = 0);
	SPOIL(CKPT_REC_SYSTEM, ckpt_rec_system, 0, rec->hdr.len = 0x80000000);
}

static void add_aio(struct stream *s, uint64_t start, uint32_t flags, uint32_t head, uint32_t tail,
		    uint32_t nr)
{
	struct ckpt_rec_aio *aio = stream_add(s, CKPT_REC_AIO, sizeof(*aio) + 2 * 32, NULL, 0);

	aio->mm_id = 1;
	aio->start = start;
	aio->flags = flags;
	aio->ring = 1;
	aio->nr_reqs = flags ? 0 : 8;
	aio->nr_events = flags ? 0 : 127;
	aio->head = head;
	aio->tail = tail;
	aio->nr = nr;
}

/* Parse a map with one ring of a page at 0x5000 and one record of a context, or none. */
static int parse_aio(uint32_t kind, uint64_t end, bool has, uint64_t start, uint32_t flags,
		     uint32_t head, uint32_t tail, uint32_t nr)
{
	struct state *state = NULL;
	struct stream s = { 0 };
	int ret;

	stream_system(&s);
	stream_proc(&s, 100, 0, 1, 1, 1);
	stream_mm(&s, 1, 100, 1);
	stream_vma(&s, 1, 0x5000, end, kind, CKPT_VM_READ | CKPT_VM_WRITE, 0);
	if (has)
		add_aio(&s, start, flags, head, tail, nr);
	stream_fd(&s, 1, 0, STREAM_CWD);
	stream_file(&s, STREAM_CWD, CKPT_FILE_DIR, "/");
	ret = state_parse(s.buf, s.len, &state, NULL);
	if (!ret) {
		assert_int_equal(state->mms[0].nr_aios, 1);
		assert_non_null(state->vmas[0].aio);
	}
	state_free(state);
	stream_done(&s);
	return ret;
}

static void test_aio(void **unused)
{
	const uint32_t ring = CKPT_VMA_AIO, inherited = CKPT_AIO_INHERITED;

	assert_int_equal(parse_aio(ring, 0x6000, true, 0x5000, 0, 126, 1, 2), 0);
	assert_int_equal(parse_aio(ring, 0x6000, true, 0x5000, inherited, 0, 0, 0), 0);
	assert_int_equal(parse_aio(ring, 0x6000, false, 0, 0, 0, 0, 0), -EBADMSG);
	assert_int_equal(parse_aio(CKPT_VMA_ANON, 0x6000, true, 0x5000, 0, 0, 0, 0), -EBADMSG);
	assert_int_equal(parse_aio(ring, 0x6000, true, 0x4000, 0, 0, 0, 0), -EBADMSG);
	assert_int_equal(parse_aio(ring, 0x7000, true, 0x5000, 0, 0, 0, 0), -EBADMSG);
	assert_int_equal(parse_aio(ring, 0x6000, true, 0x5000, CKPT_AIO_GONE, 0, 0, 0), -EBADMSG);
	assert_int_equal(parse_aio(ring, 0x6000, true, 0x5000, 0, 127, 0, 0), -EBADMSG);
	assert_int_equal(parse_aio(ring, 0x6000, true, 0x5000, 0, 0, 127, 127), -EBADMSG);
	assert_int_equal(parse_aio(ring, 0x6000, true, 0x5000, 0, 0, 2, 1), -EBADMSG);
	assert_int_equal(parse_aio(ring, 0x6000, true, 0x5000, 0, 0, 3, 3), -EBADMSG);
}

/* 110's parent becomes 130, whose parent becomes 110 */
static void test_loop(void **unused)
{
	struct stream s = { 0 };

	good_tree(&s);
	((struct ckpt_rec_proc *)record(&s, CKPT_REC_PROC, 1))->ppid = 130;
	((struct ckpt_rec_proc *)record(&s, CKPT_REC_PROC, 3))->ppid = 110;
	rejected(&s, -EBADMSG);
	stream_done(&s);
}

static void test_newer(void **unused)
{
	struct ckpt_rec_hdr *hdr;
	struct stream s = { 0 };

	good_tree(&s);
	hdr = stream_add(&s, 0x7ff, sizeof(*hdr), NULL, 0);
	rejected(&s, -EPROTONOSUPPORT);
	hdr->type |= CKPT_REC_OPTIONAL;
	state_free(parse(&s));
	hdr->type = CKPT_REC_FD;
	hdr->version = 2;
	rejected(&s, -EPROTONOSUPPORT);
	stream_done(&s);
}

/* Whatever a bit does, the parser answers, and the sanitizers are content. */
static void test_flips(void **unused)
{
	struct stream s = { 0 };
	struct state *state;

	good_tree(&s);
	for (size_t bit = 0; bit < s.len * 8; bit++) {
		((uint8_t *)s.buf)[bit / 8] ^= (uint8_t)(1 << bit % 8);
		state = NULL;
		if (state_parse(s.buf, s.len, &state, NULL) == 0)
			state_free(state);
		((uint8_t *)s.buf)[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t len = 0; len < s.len; len++) {
		uint8_t *cut = malloc(len + 1);

		memcpy(cut, s.buf, len);
		state = NULL;
		if (state_parse(cut, len, &state, NULL) == 0)
			state_free(state);
		free(cut);
	}
	stream_done(&s);
}

static void test_error_texts(void **unused)
{
	struct error_refusal refusal = { .reason = CKPT_R_FD_INOTIFY, .pid = 12, .comm = "xz" };
	struct ckpt_error error = { 0 };

	assert_string_equal(reason_name(CKPT_R_FD_SOCKET), "FD_SOCKET");
	assert_string_equal(reason_name(9999), "UNKNOWN");
	assert_int_equal(error_refused(&error, "dump"), 0);
	error_refuse(&error, &refusal, "fd %d", 3);
	error_refuse(&error, &refusal, "fd %d", 4);
	assert_int_equal(error_refused(&error, "dump"), -EOPNOTSUPP);
	assert_string_equal(error.text,
			    "pid 12 (xz): an inotify or fanotify descriptor is open that cannot "
			    "be saved: fd 3 (and 1 more against the dump)");
	assert_int_equal(error_fail(&error, -EIO, "later"), -EIO);
	assert_null(strstr(error.text, "later"));
	error_done(&error);
	error_done(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_engine_records),
		cmocka_unit_test(test_rejected),
		cmocka_unit_test(test_aio),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_newer),
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_error_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
