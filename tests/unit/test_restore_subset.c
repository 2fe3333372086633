// SPDX-License-Identifier: GPL-2.0-only
/*
 * Some trees of an image without the others: what stays is a good stream of its own, and what
 * is shared with one that goes is refused.
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

#include "base/error.h"
#include "engine/restore/restore_subset.h"
#include "tests/unit/stream.h"

#define VMA	0x7f0000000000ULL
#define PIPE	77

struct rank {
	int pid;
	uint32_t mm, files;
};

static const struct rank a = { 100, 1, 1 }, b = { 200, 2, 2 };

static struct ckpt_rec_proc *proc_of(struct stream *s, int pid)
{
	size_t at;

	for (at = 0; at < s->len;) {
		struct ckpt_rec_proc *rec = (void *)((char *)s->buf + at);

		if (rec->hdr.type == CKPT_REC_PROC && rec->pid == pid)
			return rec;
		at += rec->hdr.len;
	}
	fail_msg("no process %d", pid);
	return NULL;
}

static void put_rank(struct stream *s, const struct rank *r)
{
	stream_proc(s, r->pid, 0, r->mm, r->files, 2);
	proc_of(s, r->pid)->sid = r->pid;
	proc_of(s, r->pid)->fs_id = r->mm;
	stream_proc(s, r->pid + 10, r->pid, r->mm + 10, r->files + 10, 1);
	proc_of(s, r->pid + 10)->sid = r->pid;
	proc_of(s, r->pid + 10)->fs_id = r->mm + 10;
}

static void put_mms(struct stream *s, const struct rank *r, int32_t file)
{
	stream_mm(s, r->mm, r->pid, 1);
	stream_vma(s, r->mm, VMA, VMA + 0x1000, file ? CKPT_VMA_SHM : CKPT_VMA_ANON,
		   CKPT_VM_READ, file);
	stream_mm(s, r->mm + 10, r->pid + 10, 1);
	stream_vma(s, r->mm + 10, VMA, VMA + 0x1000, CKPT_VMA_ANON, CKPT_VM_READ, 0);
}

/* Two ranks, each with a child; file 2 is their output, given by the caller, 3 and 4 each one's. */
static void good(struct stream *s, int32_t shm_a, int32_t shm_b)
{
	const int32_t roots[2] = { a.pid, b.pid };
	struct engine_rec_external *external;
	struct engine_rec_tree *tree;

	tree = stream_add(s, ENGINE_REC_TREE, sizeof(*tree), roots, sizeof(roots));
	tree->nr_roots = 2;
	stream_system(s);
	put_rank(s, &a);
	put_rank(s, &b);
	put_mms(s, &a, shm_a);
	put_mms(s, &b, shm_b);
	stream_fd(s, a.files, 1, 2);
	stream_fd(s, a.files, 5, 3);
	stream_fd(s, b.files, 1, 2);
	stream_fd(s, b.files, 5, 4);
	stream_file(s, STREAM_CWD, CKPT_FILE_DIR, "/");
	stream_file(s, 2, CKPT_FILE_PIPE, "pipe:[77]")->object = PIPE;
	stream_file(s, 3, CKPT_FILE_REG, "/tmp/a")->ino = 3;
	stream_file(s, 4, CKPT_FILE_REG, "/tmp/b")->ino = 4;
	stream_lock(s, 3, 0);
	stream_lock(s, 3, a.files);
	stream_lock(s, 2, a.files);
	stream_lock(s, 4, 0);
	stream_lock(s, 4, b.files);
	stream_pipe(s, PIPE, "");
	external = stream_add(s, ENGINE_REC_EXTERNAL, sizeof(*external), NULL, 0);
	external->file_id = 2;
	strcpy(external->name, "stdout");
}

