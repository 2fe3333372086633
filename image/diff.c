// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares two images.
 *
 * Records are matched by name (describe.c) and compared by a hash of their bytes
 * without fields such as host pids.  Memory maps are matched by the pid of
 * the process they belong to, walked together in address order, and compared by
 * content, however it is stored.  Contents of files: diff_blobs.c.
 *
 * Memory: a name and a hash per record; lists in the result are cut at LIST_MAX
 * entries, counts never are.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include <linux/ckpt.h>
#include <linux/ckpt_records.h>

#include "base/error.h"
#include "image/describe.h"
#include "image/diff_blobs.h"
#include "image/show.h"

#define LIST_MAX	1000U
#define NR_TYPES	65536

struct named {
	char *what;
	uint16_t type;
	XXH128_hash_t hash;
};

/* A memory map and the process that it is matched by. */
struct map {
	int32_t pid;
	uint64_t mm_id;
};

struct side {
	struct image_reader *r;
	struct named *records;
	size_t nr_records;
	struct map *maps;
	size_t nr_maps;
	uint32_t *ordinals;	/* by type, while collecting */
};

struct diff {
	struct side a, b;
	json_t *root;
	bool differs;
	bool failed;		/* out of memory in jansson */
};

static void side_done(struct side *s)
{
	size_t i;

	for (i = 0; i < s->nr_records; i++)
		free(s->records[i].what);
	free(s->records);
	free(s->maps);
	free(s->ordinals);
}

static void diff_set(struct diff *d, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		d->failed = true;
}

static void diff_list(struct diff *d, json_t *array, json_t *value)
{
	if (json_array_size(array) >= LIST_MAX)
		json_decref(value);
	else if (json_array_append_new(array, value))
		d->failed = true;
}

/* --------------------------------------------------------------- collect */

static int add_map(struct side *s, const struct ckpt_rec_mm *mm)
{
	struct map *v = reallocarray(s->maps, s->nr_maps + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	s->maps = v;
	v[s->nr_maps++] = (struct map){ .pid = mm->pid, .mm_id = mm->mm_id };
	return 0;
}

static int add_record(struct side *s, const struct image_record *rec,
		      size_t *room)
{
	char what[DESCRIBE_MAX];
	struct named *n;
	uint8_t *copy;

	if (s->nr_records == *room) {
		size_t more = *room ? *room * 2 : 256;

		n = reallocarray(s->records, more, sizeof(*n));
		if (!n)
			return -ENOMEM;
		s->records = n;
		*room = more;
	}
	copy = malloc(rec->len);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, rec->data, rec->len);
	describe_forget_host(rec->type, copy, rec->len);
	describe_record(rec, s->ordinals[rec->type]++, what);
	n = &s->records[s->nr_records];
	n->type = rec->type;
	n->hash = XXH3_128bits(copy, rec->len);
	n->what = strdup(what);
	free(copy);
	if (!n->what)
		return -ENOMEM;
	s->nr_records++;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return strcmp(x->what, y->what);
}

static int compare_maps(const void *a, const void *b)
{
	const struct map *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->mm_id < y->mm_id ? -1 : x->mm_id > y->mm_id;
}

static int diff_collect(struct side *s, struct ckpt_error *error)
{
	struct image_record rec;
	size_t room = 0;
	int err;

	s->ordinals = calloc(NR_TYPES, sizeof(*s->ordinals));
	if (!s->ordinals)
		return error_set(error, -ENOMEM, "out of memory");
	image_state_rewind(s->r);
	while ((err = image_state_next(s->r, &rec)) == 1) {
		const struct ckpt_rec_mm *mm =
			describe_as(&rec, CKPT_REC_MM, struct ckpt_rec_mm);

		if (mm && add_map(s, mm))
			return error_set(error, -ENOMEM, "out of memory");
		if (add_record(s, &rec, &room))
			return error_set(error, -ENOMEM, "out of memory");
	}
	if (err)
		return error_set(error, err, "%s", image_reader_error(s->r));
	if (s->nr_records)
		qsort(s->records, s->nr_records, sizeof(*s->records), compare_names);
	if (s->nr_maps)
		qsort(s->maps, s->nr_maps, sizeof(*s->maps), compare_maps);
	return 0;
}

/* --------------------------------------------------------------- records */

struct record_diff {
	uint64_t same;
	uint64_t nr_changed, nr_only_a, nr_only_b;
	json_t *changed, *only_a, *only_b;
};

static void note_only(struct diff *d, const struct named *n, uint64_t *count,
		      json_t *array)
{
	(*count)++;
	d->differs = true;
	diff_list(d, array, json_string(n->what));
}

