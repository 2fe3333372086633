// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checking the catalog; see fsck.h.
 *
 * Everything is read from the disk; the index is compared with the result, never trusted.
 * The table has the meaning of each kind of finding and what its repair does. A kind
 * without a repair is left to people, above all every finding about a committed generation.
 *
 * An image that is being written is recognized by its writer's lock (image_in_use()), which
 * another node's file system may not show. Therefore nothing newer than the last generation
 * of a running job is touched, either.
 */
#include "supervisor/catalog/fsck.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/format.h"
#include "base/cleanup.h"
#include "image/writer.h"
#include "supervisor/catalog/generation.h"
#include "base/outcome.h"
#include "supervisor/catalog/pin.h"

enum kind {
	LEFTOVER_WRITE, LEFTOVER_REMOVAL, UNCOMMITTED, NO_MANIFEST, DAMAGED, MISSING_PART,
	FOREIGN, PIN_GONE, PIN_DAMAGED, STALE_CLAIM, RECORD, NO_RECORD, NO_CATALOG, INDEX,
};

static const struct {
	const char *name, *means, *repair;
} kinds[] = {
	[LEFTOVER_WRITE] = { "unfinished", "an image whose writer died; it never was a generation",
			     "remove it" },
	[LEFTOVER_REMOVAL] = { "half_removed",
		"an image whose removal was cut off; it is no generation any more",
			       "remove the rest" },
	[UNCOMMITTED] = { "uncommitted",
		"images of nodes that never became a generation: the checkpoint failed or was "
		"abandoned",
			  "remove them" },
	[NO_MANIFEST] = { "no_manifest",
		"an image that lost its manifest after it was complete: no restart from it is "
		"possible unless the manifest is put back",
			  NULL },
	[DAMAGED] = { "damaged",
		"a restart from it is refused; use another generation, and ckptctl rm when it is "
		"of no use",
		      NULL },
	[MISSING_PART] = { "missing_part",
		"the image of a node is gone, so a restart from the generation is refused; put "
		"the image back, or ckptctl rm",
			   NULL },
	[FOREIGN] = { "foreign",
		"files that are not ours: ckptctl rm and prune will not remove the directory",
		      NULL },
	[PIN_GONE] = { "pin_gone",
		"a pin of a generation that is gone: somebody removed it by hand",
		       "remove the pin" },
	[PIN_DAMAGED] = { "pin_damaged",
		"it keeps its generation all the same; ckptctl pin writes it anew",
			  NULL },
	[STALE_CLAIM] = { "stale_claim",
		"a restart was cut off here; a restart on this node works, on another one with "
		"--node-lost",
			  NULL },
	[RECORD] = { "record",
		"the job cannot be listed or restarted; its images may be whole: see ckptctl "
		"verify DIR and ckptctl restore",
		     NULL },
	[NO_RECORD] = { "no_record",
		"a directory without a job: its start was cut off, or the record was removed",
			NULL },
	[NO_CATALOG] = { "no_catalog",
		"no job can be started, checkpointed or restarted; running jobs are not affected",
			 NULL },
	[INDEX] = { "index", "lists are slow or were wrong; the manifests are what counts",
		    "make it anew from them" },
};

/* -------------------------------------------------------------- findings */

/* Add a finding, which belongs to the list; @generation 0: it concerns none. */
static json_t *fsck_found(struct fsck *fsck, enum kind kind, int64_t generation, const char *path,
			  const char *text)
{
	json_t *finding = json_pack("{s:s, s:I, s:s, s:s, s:s, s:b}", "kind", kinds[kind].name,
				    "job", (json_int_t)fsck->listing.job, "path", path, "text",
				    text,
				    "means", kinds[kind].means, "repaired", 0);

	/* A name on disk is not UTF-8. */
	if (!finding)
		finding = json_pack("{s:s, s:I, s:s, s:b}", "kind", kinds[kind].name, "job",
				    (json_int_t)fsck->listing.job, "means", kinds[kind].means,
				    "repaired", 0);
	if (generation)
		json_object_set_new(finding, "generation", json_integer(generation));
	if (kinds[kind].repair)
		json_object_set_new(finding, "repair", json_string(kinds[kind].repair));
	json_array_append_new(fsck->findings, finding);
	return finding;
}

