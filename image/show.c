// SPDX-License-Identifier: GPL-2.0-only
/*
 * An image as JSON.
 *
 * Reads the manifest, the index and the state stream, but no page, so that even a large
 * image is shown quickly.  Numbers are bytes unless their name says pages.  account.h
 * defines the figures and their sums.
 *
 * Failed allocations are collected in one flag: jansson's *_new functions take NULL,
 * which means "out of memory", and fail.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <linux/ckpt.h>
#include <linux/ckpt_records.h>

#include "base/error.h"
#include "image/account.h"
#include "image/describe.h"
#include "image/reader_priv.h"
#include "image/show.h"

struct show {
	struct image_reader *r;
	unsigned int flags;
	json_t *root;
	json_t *processes;
	json_t *maps;			/* memory maps, by their number as text */
	struct account_maps account;	/* the figures of each memory map */
	json_t *types;			/* number of records of each type */
	json_t *records;		/* with IMAGE_SHOW_RECORDS */
	bool failed;			/* out of memory somewhere */
};

static void show_set(struct show *s, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		s->failed = true;
}

static void set_u64(struct show *s, json_t *object, const char *key, uint64_t value)
{
	show_set(s, object, key, json_integer((json_int_t)value));
}

static void set_text(struct show *s, json_t *object, const char *key, const char *text)
{
	show_set(s, object, key, describe_text(text, strlen(text)));
}

static void show_append(struct show *s, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		s->failed = true;
}

/* Add to a number that may not be there yet. */
static void show_count(struct show *s, json_t *object, const char *key, uint64_t more)
{
	json_int_t have = json_integer_value(json_object_get(object, key));

	set_u64(s, object, key, (uint64_t)have + more);
}

static void show_hex(char *text, const uint8_t *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
}

/* -------------------------------------------------------------- manifest */

static void show_created(struct show *s, uint64_t created_ns)
{
	time_t seconds = (time_t)(created_ns / 1000000000);
	char text[64] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	set_text(s, s->root, "created", text);
	set_u64(s, s->root, "created_ns", created_ns);
}

static void show_node(struct show *s, const struct image_identity *id)
{
	json_t *node = json_object();

	set_text(s, node, "hostname", id->hostname);
	set_text(s, node, "release", id->release);
	set_text(s, node, "machine", id->machine);
	set_u64(s, node, "xfeatures", id->xfeatures);
	set_u64(s, node, "xstate_size", id->xstate_size);
	show_set(s, s->root, "node", node);
}

static void show_timing(struct show *s, const struct image_timing *t)
{
	json_t *timing = json_object();

	set_u64(s, timing, "pause_ns", t->pause_ns);
	set_u64(s, timing, "freeze_ns", t->freeze_ns);
	set_u64(s, timing, "collect_ns", t->collect_ns);
	set_u64(s, timing, "clone_ns", t->clone_ns);
	set_u64(s, timing, "dump_ns", t->dump_ns);
	show_set(s, s->root, "timing", timing);
}

static void show_sizes(struct show *s, const struct image_manifest *m)
{
	const struct image_counts *c = &m->counts;
	json_t *sizes = json_object();

	set_u64(s, sizes, "raw", c->bytes_raw);
	set_u64(s, sizes, "stored", c->bytes_stored);
	set_u64(s, sizes, "pages_data", c->pages_data);
	set_u64(s, sizes, "pages_same", c->pages_same);
	set_u64(s, sizes, "pages_base", c->pages_base);
	set_u64(s, sizes, "pages_zero", c->pages_zero);
	set_u64(s, sizes, "pages_shared", c->pages_ref);
	set_u64(s, sizes, "runs", m->nr_runs);
	set_u64(s, sizes, "blobs", c->nr_blobs);
	set_u64(s, sizes, "blob_bytes", c->blob_bytes);
	set_u64(s, sizes, "blob_data", c->blob_data);
	set_u64(s, sizes, "records", c->nr_records);
	show_set(s, s->root, "sizes", sizes);
}

/* The image's stored bytes, by their use. */
static void show_stored(struct show *s)
{
	json_t *stored = json_object();
	struct account_files sums;

	account_files(s->r, &sums);
	set_u64(s, stored, "pages", sums.pages);
	set_u64(s, stored, "contents", sums.contents);
	set_u64(s, stored, "base", sums.base);
	set_u64(s, stored, "state", sums.state);
	set_u64(s, stored, "index", sums.index);
	set_u64(s, stored, "manifest", sums.manifest);
	set_u64(s, stored, "headers", sums.headers);
	set_u64(s, stored, "tags", sums.tags);
	set_u64(s, stored, "seals", sums.seals);
	set_u64(s, stored, "gaps", sums.gaps);
	set_u64(s, stored, "total", sums.total);
	show_set(s, s->root, "stored", stored);
}

