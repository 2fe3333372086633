// SPDX-License-Identifier: GPL-2.0-only
/*
 * The comparison before a rollback: equal trees pass, and each difference that a rollback cannot
 * take back is found, and named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/capability.h>
#include <string.h>

#include "engine/restore/rollback_compare.h"
#include "engine/restore/rollback_extra.h"
#include "tests/unit/stream.h"

#define VDSO		0x7ffff7fc1000ULL
#define VDSO_SIZE	0x2000ULL

struct side {
	struct stream stream;
	struct state *state;
};

static struct ckpt_rec_hdr *find(struct stream *s, uint16_t type, int number)
{
	struct ckpt_rec_hdr *hdr;

	for (size_t at = 0; at < s->len; at += hdr->len) {
		hdr = (void *)((char *)s->buf + at);
		if (hdr->type == type && ((int32_t *)(hdr + 1))[0] == number)
			return hdr;
	}
	fail_msg("no record %u of %d", type, number);
	return NULL;
}

static struct ckpt_rec_proc *proc_rec(struct side *side, int pid)
{
	return (void *)find(&side->stream, CKPT_REC_PROC, pid);
}

static struct ckpt_rec_thread *thread_rec(struct side *side, int tid)
{
	return (void *)find(&side->stream, CKPT_REC_THREAD, tid);
}

static struct ckpt_rec_file *file_rec(struct side *side)
{
	return (void *)find(&side->stream, CKPT_REC_FILE, STREAM_CWD);
}

/* Process 2 with @threads threads and, if wanted, a vDSO. */
static void begin_vdso(struct side *side, unsigned int threads, bool vdso)
{
	memset(side, 0, sizeof(*side));
	stream_system(&side->stream);
	stream_proc(&side->stream, 2, 0, 1, 1, threads);
	stream_mm(&side->stream, 1, 2, vdso);
	if (vdso)
		stream_vma(&side->stream, 1, VDSO, VDSO + VDSO_SIZE, CKPT_VMA_VDSO, 0, 0);
	stream_file(&side->stream, STREAM_CWD, CKPT_FILE_DIR, "/");
}

/* Process 2 with @threads threads, its child 20; both share a memory map if @shared. */
static void begin(struct side *side, unsigned int threads, bool child, bool shared)
{
	memset(side, 0, sizeof(*side));
	stream_system(&side->stream);
	stream_proc(&side->stream, 2, 0, 1, 1, threads);
	if (child)
		stream_proc(&side->stream, 20, 2, shared ? 1 : 2, 2, 1);
	stream_mm(&side->stream, 1, 2, 0);
	if (child && !shared)
		stream_mm(&side->stream, 2, 20, 0);
	stream_file(&side->stream, STREAM_CWD, CKPT_FILE_DIR, "/");
}

static void parse(struct side *side)
{
	struct state_error why = { 0 };

	if (state_parse(side->stream.buf, side->stream.len, &side->state, &why))
		fail_msg("%s", why.text);
}

/* Compare, and free both; @want: part of the reason, NULL: there is no difference. */
static void compare_as(struct side *image, struct side *now, bool ranks, const char *want)
{
	char why[256] = "";
	bool same;

	parse(image);
	parse(now);
	same = rollback_compare(image->state, now->state, ranks, why, sizeof(why));
	if (same != !want || (want && !strstr(why, want)))
		fail_msg("%s instead of %s", same ? "the same" : why, want ? want : "the same");
	state_free(image->state);
	state_free(now->state);
	stream_done(&image->stream);
	stream_done(&now->stream);
}

static void compare(struct side *image, struct side *now, const char *want)
{
	compare_as(image, now, false, want);
}

static void both(struct side *image, struct side *now)
{
	begin(image, 3, true, false);
	begin(now, 3, true, false);
}

static void same(void **arg)
{
	struct side image, now;

	both(&image, &now);
	compare(&image, &now, NULL);
	/* a rollback sets all of these */
	both(&image, &now);
	thread_rec(&now, 3)->regs[4] = 7;
	thread_rec(&now, 3)->sigmask = 7;
	thread_rec(&now, 3)->pdeath_signal = 7;
	strcpy(thread_rec(&now, 3)->comm, "another");
	proc_rec(&now, 2)->itimer[0].value_ns = 7;
	proc_rec(&now, 2)->flags ^= CKPT_PROC_EXECED | CKPT_PROC_THP_DISABLE;
	compare(&image, &now, NULL);
}