static void fsck_repaired(json_t *finding, int err)
{
	if (err)
		json_object_set_new(finding, "failed", json_string(strerror(-err)));
	else
		json_object_set_new(finding, "repaired", json_true());
}

static void left_alone(struct fsck *fsck, const char *path)
{
	json_array_append_new(fsck->left_alone, json_string(path));
}

static const char *error_text(const json_t *outcome)
{
	return json_string_value(json_object_get(json_object_get(outcome, "error"), "text"));
}

/* --------------------------------------------- what writers and removers left */

/*
 * Find leftovers of writers and removals. If the job is alive, another node may be writing
 * just now: NFS does not show its locks on directories. The job's next checkpoint removes
 * such leftovers.
 */
static void check_leftovers(struct fsck *fsck, const char *parent, bool may_repair)
{
	_cleanup_dir_ DIR *dir = opendir(parent);
	char path[PATH_MAX];
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		bool removal = !strncmp(entry->d_name, ".rm-", 4);
		json_t *finding;

		if (!removal && strncmp(entry->d_name, ".tmp-", 5))
			continue;
		snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name);
		if (fsck->alive || image_in_use(path)) {
			left_alone(fsck, path);
			continue;
		}
		finding = fsck_found(fsck, removal ? LEFTOVER_REMOVAL : LEFTOVER_WRITE, 0, path,
				     removal ? "left by a removal" : "left by a writer");
		if (!may_repair)
			continue;
		image_sweep(parent, NULL);
		fsck_repaired(finding, access(path, F_OK) ? 0 : -ENOTEMPTY);
	}
}

/* ------------------------------------------------------------ generations */

/* Counts of the entries of a generation's directory. */
struct contents {
	bool manifest, parts;
	unsigned int nodes, image_files, others;
};

static int fsck_look(const char *path, struct contents *c)
{
	static const char *const files[] = {
		"state", "index", "pages", "blobs", IMAGE_NAME_MANIFEST_TMP,
	};
	_cleanup_dir_ DIR *dir = opendir(path);
	struct dirent *entry;
	unsigned int node;
	size_t i;

	memset(c, 0, sizeof(*c));
	if (!dir)
		return -errno;
	for (errno = 0; (entry = readdir(dir)); errno = 0) {
		const char *name = entry->d_name;

		if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, ".parts.json.new"))
			continue;
		for (i = 0; i < ARRAY_SIZE(files) && strcmp(name, files[i]); i++)
			;
		if (sscanf(name, "base%u", &node) == 1)
			i = 0;
		if (!strcmp(name, IMAGE_NAME_MANIFEST))
			c->manifest = true;
		else if (!strcmp(name, "parts.json"))
			c->parts = true;
		else if (sscanf(name, "node-%u", &node) == 1)
			c->nodes++;
		else if (i < ARRAY_SIZE(files))
			c->image_files++;
		else
			c->others++;
	}
	return -errno;
}

/* Check a directory that is no generation; @decided: its checkpoint is over. */
static void check_uncommitted(struct fsck *fsck, int64_t generation, const char *path,
			      const struct contents *c, bool decided, bool may_repair)
{
	const struct listing *l = &fsck->listing;
	json_t *finding;

	if (c->image_files || c->others) {
		fsck_found(fsck, c->image_files ? NO_MANIFEST : FOREIGN, generation, path,
		      c->image_files ? "there is no manifest" : "holds files that are not ours");
		return;
	}
	if (!decided || catalog_generation_in_use(l->catalog, l->job, generation)) {
		left_alone(fsck, path);
		return;
	}
	finding = fsck_found(fsck, UNCOMMITTED, generation, path, "there is no parts.json");
	if (may_repair)
		fsck_repaired(finding, catalog_generation_sweep(l->catalog, l->job, generation));
}

/* Add all findings of a verification; true: there were none. */
static bool add_verified(struct fsck *fsck, int64_t generation, const char *path,
			 const json_t *outcome)
{
	const json_t *list = json_object_get(json_object_get(outcome, "result"), "findings");
	json_t *said;
	char text[512];
	size_t i;

	if (outcome_is_ok(outcome))
		return true;
	/* The generation was removed meanwhile. */
	if (!catalog_has(fsck->listing.catalog, fsck->listing.job, generation))
		return false;
	json_array_foreach(list, i, said) {
		const char *node = json_string_value(json_object_get(said, "node"));
		const char *what = json_string_value(json_object_get(said, "text"));
		bool gone = node && json_integer_value(json_object_get(said, "errno")) == ENOENT;

		snprintf(text, sizeof(text), "%s%s%s", node ? node : "", node ? ": " : "",
			 what ? what : "damaged");
		fsck_found(fsck, gone ? MISSING_PART : DAMAGED, generation, path, text);
	}
	if (!json_array_size(list))
		fsck_found(fsck, DAMAGED, generation, path, error_text(outcome));
	return false;
}

