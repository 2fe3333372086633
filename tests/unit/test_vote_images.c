// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replicas' images compared and copied, and the section table of a process that runs.
 */
#include "base/error.h"
#include "tests/unit/image_fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/ckpt.h>
#include <linux/ckpt_records.h>

#include "image/merge.h"
#include "libckptctl/ckptctl.h"
#include "mpi-glue/own_table.h"
#include "supervisor/vote/compare.h"
#include "supervisor/vote/member.h"

#define HEAP	0x10000000ULL
#define NR	200U		/* pages: more than a stretch */
#define STACK	0x7ff000000000ULL
#define TABLE	0x7ff100000000ULL
#define RSEQ	0x40U		/* in page 2 */
#define JOB	"7-abc"

/* How an image differs from the usual one. */
struct shape {
	int page;		/* -1: none; this page has another content */
	unsigned int seed;
	bool no_zeros;		/* page 5, of zeros, is not stored */
	uint8_t rseq;		/* in the bytes that the kernel writes */
	uint64_t below;		/* an address of the lower half, in page 7 */
	uint8_t dead, own;	/* below the stack pointer; in what the table lists */
	bool table, choice;	/* a rank of MPI, which has made a choice */
	int pid;
};

static void put_records(struct image *img, int pid)
{
	struct ckpt_rec_mm mm = {
		.hdr = { .len = sizeof(mm), .type = CKPT_REC_MM }, .mm_id = 1, .pid = pid,
	};
	struct ckpt_rec_thread thread = {
		.hdr = { .len = sizeof(thread), .type = CKPT_REC_THREAD }, .tid = pid, .pid = pid,
		.rseq = HEAP + 2 * PAGE + RSEQ, .rseq_len = 32,
	};

	struct ckpt_rec_vma stack = {
		.hdr = { .len = sizeof(stack), .type = CKPT_REC_VMA }, .mm_id = 1,
		.kind = CKPT_VMA_ANON, .flags = CKPT_VM_GROWSDOWN, .start = STACK,
		.end = STACK + 2 * PAGE,
	};
	struct ckpt_rec_vma table = {
		.hdr = { .len = sizeof(table), .type = CKPT_REC_VMA }, .mm_id = 1,
		.kind = CKPT_VMA_ANON, .start = TABLE, .end = TABLE + OWN_TABLE_SIZE,
	};

	thread.regs[19] = STACK + PAGE + 1024;
	assert_int_equal(image_state_append(img, &mm, sizeof(mm)), 0);
	assert_int_equal(image_state_append(img, &stack, sizeof(stack)), 0);
	assert_int_equal(image_state_append(img, &table, sizeof(table)), 0);
	assert_int_equal(image_state_append(img, &thread, sizeof(thread)), 0);
}

/* The stack of two pages, and the table of the glue with one entry. */
static void put_rank(struct image *img, const struct shape *shape)
{
	static const uint8_t magic[] = OWN_MAGIC;
	uint8_t page[PAGE] = { 0 };
	struct own_table *t = (void *)page;

	assert_int_equal(image_pages_add(img, 1, STACK, 1, page), 0);
	memset(page, 1, sizeof(page));
	memset(page, shape->dead, 1024 - 128);
	assert_int_equal(image_pages_add(img, 1, STACK + PAGE, 1, page), 0);
	if (!shape->table)
		return;
	memset(page, 0, sizeof(page));
	memcpy(t->magic, magic, sizeof(magic));
	t->version = OWN_VERSION;
	t->nr = 1;
	t->choices = shape->choice ? OWN_ANY_SOURCE : 0;
	t->range[0] = (struct own_range) { HEAP + 8 * PAGE + 40, 24 };
	assert_int_equal(image_pages_add(img, 1, TABLE, 1, page), 0);
}

static void put_pages(struct image *img, const struct shape *shape)
{
	uint8_t page[PAGE];

	for (unsigned int i = 0; i < NR; i++) {
		uint64_t addr = HEAP + i * PAGE;

		fill_page(page, i == 5 ? 0 : (int)i == shape->page ? shape->seed : i + 1);
		if (i == 2)
			memset(page + RSEQ, shape->rseq, 32);
		if (i == 7)
			memcpy(page + 800, &shape->below, sizeof(shape->below));
		if (i == 8)
			memset(page + 40, shape->own, 24);
		if (i == 5 && !shape->no_zeros)
			assert_int_equal(image_pages_zero(img, 1, addr, 1), 0);
		else if (i != 5)
			assert_int_equal(image_pages_add(img, 1, addr, 1, page), 0);
	}
}

