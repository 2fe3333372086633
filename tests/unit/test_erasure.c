// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parity over images: whatever may be lost comes back to the last bit, and what must
 * not be made is not made.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "levels/erasure.h"
#include "tests/unit/faulty_writer.h"
#include "tests/unit/image_fixture.h"

#define MAX	10

/* k images in member-N, m files of parity in parity-N. */
struct group {
	struct scratch *s;
	unsigned int k, m;
	char nodes[MAX][16], images[MAX][160], parities[MAX][160];
	struct erasure_member members[MAX];
	struct erasure_output outputs[MAX];
	struct erasure_figures figures;
	struct erasure_options options;
	struct image_error error;
	char notes[2000];
};

static void take_note(const char *text, void *arg)
{
	struct group *g = arg;
	size_t len = strlen(g->notes);

	snprintf(g->notes + len, sizeof(g->notes) - len, "%s\n", text);
}

static void store_member(struct group *g, const char *dir, uint64_t seed, int pages,
			 uint64_t generation)
{
	struct model_size size = {
		.mms = pages ? 1 : 0, .pages = pages, .records = 3, .blobs = pages % 3,
		.incompressible = 1,
	};
	struct model m;

	model_init(&m, seed, &size);
	model_store(&m, g->s, dir, generation, "job", seed % 2 ? 1 : 0);
	model_done(&m);
}

/* @pages: of each member's image; with 0 it has a state and an index only */
static void group_init(struct group *g, struct scratch *s, unsigned int k, unsigned int m,
		       const int *pages)
{
	unsigned int i;

	memset(g, 0, sizeof(*g));
	g->s = s;
	g->k = k;
	g->m = m;
	g->options = (struct erasure_options){
		.note = take_note, .arg = g, .figures = &g->figures,
	};
	for (i = 0; i < k; i++) {
		snprintf(g->nodes[i], sizeof(g->nodes[i]), "n%u", i);
		snprintf(g->images[i], sizeof(g->images[i]), "%s/member-%u", s->root, i);
		g->members[i] = (struct erasure_member){ g->nodes[i], g->images[i], (int)i };
		store_member(g, g->images[i], i + 1, pages[i], 7);
	}
	for (i = 0; i < m; i++) {
		snprintf(g->parities[i], sizeof(g->parities[i]), "%s/parity-%u", s->root, i);
		g->outputs[i] = (struct erasure_output){ i, g->parities[i] };
	}
}

static int try_encode(struct group *g)
{
	return erasure_encode(g->members, g->k, g->m, g->outputs, g->m, g->s->key,
			      &g->options, &g->error);
}

static void encode(struct group *g)
{
	if (try_encode(g))
		fail_msg("%s", g->error.text);
}

static const int four[] = { 0, 60, 300, 1200 };	/* up to 20 units */

static void assert_same_file(const char *a, const char *b, const char *name)
{
	_cleanup_free_ uint8_t *x = NULL, *y = NULL;
	char path[512];
	size_t len, other;

	snprintf(path, sizeof(path), "%s/%s", a, name);
	if (!path_exists(path)) {
		snprintf(path, sizeof(path), "%s/%s", b, name);
		assert_false(path_exists(path));
		return;
	}
	x = load_file(path, &len);
	snprintf(path, sizeof(path), "%s/%s", b, name);
	y = load_file(path, &other);
	assert_int_equal(len, other);
	assert_memory_equal(x, y, len);
}