/* Verify a generation that is one image. */
static bool verify_one(struct fsck *fsck, int64_t generation, const char *path)
{
	json_t *args = json_pack("{s:s, s:b}", "dir", path, "deep", fsck->deep);
	json_t *outcome = op_verify(fsck->listing.env, args);
	bool good = add_verified(fsck, generation, path, outcome);

	json_decref(outcome);
	json_decref(args);
	return good;
}

static bool verify_parts(struct fsck *fsck, int64_t generation, const char *path, json_t *parts)
{
	json_t *args = json_pack("{s:O, s:I, s:s, s:b}", "parts", parts, "generation",
				 (json_int_t)generation, "job", fsck->listing.label, "deep",
				 fsck->deep);
	json_t *outcome = generation_verify(fsck->listing.env, args);
	bool good = add_verified(fsck, generation, path, outcome);

	json_decref(outcome);
	json_decref(args);
	return good;
}

/*
 * Compare the index's row, if it is of the present @stamp, with @row, which was read after
 * @stamp.
 */
static void check_row(struct fsck *fsck, int64_t generation, const char *path, const json_t *row,
		      uint64_t stamp)
{
	const struct listing *l = &fsck->listing;
	json_t *indexed, *finding = NULL;

	/*
	 * The generation was merged during a long verification: @row is not of its present
	 * state.
	 */
	if (catalog_index_stamp(l->catalog, l->job, generation) != stamp)
		return;
	indexed = catalog_index_get(l->index, l->job, generation, l->label, stamp);
	if (indexed && !json_equal(indexed, row))
		finding = fsck_found(fsck, INDEX, generation, path,
				     "the index differs from the manifests");
	if (fsck->repair)
		catalog_index_put(l->index, l->job, generation, l->label, stamp, row);
	if (finding && fsck->repair)
		fsck_repaired(finding, 0);
	json_decref(indexed);
}

static void check_committed(struct fsck *fsck, int64_t generation)
{
	const struct listing *l = &fsck->listing;
	_cleanup_free_ char *path = catalog_image_dir(l->catalog, l->job, generation);
	json_t *parts = NULL, *outcome, *described;
	bool good = false;
	uint64_t stamp;

	if (!path)
		return;
	fsck->generations++;
	outcome = generation_parts(l->catalog, l->job, generation, &parts);
	if (!outcome && parts)
		good = verify_parts(fsck, generation, path, parts);
	if (!outcome && (good || !parts)) {
		stamp = catalog_index_stamp(l->catalog, l->job, generation);
		described = generation_describe(l->env, l->catalog, l->job, generation, l->label);
		if (!outcome_is_ok(described))
			outcome = json_incref(described);
		else if (parts || verify_one(fsck, generation, path))
			check_row(fsck, generation, path, json_object_get(described, "result"),
				  stamp);
		json_decref(described);
	}
	if (outcome && catalog_has(l->catalog, l->job, generation))
		fsck_found(fsck, DAMAGED, generation, path, error_text(outcome));
	json_decref(outcome);
	json_decref(parts);
}

static void fsck_check_nodes(struct fsck *fsck, const char *path, bool may_repair)
{
	_cleanup_dir_ DIR *dir = opendir(path);
	char node[PATH_MAX];
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		snprintf(node, sizeof(node), "%s/%s", path, entry->d_name);
		if (!strncmp(entry->d_name, "node-", 5))
			check_leftovers(fsck, node, may_repair);
	}
}

