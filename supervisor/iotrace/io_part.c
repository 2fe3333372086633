// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of reports as JSON; see io_part.h.
 *
 * Owns the form between nodes, and its bounds: nothing is taken from JSON before it is checked, as
 * it may come from another node. Numbers stay below 2^62, so that a few can be added; whoever adds
 * many does so with a limit (io_merge.c).
 */
#include "supervisor/iotrace/io_part.h"

#include <errno.h>
#include <string.h>

#include "base/outcome.h"

#define NUMBER_MAX	((json_int_t)1 << 62)
#define SECONDS_MAX	((json_int_t)1 << 40)	/* of a time or a duration */
#define WHY_MAX		1024

static const char *const side_names[2] = { "read", "write" };

/* ---------------------------------------------------------------- building */

/* A copy of @text that lives as long as the part; NULL if there is none. */
static const char *io_part_text(struct io_part *part, const char *text)
{
	json_t *copy = text ? outcome_text(text) : NULL;

	if (!copy)
		return NULL;
	if (!part->texts)
		part->texts = json_array();
	/* without memory the text is not known */
	return json_array_append_new(part->texts, copy) ? NULL : json_string_value(copy);
}

static void io_part_add_rest(struct io_part *part, const struct io_file *file)
{
	struct portrait_side *rest = part->rest;

	portrait_add_side(&rest[0], &file->side[0], file->flags & IO_FILE_READERS);
	portrait_add_side(&rest[1], &file->side[1], file->flags & IO_FILE_WRITERS);
	part->rest_files++;
}

void io_part_add_file(struct io_part *part, const struct io_part_file *file)
{
	struct io_part_file *f;

	if (part->nr_files == IO_PART_FILES) {
		io_part_add_rest(part, &file->file);
		return;
	}
	f = &part->files[part->nr_files++];
	*f = *file;
	f->name = io_part_text(part, file->name);
	f->place = io_part_text(part, file->place);
}

void io_part_done(struct io_part *part)
{
	json_decref(part->spans);
	json_decref(part->texts);
	part->spans = part->texts = NULL;
}

/* ---------------------------------------------------------------- encoding */

static json_t *io_part_numbers(const uint64_t *n, size_t nr)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < nr; i++)
		json_array_append_new(array, json_integer(n[i] < (uint64_t)NUMBER_MAX ?
							  (json_int_t)n[i] : NUMBER_MAX));
	return array;
}

#define NUMBERS(...)	io_part_numbers((const uint64_t []){ __VA_ARGS__ },			\
					sizeof((const uint64_t []){ __VA_ARGS__ }) /		\
					sizeof(uint64_t))

static json_t *io_part_encode_ops(const struct io_counts *counts)
{
	json_t *ops = json_array();
	int i;

	for (i = 0; i < IO_OPS; i++) {
		const struct io_op_counts *o = &counts->op[i];

		json_array_append_new(ops, NUMBERS(o->count, o->errors, o->bytes, o->ns));
	}
	return ops;
}

static json_t *io_part_encode_hists(const struct io_counts *counts)
{
	json_t *hists = json_array();
	int i, k, nr;

	for (i = 0; i < IO_HISTS; i++) {
		uint64_t bucket[IO_BUCKETS];

		for (k = nr = 0; k < IO_BUCKETS; k++) {
			bucket[k] = counts->hist[i][k];
			nr = bucket[k] ? k + 1 : nr;
		}
		json_array_append_new(hists, io_part_numbers(bucket, (size_t)nr));
	}
	return hists;
}

static json_t *io_part_encode_file(const struct io_part_file *f)
{
	const struct io_side *r = &f->file.side[0], *w = &f->file.side[1];

	/* inodes have all 64 bits: as two's complement, and no number that is added up */
	return json_pack("{s:I, s:I, s:I, s:o, s:s*, s:b, s:s*, s:o, s:o}",
			 "ino", (json_int_t)f->key.ino, "dev", (json_int_t)f->key.dev,
			 "flags", (json_int_t)(f->file.flags & (IO_FILE_READERS | IO_FILE_WRITERS)),
			 "opens", json_integer((json_int_t)f->file.opens), "name", f->name,
			 "partial", f->partial, "place", f->place,
			 "read", NUMBERS(r->count, r->bytes, r->sequential),
			 "write", NUMBERS(w->count, w->bytes, w->sequential));
}

static json_t *io_part_encode_side(const struct portrait_side *s)
{
	return NUMBERS(s->files, s->bytes, s->shared_files, s->shared_bytes, s->small_files,
		       s->operations, s->sequential);
}