static void assert_same_image(const char *a, const char *b)
{
	static const char *const files[] = { "manifest", "state", "index", "pages", "blobs" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		assert_same_file(a, b, files[i]);
}

/* Rebuild the rows of @lost, without their inputs.  Without any parity: encode again. */
static int rebuild(struct group *g, const unsigned int *lost, unsigned int nr_lost)
{
	const char *images[MAX], *parities[MAX];
	struct erasure_inputs in = { images, 0, parities, 0 };
	struct erasure_wanted want[MAX];
	char dirs[MAX][160];
	unsigned int i, row;

	g->notes[0] = '\0';
	for (row = 0; row < g->k + g->m; row++) {
		for (i = 0; i < nr_lost && lost[i] != row; i++)
			;
		if (i < nr_lost)
			continue;
		if (row < g->k)
			images[in.nr_images++] = g->images[row];
		else
			parities[in.nr_parities++] = g->parities[row - g->k];
	}
	for (i = 0; i < nr_lost; i++) {
		snprintf(dirs[i], sizeof(dirs[i]), "%s/again-%u", g->s->root, i);
		want[i] = (struct erasure_wanted){
			.node = lost[i] < g->k ? g->nodes[lost[i]] : NULL,
			.index = lost[i] < g->k ? 0 : lost[i] - g->k,
			.dir = dirs[i],
		};
	}
	return erasure_rebuild(&in, want, nr_lost, g->s->key, &g->options, &g->error);
}

static void check_again(struct group *g, const unsigned int *lost, unsigned int nr_lost)
{
	struct erasure_info info;
	char dir[160];
	unsigned int i;

	for (i = 0; i < nr_lost; i++) {
		snprintf(dir, sizeof(dir), "%s/again-%u", g->s->root, i);
		if (lost[i] < g->k) {
			assert_same_image(g->images[lost[i]], dir);
		} else {
			assert_int_equal(erasure_verify(dir, g->s->key, true, &info, NULL), 0);
			assert_int_equal(info.index, lost[i] - g->k);
		}
		remove_image(dir);
	}
}

static void lose(struct group *g, const unsigned int *lost, unsigned int nr_lost)
{
	if (nr_lost == g->m && lost[0] >= g->k && lost[nr_lost - 1] >= g->k) {
		assert_int_equal(rebuild(g, lost, nr_lost), -ENODATA);
		return;
	}
	if (rebuild(g, lost, nr_lost))
		fail_msg("%s", g->error.text);
	check_again(g, lost, nr_lost);
	assert_string_equal(g->notes, "");
}

/* -------------------------------------------------------------- what it is for */

static void every_loss_of_4_2(void **state)
{
	struct group g;
	unsigned int lost[2];

	group_init(&g, *state, 4, 2, four);
	encode(&g);
	assert_true(g.figures.bytes_in > 4 << 20);
	for (lost[0] = 0; lost[0] < 6; lost[0]++) {
		lose(&g, lost, 1);
		for (lost[1] = lost[0] + 1; lost[1] < 6; lost[1]++)
			lose(&g, lost, 2);
	}
	assert_int_equal(count_entries(g.s->root), 6);
}

static void random_groups(void **state)
{
	static const unsigned int codes[][2] = {
		{ 1, 1 }, { 2, 2 }, { 3, 1 }, { 5, 3 }, { 7, 2 }, { 6, 4 },
	};
	struct scratch *s = *state;
	uint64_t rng = 99;
	size_t c;

	for (c = 0; c < ARRAY_SIZE(codes); c++) {
		unsigned int lost[MAX], i, n, nr = codes[c][0] + codes[c][1];
		int pages[MAX];
		struct group g;

		for (i = 0; i < codes[c][0]; i++)
			pages[i] = rng_next(&rng) % 3 ? (int)(rng_next(&rng) % 500) : 0;
		group_init(&g, s, codes[c][0], codes[c][1], pages);
		encode(&g);
		for (n = 0; n < 4; n++) {
			unsigned int start = (unsigned int)(rng_next(&rng) >> 32);

			for (i = 0; i < g.m; i++)
				lost[i] = (start + i * (1 + n % 2)) % nr;
			if (g.m > 1 && lost[0] == lost[g.m - 1])
				continue;
			lose(&g, lost, g.m);
		}
		for (i = 0; i < g.k; i++)
			remove_image(g.images[i]);
		for (i = 0; i < g.m; i++)
			remove_image(g.parities[i]);
	}
}

/* Each holder makes its own piece; together they are as if one had made all. */
static void made_apart(void **state)
{
	struct erasure_info a, b;
	struct group g;
	unsigned int i, lost[] = { 1, 3 };

	group_init(&g, *state, 4, 2, four);
	for (i = 0; i < 2; i++)
		assert_int_equal(erasure_encode(g.members, 4, 2, &g.outputs[1 - i], 1,
						g.s->key, NULL, &g.error), 0);
	lose(&g, lost, 2);
	assert_int_equal(erasure_verify(g.parities[0], g.s->key, true, &a, &g.error), 0);
	assert_int_equal(erasure_verify(g.parities[1], g.s->key, false, &b, &g.error), 0);
	assert_true(a.index == 0 && b.index == 1);
	assert_memory_equal(&a.set, &b.set, sizeof(a.set));
	assert_int_equal(a.set.generation, 7);
	assert_string_equal(a.set.job, "job");
	assert_string_equal(a.set.members[2].node, "n2");
	assert_int_equal(a.set.members[2].part, 2);
}

/* The unit shrinks as groups grow; what is in hand stays below 6 MiB. */
static void memory(void **state)
{
	unsigned int k, m;

	for (k = 1; k <= RS_DATA_MAX; k++)
		for (m = 1; m <= RS_PARITY_MAX; m++)
			assert_true((uint64_t)(parity_unit(k, m) + PARITY_FRAME_HDR) * (k + m) <=
				    6 << 20);
	assert_int_equal(parity_unit(4, 2), 256 << 10);
}

/* ------------------------------------------------------------------ damage */

static void flip(const char *dir, const char *file, double where)
{
	char path[512];
	uint8_t *data;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	data = load_file(path, &len);
	data[(size_t)((double)len * where)] ^= 1;
	store_file(path, data, len);
	free(data);
}

/* A bit of a header, of a frame's header, of a payload: found, named, done without. */
static void flipped_parity(void **state)
{
	static const double places[] = { 0.0, 0.0002, 0.0006, 0.0011, 0.0018, 0.3, 0.7, 0.999999 };
	struct group g;
	unsigned int one[] = { 3 }, two[] = { 2, 3 };
	size_t i;

	group_init(&g, *state, 4, 2, four);
	encode(&g);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		flip(g.parities[0], "parity", places[i]);
		assert_int_equal(erasure_verify(g.parities[0], g.s->key, true, NULL, &g.error),
				 -EBADMSG);
		assert_non_null(strstr(g.error.text, "parity-0"));
		/* the other piece will do for one */
		if (rebuild(&g, one, 1))
			fail_msg("%s", g.error.text);
		check_again(&g, one, 1);
		assert_non_null(strstr(g.notes, "parity-0"));
		/* and not for two */
		assert_int_equal(rebuild(&g, two, 2), -ENODATA);
		assert_non_null(strstr(g.error.text, "n2"));
		assert_non_null(strstr(g.error.text, "n3"));
		assert_non_null(strstr(g.error.text, "parity 0"));
		assert_int_equal(count_entries(g.s->root), 6);
		flip(g.parities[0], "parity", places[i]);
	}
	lose(&g, two, 2);
}