/* Check a generation's directory, except for the contents of its images. */
static void check_directory(struct fsck *fsck, int64_t generation, int64_t decided_to,
			    bool may_repair)
{
	_cleanup_free_ char *path = catalog_image_dir(fsck->listing.catalog, fsck->listing.job,
						      generation);
	struct contents c;
	int err;

	if (!path)
		return;
	err = fsck_look(path, &c);
	if (err) {
		if (err != -ENOENT)
			fsck_found(fsck, DAMAGED, generation, path, strerror(-err));
		return;
	}
	if (!c.manifest && !c.parts) {
		check_uncommitted(fsck, generation, path, &c, generation <= decided_to, may_repair);
		return;
	}
	if (c.others)
		fsck_found(fsck, FOREIGN, generation, path, "holds files that are not an image's");
	if (c.parts)
		fsck_check_nodes(fsck, path, may_repair);
}

/* -------------------------------------------------------------------- jobs */

static void fsck_check_pins(struct fsck *fsck, const char *dir, bool may_repair)
{
	const struct listing *l = &fsck->listing;
	json_t *pins = pin_list(l->catalog, l->job), *number, *record, *finding;
	char name[PIN_NAME_MAX], path[PATH_MAX], gone[PATH_MAX];
	struct ckpt_error error = {};
	size_t i;

	json_array_foreach(pins, i, number) {
		int64_t generation = json_integer_value(number);

		pin_name(generation, name);
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		snprintf(gone, sizeof(gone), "%s/gen-%lld", dir, (long long)generation);
		if (access(gone, F_OK) && errno == ENOENT) {
			if (fsck->levels)
				continue;
			finding = fsck_found(fsck, PIN_GONE, generation, path,
					     "there is no such generation");
			if (may_repair)
				fsck_repaired(finding, pin_clear(l->catalog, l->job, generation));
		} else if (pin_read(l->catalog, l->job, generation, &record, &error)) {
			fsck_found(fsck, PIN_DAMAGED, generation, path, error.text);
		} else {
			json_decref(record);
		}
	}
	json_decref(pins);
}

/*
 * No checkpoint up to the returned number is being taken; call when it is known whether the
 * job is alive.
 */
static int64_t fsck_decided(const struct catalog *catalog, int64_t job, bool alive)
{
	int64_t next = alive ? catalog_last(catalog, job) + 1 : catalog_next(catalog, job, 0);

	return next < 0 ? CATALOG_NUMBERS : next - 1;
}

/* The fields of a job's record that change with each restart. */
static const char *const of_run[] = { "state", "node", "run" };

json_t *fsck_asked(const struct catalog *catalog, int64_t job, const char *label,
		   const json_t *record, bool alive)
{
	json_t *asked = json_pack("{s:I, s:s, s:b, s:I, s:I}", "job", (json_int_t)job, "label",
				  label, "alive", alive, "claim",
				  (json_int_t)catalog_claim_stamp(catalog, job),
				  "decided_to", (json_int_t)fsck_decided(catalog, job, alive));
	size_t i;

	for (i = 0; i < ARRAY_SIZE(of_run); i++)
		json_object_set(asked, of_run[i], json_object_get(record, of_run[i]));
	return asked;
}

/* True if the job may run by now, here or elsewhere, or is gone. */
static bool has_changed(const struct fsck *fsck, const json_t *asked)
{
	bool changed = false;
	struct ckpt_error error = {};
	json_t *record;
	size_t i;

	if (catalog_job_read(fsck->listing.catalog, fsck->listing.job, &record, &error))
		return true;
	for (i = 0; i < ARRAY_SIZE(of_run); i++) {
		json_t *is = json_object_get(record, of_run[i]);
		json_t *was = json_object_get(asked, of_run[i]);

		changed = changed || ((is || was) && !json_equal(is, was));
	}
	json_decref(record);
	return changed;
}

/*
 * True if the job may be being restarted: what a restart fetches looks like a leftover, so
 * nothing is repaired.
 */
static bool is_claimed(struct fsck *fsck, const json_t *asked, const char *dir)
{
	int64_t was = json_integer_value(json_object_get(asked, "claim"));
	char holder[80];

	if (!catalog_claimed(fsck->listing.catalog, fsck->listing.job, holder, sizeof(holder)))
		return false;
	if (strcmp(holder, fsck->node) || fsck->alive ||
	    catalog_claim_stamp(fsck->listing.catalog, fsck->listing.job) != was)
		return true;
	fsck_found(fsck, STALE_CLAIM, 0, dir, "a claim of this node, without a restart");
	return false;
}

