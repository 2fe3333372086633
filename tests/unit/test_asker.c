// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who asks, and what an image may give: each id, group and capability that who asks has not is
 * refused, each limit and priority is lowered to his, and he is told.
 *
 * The asker is user 1000 of group 1000, also of group 50, with the limits of an ordinary user.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/ioprio.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "engine/core/asker.h"
#include "tests/unit/stream.h"

enum { NORMAL, FIFO, RR, BATCH, DEADLINE = 6 };

struct fixture {
	struct stream stream;
	struct state *state;
	struct ckpt_rec_proc *proc;
	struct ckpt_rec_thread *thread;	/* the second one: not the leader */
	struct asker asker;
	gid_t groups[1];
	char notes[2048];
};

static void *find(struct stream *s, uint16_t type, int number)
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

static void setup(struct fixture *f)
{
	struct state_error why = { 0 };

	memset(f, 0, sizeof(*f));
	stream_system(&f->stream);
	stream_proc(&f->stream, 100, 0, 1, 1, 2);
	stream_mm(&f->stream, 1, 100, 0);
	stream_file(&f->stream, STREAM_CWD, CKPT_FILE_DIR, "/");
	f->proc = find(&f->stream, CKPT_REC_PROC, 100);
	f->thread = find(&f->stream, CKPT_REC_THREAD, 101);
	for (int tid = 100; tid <= 101; tid++) {
		struct ckpt_rec_thread *rec = find(&f->stream, CKPT_REC_THREAD, tid);
		struct ckpt_creds *c = &rec->creds;

		c->uid = c->euid = c->suid = c->fsuid = 1000;
		c->gid = c->egid = c->sgid = c->fsgid = 1000;
	}
	f->groups[0] = 50;
	f->asker = (struct asker) {
		.uid = 1000, .gid = 1000, .groups = f->groups, .nr_groups = 1, .has_limits = true,
	};
	for (int i = 0; i < ASKER_LIMITS; i++) {
		f->asker.hard[i] = 4096;
		f->proc->limits[i][0] = f->proc->limits[i][1] = 1024;
	}
	f->asker.hard[RLIMIT_NICE] = f->proc->limits[RLIMIT_NICE][1] = 0;
	f->asker.hard[RLIMIT_RTPRIO] = f->proc->limits[RLIMIT_RTPRIO][1] = 0;
	f->proc->limits[RLIMIT_NICE][0] = f->proc->limits[RLIMIT_RTPRIO][0] = 0;
	if (state_parse(f->stream.buf, f->stream.len, &f->state, &why))
		fail_msg("%s", why.text);
}

static void teardown(struct fixture *f)
{
	state_free(f->state);
	stream_done(&f->stream);
}

static void note(const char *text, void *arg)
{
	struct fixture *f = arg;
	size_t len = strlen(f->notes);

	snprintf(f->notes + len, sizeof(f->notes) - len, "%s\n", text);
}

static unsigned int refusals(struct fixture *f, const char *detail)
{
	struct ckpt_error error = { 0 };
	unsigned int nr;

	asker_check(&f->asker, f->state, &error);
	nr = error.nr_refusals;
	for (unsigned int i = 0; i < nr; i++) {
		assert_int_equal(error.refusals[i].reason, CKPT_R_PERMISSION);
		assert_int_equal(error.refusals[i].pid, 100);
		assert_non_null(strstr(error.refusals[i].detail, detail));
	}
	error_done(&error);
	return nr;
}

/* ---------------------------------------------------------------- refused */

static void test_own(void **arg)
{
	struct fixture f;

	setup(&f);
	assert_int_equal(refusals(&f, ""), 0);
	f.thread->creds.egid = 50;
	f.thread->creds.securebits = 1U << SECURE_KEEP_CAPS;
	f.thread->creds.cap_bounding = ~0ULL;
	assert_int_equal(refusals(&f, ""), 0);
	teardown(&f);
}

#define REFUSED(field, value, text) do {			\
	struct fixture f;					\
	setup(&f);						\
	f.thread->creds.field = (value);			\
	assert_int_equal(refusals(&f, text), 1);		\
	teardown(&f);						\
} while (0)