static void lost_header(void **state)
{
	struct group g;
	unsigned int one[] = { 3 };
	char path[200];
	size_t len;
	uint8_t *data;

	group_init(&g, *state, 4, 1, four);
	encode(&g);
	snprintf(path, sizeof(path), "%s/parity", g.parities[0]);
	data = load_file(path, &len);
	memset(data, 0, 4096);
	store_file(path, data, len);
	assert_int_equal(rebuild(&g, one, 1), -EBADMSG);
	assert_non_null(strstr(g.error.text, "parity-0"));
	/* cut off, and with a tail */
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(rebuild(&g, one, 1), -EBADMSG);
	free(data);
	assert_int_equal(rebuild(&g, (unsigned int []){ 4 }, 1), -ENODATA);
	assert_non_null(strstr(g.error.text, "no parity"));
	assert_int_equal(count_entries(g.s->root), 5);
}

/* A survivor that went bad after the encoding: found, counts as lost, also rebuilt. */
static void damaged_survivor(void **state)
{
	static const char *const files[] = { "manifest", "pages", "state" };
	struct group g;
	unsigned int one[] = { 3 }, two[] = { 3, 1 }, parity[] = { 5 };
	size_t i;

	group_init(&g, *state, 4, 2, four);
	encode(&g);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		/* the lost one is longer, so all of this one matters */
		flip(g.images[2], files[i], 0.5);
		if (rebuild(&g, one, 1))
			fail_msg("%s", g.error.text);
		check_again(&g, one, 1);
		assert_non_null(strstr(g.notes, "member-2"));
		/* parity is not made of it, either */
		if (rebuild(&g, parity, 1))
			fail_msg("%s", g.error.text);
		assert_non_null(strstr(g.notes, "member-2"));
		check_again(&g, parity, 1);
		assert_int_equal(rebuild(&g, two, 2), -ENODATA);
		assert_non_null(strstr(g.error.text, "n2"));
		assert_int_equal(count_entries(g.s->root), 6);
		flip(g.images[2], files[i], 0.5);
	}
	lose(&g, two, 2);
}

struct saboteur {
	const char *path;
	int after;
};

/* Cuts a file off in the middle of an operation. */
static bool sabotage(void *arg)
{
	struct saboteur *s = arg;

	if (!s->after--)
		assert_int_equal(truncate(s->path, 9000), 0);
	return false;
}