/* What is left; NULL with an error. */
static struct state *subset(struct stream *s, const pid_t *roots, const pid_t *others, int want,
			    void **ret_buf, struct ckpt_error *error)
{
	const struct restore_subset which = {
		.roots = roots, .nr_roots = 1, .others = others, .nr_others = 1,
	};
	struct state_error why = { 0 };
	struct state *state = NULL, *left = NULL;
	size_t len = 0;

	if (state_parse(s->buf, s->len, &state, &why))
		fail_msg("at %zu: %s", why.offset, why.text);
	*ret_buf = NULL;
	assert_int_equal(restore_subset_make(state, s->buf, s->len, &which, ret_buf, &len, error),
			 want);
	state_free(state);
	if (!want && state_parse(*ret_buf, len, &left, &why))
		fail_msg("what is left, at %zu: %s", why.offset, why.text);
	return left;
}

static void test_good(void **unused)
{
	struct ckpt_error error = { 0 };
	struct stream s = { 0 };
	struct state *left;
	void *buf;

	good(&s, 0, 0);
	left = subset(&s, &b.pid, &a.pid, 0, &buf, &error);
	assert_int_equal(left->nr_procs, 2);
	assert_null(state_proc_find(left, a.pid));
	assert_non_null(state_proc_find(left, b.pid + 10));
	assert_int_equal(left->tree->nr_roots, 1);
	assert_int_equal(left->root_pids[0], b.pid);
	assert_int_equal(left->nr_mms, 2);
	assert_null(state_file_find(left, 3));
	assert_non_null(state_file_find(left, 4));
	assert_non_null(state_file_find(left, 2)->external);
	assert_int_equal(left->nr_pipes, 1);
	assert_int_equal(left->nr_locks, 2);
	assert_ptr_equal(left->locks[0].file, state_file_find(left, 4));
	assert_ptr_equal(left->locks[1].file, state_file_find(left, 4));
	state_free(left);
	free(buf);
	stream_done(&s);
}

/* Files that nobody has open go with the first tree, and are put back there alone. */
static void test_closed(void **unused)
{
	struct ckpt_error error = { 0 };
	struct engine_rec_closed *rec;

	for (int first = 0; first < 2; first++) {
		struct stream s = { 0 };
		struct state *left;
		void *buf;

		good(&s, 0, 0);
		rec = stream_add(&s, ENGINE_REC_CLOSED, sizeof(*rec), "/tmp/c", sizeof("/tmp/c"));
		rec->flags = ENGINE_CLOSED_ABSENT;
		rec->path_len = sizeof("/tmp/c");
		left = subset(&s, first ? &a.pid : &b.pid, first ? &b.pid : &a.pid, 0, &buf,
			      &error);
		assert_int_equal(left->nr_closed, first);
		state_free(left);
		free(buf);
		stream_done(&s);
	}
}

static void refused(struct stream *s, const char *text)
{
	struct ckpt_error error = { 0 };
	bool found = false;
	void *buf;

	assert_null(subset(s, &a.pid, &b.pid, -EOPNOTSUPP, &buf, &error));
	for (unsigned int i = 0; i < error.nr_refusals; i++) {
		assert_int_equal(error.refusals[i].reason, CKPT_R_RANKS_SHARE);
		found |= !!strstr(error.refusals[i].detail, text);
	}
	if (!found)
		fail_msg("nothing about %s: %s", text, error.text);
	error_done(&error);
	stream_done(s);
}

static void test_shared_memory(void **unused)
{
	struct ckpt_rec_file *file;
	struct stream s = { 0 };

	good(&s, 7, 8);
	file = stream_file(&s, 7, CKPT_FILE_SHM, "/dev/zero");
	file->ino = 99;
	file->flags = CKPT_FILE_MAPPED | CKPT_FILE_MAPPED_SHARED_WRITE;
	file = stream_file(&s, 8, CKPT_FILE_SHM, "/dev/zero");
	file->ino = 99;
	file->flags = CKPT_FILE_MAPPED | CKPT_FILE_MAPPED_SHARED_WRITE;
	refused(&s, "/dev/zero");

	good(&s, 7, 8);
	stream_file(&s, 7, CKPT_FILE_SHM, "/dev/zero")->ino = 98;
	stream_file(&s, 8, CKPT_FILE_SHM, "/dev/zero")->ino = 99;
	{
		struct ckpt_error error = { 0 };
		void *buf;
		struct state *left = subset(&s, &a.pid, &b.pid, 0, &buf, &error);

		assert_null(state_file_find(left, 8));
		state_free(left);
		free(buf);
	}
	stream_done(&s);
}