static void test_others(void **arg)
{
	REFUSED(uid, 0, "users 0, 1000, 1000, 1000; user 1000 asks");
	REFUSED(euid, 1001, "users 1000, 1001");
	REFUSED(suid, 0, "users");
	REFUSED(fsuid, 0, "1000, 1000, 1000, 0");
	REFUSED(gid, 42, "groups 42");
	REFUSED(egid, 0, "groups");
	REFUSED(sgid, 42, "groups");
	REFUSED(fsgid, 42, "groups");
	REFUSED(cap_permitted, 1, "capabilities 0x1");
	REFUSED(cap_effective, 2, "capabilities 0x2");
	REFUSED(cap_inheritable, 4, "capabilities 0x4");
	REFUSED(cap_ambient, 8, "capabilities 0x8");
	REFUSED(securebits, 1U << SECURE_NOROOT, "securebits");
}

static void test_supplementary(void **arg)
{
	uint32_t mine[] = { 1000, 50 }, others[] = { 50, 6 };
	struct { struct ckpt_rec_groups rec; uint32_t groups[2]; } groups = { .rec.nr = 2 };
	struct fixture f;

	setup(&f);
	f.state->threads[1].groups = &groups.rec;
	memcpy(groups.groups, mine, sizeof(mine));
	assert_int_equal(refusals(&f, ""), 0);
	memcpy(groups.groups, others, sizeof(others));
	assert_int_equal(refusals(&f, "supplementary group 6"), 1);
	teardown(&f);
}

/* ---------------------------------------------------------------- lowered */

static void test_nothing_lowered(void **arg)
{
	struct fixture f;
	struct ckpt_rec_proc proc;
	struct ckpt_rec_thread thread;

	setup(&f);
	f.thread->nice = 5;
	f.thread->sched_policy = BATCH;
	f.thread->ioprio = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 0);
	f.proc->oom_score_adj = 300;
	proc = *f.proc;
	thread = *f.thread;
	asker_lower(&f.asker, f.state, note, &f);
	assert_memory_equal(&proc, f.proc, sizeof(proc));
	assert_memory_equal(&thread, f.thread, sizeof(thread));
	assert_string_equal(f.notes, "");
	teardown(&f);
}

static void test_limits(void **arg)
{
	struct fixture f;

	setup(&f);
	f.proc->limits[RLIMIT_MEMLOCK][0] = f.proc->limits[RLIMIT_MEMLOCK][1] = RLIM64_INFINITY;
	f.proc->limits[RLIMIT_NOFILE][0] = 100;
	f.proc->limits[RLIMIT_NOFILE][1] = 1000000;
	f.asker.hard[RLIMIT_STACK] = RLIM64_INFINITY;
	f.proc->limits[RLIMIT_STACK][1] = RLIM64_INFINITY;
	asker_lower(&f.asker, f.state, note, &f);
	assert_int_equal(f.proc->limits[RLIMIT_MEMLOCK][0], 4096);
	assert_int_equal(f.proc->limits[RLIMIT_MEMLOCK][1], 4096);
	assert_int_equal(f.proc->limits[RLIMIT_NOFILE][0], 100);
	assert_int_equal(f.proc->limits[RLIMIT_NOFILE][1], 4096);
	assert_true(f.proc->limits[RLIMIT_STACK][1] == RLIM64_INFINITY);
	assert_int_equal(f.proc->limits[RLIMIT_CPU][1], 1024);
	assert_non_null(strstr(f.notes, "open files of process 100 of the image, 1000000, is "
			       "lowered to that of who asks, 4096"));
	assert_non_null(strstr(f.notes, "locked memory of process 100 of the image, unlimited"));
	assert_null(strstr(f.notes, "stack"));
	teardown(&f);
}