/* An input that fails in the middle counts as lost; the rest is made without it. */
static void dies_in_the_middle(void **state)
{
	struct saboteur s;
	struct level_options transfer = { .cancelled = sabotage, .arg = &s };
	unsigned int lost[] = { 3 };
	char path[200];
	struct group g;

	group_init(&g, *state, 4, 2, four);
	encode(&g);
	g.options.transfer = &transfer;
	snprintf(path, sizeof(path), "%s/pages", g.images[2]);
	s = (struct saboteur){ path, 1 };
	if (rebuild(&g, lost, 1))
		fail_msg("%s", g.error.text);
	check_again(&g, lost, 1);
	assert_non_null(strstr(g.notes, "node 'n2'"));
	/* now n2 is no good from the beginning, and a piece of parity goes, too */
	snprintf(path, sizeof(path), "%s/parity", g.parities[1]);
	s = (struct saboteur){ path, 2 };
	assert_int_equal(rebuild(&g, lost, 1), -ENODATA);
	assert_non_null(strstr(g.notes, "parity 1"));
	assert_non_null(strstr(g.error.text, "node 'n2'"));
	assert_int_equal(count_entries(g.s->root), 6);
}

/* ------------------------------------------------------------------- mixed */

static void mixed_generations(void **state)
{
	struct group g;
	unsigned int one[] = { 0 };
	struct image_expect expect = { .generation = 8 };
	struct level_options transfer = { .expect = &expect };
	char other[200];

	group_init(&g, *state, 4, 2, four);
	/* one member is a generation behind */
	remove_image(g.images[2]);
	store_member(&g, g.images[2], 3, 300, 6);
	assert_int_equal(try_encode(&g), -ESTALE);
	assert_non_null(strstr(g.error.text, "n2"));
	assert_int_equal(count_entries(g.s->root), 4);
	remove_image(g.images[2]);
	store_member(&g, g.images[2], 3, 300, 7);
	g.options.transfer = &transfer;
	assert_int_equal(try_encode(&g), -ESTALE);
	g.options.transfer = NULL;
	encode(&g);
	g.options.transfer = &transfer;
	assert_int_equal(rebuild(&g, one, 1), -ESTALE);
	g.options.transfer = NULL;
	/* the same generation, dumped again: another image */
	snprintf(other, sizeof(other), "%s/kept", g.s->root);
	assert_int_equal(rename(g.images[2], other), 0);
	store_member(&g, g.images[2], 3, 300, 7);
	assert_int_equal(rebuild(&g, one, 1), -ESTALE);
	assert_non_null(strstr(g.error.text, "member-2"));
	/* parity of the new set beside parity of the old one */
	remove_image(g.parities[1]);
	assert_int_equal(erasure_encode(g.members, 4, 2, &g.outputs[1], 1, g.s->key, NULL,
					&g.error), 0);
	assert_int_equal(rebuild(&g, one, 1), -ESTALE);
	assert_non_null(strstr(g.error.text, "parity-1"));
	remove_image(g.images[2]);
	assert_int_equal(rename(other, g.images[2]), 0);
	remove_image(g.parities[1]);
	if (rebuild(&g, one, 1))
		fail_msg("%s", g.error.text);
	check_again(&g, one, 1);
}

static void wrong_arguments(void **state)
{
	struct erasure_member twice[2];
	struct image_key *key;
	struct group g;
	unsigned int lost[] = { 0, 1 };

	group_init(&g, *state, 2, 1, four);
	assert_int_equal(erasure_encode(g.members, 0, 1, g.outputs, 1, g.s->key, NULL, NULL),
			 -EINVAL);
	assert_int_equal(erasure_encode(g.members, 2, 99, g.outputs, 1, g.s->key, NULL, NULL),
			 -EINVAL);
	twice[0] = g.members[0];
	twice[1] = (struct erasure_member){ "other", g.images[0], 0 };
	assert_int_equal(erasure_encode(twice, 2, 1, g.outputs, 1, g.s->key, NULL, &g.error),
			 -EINVAL);
	twice[1] = (struct erasure_member){ "n0", g.images[1], 1 };
	assert_int_equal(erasure_encode(twice, 2, 1, g.outputs, 1, g.s->key, NULL, &g.error),
			 -EINVAL);
	g.outputs[0].index = 1;
	assert_int_equal(try_encode(&g), -EINVAL);
	g.outputs[0].index = 0;
	twice[1] = (struct erasure_member){ "n1", g.s->root, 1 };
	assert_int_equal(erasure_encode(twice, 2, 1, g.outputs, 1, g.s->key, NULL, &g.error),
			 -ENOENT);
	assert_non_null(strstr(g.error.text, "n1"));
	encode(&g);
	assert_int_equal(try_encode(&g), -EEXIST);
	assert_int_equal(rebuild(&g, lost, 2), -EINVAL);
	assert_int_equal(image_key_from_bytes((const uint8_t *)"another key of thirty-two bytes.",
					      &key), 0);
	assert_int_equal(erasure_verify(g.parities[0], key, false, NULL, &g.error),
			 -EKEYREJECTED);
	image_key_destroy(key);
	assert_int_equal(image_remove(g.parities[0], &g.error), 0);
	assert_int_equal(erasure_verify(g.parities[0], g.s->key, false, NULL, &g.error), -ENOENT);
}