static void note_pair(struct diff *d, struct record_diff *rd,
		      const struct named *a, const struct named *b)
{
	if (XXH128_isEqual(a->hash, b->hash)) {
		rd->same++;
		return;
	}
	rd->nr_changed++;
	diff_list(d, rd->changed, json_string(a->what));
	if (!describe_is_identity(a->type))
		d->differs = true;
}

static void diff_records(struct diff *d)
{
	const struct side *a = &d->a, *b = &d->b;
	struct record_diff rd = {
		.changed = json_array(),
		.only_a = json_array(),
		.only_b = json_array(),
	};
	size_t i = 0, j = 0;

	while (i < a->nr_records || j < b->nr_records) {
		int order = i == a->nr_records ? 1 : j == b->nr_records ? -1 :
			    compare_names(&a->records[i], &b->records[j]);

		if (order < 0)
			note_only(d, &a->records[i++], &rd.nr_only_a, rd.only_a);
		else if (order > 0)
			note_only(d, &b->records[j++], &rd.nr_only_b, rd.only_b);
		else
			note_pair(d, &rd, &a->records[i++], &b->records[j++]);
	}
	diff_set(d, d->root, "records",
		 json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o}",
			   "same", (json_int_t)rd.same,
			   "nr_changed", (json_int_t)rd.nr_changed,
			   "nr_only_a", (json_int_t)rd.nr_only_a,
			   "nr_only_b", (json_int_t)rd.nr_only_b,
			   "changed", rd.changed, "only_a", rd.only_a,
			   "only_b", rd.only_b));
}

/* ----------------------------------------------------------------- pages */

/* One side of a walk over a memory map: the run at hand. */
struct walk {
	struct image_reader *r;
	uint64_t mm_id;		/* 0: no such map on this side */
	uint64_t cursor;
	struct image_run run;	/* nr_pages 0: no more */
};

struct page_diff {
	uint64_t same, changed, only_a, only_b;
	json_t *ranges;		/* of changed pages */
	uint64_t start, end;	/* range being collected */
};

static void walk_next(struct walk *w)
{
	w->run.nr_pages = 0;
	if (w->mm_id && image_pages_next(w->r, w->mm_id, &w->cursor, &w->run) != 1)
		w->run.nr_pages = 0;
}

/* Drop the first pages of the run at hand. */
static void walk_skip(struct walk *w, uint64_t nr_pages)
{
	w->run.addr += nr_pages * IMAGE_PAGE_SIZE;
	w->run.nr_pages -= nr_pages;
	if (!w->run.nr_pages)
		walk_next(w);
}

static void end_range(struct diff *d, struct page_diff *pd)
{
	if (pd->end > pd->start)
		diff_list(d, pd->ranges,
			  json_pack("{s:I, s:I}", "addr", (json_int_t)pd->start, "pages",
				    (json_int_t)((pd->end - pd->start) / IMAGE_PAGE_SIZE)));
	pd->start = 0;
	pd->end = 0;
}

static void note_page(struct diff *d, struct page_diff *pd, uint64_t addr, bool same)
{
	if (same) {
		pd->same++;
		return;
	}
	pd->changed++;
	if (addr != pd->end) {
		end_range(d, pd);
		pd->start = addr;
	}
	pd->end = addr + IMAGE_PAGE_SIZE;
}

static int compare_contents(struct diff *d, struct page_diff *pd, struct walk *a,
			    struct walk *b, uint64_t nr_pages)
{
	uint64_t addr = a->run.addr;