/* All repairs: under the lock, so they must not take long. */
static void check_job_directory(struct fsck *fsck, const char *dir, const json_t *asked)
{
	const struct catalog *catalog = fsck->listing.catalog;
	int64_t job = fsck->listing.job, decided_to;
	_cleanup_fd_ int lock = -1;
	json_t *all, *number;
	bool may_repair;
	size_t i;

	/* Without the lock everything is reported and nothing is repaired. */
	may_repair = fsck->repair && !catalog_lock(catalog, job, &lock);
	fsck->alive = json_is_true(json_object_get(asked, "alive"));
	decided_to = json_integer_value(json_object_get(asked, "decided_to"));
	if (!fsck->alive && has_changed(fsck, asked)) {
		fsck->alive = true;
		decided_to = 0;
		may_repair = false;
	}
	if (is_claimed(fsck, asked, dir))
		may_repair = false;
	check_leftovers(fsck, dir, may_repair);
	fsck_check_pins(fsck, dir, may_repair);
	all = catalog_traces(catalog, job);
	json_array_foreach(all, i, number)
		check_directory(fsck, json_integer_value(number), decided_to, may_repair);
	json_decref(all);
}

void fsck_job(struct fsck *fsck, const json_t *asked)
{
	int64_t job = json_integer_value(json_object_get(asked, "job"));
	const struct catalog *catalog = fsck->listing.catalog;
	_cleanup_free_ char *dir = catalog_job_dir(catalog, job);
	json_t *all, *number;
	size_t i;

	fsck->listing.job = job;
	fsck->listing.label = json_string_value(json_object_get(asked, "label"));
	if (!dir)
		return;
	check_job_directory(fsck, dir, asked);
	all = catalog_generations(catalog, job);
	json_array_foreach(all, i, number)
		check_committed(fsck, json_integer_value(number));
	if (fsck->repair)
		catalog_index_trim(fsck->listing.index, job, all);
	json_decref(all);
}

void fsck_strangers(struct fsck *fsck)
{
	const struct catalog *catalog = fsck->listing.catalog;
	_cleanup_free_ char *dir = NULL;
	json_t *list, *number, *record;
	struct ckpt_error error = {};
	size_t i;

	fsck->listing.job = 0;
	if (access(catalog->dir, R_OK | X_OK))
		fsck_found(fsck, NO_CATALOG, 0, catalog->dir, strerror(errno));
	list = catalog_strangers(catalog);
	json_array_foreach(list, i, number) {
		fsck->listing.job = json_integer_value(number);
		free(dir);
		dir = catalog_job_dir(catalog, fsck->listing.job);
		fsck_found(fsck, NO_RECORD, 0, dir ? dir : "", "there is no job.json");
	}
	json_decref(list);
	list = catalog_jobs(catalog);
	json_array_foreach(list, i, number) {
		fsck->listing.job = json_integer_value(number);
		free(dir);
		dir = catalog_job_dir(catalog, fsck->listing.job);
		if (catalog_job_read(catalog, fsck->listing.job, &record, &error))
			fsck_found(fsck, RECORD, 0, dir ? dir : "", error.text);
		else
			json_decref(record);
	}
	json_decref(list);
}

void fsck_index(struct fsck *fsck, const char *path)
{
	char problem[512];
	json_t *finding;
	int err;

	fsck->listing.job = 0;
	fsck->listing.index = catalog_index_open(path, fsck->listing.catalog, problem,
						 sizeof(problem));
	if (!problem[0])
		return;
	finding = fsck_found(fsck, INDEX, 0, path, problem);
	if (fsck->listing.index) {
		fsck_repaired(finding, 0);
	} else if (fsck->repair) {
		err = catalog_index_remove(path);
		if (!err)
			fsck->listing.index = catalog_index_open(path, fsck->listing.catalog,
								 problem, sizeof(problem));
		fsck_repaired(finding, err ? err : fsck->listing.index ? 0 : -EIO);
	}
}

json_t *fsck_result(const struct fsck *fsck)
{
	unsigned int open = 0;
	json_t *finding;
	size_t i;

	json_array_foreach(fsck->findings, i, finding)
		open += !json_is_true(json_object_get(finding, "repaired"));
	return json_pack("{s:O, s:O, s:i, s:i}", "findings", fsck->findings, "left_alone",
			 fsck->left_alone, "generations", (int)fsck->generations, "open",
			 (int)open);
}
