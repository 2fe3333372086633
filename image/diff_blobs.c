// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contents of files in two images.
 *
 * Each image numbers its blobs anew, so equal contents are found first, by a hash of the nonzero
 * data and its place; the rest of both images is compared by number. All contents are read
 * once; memory: a hash for each.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "image/diff_blobs.h"

struct contents {
	uint64_t id, size;
	XXH128_hash_t hash;
	bool matched;
};

/* Stored zeros and a hole count as the same contents. */
static bool diff_blobs_is_zero(const uint8_t *data, size_t len)
{
	return !len || (!data[0] && !memcmp(data, data + 1, len - 1));
}

/* Hash the nonzero data and its place; holes are skipped, however large. */
static int hash_blob(struct image_reader *r, struct contents *c, XXH3_state_t *state)
{
	uint64_t cursor = 0, start, len, done = 0;
	uint8_t data[4096];
	int err;

	XXH3_128bits_reset(state);
	XXH3_128bits_update(state, &c->size, sizeof(c->size));
	while ((err = image_blob_extent(r, c->id, &cursor, &start, &len)) == 1) {
		uint64_t at = start - start % sizeof(data);

		for (at = at < done ? done : at; at < start + len; at += sizeof(data)) {
			size_t n = c->size - at < sizeof(data) ? c->size - at : sizeof(data);

			err = image_blob_read(r, c->id, at, data, n);
			if (err)
				return err;
			done = at + sizeof(data);
			if (diff_blobs_is_zero(data, n))
				continue;
			XXH3_128bits_update(state, &at, sizeof(at));
			XXH3_128bits_update(state, data, n);
		}
	}
	c->hash = XXH3_128bits_digest(state);
	return err;
}

static int add_blob(struct image_reader *r, struct contents **blobs, size_t *nr,
		    const struct contents *blob, XXH3_state_t *state)
{
	struct contents *more = reallocarray(*blobs, *nr + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	*blobs = more;
	more[*nr] = *blob;
	return hash_blob(r, &more[(*nr)++], state);
}

/* In ascending order of their numbers. */
static int collect_blobs(struct image_reader *r, struct contents **blobs, size_t *nr)
{
	XXH3_state_t *state = XXH3_createState();
	struct contents c = { 0 };
	int err = state ? 0 : -ENOMEM;

	while (!err && (err = image_blob_next(r, &c.id, &c.size)) == 1)
		err = add_blob(r, blobs, nr, &c, state);
	XXH3_freeState(state);
	return err;
}

static int compare_contents_of(const void *a, const void *b)
{
	const struct contents *x = a, *y = b;
	int order = XXH128_cmp(&x->hash, &y->hash);

	return order ? order : x->id < y->id ? -1 : x->id > y->id;
}

static int compare_ids(const void *a, const void *b)
{
	const struct contents *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Remove blobs that are in both and return their number; the rest is sorted by number again. */
static json_int_t match_blobs(struct contents *a, size_t nr_a, struct contents *b, size_t nr_b)
{
	json_int_t same = 0;
	size_t i = 0, j = 0;

	qsort(a, nr_a, sizeof(*a), compare_contents_of);
	qsort(b, nr_b, sizeof(*b), compare_contents_of);
	while (i < nr_a && j < nr_b) {
		int order = XXH128_cmp(&a[i].hash, &b[j].hash);

		if (!order) {
			a[i].matched = b[j].matched = true;
			same++;
		}
		i += order <= 0;
		j += order >= 0;
	}
	qsort(a, nr_a, sizeof(*a), compare_ids);
	qsort(b, nr_b, sizeof(*b), compare_ids);
	return same;
}

/* Returns false without memory. */
static bool list_id(json_t *array, size_t max, uint64_t id)
{
	return json_array_size(array) >= max ||
	       !json_array_append_new(array, json_integer((json_int_t)id));
}

static json_t *list_blobs(json_int_t same, size_t max, const struct contents *a, size_t nr_a,
			  const struct contents *b, size_t nr_b)
{
	json_t *changed = json_array(), *only_a = json_array(), *only_b = json_array();
	json_t *json = json_pack("{s:I, s:o, s:o, s:o}", "same", same, "changed", changed, "only_a",
				 only_a, "only_b", only_b);
	bool good = json;
	size_t i = 0, j = 0;

	while (good) {
		while (i < nr_a && a[i].matched)
			i++;
		while (j < nr_b && b[j].matched)
			j++;
		if (i == nr_a && j == nr_b)
			break;
		if (i < nr_a && j < nr_b && a[i].id == b[j].id) {
			good = list_id(changed, max, a[i++].id);
			j++;
		} else if (j == nr_b || (i < nr_a && a[i].id < b[j].id)) {
			good = list_id(only_a, max, a[i++].id);
		} else {
			good = list_id(only_b, max, b[j++].id);
		}
	}
	if (!good) {
		json_decref(json);
		return NULL;
	}
	return json;
}

int diff_blobs(struct image_reader *a, struct image_reader *b, size_t max, json_t **ret_json)
{
	struct contents *of_a = NULL, *of_b = NULL;
	size_t nr_a = 0, nr_b = 0;
	json_int_t same;
	int err;

	err = collect_blobs(a, &of_a, &nr_a);
	if (!err)
		err = collect_blobs(b, &of_b, &nr_b);
	if (!err) {
		same = nr_a && nr_b ? match_blobs(of_a, nr_a, of_b, nr_b) : 0;
		*ret_json = list_blobs(same, max, of_a, nr_a, of_b, nr_b);
		err = *ret_json ? 0 : -ENOMEM;
	}
	free(of_a);
	free(of_b);
	return err;
}