json_t *io_part_encode(const struct io_part *part)
{
	json_t *files = json_array(), *phases = json_array();
	unsigned int i;

	for (i = 0; i < part->nr_files; i++)
		json_array_append_new(files, io_part_encode_file(&part->files[i]));
	for (i = 0; i < part->nr_phases; i++) {
		const struct io_part_phase *p = &part->phases[i];

		json_array_append_new(phases, NUMBERS((uint64_t)p->began, (uint64_t)p->seconds,
						      p->bytes[0], p->bytes[1]));
	}
	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:I, s:o, s:o}, s:o, s:O, "
			 "s:o*, s:I}", "seconds", (json_int_t)part->seconds,
			 "active", (json_int_t)part->active_s,
			 "peak", io_part_numbers(part->peak, 2),
			 "processes", io_part_numbers(part->processes, 2),
			 "lost", NUMBERS(part->counts.names_lost, part->counts.files_lost),
			 "ops", io_part_encode_ops(&part->counts),
			 "hists", io_part_encode_hists(&part->counts), "files", files,
			 "rest", "files", (json_int_t)part->rest_files,
			 "read", io_part_encode_side(&part->rest[0]),
			 "write", io_part_encode_side(&part->rest[1]),
			 "phases", phases, "spans", part->spans,
			 "judged", part->unjudged ? NULL :
			 io_judged_encode(part->judged, part->nr_judged),
			 "left_out", (json_int_t)part->left_out);
}

/* ---------------------------------------------------------------- decoding */

static bool io_part_number(const json_t *json, json_int_t max, uint64_t *ret_n)
{
	const json_int_t n = json_integer_value(json);

	if (!json_is_integer(json) || n < 0 || n > max)
		return false;
	*ret_n = (uint64_t)n;
	return true;
}

/* An array of @least to @most numbers. */
static bool io_part_array(const json_t *array, size_t least, size_t most, uint64_t *ret_n)
{
	size_t i;

	if (!json_is_array(array) || json_array_size(array) < least ||
	    json_array_size(array) > most)
		return false;
	for (i = 0; i < json_array_size(array); i++) {
		if (!io_part_number(json_array_get(array, i), NUMBER_MAX, &ret_n[i]))
			return false;
	}
	return true;
}

/* A text that may be missing, of less than @size bytes. */
static bool io_part_string(const json_t *json, size_t size, const char **ret_text)
{
	if (json && (!json_is_string(json) || json_string_length(json) >= size ||
		     strlen(json_string_value(json)) != json_string_length(json)))
		return false;
	*ret_text = json_string_value(json);
	return true;
}

static bool io_part_decode_counts(const json_t *json, struct io_counts *counts)
{
	const json_t *ops = json_object_get(json, "ops"), *hists = json_object_get(json, "hists");
	uint64_t n[IO_BUCKETS], lost[2];
	size_t i, k;

	if (json_array_size(ops) != IO_OPS || json_array_size(hists) != IO_HISTS ||
	    !io_part_array(json_object_get(json, "lost"), 2, 2, lost))
		return false;
	counts->names_lost = lost[0];
	counts->files_lost = lost[1];
	for (i = 0; i < IO_OPS; i++) {
		if (!io_part_array(json_array_get(ops, i), 4, 4, n))
			return false;
		counts->op[i] = (struct io_op_counts){
			.count = n[0], .errors = n[1], .bytes = n[2], .ns = n[3],
		};
	}
	for (i = 0; i < IO_HISTS; i++) {
		const json_t *hist = json_array_get(hists, i);

		if (!io_part_array(hist, 0, IO_BUCKETS, n))
			return false;
		for (k = 0; k < json_array_size(hist); k++)
			counts->hist[i][k] = n[k];
	}
	return true;
}

static bool io_part_decode_file(const json_t *json, struct io_part_file *f)
{
	const json_t *ino = json_object_get(json, "ino");
	uint64_t dev, flags, opens, n[3];
	int i;

	if (!json_is_integer(ino) ||
	    !io_part_number(json_object_get(json, "dev"), UINT32_MAX, &dev) ||
	    !io_part_number(json_object_get(json, "flags"), UINT32_MAX, &flags) ||
	    !io_part_number(json_object_get(json, "opens"), NUMBER_MAX, &opens) ||
	    !json_is_boolean(json_object_get(json, "partial")) ||
	    !io_part_string(json_object_get(json, "name"), IO_PATH_MAX, &f->name) ||
	    !io_part_string(json_object_get(json, "place"), IO_PLACE_MAX, &f->place))
		return false;
	f->key.ino = (__u64)json_integer_value(ino);
	f->key.dev = (__u32)dev;
	f->file.flags = flags & (IO_FILE_READERS | IO_FILE_WRITERS);
	f->file.opens = opens;
	f->partial = json_is_true(json_object_get(json, "partial"));
	for (i = 0; i < 2; i++) {
		if (!io_part_array(json_object_get(json, side_names[i]), 3, 3, n))
			return false;
		f->file.side[i].count = n[0];
		f->file.side[i].bytes = n[1];
		f->file.side[i].sequential = n[2];
	}
	return true;
}