static void show_files(struct show *s, const struct image_manifest *m)
{
	json_t *files = json_array();
	int i;

	for (i = 1; i < IMAGE_FILES; i++) {
		const struct image_file_info *info = &m->files[i];
		char digest[2 * sizeof(info->digest) + 1] = "";
		json_t *file;

		if (!info->name)
			continue;
		file = json_object();
		show_hex(digest, info->digest, sizeof(info->digest));
		set_text(s, file, "name", info->name);
		set_u64(s, file, "stored", info->len);
		set_u64(s, file, "raw", info->raw_len);
		set_u64(s, file, "chunks", info->nr_chunks);
		set_text(s, file, "digest", digest);
		if (i >= IMAGE_FILE_BASE)
			set_u64(s, file, "generation", m->bases[i - IMAGE_FILE_BASE].generation);
		show_append(s, files, file);
	}
	show_set(s, s->root, "files", files);
}

static void show_manifest(struct show *s)
{
	const struct image_manifest *m = image_manifest(s->r);
	char id[2 * sizeof(m->id) + 1] = "", secret[2 * sizeof(m->secret_id) + 1] = "";
	json_t *roots = json_array();
	json_t *properties = json_object();
	unsigned int i;

	show_hex(id, m->id, sizeof(m->id));
	set_u64(s, s->root, "version", m->version);
	set_text(s, s->root, "id", id);
	set_u64(s, s->root, "generation", m->generation);
	set_text(s, s->root, "job", m->job);
	show_set(s, s->root, "encrypted", json_boolean(m->encrypted));
	if (m->encrypted) {
		show_hex(secret, m->secret_id, sizeof(m->secret_id));
		set_text(s, s->root, "encryption_key", secret);
		show_set(s, s->root, "locked", json_boolean(m->locked));
		if (m->of_job)
			show_set(s, s->root, "job_key", json_true());
	}
	show_created(s, m->identity.created_ns);
	set_u64(s, s->root, "uid", m->identity.uid);
	set_u64(s, s->root, "gid", m->identity.gid);
	set_u64(s, s->root, "nr_processes", m->identity.nr_procs);
	set_u64(s, s->root, "nr_threads", m->identity.nr_threads);
	for (i = 0; i < m->nr_roots; i++)
		show_append(s, roots, json_integer(m->roots[i]));
	show_set(s, s->root, "roots", roots);
	show_node(s, &m->identity);
	show_timing(s, &m->timing);
	show_sizes(s, m);
	show_stored(s);
	show_files(s, m);
	for (i = 0; i < m->nr_keyvals; i++) {
		/* json keys must be UTF-8, and so must ours */
		json_t *value = describe_text(m->values[i], strlen(m->values[i]));

		if (!value)
			s->failed = true;
		json_object_set_new(properties, m->keys[i], value);
	}
	show_set(s, s->root, "properties", properties);
}

/* ---------------------------------------------------------------- memory */

static json_t *map_of(struct show *s, uint64_t mm_id)
{
	char key[32];
	json_t *map;

	snprintf(key, sizeof(key), "%llu", (unsigned long long)mm_id);
	map = json_object_get(s->maps, key);
	if (map)
		return map;
	map = json_object();
	set_u64(s, map, "mm_id", mm_id);
	show_set(s, s->maps, key, map);
	return json_object_get(s->maps, key);
}

static void show_figures(struct show *s, json_t *json, const struct account_map *a)
{
	set_u64(s, json, "vmas", a->nr_vmas);
	set_u64(s, json, "mapped", a->mapped);
	set_u64(s, json, "data", a->own + a->same + a->base);
	set_u64(s, json, "own", a->own);
	set_u64(s, json, "stored", a->stored);
	set_u64(s, json, "same", a->same);
	set_u64(s, json, "base", a->base);
	set_u64(s, json, "zero", a->zero);
	set_u64(s, json, "shared", a->shared);
	set_u64(s, json, "untouched", a->untouched);
	set_u64(s, json, "file", a->file);
	set_u64(s, json, "elsewhere", a->elsewhere);
	set_u64(s, json, "kernel", a->kernel);
}

/*
 * Subtract excluded pages from the sums' untouched and file pages, and return their bytes.  No
 * index has excluded pages, so they look untouched, or like the file's.  The dump has counted the
 * pages that really were; without that count, or if it is too large, the sums stay unchanged.
 */
