// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parity over images: whatever may be lost comes back to the last bit, and what must
 * not be made is not made.  What happens in the middle of it is test_erasure_faults.c's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/erasure_fixture.h"

/* -------------------------------------------------------------- what it is for */

static void every_loss_of_4_2(void **state)
{
	struct group g;
	unsigned int lost[2];

	group_init(&g, *state, 4, 2, four);
	group_encode(&g);
	assert_true(g.figures.bytes_in > 4 << 20);
	for (lost[0] = 0; lost[0] < 6; lost[0]++) {
		group_lose(&g, lost, 1);
		for (lost[1] = lost[0] + 1; lost[1] < 6; lost[1]++)
			group_lose(&g, lost, 2);
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
		unsigned int lost[GROUP_MAX], i, n, nr = codes[c][0] + codes[c][1];
		int pages[GROUP_MAX];
		struct group g;

		for (i = 0; i < codes[c][0]; i++)
			pages[i] = rng_next(&rng) % 3 ? (int)(rng_next(&rng) % 500) : 0;
		group_init(&g, s, codes[c][0], codes[c][1], pages);
		group_encode(&g);
		for (n = 0; n < 4; n++) {
			unsigned int start = (unsigned int)(rng_next(&rng) >> 32);

			for (i = 0; i < g.m; i++)
				lost[i] = (start + i * (1 + n % 2)) % nr;
			if (g.m > 1 && lost[0] == lost[g.m - 1])
				continue;
			group_lose(&g, lost, g.m);
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
	group_lose(&g, lost, 2);
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
	group_encode(&g);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		flip(g.parities[0], "parity", places[i]);
		assert_int_equal(erasure_verify(g.parities[0], g.s->key, true, NULL, &g.error),
				 -EBADMSG);
		assert_non_null(strstr(g.error.text, "parity-0"));
		/* the other piece will do for one */
		if (group_rebuild(&g, one, 1))
			fail_msg("%s", g.error.text);
		group_check_again(&g, one, 1);
		assert_non_null(strstr(g.notes, "parity-0"));
		/* and not for two */
		assert_int_equal(group_rebuild(&g, two, 2), -ENODATA);
		assert_non_null(strstr(g.error.text, "n2"));
		assert_non_null(strstr(g.error.text, "n3"));
		assert_non_null(strstr(g.error.text, "parity 0"));
		assert_int_equal(count_entries(g.s->root), 6);
		flip(g.parities[0], "parity", places[i]);
	}
	group_lose(&g, two, 2);
}

static void lost_header(void **state)
{
	struct group g;
	unsigned int one[] = { 3 };
	char path[200];
	size_t len;
	uint8_t *data;

	group_init(&g, *state, 4, 1, four);
	group_encode(&g);
	snprintf(path, sizeof(path), "%s/parity", g.parities[0]);
	data = load_file(path, &len);
	memset(data, 0, 4096);
	store_file(path, data, len);
	assert_int_equal(group_rebuild(&g, one, 1), -EBADMSG);
	assert_non_null(strstr(g.error.text, "parity-0"));
	/* cut off, and with a tail */
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(group_rebuild(&g, one, 1), -EBADMSG);
	free(data);
	assert_int_equal(group_rebuild(&g, (unsigned int []){ 4 }, 1), -ENODATA);
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
	group_encode(&g);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		/* the lost one is longer, so all of this one matters */
		flip(g.images[2], files[i], 0.5);
		if (group_rebuild(&g, one, 1))
			fail_msg("%s", g.error.text);
		group_check_again(&g, one, 1);
		assert_non_null(strstr(g.notes, "member-2"));
		/* parity is not made of it, either */
		if (group_rebuild(&g, parity, 1))
			fail_msg("%s", g.error.text);
		assert_non_null(strstr(g.notes, "member-2"));
		group_check_again(&g, parity, 1);
		assert_int_equal(group_rebuild(&g, two, 2), -ENODATA);
		assert_non_null(strstr(g.error.text, "n2"));
		assert_int_equal(count_entries(g.s->root), 6);
		flip(g.images[2], files[i], 0.5);
	}
	group_lose(&g, two, 2);
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
	group_store(&g, g.images[2], 3, 300, 6);
	assert_int_equal(group_try_encode(&g), -ESTALE);
	assert_non_null(strstr(g.error.text, "n2"));
	assert_int_equal(count_entries(g.s->root), 4);
	remove_image(g.images[2]);
	group_store(&g, g.images[2], 3, 300, 7);
	g.options.transfer = &transfer;
	assert_int_equal(group_try_encode(&g), -ESTALE);
	g.options.transfer = NULL;
	group_encode(&g);
	g.options.transfer = &transfer;
	assert_int_equal(group_rebuild(&g, one, 1), -ESTALE);
	g.options.transfer = NULL;
	/* the same generation, dumped again: another image */
	snprintf(other, sizeof(other), "%s/kept", g.s->root);
	assert_int_equal(rename(g.images[2], other), 0);
	group_store(&g, g.images[2], 3, 300, 7);
	assert_int_equal(group_rebuild(&g, one, 1), -ESTALE);
	assert_non_null(strstr(g.error.text, "member-2"));
	/* parity of the new set beside parity of the old one */
	remove_image(g.parities[1]);
	assert_int_equal(erasure_encode(g.members, 4, 2, &g.outputs[1], 1, g.s->key, NULL,
					&g.error), 0);
	assert_int_equal(group_rebuild(&g, one, 1), -ESTALE);
	assert_non_null(strstr(g.error.text, "parity-1"));
	remove_image(g.images[2]);
	assert_int_equal(rename(other, g.images[2]), 0);
	remove_image(g.parities[1]);
	if (group_rebuild(&g, one, 1))
		fail_msg("%s", g.error.text);
	group_check_again(&g, one, 1);
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
	assert_int_equal(group_try_encode(&g), -EINVAL);
	g.outputs[0].index = 0;
	twice[1] = (struct erasure_member){ "n1", g.s->root, 1 };
	assert_int_equal(erasure_encode(twice, 2, 1, g.outputs, 1, g.s->key, NULL, &g.error),
			 -ENOENT);
	assert_non_null(strstr(g.error.text, "n1"));
	group_encode(&g);
	assert_int_equal(group_try_encode(&g), -EEXIST);
	assert_int_equal(group_rebuild(&g, lost, 2), -EINVAL);
	assert_int_equal(image_key_from_bytes((const uint8_t *)"another key of thirty-two bytes.",
					      &key), 0);
	assert_int_equal(erasure_verify(g.parities[0], key, false, NULL, &g.error),
			 -EKEYREJECTED);
	image_key_destroy(key);
	assert_int_equal(image_remove(g.parities[0], &g.error), 0);
	assert_int_equal(erasure_verify(g.parities[0], g.s->key, false, NULL, &g.error), -ENOENT);
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
		T(mixed_generations),
		T(wrong_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