/* ------------------------------------------------------------------ faults */

struct plan {
	enum fault_kind kind;
	int left, ops;
};

static int faulty_create(const char *dir, struct image_writer **ret_writer,
			 struct image_error *error, void *arg)
{
	struct image_writer *real;
	struct plan *p = arg;
	int err = image_writer_posix_create(dir, &real, error);

	if (!err)
		*ret_writer = faulty_writer(real, p->kind, &p->left, &p->ops);
	return err;
}

static int attempt(struct group *g, bool again, enum fault_kind kind, int left)
{
	struct plan plan = { .kind = kind, .left = left };
	struct level_writers writers = { faulty_create, &plan };
	struct level_options transfer = { .writers = &writers };
	unsigned int lost[] = { 1 };
	int err;

	g->options.transfer = &transfer;
	err = again ? rebuild(g, lost, 1) :
	      erasure_encode(g->members, g->k, g->m, g->outputs, 1, g->s->key, &g->options,
			     &g->error);
	g->options.transfer = NULL;
	return err;
}

static const int two_sizes[] = { 30, 400 };

static void every_fault(struct group *g, bool again, int entries)
{
	static const enum fault_kind kinds[] = { FAULT_ENOSPC, FAULT_EIO, FAULT_TORN };
	char dir[200];
	size_t i;
	int n, err;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (n = 0; ; n++) {
			err = attempt(g, again, kinds[i], n);
			if (!err)
				break;
			assert_int_equal(err, kinds[i] == FAULT_ENOSPC ? -ENOSPC : -EIO);
			assert_true(g->error.text[0]);
			assert_int_equal(count_entries(g->s->root), entries);
			assert_true(n < 200);
		}
		assert_true(n >= 8);
		snprintf(dir, sizeof(dir), "%s/again-0", g->s->root);
		remove_image(again ? dir : g->parities[0]);
	}
}

static void faults(void **state)
{
	struct group g;

	group_init(&g, *state, 2, 1, two_sizes);
	every_fault(&g, false, 2);
	encode(&g);
	every_fault(&g, true, 3);
}

/* The process dies at every operation: what it made is whole or not there. */
static void dying(void **state)
{
	unsigned int lost[] = { 0 };
	struct group g;
	int n, status;

	group_init(&g, *state, 2, 1, two_sizes);
	for (n = 0; ; n++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(attempt(&g, false, FAULT_DIE, n) ? 1 : 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		if (!WEXITSTATUS(status))
			break;
		assert_int_equal(WEXITSTATUS(status), FAULT_EXIT);
		assert_false(path_exists(g.parities[0]));
		if (n % 2)
			assert_int_equal(image_sweep(g.s->root, &g.error), 1);
		assert_true(n < 200);
	}
	lose(&g, lost, 1);
}

struct watcher {
	int after, asked;
	uint64_t last;
};

static bool cancel(void *arg)
{
	struct watcher *w = arg;

	return w->asked++ >= w->after;
}

static void watch(uint64_t done, uint64_t total, void *arg)
{
	struct watcher *w = arg;

	assert_true(done > w->last && done <= total);
	w->last = done;
}

static void cancelled(void **state)
{
	struct watcher w = {};
	struct level_options transfer = { .cancelled = cancel, .progress = watch, .arg = &w };
	struct group g;
	int i, err;

	group_init(&g, *state, 4, 2, four);
	g.options.transfer = &transfer;
	for (i = 0; ; i++) {
		w = (struct watcher){ .after = i };
		err = try_encode(&g);
		if (!err)
			break;
		assert_int_equal(err, -ECANCELED);
		assert_int_equal(count_entries(g.s->root), 4);
		assert_true(i < 100);
	}
	assert_true(i > 4);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_loss_of_4_2),
		T(random_groups),
		T(made_apart),
		T(memory),
		T(flipped_parity),
		T(lost_header),
		T(damaged_survivor),
		T(dies_in_the_middle),
		T(mixed_generations),
		T(wrong_arguments),
		T(faults),
		T(dying),
		T(cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