static void test_shared_tables(void **unused)
{
	struct stream s = { 0 };

	good(&s, 0, 0);
	proc_of(&s, b.pid)->files_id = a.files;
	stream_fd(&s, a.files, 9, STREAM_CWD);
	/* the table of the other one belongs to nobody: make its child have it */
	proc_of(&s, b.pid + 10)->files_id = b.files;
	refused(&s, "descriptors");
	good(&s, 0, 0);
	proc_of(&s, b.pid + 10)->fs_id = a.mm;
	refused(&s, "directories");
}

static void test_shared_descriptions(void **unused)
{
	struct stream s = { 0 };

	good(&s, 0, 0);
	stream_fd(&s, b.files, 6, 3);
	refused(&s, "/tmp/a was opened once");
	good(&s, 0, 0);
	stream_fd(&s, a.files, 6, 11);
	stream_fd(&s, b.files, 6, 12);
	stream_file(&s, 11, CKPT_FILE_PIPE, "pipe:[78]")->object = 78;
	stream_file(&s, 12, CKPT_FILE_PIPE, "pipe:[78]")->object = 78;
	stream_pipe(&s, 78, "x");
	refused(&s, "pipe");
}

static void test_nobodys(void **unused)
{
	struct ckpt_error error = { 0 };
	struct stream s = { 0 };
	pid_t strange = 4711;
	void *buf;

	good(&s, 0, 0);
	/* an orphan in a rank's session goes with it; a daemon could be either's */
	proc_of(&s, b.pid + 10)->flags |= CKPT_PROC_ROOT;
	{
		struct state *left = subset(&s, &b.pid, &a.pid, 0, &buf, &error);

		assert_int_equal(left->nr_procs, 2);
		state_free(left);
		free(buf);
	}
	proc_of(&s, b.pid + 10)->sid = b.pid + 10;
	refused(&s, "no rank");
	good(&s, 0, 0);
	assert_null(subset(&s, &strange, &a.pid, -ESRCH, &buf, &error));
	error_done(&error);
	stream_done(&s);
}

static void test_content(void **unused)
{
	struct ckpt_error error = { 0 };
	struct engine_rec_blob *blob;
	struct stream s = { 0 };
	struct state *left;
	void *buf;

	/* one inode, opened by both, its content is told of the file that goes */
	good(&s, 0, 0);
	stream_fd(&s, a.files, 6, 11);
	stream_fd(&s, b.files, 6, 12);
	stream_file(&s, 11, CKPT_FILE_REG, "/tmp/c")->ino = 50;
	stream_file(&s, 12, CKPT_FILE_REG, "/tmp/c")->ino = 50;
	blob = stream_add(&s, ENGINE_REC_BLOB, sizeof(*blob), NULL, 0);
	blob->kind = ENGINE_BLOB_FILE;
	blob->file_id = 12;
	blob->dev = 1;
	blob->ino = 50;
	left = subset(&s, &a.pid, &b.pid, 0, &buf, &error);
	assert_int_equal(left->nr_blobs, 1);
	assert_int_equal(left->blobs[0]->file_id, 11);
	assert_non_null(state_file_find(left, 11)->blob);
	state_free(left);
	free(buf);
	stream_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_shared_memory),
		cmocka_unit_test(test_shared_tables),
		cmocka_unit_test(test_shared_descriptions),
		cmocka_unit_test(test_nobodys),
		cmocka_unit_test(test_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
