// SPDX-License-Identifier: GPL-2.0-only
/*
 * A group of images and its parity; see erasure_fixture.h.
 */
#include "tests/unit/erasure_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const int four[4] = { 0, 60, 300, 1200 };

static void take_note(const char *text, void *arg)
{
	struct group *g = arg;
	size_t len = strlen(g->notes);

	snprintf(g->notes + len, sizeof(g->notes) - len, "%s\n", text);
}

void group_store(struct group *g, const char *dir, uint64_t seed, int pages,
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

void group_init(struct group *g, struct scratch *s, unsigned int k, unsigned int m,
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
		group_store(g, g->images[i], i + 1, pages[i], 7);
	}
	for (i = 0; i < m; i++) {
		snprintf(g->parities[i], sizeof(g->parities[i]), "%s/parity-%u", s->root, i);
		g->outputs[i] = (struct erasure_output){ i, g->parities[i] };
	}
}

int group_try_encode(struct group *g)
{
	return erasure_encode(g->members, g->k, g->m, g->outputs, g->m, g->s->key,
			      &g->options, &g->error);
}

void group_encode(struct group *g)
{
	if (group_try_encode(g))
		fail_msg("%s", g->error.text);
}

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

int group_rebuild(struct group *g, const unsigned int *lost, unsigned int nr_lost)
{
	const char *images[GROUP_MAX], *parities[GROUP_MAX];
	struct erasure_inputs in = { images, 0, parities, 0 };
	struct erasure_wanted want[GROUP_MAX];
	char dirs[GROUP_MAX][160];
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

void group_check_again(struct group *g, const unsigned int *lost, unsigned int nr_lost)
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

void group_lose(struct group *g, const unsigned int *lost, unsigned int nr_lost)
{
	if (nr_lost == g->m && lost[0] >= g->k && lost[nr_lost - 1] >= g->k) {
		assert_int_equal(group_rebuild(g, lost, nr_lost), -ENODATA);
		return;
	}
	if (group_rebuild(g, lost, nr_lost))
		fail_msg("%s", g->error.text);
	group_check_again(g, lost, nr_lost);
	assert_string_equal(g->notes, "");
}