static bool io_part_decode_files(const json_t *json, struct io_part *part)
{
	const json_t *files = json_object_get(json, "files"), *rest = json_object_get(json, "rest");
	const json_t *row;
	uint64_t n[7];
	size_t i;

	if (!json_is_array(files) || json_array_size(files) > IO_PART_FILES ||
	    !io_part_number(json_object_get(rest, "files"), NUMBER_MAX, &part->rest_files))
		return false;
	json_array_foreach(files, i, row) {
		if (!io_part_decode_file(row, &part->files[i]))
			return false;
		part->nr_files++;
	}
	for (i = 0; i < 2; i++) {
		if (!io_part_array(json_object_get(rest, side_names[i]), 7, 7, n))
			return false;
		part->rest[i] = (struct portrait_side){
			.files = n[0], .bytes = n[1], .shared_files = n[2], .shared_bytes = n[3],
			.small_files = n[4], .operations = n[5], .sequential = n[6],
		};
	}
	return true;
}

static bool io_part_decode_phases(const json_t *json, struct io_part *part)
{
	const json_t *phases = json_object_get(json, "phases"), *row;
	uint64_t n[4];
	size_t i;

	if (!json_is_array(phases) || json_array_size(phases) > IO_PART_PHASES)
		return false;
	json_array_foreach(phases, i, row) {
		if (!io_part_array(row, 4, 4, n) || n[0] > SECONDS_MAX || n[1] > SECONDS_MAX)
			return false;
		part->phases[part->nr_phases++] = (struct io_part_phase){
			.began = (int64_t)n[0], .seconds = (int64_t)n[1],
			.bytes = { n[2], n[3] },
		};
	}
	return true;
}

/* A copy of a span with the fields that are known; NULL: it is none. */
static json_t *io_part_decode_span(const json_t *json)
{
	static const char *const numbers[] = {
		"began", "ended", "names_lost", "files_lost", "missed", "files_full"
	};
	const char *source, *why;
	json_t *span;
	uint64_t n;
	size_t i;

	if (!io_part_string(json_object_get(json, "source"), 16, &source) || !source ||
	    !io_part_string(json_object_get(json, "why"), WHY_MAX, &why) || !why)
		return NULL;
	span = json_pack("{s:s, s:s}", "source", source, "why", why);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const json_int_t max = i < 2 ? SECONDS_MAX : NUMBER_MAX;

		if (!io_part_number(json_object_get(json, numbers[i]), max, &n)) {
			json_decref(span);
			return NULL;
		}
		json_object_set_new(span, numbers[i], json_integer((json_int_t)n));
	}
	return span;
}

static bool io_part_decode_spans(const json_t *json, struct io_part *part)
{
	const json_t *spans = json_object_get(json, "spans"), *row;
	size_t i;

	if (!json_is_array(spans) || json_array_size(spans) > IO_PART_SPANS)
		return false;
	part->spans = json_array();
	json_array_foreach(spans, i, row) {
		json_t *span = io_part_decode_span(row);

		if (!span || json_array_append_new(part->spans, span))
			return false;
	}
	return true;
}

static bool io_part_decode_judged(const json_t *json, struct io_part *part)
{
	const json_t *judged = json_object_get(json, "judged");
	const json_t *left_out = json_object_get(json, "left_out");
	const int n = io_judged_decode(judged, part->judged);

	part->nr_judged = n > 0 ? (unsigned int)n : 0;
	part->unjudged = !judged;
	/* a node of an older release says nothing of these */
	return n >= 0 && (!left_out || io_part_number(left_out, NUMBER_MAX, &part->left_out));
}

int io_part_decode(const json_t *json, struct io_part *ret_part)
{
	struct io_part *part = ret_part;

	/* the texts are the JSON's */
	part->texts = json_incref((json_t *)json);
	if (io_part_number(json_object_get(json, "seconds"), SECONDS_MAX, &part->seconds) &&
	    io_part_number(json_object_get(json, "active"), SECONDS_MAX, &part->active_s) &&
	    io_part_array(json_object_get(json, "peak"), 2, 2, part->peak) &&
	    io_part_array(json_object_get(json, "processes"), 2, 2, part->processes) &&
	    io_part_decode_counts(json, &part->counts) && io_part_decode_files(json, part) &&
	    io_part_decode_phases(json, part) && io_part_decode_spans(json, part) &&
	    io_part_decode_judged(json, part))
		return 0;
	io_part_done(part);
	*part = (struct io_part){};
	return -EBADMSG;
}