static void store(const struct scratch *s, unsigned int generation, struct shape shape)
{
	struct image_options options = { .generation = generation, .job = JOB };
	struct ckpt_error error = {};
	struct image_writer *w;
	struct image *img;

	assert_int_equal(image_writer_create(scratch_generation(s, generation), &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	put_records(img, shape.pid ? shape.pid : 100);
	put_pages(img, &shape);
	put_rank(img, &shape);
	image_set(img, "note", "old");
	if (image_commit(img, &error))
		fail_msg("%s", error.text);
	image_destroy(img);
}

static int compare(const struct scratch *s, unsigned int nr, const char *label,
		   struct compared *ret)
{
	struct compare_member members[3];
	struct ckpt_error error = {};
	int err;

	for (unsigned int i = 0; i < nr; i++)
		members[i] = (struct compare_member) { scratch_generation(s, i + 1), label, i + 1 };
	err = compare_images(members, nr, s->key, ret, &error);
	if (err)
		print_message("%s\n", error.text);
	return err;
}

/* Zeros in any form, and the kernel's own bytes, make no difference. */
static void equal(void **state)
{
	struct scratch *s = *state;
	struct compared c;

	store(s, 1, (struct shape) { .page = -1, .rseq = 1 });
	store(s, 2, (struct shape) { .page = -1, .rseq = 2, .no_zeros = true });
	store(s, 3, (struct shape) { .page = -1, .rseq = 3 });
	assert_int_equal(compare(s, 3, JOB, &c), 0);
	assert_int_equal(c.tally.differ, 0);
	assert_true(c.tally.pages >= NR);
	assert_string_equal(c.digest[0], c.digest[1]);
	assert_string_equal(c.digest[0], c.digest[2]);
	assert_int_equal(compare(s, 2, JOB, &c), 0);
	assert_int_equal(c.tally.differ, 0);
	/* of another job */
	assert_int_not_equal(compare(s, 3, "8-abc", &c), 0);
	assert_int_equal(c.culprit, 0);
}

/* Each member, at the first, a middle and the last page. */
static void differs(void **state)
{
	static const int pages[] = { 0, 77, NR - 1 };
	struct scratch *s = *state;
	struct compared c;

	for (unsigned int odd = 0; odd < 3; odd++) {
		for (unsigned int i = 0; i < 3; i++)
			store(s, i + 1, (struct shape) { .page = i == odd ? pages[odd] : -1,
							 .seed = 999 });
		assert_int_equal(compare(s, 3, JOB, &c), 0);
		assert_int_equal(c.tally.differ, 1);
		assert_int_equal(c.nr_told, 1);
		assert_int_equal(c.told[0].member, odd);
		assert_true(c.told[0].addr == HEAP + (uint64_t)pages[odd] * PAGE);
		assert_int_equal(c.told[0].pid, 100);
		assert_string_not_equal(c.digest[odd], c.digest[(odd + 1) % 3]);
		assert_string_equal(c.digest[(odd + 1) % 3], c.digest[(odd + 2) % 3]);
		for (unsigned int i = 1; i < 4; i++)
			remove_image(scratch_generation(s, i));
	}
	for (unsigned int i = 0; i < 3; i++)
		store(s, i + 1, (struct shape) { .page = 9, .seed = 1000 + i });
	assert_int_equal(compare(s, 3, JOB, &c), 0);
	assert_int_equal(c.told[0].member, TALLY_NONE);
}

/* The glue's own memory, the dead stack and addresses below do not count; all else does. */
static void rank(void **state)
{
	static const struct {
		struct shape shape;
		unsigned int differ;
		uint64_t byte;
	} rows[] = {
		{ { .page = -1, .table = true }, 0, 0 },
		{ { .page = -1, .table = true, .dead = 9 }, 0, 0 },
		{ { .page = -1, .table = true, .own = 9 }, 0, 0 },
		{ { .page = -1, .table = true, .below = 0x200000001000ULL }, 0, 0 },
		{ { .page = -1, .table = true, .below = 0x210000000000ULL }, 1,
		  HEAP + 7 * PAGE + 800 + 5 },
		{ { .page = 8, .seed = 77, .table = true }, 1, HEAP + 8 * PAGE },
	};
	struct scratch *s = *state;
	struct compared c;
	uint64_t below;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		below = rows[i].shape.below ? 0x20ffffffff00ULL : 0;
		for (unsigned int k = 1; k < 3; k++)
			store(s, k, (struct shape) { .page = -1, .table = true, .below = below });
		store(s, 3, rows[i].shape);
		assert_int_equal(compare(s, 3, JOB, &c), 0);
		assert_int_equal(c.tally.differ, rows[i].differ);
		assert_int_equal(c.nr_told, rows[i].differ);
		if (rows[i].byte)
			assert_true(c.told[0].byte == rows[i].byte);
		assert_int_equal(!strcmp(c.digest[0], c.digest[2]), !rows[i].differ);
		for (unsigned int k = 1; k < 4; k++)
			remove_image(scratch_generation(s, k));
	}
	/* without a table nothing is the glue's */
	store(s, 1, (struct shape) { .page = -1, .choice = true, .table = true });
	store(s, 2, (struct shape) { .page = -1, .own = 9, .below = 0x200000001000ULL });
	assert_int_equal(compare(s, 2, JOB, &c), 0);
	assert_int_equal(c.tally.choices, OWN_ANY_SOURCE);
	assert_true(c.tally.differ >= 2);
}

static void other_processes(void **state)
{
	struct scratch *s = *state;
	struct compared c;

	store(s, 1, (struct shape) { .page = -1 });
	store(s, 2, (struct shape) { .page = -1, .pid = 101 });
	assert_int_equal(compare(s, 2, JOB, &c), -EPROTO);
}

/* A copy is of another job, with other texts, and has the same memory. */
static void copy(void **state)
{
	const struct image_copy_options options = { .job = "9-xyz", .generation = 5,
						    .note = "new" };
	const struct image_expect expect = { .generation = 5, .job = "9-xyz" };
	struct scratch *s = *state;
	struct compare_member members[2] = { { scratch_generation(s, 1), JOB, 1 },
					     { scratch_generation(s, 5), "9-xyz", 5 } };
	struct ckpt_error error = {};
	struct image_reader *r;
	struct compared c;

	store(s, 1, (struct shape) { .page = 3, .seed = 55 });
	assert_int_equal(image_copy(members[0].dir, members[1].dir, s->key, NULL, &options,
				    &error), 0);
	assert_int_equal(image_verify(members[1].dir, s->key, &expect, true, NULL, NULL, &error),
			 0);
	assert_int_equal(image_open(members[1].dir, s->key, &expect, &r, &error), 0);
	assert_string_equal(image_get(r, "note"), "new");
	image_close(r);
	assert_int_equal(compare_images(members, 2, s->key, &c, &error), 0);
	assert_int_equal(c.tally.differ, 0);
	assert_string_equal(c.digest[0], c.digest[1]);
	assert_int_not_equal(image_copy(members[0].dir, members[1].dir, s->key, NULL, &options,
					&error), 0);
}

/* ----------------------------------------------------------------- member */

/* A program with sections, below a process that stands for a job's init. */
static void program(bool sections)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sections && ckpt_section_begin())
		_exit(1);
	for (;;) {
		nanosleep(&nap, NULL);
		if (sections && ckpt_section_end())
			_exit(1);
	}
}