static uint64_t take_out_excluded(struct show *s, struct account_map *sum)
{
	const char *text = image_get(s->r, IMAGE_KEY_SKIPPED);
	json_t *skipped = text ? json_loads(text, 0, NULL) : NULL;
	json_int_t untouched = 0, file = 0;
	uint64_t excluded = 0;

	if (!json_unpack(skipped, "{s:I, s:I}", "untouched", &untouched, "file", &file) &&
	    untouched >= 0 && (uint64_t)untouched <= sum->untouched / IMAGE_PAGE_SIZE &&
	    file >= 0 && (uint64_t)file <= sum->file / IMAGE_PAGE_SIZE) {
		excluded = sum->untouched + sum->file -
			   (uint64_t)(untouched + file) * IMAGE_PAGE_SIZE;
		sum->untouched = (uint64_t)untouched * IMAGE_PAGE_SIZE;
		sum->file = (uint64_t)file * IMAGE_PAGE_SIZE;
	}
	json_decref(skipped);
	return excluded;
}

/* The figures of each map, and of all of them. */
static void show_memory(struct show *s)
{
	struct account_map sum = account_sum(&s->account);
	uint64_t excluded = take_out_excluded(s, &sum);
	json_t *all = json_object();

	for (size_t i = 0; i < s->account.nr; i++)
		show_figures(s, map_of(s, s->account.v[i].mm_id), &s->account.v[i]);
	show_figures(s, all, &sum);
	set_u64(s, all, "excluded", excluded);
	show_set(s, s->root, "address_space", all);
}

static json_t *show_run(struct show *s, const struct image_run *run)
{
	static const char *const kinds[] = {
		[IMAGE_RUN_DATA] = "data",
		[IMAGE_RUN_ZERO] = "zero",
		[IMAGE_RUN_REF] = "shared",
	};
	json_t *json = json_object();

	set_u64(s, json, "addr", run->addr);
	set_u64(s, json, "pages", run->nr_pages);
	set_text(s, json, "kind", kinds[run->kind]);
	if (run->kind == IMAGE_RUN_REF) {
		set_u64(s, json, "src_mm_id", run->src_mm_id);
		set_u64(s, json, "src_addr", run->src_addr);
	}
	return json;
}

static void show_runs(struct show *s)
{
	uint64_t mm_id = 0;

	while (image_mm_next(s->r, &mm_id) == 1) {
		json_t *runs = json_array();
		struct image_run run;
		uint64_t cursor = 0;

		while (image_pages_next(s->r, mm_id, &cursor, &run) == 1)
			show_append(s, runs, show_run(s, &run));
		show_set(s, map_of(s, mm_id), "runs", runs);
	}
}

static void show_blobs(struct show *s)
{
	json_t *blobs = json_array();
	uint64_t id = 0, size;

	while (image_blob_next(s->r, &id, &size) == 1) {
		uint64_t cursor = 0, offset, len, data = 0;
		json_t *blob = json_object();

		while (image_blob_extent(s->r, id, &cursor, &offset, &len) == 1)
			data += len;
		set_u64(s, blob, "id", id);
		set_u64(s, blob, "size", size);
		set_u64(s, blob, "data", data);
		show_append(s, blobs, blob);
	}
	show_set(s, s->root, "blobs", blobs);
}

/* ----------------------------------------------------------------- state */

static void show_proc(struct show *s, const struct ckpt_rec_proc *p)
{
	static const char *const states[] = {
		[CKPT_PROC_RUNNING] = "running",
		[CKPT_PROC_STOPPED] = "stopped",
		[CKPT_PROC_ZOMBIE] = "zombie",
	};
	const char *state = p->state < ARRAY_SIZE(states) ? states[p->state] : NULL;
	json_t *json = json_object();

	show_set(s, json, "pid", json_integer(p->pid));
	show_set(s, json, "ppid", json_integer(p->ppid));
	show_set(s, json, "pgid", json_integer(p->pgid));
	show_set(s, json, "sid", json_integer(p->sid));
	show_set(s, json, "comm", describe_text(p->comm, sizeof(p->comm)));
	set_text(s, json, "state", state ? state : "unknown");
	set_u64(s, json, "threads", p->nr_threads);
	if (p->mm_id) {
		set_u64(s, json, "mm_id", p->mm_id);
		/* the same object in both places */
		show_set(s, json, "memory", json_incref(map_of(s, p->mm_id)));
	}
	show_append(s, s->processes, json);
}

static void show_record(struct show *s, const struct image_record *rec,
			const char *type, uint64_t ordinal)
{
	char what[DESCRIBE_MAX];
	json_t *json = json_object();

	describe_record(rec, ordinal, what);
	set_text(s, json, "type", type);
	set_u64(s, json, "version", rec->version);
	set_u64(s, json, "len", rec->len);
	set_text(s, json, "what", what);
	show_append(s, s->records, json);
}