static void test_nice(void **arg)
{
	struct fixture f;

	setup(&f);
	f.thread->nice = -15;
	asker_lower(&f.asker, f.state, note, &f);
	assert_int_equal(f.thread->nice, 0);
	assert_non_null(strstr(f.notes, "nice value of process 100 of the image, -15, becomes that "
			       "of who asks, 0"));
	f.thread->nice = -15;
	f.asker.hard[RLIMIT_NICE] = 30;		/* up to -10 */
	asker_lower(&f.asker, f.state, NULL, NULL);
	assert_int_equal(f.thread->nice, -10);
	f.asker.nice = -12;			/* an administrator's renice */
	f.thread->nice = -15;
	asker_lower(&f.asker, f.state, NULL, NULL);
	assert_int_equal(f.thread->nice, -12);
	f.thread->nice = -15;
	f.asker.hard[RLIMIT_NICE] = RLIM64_INFINITY;
	asker_lower(&f.asker, f.state, NULL, NULL);
	assert_int_equal(f.thread->nice, -15);
	f.asker.nice = 10;
	f.asker.hard[RLIMIT_NICE] = 0;
	f.thread->nice = 0;
	asker_lower(&f.asker, f.state, NULL, NULL);
	assert_int_equal(f.thread->nice, 10);
	teardown(&f);
}

static void test_oom(void **arg)
{
	struct fixture f;

	setup(&f);
	f.proc->oom_score_adj = f.proc->oom_score_adj_min = -500;
	asker_lower(&f.asker, f.state, note, &f);
	assert_int_equal(f.proc->oom_score_adj, 0);
	assert_int_equal(f.proc->oom_score_adj_min, 0);
	assert_non_null(strstr(f.notes, "OOM score adjustment of process 100 of the image, -500"));
	f.proc->oom_score_adj_min = -1000;	/* he could lower it himself later */
	f.asker.oom_score_adj = -17;
	asker_lower(&f.asker, f.state, NULL, NULL);
	assert_int_equal(f.proc->oom_score_adj, 0);
	assert_int_equal(f.proc->oom_score_adj_min, -17);
	teardown(&f);
}

static void policy(struct fixture *f, uint32_t policy, uint32_t priority)
{
	f->thread->sched_policy = policy;
	f->thread->sched_priority = priority;
	f->notes[0] = 0;
	asker_lower(&f->asker, f->state, note, f);
}

static void test_realtime(void **arg)
{
	struct fixture f;

	setup(&f);
	policy(&f, FIFO, 50);
	assert_int_equal(f.thread->sched_policy, NORMAL);
	assert_int_equal(f.thread->sched_priority, 0);
	assert_non_null(strstr(f.notes, "real-time scheduling of process 100"));
	policy(&f, DEADLINE, 0);
	assert_int_equal(f.thread->sched_policy, NORMAL);
	f.asker.hard[RLIMIT_RTPRIO] = 20;
	policy(&f, RR, 50);
	assert_int_equal(f.thread->sched_policy, RR);
	assert_int_equal(f.thread->sched_priority, 20);
	assert_non_null(strstr(f.notes, "lowered to that of who asks, 20"));
	policy(&f, RR, 20);
	assert_int_equal(f.thread->sched_priority, 20);
	assert_string_equal(f.notes, "");
	f.asker.policy = FIFO;		/* his own policy is for his children, too */
	f.asker.priority = 40;
	policy(&f, FIFO, 50);
	assert_int_equal(f.thread->sched_priority, 40);
	teardown(&f);
}

static void test_ioprio(void **arg)
{
	struct fixture f;

	setup(&f);
	f.thread->ioprio = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, 0);
	asker_lower(&f.asker, f.state, note, &f);
	assert_int_equal(f.thread->ioprio, 0);
	assert_non_null(strstr(f.notes, "real-time I/O priority of process 100"));
	f.asker.ioprio = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, 4);
	f.thread->ioprio = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, 0);
	asker_lower(&f.asker, f.state, NULL, NULL);
	assert_int_equal(f.thread->ioprio, f.asker.ioprio);
	f.thread->ioprio = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, 6);
	asker_lower(&f.asker, f.state, NULL, NULL);
	assert_int_equal(f.thread->ioprio, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, 6));
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_supplementary),
		cmocka_unit_test(test_nothing_lowered),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_nice),
		cmocka_unit_test(test_oom),
		cmocka_unit_test(test_realtime),
		cmocka_unit_test(test_ioprio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