static void other_threads(void **arg)
{
	struct side image, now;

	begin(&image, 3, true, false);
	begin(&now, 4, true, false);
	compare(&image, &now, "process 2 has more threads");
	begin(&image, 4, true, false);
	begin(&now, 3, true, false);
	compare(&image, &now, "thread 5 has ended");
	/* threads of ranks' libraries are ended */
	begin(&image, 3, true, false);
	begin(&now, 4, true, false);
	compare_as(&image, &now, true, NULL);
	begin(&image, 4, true, false);
	begin(&now, 3, true, false);
	compare_as(&image, &now, true, "thread 5 has ended");
}

/* Threads that the image lacks end by a system call in the vDSO that the process will have. */
static void extra_threads(void **arg)
{
	struct rollback_extra extra;
	unsigned char code[64] = { 0 };
	struct side image, now;
	char why[256] = "";

	for (int with_vdso = 0; with_vdso < 2; with_vdso++) {
		begin_vdso(&image, 3, with_vdso);
		begin_vdso(&now, 5, true);
		parse(&image);
		parse(&now);
		assert_int_equal(rollback_extra_find(image.state, now.state, VDSO_SIZE, &extra, why,
						     sizeof(why)), 0);
		assert_int_equal(extra.nr, 2);
		assert_int_equal(extra.threads[0].thread->rec->tid, 5);
		assert_int_equal(extra.threads[1].thread->rec->tid, 6);
		assert_string_equal(why, with_vdso ? "" :
				    "process 2 has more threads, and no vDSO");
		assert_int_equal(extra.threads[0].exit >= VDSO &&
				 extra.threads[0].exit < VDSO + VDSO_SIZE, with_vdso);
		rollback_extra_done(&extra);
		why[0] = 0;
		state_free(image.state);
		state_free(now.state);
		stream_done(&image.stream);
		stream_done(&now.stream);
	}
	assert_int_equal(rollback_extra_syscall(code, sizeof(code)), -1);
	code[62] = 0x0f;
	code[63] = 0x05;
	assert_int_equal(rollback_extra_syscall(code, sizeof(code)), 62);
	assert_int_equal(rollback_extra_syscall(code, sizeof(code) - 1), -1);
}

static void other_processes(void **arg)
{
	struct side image, now;

	begin(&image, 3, true, false);
	begin(&now, 3, false, false);
	compare(&image, &now, "process 20 has ended");
	begin(&image, 3, false, false);
	begin(&now, 3, true, false);
	compare(&image, &now, "has started processes");
	begin(&image, 3, true, true);
	begin(&now, 3, true, false);
	compare(&image, &now, "2 and 20 share other things");
	both(&image, &now);
	proc_rec(&now, 2)->state = CKPT_PROC_STOPPED;
	proc_rec(&now, 2)->exit_code = 19;
	compare(&image, &now, "process 2 is stopped");
}

static void other_rights(void **arg)
{
	struct side image, now;

	both(&image, &now);
	thread_rec(&now, 4)->creds.euid++;
	compare(&image, &now, "thread 4 has other rights");
	both(&image, &now);
	thread_rec(&image, 4)->creds.cap_effective ^= 1ULL << CAP_CHOWN;
	compare(&image, &now, "thread 4 has other rights");
	both(&image, &now);
	thread_rec(&now, 2)->flags ^= CKPT_THREAD_NO_NEW_PRIVS;
	compare(&image, &now, "thread 2 has other rights");
}

static void other_places(void **arg)
{
	struct side image, now;

	both(&image, &now);
	file_rec(&now)->ino++;
	compare(&image, &now, "another directory");
	both(&image, &now);
	proc_rec(&now, 20)->umask ^= 1;
	compare(&image, &now, "process 20 has another umask");
	both(&image, &now);
	proc_rec(&now, 20)->limits[7][0]++;
	compare(&image, &now, "process 20 has other resource limits");
	both(&image, &now);
	proc_rec(&now, 20)->flags ^= CKPT_PROC_SUBREAPER;
	compare(&image, &now, "process 20 has another parent");
	both(&image, &now);
	thread_rec(&now, 3)->nice++;
	compare(&image, &now, "thread 3 is scheduled");
	both(&image, &now);
	thread_rec(&now, 3)->cpus[0] ^= 1;
	compare(&image, &now, "thread 3 is scheduled");
}

static void own_terminal(void **arg)
{
	struct side image, now;

	for (int object = 3; object < 5; object++) {
		both(&image, &now);
		proc_rec(&image, 2)->tty = 3;
		proc_rec(&now, 2)->tty = 3;
		stream_file(&image.stream, 2, CKPT_FILE_PTM, "/dev/ptmx")->object =
			(uint64_t)object;
		compare(&image, &now, object == 3 ? "process 2 has a terminal" : NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same),
		cmocka_unit_test(other_threads),
		cmocka_unit_test(extra_threads),
		cmocka_unit_test(other_processes),
		cmocka_unit_test(other_rights),
		cmocka_unit_test(other_places),
		cmocka_unit_test(own_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