	while (nr_pages) {
		uint64_t n = nr_pages, i;
		const void *x, *y;
		int err;

		err = image_pages_peek(a->r, a->mm_id, addr, &n, &x);
		if (err)
			return err;
		err = image_pages_peek(b->r, b->mm_id, addr, &n, &y);
		if (err)
			return err;
		for (i = 0; i < n; i++) {
			size_t at = i * IMAGE_PAGE_SIZE;

			note_page(d, pd, addr + at,
				  !memcmp((const uint8_t *)x + at,
					  (const uint8_t *)y + at, IMAGE_PAGE_SIZE));
		}
		addr += n * IMAGE_PAGE_SIZE;
		nr_pages -= n;
	}
	return 0;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Pages of @w before @limit that the other side does not have. */
static void skip_alone(struct walk *w, const struct walk *other, uint64_t *count)
{
	uint64_t n = w->run.nr_pages;

	if (other->run.nr_pages)
		n = min_u64(n, (other->run.addr - w->run.addr) / IMAGE_PAGE_SIZE);
	*count += n;
	walk_skip(w, n);
}

static int walk_both(struct diff *d, struct page_diff *pd, struct walk *a,
		     struct walk *b)
{
	walk_next(a);
	walk_next(b);
	while (a->run.nr_pages || b->run.nr_pages) {
		bool have_both = a->run.nr_pages && b->run.nr_pages;
		uint64_t n;
		int err = 0;

		if (!b->run.nr_pages || (have_both && a->run.addr < b->run.addr)) {
			skip_alone(a, b, &pd->only_a);
			continue;
		}
		if (!a->run.nr_pages || b->run.addr < a->run.addr) {
			skip_alone(b, a, &pd->only_b);
			continue;
		}
		n = min_u64(a->run.nr_pages, b->run.nr_pages);
		if (a->run.kind == IMAGE_RUN_ZERO && b->run.kind == IMAGE_RUN_ZERO)
			pd->same += n;
		else
			err = compare_contents(d, pd, a, b, n);
		if (err)
			return err;
		walk_skip(a, n);
		walk_skip(b, n);
	}
	end_range(d, pd);
	return 0;
}

static int diff_map(struct diff *d, json_t *maps, const struct map *a,
		    const struct map *b, struct ckpt_error *error)
{
	struct page_diff pd = { .ranges = json_array() };
	struct walk wa = { .r = d->a.r, .mm_id = a ? a->mm_id : 0 };
	struct walk wb = { .r = d->b.r, .mm_id = b ? b->mm_id : 0 };
	int err;

	err = walk_both(d, &pd, &wa, &wb);
	if (err) {
		const char *text = image_reader_error(d->a.r);

		json_decref(pd.ranges);
		return error_set(error, err, "%s",
				       *text ? text : image_reader_error(d->b.r));
	}
	if (pd.changed || pd.only_a || pd.only_b)
		d->differs = true;
	if (json_array_append_new(maps,
				  json_pack("{s:i, s:I, s:I, s:I, s:I, s:o}",
					    "pid", a ? a->pid : b->pid,
					    "pages_same", (json_int_t)pd.same,
					    "pages_changed", (json_int_t)pd.changed,
					    "pages_only_a", (json_int_t)pd.only_a,
					    "pages_only_b", (json_int_t)pd.only_b,
					    "changed", pd.ranges)))
		d->failed = true;
	return 0;
}

static int diff_memory(struct diff *d, struct ckpt_error *error)
{
	json_t *maps = json_array();
	size_t i = 0, j = 0;
	int err = 0;

	while (!err && (i < d->a.nr_maps || j < d->b.nr_maps)) {
		const struct map *a = i < d->a.nr_maps ? &d->a.maps[i] : NULL;
		const struct map *b = j < d->b.nr_maps ? &d->b.maps[j] : NULL;

		if (a && b && a->pid != b->pid) {
			if (a->pid < b->pid)
				b = NULL;
			else
				a = NULL;
		}
		err = diff_map(d, maps, a, b, error);
		i += a != NULL;
		j += b != NULL;
	}
	diff_set(d, d->root, "memory", maps);
	return err;
}

/* ------------------------------------------------------------------ both */

static json_t *diff_who(const struct image_reader *r)
{
	const struct image_manifest *m = image_manifest(r);

	return json_pack("{s:o, s:I, s:I}",
			 "job", describe_text(m->job, strlen(m->job)),
			 "generation", (json_int_t)m->generation,
			 "created_ns", (json_int_t)m->identity.created_ns);
}

int image_diff_json(struct image_reader *a, struct image_reader *b,
		    json_t **ret_json, struct ckpt_error *error)
{
	struct diff d = { .a.r = a, .b.r = b, .root = json_object() };
	json_t *blobs = NULL;
	int err;

	diff_set(&d, d.root, "a", diff_who(a));
	diff_set(&d, d.root, "b", diff_who(b));
	err = diff_collect(&d.a, error);
	if (!err)
		err = diff_collect(&d.b, error);
	if (!err) {
		diff_records(&d);
		err = diff_memory(&d, error);
	}
	if (!err) {
		err = diff_blobs(a, b, LIST_MAX, &blobs);
		if (err)
			error_set(error, err, "blobs: cannot be read");
	}
	if (!err) {
		d.differs = d.differs || json_array_size(json_object_get(blobs, "changed")) ||
			    json_array_size(json_object_get(blobs, "only_a")) ||
			    json_array_size(json_object_get(blobs, "only_b"));
		diff_set(&d, d.root, "blobs", blobs);
	}
	diff_set(&d, d.root, "equal", json_boolean(!d.differs));
	side_done(&d.a);
	side_done(&d.b);
	if (!err && d.failed)
		err = error_set(error, -ENOMEM, "out of memory");
	if (err) {
		json_decref(d.root);
		return err;
	}
	*ret_json = d.root;
	return 0;
}