static void take_record(struct show *s, const struct image_record *rec)
{
	const struct ckpt_rec_proc *proc =
		describe_as(rec, CKPT_REC_PROC, struct ckpt_rec_proc);
	const struct ckpt_rec_mm *mm =
		describe_as(rec, CKPT_REC_MM, struct ckpt_rec_mm);
	const struct ckpt_rec_vma *vma =
		describe_as(rec, CKPT_REC_VMA, struct ckpt_rec_vma);
	const char *name = describe_type(rec->type);
	char number[16];

	snprintf(number, sizeof(number), "0x%04x", rec->type);
	if (!name)
		name = number;
	if (s->records)
		show_record(s, rec, name, (uint64_t)json_integer_value(
				    json_object_get(s->types, name)));
	show_count(s, s->types, name, 1);
	if (proc)
		show_proc(s, proc);
	if (mm)
		show_set(s, map_of(s, mm->mm_id), "pid", json_integer(mm->pid));
	if (vma && account_vma(s->r, &s->account, vma))
		s->failed = true;
}

static int show_state(struct show *s)
{
	struct image_record rec;
	int err;

	image_state_rewind(s->r);
	while ((err = image_state_next(s->r, &rec)) == 1)
		take_record(s, &rec);
	return err;
}

/* Put the memory maps into the result, as a list. */
static void show_maps(struct show *s)
{
	json_t *list = json_array();
	json_t *map;
	const char *key;

	json_object_foreach(s->maps, key, map)
		show_append(s, list, json_incref(map));
	show_set(s, s->root, "memory", list);
}

/* Show the contents of index and state stream; neither can be read in a locked image. */
static int show_contents(struct show *s)
{
	int err = account_pages(s->r, &s->account);

	if (!err)
		err = show_state(s);
	if (err)
		return err;
	show_memory(s);
	if (s->flags & IMAGE_SHOW_RUNS)
		show_runs(s);
	show_set(s, s->root, "processes", json_incref(s->processes));
	show_maps(s);
	show_blobs(s);
	show_set(s, s->root, "record_types", json_incref(s->types));
	if (s->records)
		show_set(s, s->root, "records", json_incref(s->records));
	return 0;
}

int image_show_json(struct image_reader *r, unsigned int flags, json_t **ret_json,
		    struct ckpt_error *error)
{
	struct show s = {
		.r = r,
		.flags = flags,
		.root = json_object(),
		.processes = json_array(),
		.maps = json_object(),
		.types = json_object(),
	};
	int err;

	if (flags & IMAGE_SHOW_RECORDS)
		s.records = json_array();
	show_manifest(&s);
	err = image_manifest(r)->locked ? 0 : show_contents(&s);
	json_decref(s.processes);
	json_decref(s.maps);
	json_decref(s.types);
	json_decref(s.records);
	account_maps_done(&s.account);
	if (err && err != -ENOMEM) {
		json_decref(s.root);
		return error_set(error, err, "%s", image_reader_error(r));
	}
	if (err || s.failed || !s.root) {
		json_decref(s.root);
		return error_set(error, -ENOMEM, "out of memory");
	}
	*ret_json = s.root;
	return 0;
}

/* ---------------------------------------------------------------- verify */

/* @arg: two JSON lists: "findings", and "unchecked" for parts that could not be checked */
static void collect_finding(const struct image_finding *finding, void *arg)
{
	json_t **lists = arg, *findings = lists[0];

	if (!finding->err) {
		json_array_append_new(lists[1],
				      describe_text(finding->text, strlen(finding->text)));
		return;
	}
	json_array_append_new(findings,
			      json_pack("{s:s, s:I, s:i, s:o}",
					"file", finding->file,
					"offset", (json_int_t)finding->offset,
					"errno", -finding->err,
					"text", describe_text(finding->text,
							      strlen(finding->text))));
}

int image_verify_json(const char *dir, const struct image_key *key,
		      const struct image_expect *expect, bool deep,
		      json_t **ret_json)
{
	json_t *lists[] = { json_array(), json_array() };
	json_t *json;
	int err;

	err = image_verify(dir, key, expect, deep, collect_finding, lists, NULL);
	json = json_pack("{s:o, s:b, s:b, s:o}", "dir",
			 describe_text(dir, strlen(dir)), "ok", !err, "deep", deep,
			 "findings", lists[0]);
	if (json_array_size(lists[1]))
		json_object_set(json, "unchecked", lists[1]);
	json_decref(lists[1]);
	if (!json)
		return err ? err : -ENOMEM;
	*ret_json = json;
	return err;
}