static pid_t start(bool sections)
{
	pid_t init = fork();

	if (init)
		return init;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!fork())
		program(sections);
	for (;;)
		pause();
}

/* Open the member once it has a table; the last error otherwise. */
static int await(pid_t init, struct member *m)
{
	const struct timespec nap = { .tv_nsec = 5000000 };
	struct ckpt_error error = {};
	int err = -EAGAIN;

	for (unsigned int i = 0; i < 400 && err; i++) {
		err = member_open(init, 0, m, &error);
		nanosleep(&nap, NULL);
	}
	return err;
}

static void members(void **state)
{
	const struct timespec nap = { .tv_nsec = 5000000 };
	struct section_member seen[2];
	enum section_step step = SECTION_WAIT;
	struct member m[2];
	pid_t init[2];
	uint64_t target;

	for (unsigned int i = 0; i < 2; i++) {
		init[i] = start(true);
		assert_int_equal(await(init[i], &m[i]), 0);
	}
	for (unsigned int n = 0; n < 4000 && step != SECTION_MET; n++) {
		for (unsigned int i = 0; i < 2; i++)
			assert_int_equal(member_read(&m[i], &seen[i]), 0);
		step = section_decide(seen, 2, &target);
		for (unsigned int i = 0; i < 2 && step == SECTION_TELL; i++)
			assert_int_equal(member_tell(&m[i], target), 0);
		nanosleep(&nap, NULL);
	}
	assert_int_equal(step, SECTION_MET);
	nanosleep(&nap, NULL);
	assert_int_equal(member_read(&m[1], &seen[1]), 0);
	assert_true(section_waits(&seen[1]) && seen[1].section == seen[0].section);
	assert_int_equal(member_tell(&m[1], 0), 0);
	for (unsigned int n = 0; n < 400 && seen[1].section == seen[0].section; n++) {
		nanosleep(&nap, NULL);
		assert_int_equal(member_read(&m[1], &seen[1]), 0);
	}
	assert_true(seen[1].section > seen[0].section);
	for (unsigned int i = 0; i < 2; i++) {
		kill(init[i], SIGKILL);
		waitpid(init[i], NULL, 0);
		member_close(&m[i]);
	}
}

static void no_member(void **state)
{
	const struct timespec nap = { .tv_nsec = 100000000 };
	struct ckpt_error error = {};
	struct member m;
	pid_t init = start(false);

	nanosleep(&nap, NULL);
	assert_int_equal(member_open(init, 0, &m, &error), -ENODATA);
	kill(init, SIGKILL);
	waitpid(init, NULL, 0);
	assert_int_equal(member_open(init, 0, &m, &error), -EOPNOTSUPP);
	assert_int_equal(ckpt_section_end(), -EINVAL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(equal),
		T(differs),
		T(rank),
		T(other_processes),
		T(copy),
		cmocka_unit_test(members),
		cmocka_unit_test(no_member),
	};

	return cmocka_run_group_tests_name("images of replicas", tests, NULL, NULL);
}
