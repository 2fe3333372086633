// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plan of a restore, for made-up trees: who is created by whom, sharing what,
 * which numbers need a helper, whose rights are refused.
 *
 * Each plan is also played: a model of clone and unshare walks through it and
 * must end with exactly the tables that the tree has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "engine/core/engine.h"
#include "engine/core/plan.h"
#include "tests/unit/stream.h"

#define MAX_PROCS	64

struct made_up {
	int pid, ppid, pgid, sid;
	uint32_t mm, files, fs;
	unsigned int threads;	/* 0: zombie */
};

struct fixture {
	struct stream stream;
	struct state *state;
	struct plan *plan;
	struct ckpt_error error;
	const struct asker *asker;
	int ret;
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

static struct ckpt_rec_proc *proc_rec(struct fixture *f, int pid)
{
	return (void *)find(&f->stream, CKPT_REC_PROC, pid);
}

static struct ckpt_rec_thread *thread_rec(struct fixture *f, int tid)
{
	return (void *)find(&f->stream, CKPT_REC_THREAD, tid);
}

static void describe(struct fixture *f, const struct made_up *procs, int nr)
{
	memset(f, 0, sizeof(*f));
	stream_system(&f->stream);
	for (int i = 0; i < nr; i++) {
		const struct made_up *p = &procs[i];
		struct ckpt_rec_proc *rec;

		if (p->threads)
			stream_proc(&f->stream, p->pid, p->ppid, p->mm, p->files, p->threads);
		else
			stream_zombie(&f->stream, p->pid, p->ppid, 0);
		rec = proc_rec(f, p->pid);
		rec->pgid = p->pgid;
		rec->sid = p->sid;
		rec->fs_id = p->fs;
	}
	for (int i = 0; i < nr; i++) {
		bool seen = !procs[i].mm;

		for (int j = 0; j < i; j++)
			seen = seen || procs[j].mm == procs[i].mm;
		if (!seen)
			stream_mm(&f->stream, procs[i].mm, procs[i].pid, 0);
	}
	stream_file(&f->stream, STREAM_CWD, CKPT_FILE_DIR, "/");
}

static void make(struct fixture *f)
{
	struct state_error why = { 0 };

	if (state_parse(f->stream.buf, f->stream.len, &f->state, &why))
		fail_msg("%s", why.text);
	f->ret = plan_make(f->state, f->asker, &f->plan, &f->error);
}

static void done(struct fixture *f)
{
	plan_free(f->plan);
	state_free(f->state);
	error_done(&f->error);
	stream_done(&f->stream);
}

static int task_of(const struct plan *plan, int pid)
{
	for (int i = 0; i < plan->nr_tasks; i++)
		if (plan->tasks[i].pid == pid)
			return i;
	return PLAN_NONE;
}

/* ---------------------------------------------------------------- playing */

struct play {
	const struct plan *plan;
	int files[MAX_PROCS], fs[MAX_PROCS], mm[MAX_PROCS];	/* tables by task */
	int last;
	int order[MAX_PROCS];
	int nr;
};

static void play_task(struct play *p, int index, int parent)
{
	const struct plan_task *task = &p->plan->tasks[index];

	assert_in_range(index, 0, MAX_PROCS - 1);
	p->order[p->nr++] = index;
	p->files[index] = task->clone_flags & CLONE_FILES ? p->files[parent] : ++p->last;
	p->fs[index] = task->clone_flags & CLONE_FS ? p->fs[parent] : ++p->last;
	p->mm[index] = task->clone_flags & CLONE_VM ? p->mm[parent] : ++p->last;
	for (int late = 0; late < 2; late++) {
		if (late && task->unshare_flags & CLONE_FILES)
			p->files[index] = ++p->last;
		if (late && task->unshare_flags & CLONE_FS)
			p->fs[index] = ++p->last;
		for (int c = task->child; c != PLAN_NONE; c = p->plan->tasks[c].sibling)
			if (p->plan->tasks[c].late == (late == 1))
				play_task(p, c, index);
	}
}

/* Two processes have one table exactly if the records say so. */
static void check_tables(const struct play *p)
{
	const struct plan_task *tasks = p->plan->tasks;

	for (int i = 0; i < p->plan->nr_tasks; i++)
		for (int j = 0; j < i; j++) {
			if (tasks[i].role != PLAN_LIVE || tasks[j].role != PLAN_LIVE)
				continue;
			assert_int_equal(p->files[i] == p->files[j],
					 tasks[i].proc->rec->files_id ==
					 tasks[j].proc->rec->files_id);
			assert_int_equal(p->fs[i] == p->fs[j],
					 tasks[i].proc->rec->fs_id == tasks[j].proc->rec->fs_id);
			assert_int_equal(p->mm[i] == p->mm[j],
					 tasks[i].proc->mm == tasks[j].proc->mm);
		}
}

static void check_closers(const struct plan *plan)
{
	unsigned int closers = 0, threads = 0;

	for (int i = 0; i < plan->nr_tasks; i++) {
		const struct plan_task *task = &plan->tasks[i];
		unsigned int same = 0;

		closers += task->closer;
		if (task->role != PLAN_LIVE)
			continue;
		threads += task->proc->nr_threads;
		for (int j = 0; j < plan->nr_tasks; j++)
			same += plan->tasks[j].role == PLAN_LIVE && plan->tasks[j].closer &&
				plan->tasks[j].proc->fdtable == task->proc->fdtable;
		assert_int_equal(same, 1);
	}
	assert_int_equal(closers, plan->nr_closers);
	assert_int_equal(threads, plan->nr_threads);
}

static void check(struct fixture *f)
{
	struct play p = { .plan = f->plan };

	if (f->ret)
		fail_msg("%s", f->error.text);
	for (int i = f->plan->first_root; i != PLAN_NONE; i = f->plan->tasks[i].sibling)
		play_task(&p, i, PLAN_NONE);
	assert_int_equal(p.nr, f->plan->nr_tasks - f->plan->nr_helpers);
	for (int i = 0; i < p.nr; i++) {
		const struct plan_task *task = &f->plan->tasks[p.order[i]];

		assert_int_equal(task->parent == PLAN_NONE ? 0 : f->plan->tasks[task->parent].pid,
				 task->proc->parent ? task->proc->parent->rec->pid : 0);
	}
	check_tables(&p);
	check_closers(f->plan);
	for (unsigned int i = 1; i < f->plan->nr_pids; i++)
		assert_true(f->plan->pids[i - 1] < f->plan->pids[i]);
}

static void run(struct fixture *f, const struct made_up *procs, int nr)
{
	describe(f, procs, nr);
	make(f);
}

#define RUN(f, procs)	run(f, procs, (int)(sizeof(procs) / sizeof((procs)[0])))

static bool refused(const struct fixture *f, uint32_t reason, int pid)
{
	for (unsigned int i = 0; i < f->error.nr_refusals; i++)
		if (f->error.refusals[i].reason == reason && f->error.refusals[i].pid == pid)
			return f->ret == -EOPNOTSUPP;
	return false;
}

/* ---------------------------------------------------------------- trees */

static void test_single(void **arg)
{
	static const struct made_up procs[] = { { 100, 0, 0, 0, 1, 1, 1, 3 } };
	struct fixture f;

	RUN(&f, procs);
	check(&f);
	assert_int_equal(f.plan->nr_tasks, 1);
	assert_int_equal(f.plan->nr_pids, 3);
	assert_int_equal(f.plan->nr_closers, 1);
	assert_false(f.plan->tasks[0].setsid);
	done(&f);
}

static void test_family(void **arg)
{
	static const struct made_up procs[] = {
		{ 100, 0, 100, 100, 1, 1, 1, 1 },
		{ 110, 100, 110, 100, 2, 2, 2, 2 },
		{ 120, 110, 110, 100, 0, 0, 0, 0 },	/* zombie */
		{ 130, 100, 130, 130, 3, 3, 3, 1 },
	};
	struct fixture f;

	RUN(&f, procs);
	check(&f);
	assert_int_equal(f.plan->nr_helpers, 0);
	assert_true(f.plan->tasks[task_of(f.plan, 100)].setsid);
	assert_false(f.plan->tasks[task_of(f.plan, 110)].setsid);
	assert_true(f.plan->tasks[task_of(f.plan, 130)].setsid);
	assert_true(f.plan->tasks[task_of(f.plan, 110)].zombies);
	assert_int_equal(f.plan->tasks[task_of(f.plan, 120)].role, PLAN_ZOMBIE);
	assert_int_equal(f.plan->nr_threads, 4);
	done(&f);
}

/* The leader of session 50 and of group 60 are gone; 70 is a zombie root. */
static void test_orphans(void **arg)
{
	static const struct made_up procs[] = {
		{ 100, 0, 60, 50, 1, 1, 1, 1 },
		{ 110, 100, 60, 50, 2, 2, 2, 1 },
		{ 70, 0, 70, 50, 0, 0, 0, 0 },
		{ 120, 100, 70, 50, 3, 3, 3, 1 },
	};
	struct fixture f;

	RUN(&f, procs);
	check(&f);
	assert_int_equal(f.plan->nr_helpers, 3);
	assert_true(f.plan->tasks[task_of(f.plan, 50)].setsid);
	assert_int_equal(f.plan->tasks[task_of(f.plan, 50)].role, PLAN_HELPER);
	assert_int_equal(f.plan->tasks[task_of(f.plan, 60)].role, PLAN_HELPER);
	assert_false(f.plan->tasks[task_of(f.plan, 60)].setsid);
	assert_int_equal(f.plan->tasks[task_of(f.plan, 70)].role, PLAN_HELPER);
	assert_int_equal(f.plan->nr_pids, 6);
	done(&f);
}

static void test_roots(void **arg)
{
	static const struct made_up procs[] = {
		{ 100, 0, 100, 0, 1, 1, 1, 1 },
		{ 200, 0, 100, 0, 2, 2, 2, 1 },
		{ 210, 200, 100, 0, 3, 3, 3, 1 },
	};
	struct fixture f;

	RUN(&f, procs);
	check(&f);
	assert_int_equal(f.plan->tasks[f.plan->first_root].pid, 100);
	done(&f);
}

static void test_leader_dead(void **arg)
{
	static const struct made_up procs[] = {
		{ 100, 0, 0, 0, 1, 1, 1, 2 },
		{ 110, 100, 0, 0, 2, 2, 2, 1 },
	};
	struct fixture f;

	describe(&f, procs, 2);
	proc_rec(&f, 100)->flags |= CKPT_PROC_LEADER_DEAD;
	thread_rec(&f, 100)->tid = 105;
	((struct ckpt_rec_xstate *)find(&f.stream, CKPT_REC_XSTATE, 100))->tid = 105;
	make(&f);
	check(&f);
	assert_true(f.plan->tasks[0].leader_dead);
	assert_int_equal(f.plan->nr_pids, 4);	/* 100, 101, 105, 110 */
	done(&f);
}

/* ---------------------------------------------------------------- sharing */

static void test_share_parent(void **arg)
{
	static const struct made_up procs[] = {
		{ 100, 0, 0, 0, 1, 1, 1, 1 },
		{ 110, 100, 0, 0, 2, 1, 2, 1 },		/* descriptors */
		{ 120, 100, 0, 0, 3, 3, 1, 1 },		/* directory */
		{ 130, 120, 0, 0, 4, 4, 1, 1 },
	};
	struct fixture f;

	RUN(&f, procs);
	check(&f);
	assert_true(f.plan->tasks[task_of(f.plan, 110)].closer);
	assert_false(f.plan->tasks[task_of(f.plan, 100)].closer);
	done(&f);
}

/* Siblings share what their parent has not: it is born with it and drops it. */
static void test_share_siblings(void **arg)
{
	static const struct made_up procs[] = {
		{ 100, 0, 0, 0, 1, 1, 1, 1 },
		{ 110, 100, 0, 0, 2, 2, 2, 1 },
		{ 120, 100, 0, 0, 3, 1, 3, 1 },		/* with the parent: late */
		{ 130, 100, 0, 0, 4, 2, 4, 1 },		/* with 110: early */
	};
	struct fixture f;

	RUN(&f, procs);
	check(&f);
	assert_true(f.plan->tasks[task_of(f.plan, 100)].unshare_flags & CLONE_FILES);
	assert_true(f.plan->tasks[task_of(f.plan, 120)].late);
	assert_false(f.plan->tasks[task_of(f.plan, 130)].late);
	done(&f);
}

/* Grandparent and grandchild, with another in between. */
static void test_share_across(void **arg)
{
	static const struct made_up procs[] = {
		{ 100, 0, 0, 0, 1, 1, 1, 1 },
		{ 110, 100, 0, 0, 2, 2, 2, 1 },
		{ 120, 110, 0, 0, 3, 1, 3, 1 },
		{ 130, 110, 0, 0, 4, 2, 2, 1 },
	};
	struct fixture f;

	RUN(&f, procs);
	check(&f);
	done(&f);
}

static void test_share_two_foreign(void **arg)
{
	static const struct made_up procs[] = {
		{ 100, 0, 0, 0, 1, 1, 1, 1 },
		{ 110, 100, 0, 0, 2, 2, 2, 1 },
		{ 120, 100, 0, 0, 3, 3, 3, 1 },
		{ 130, 100, 0, 0, 4, 2, 4, 1 },
		{ 140, 100, 0, 0, 5, 3, 5, 1 },
	};
	struct fixture f;

	RUN(&f, procs);
	assert_int_equal(f.ret, -EOPNOTSUPP);
	assert_int_equal(f.error.refusals[0].reason, CKPT_R_SHARED_FILES);
	done(&f);
}

static void test_share_roots(void **arg)
{
	static const struct made_up procs[] = {
		{ 100, 0, 0, 0, 1, 1, 1, 1 },
		{ 200, 0, 0, 0, 2, 1, 2, 1 },
	};
	struct fixture f;

	RUN(&f, procs);
	assert_true(refused(&f, CKPT_R_SHARED_FILES, 100));
	done(&f);
}

static void test_share_memory(void **arg)
{
	static const struct made_up good[] = {
		{ 100, 0, 0, 0, 1, 1, 1, 1 }, { 110, 100, 0, 0, 1, 2, 2, 1 },
	};
	static const struct made_up bad[] = {
		{ 100, 0, 0, 0, 1, 1, 1, 1 }, { 110, 100, 0, 0, 2, 2, 2, 1 },
		{ 120, 110, 0, 0, 1, 3, 3, 1 },
	};
	struct fixture f;

	describe(&f, good, 2);
	proc_rec(&f, 100)->sighand_id = proc_rec(&f, 110)->sighand_id = 7;
	make(&f);
	check(&f);
	assert_true(f.plan->tasks[1].clone_flags & CLONE_SIGHAND);
	done(&f);
	RUN(&f, bad);
	assert_true(refused(&f, CKPT_R_SHARED_MM, 120));
	done(&f);
}

/* Any tables at all: either refused or right. */
static void test_share_random(void **arg)
{
	unsigned int seed = 1, right = 0;

	for (int round = 0; round < 3000; round++) {
		struct made_up procs[8];
		int nr = 2 + (int)(rand_r(&seed) % 7);
		struct fixture f;

		for (int i = 0; i < nr; i++)
			procs[i] = (struct made_up) {
				100 + i, i ? 100 + (int)(rand_r(&seed) % (unsigned int)i) : 0, 0, 0,
				(uint32_t)i + 1, 1 + rand_r(&seed) % (1 + (unsigned int)round % 6),
				1 + rand_r(&seed) % (1 + (unsigned int)round % 5), 1,
			};
		run(&f, procs, nr);
		if (f.ret == 0) {
			check(&f);
			right++;
		} else {
			assert_int_equal(f.ret, -EOPNOTSUPP);
		}
		done(&f);
	}
	assert_true(right > 500);
}

/* ---------------------------------------------------------------- rights */

static void test_owner(void **arg)
{
	static const struct made_up procs[] = {
		{ 100, 0, 0, 0, 1, 1, 1, 2 }, { 110, 100, 0, 0, 2, 2, 2, 1 },
	};
	struct fixture f;

	describe(&f, procs, 2);
	for (int tid = 100; tid <= 110; tid += tid == 100 ? 1 : 9) {
		struct ckpt_creds *c = &thread_rec(&f, tid)->creds;

		c->uid = c->euid = c->suid = c->fsuid = 1000;
		c->gid = c->egid = c->sgid = c->fsgid = 1000;
		c->cap_bounding = 0x1ff;
	}
	thread_rec(&f, 110)->nice = -5;
	proc_rec(&f, 110)->oom_score_adj = 300;
	proc_rec(&f, 100)->oom_score_adj = 500;
	make(&f);
	check(&f);
	assert_int_equal(f.plan->owner.uid, 1000);
	assert_int_equal(f.plan->owner.bounding, 0x1ff);
	assert_int_equal(f.plan->owner.keep_caps, 1ULL << CAP_CHECKPOINT_RESTORE);
	assert_int_equal(f.plan->owner.nice, -5);
	assert_int_equal(f.plan->owner.oom_score_adj, 300);
	done(&f);
}

/* A process that was started with a realtime policy has it again, whoever owns it. */
static void test_owner_realtime(void **arg)
{
	static const struct made_up procs[] = { { 100, 0, 0, 0, 1, 1, 1, 2 } };
	struct fixture f;

	for (uint32_t policy = 0; policy <= 5; policy++) {
		bool realtime = policy == 1 || policy == 2;

		describe(&f, procs, 1);
		for (int tid = 100; tid <= 101; tid++) {
			struct ckpt_creds *c = &thread_rec(&f, tid)->creds;

			c->uid = c->euid = c->suid = c->fsuid = 1000;
		}
		thread_rec(&f, 101)->sched_policy = policy;
		thread_rec(&f, 101)->sched_priority = realtime ? 3 : 0;
		make(&f);
		check(&f);
		assert_int_equal(f.plan->owner.keep_caps, 1ULL << CAP_CHECKPOINT_RESTORE |
				 (realtime ? 1ULL << CAP_SYS_NICE : 0));
		done(&f);
	}
}

/* User 1000 of group 0 asks for a tree of user 1000, or of root, in which one process has more. */
static void exceed(void (*spoil)(struct ckpt_creds *c), bool root)
{
	static const struct asker asker = { .uid = 1000 };
	static const struct made_up procs[] = {
		{ 100, 0, 0, 0, 1, 1, 1, 1 }, { 110, 100, 0, 0, 2, 2, 2, 1 },
	};
	struct fixture f;

	describe(&f, procs, 2);
	for (int tid = 100; tid <= 110; tid += 10) {
		struct ckpt_creds *c = &thread_rec(&f, tid)->creds;

		c->uid = c->euid = c->suid = c->fsuid = root ? 0 : 1000;
	}
	spoil(&thread_rec(&f, 110)->creds);
	f.asker = &asker;
	make(&f);
	assert_int_equal(f.ret, -EOPNOTSUPP);
	assert_true(refused(&f, CKPT_R_PERMISSION, 110));
	assert_int_equal(refused(&f, CKPT_R_PERMISSION, 100), root);
	error_done(&f.error);
	plan_free(f.plan);
	state_free(f.state);
	f.plan = NULL;
	f.asker = NULL;			/* root asks: then root builds it */
	make(&f);
	assert_int_equal(f.ret, 0);
	assert_int_equal(f.plan->owner.uid, 0);
	done(&f);
}

static void spoil_euid(struct ckpt_creds *c) { c->euid = 0; }
static void spoil_suid(struct ckpt_creds *c) { c->suid = 1001; }
static void spoil_gid(struct ckpt_creds *c) { c->egid = 42; }
static void spoil_cap(struct ckpt_creds *c) { c->cap_permitted = 1; }
static void spoil_ambient(struct ckpt_creds *c) { c->cap_ambient = 1; }

static void test_exceed(void **arg)
{
	for (int root = 0; root <= 1; root++) {
		exceed(spoil_euid, root);
		exceed(spoil_suid, root);
		exceed(spoil_gid, root);
		exceed(spoil_cap, root);
		exceed(spoil_ambient, root);
	}
}

/* The owner is the user who asks, whoever the image says that it belongs to. */
static void test_owner_asks(void **arg)
{
	static const struct made_up procs[] = { { 100, 0, 0, 0, 1, 1, 1, 1 } };
	static const struct asker asker = { .uid = 1000 }, other = { .uid = 1001 };
	struct ckpt_creds *c;
	struct fixture f;

	describe(&f, procs, 1);
	c = &thread_rec(&f, 100)->creds;
	c->uid = c->euid = c->suid = c->fsuid = 1000;
	f.asker = &other;
	make(&f);
	assert_true(refused(&f, CKPT_R_PERMISSION, 100));
	error_done(&f.error);
	state_free(f.state);
	f.asker = &asker;
	make(&f);
	check(&f);
	assert_int_equal(f.plan->owner.uid, 1000);
	done(&f);
}

/* ---------------------------------------------------------------- rejected */

static void test_zombie_parent(void **arg)
{
	static const struct made_up procs[] = {
		{ 100, 0, 0, 0, 1, 1, 1, 1 }, { 110, 100, 0, 0, 0, 0, 0, 0 },
		{ 120, 110, 0, 0, 2, 2, 2, 1 },
	};
	struct fixture f;

	RUN(&f, procs);
	assert_int_equal(f.ret, -EBADMSG);
	done(&f);
}

static void test_numbers(void **arg)
{
	static const struct made_up init[] = { { 1, 0, 0, 0, 1, 1, 1, 1 } };
	static const struct made_up twice[] = {
		{ 100, 0, 0, 0, 1, 1, 1, 2 }, { 110, 100, 101, 0, 2, 2, 2, 1 },
	};
	static const struct made_up dead[] = { { 100, 0, 0, 0, 0, 0, 0, 0 } };
	struct fixture f;

	RUN(&f, init);
	assert_int_equal(f.ret, -EBADMSG);
	done(&f);
	RUN(&f, twice);		/* 101 is a thread, not a group */
	assert_int_equal(f.ret, -EBADMSG);
	done(&f);
	RUN(&f, dead);
	assert_int_equal(f.ret, -EBADMSG);
	done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single),
		cmocka_unit_test(test_family),
		cmocka_unit_test(test_orphans),
		cmocka_unit_test(test_roots),
		cmocka_unit_test(test_leader_dead),
		cmocka_unit_test(test_share_parent),
		cmocka_unit_test(test_share_siblings),
		cmocka_unit_test(test_share_across),
		cmocka_unit_test(test_share_two_foreign),
		cmocka_unit_test(test_share_roots),
		cmocka_unit_test(test_share_memory),
		cmocka_unit_test(test_share_random),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_owner_realtime),
		cmocka_unit_test(test_exceed),
		cmocka_unit_test(test_owner_asks),
		cmocka_unit_test(test_zombie_parent),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
