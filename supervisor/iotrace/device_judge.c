// SPDX-License-Identifier: GPL-2.0-only
/*
 * Judging devices; see device_judge.h.
 *
 * Knows which file system a level is on, which is what a history belongs to. device_health.c
 * decides. Nothing here opens a device: the file system's id and numbers come from stat; and of a
 * level on a file server from the list of mounts, as a stat there may hang.
 */
#include "supervisor/iotrace/device_judge.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/outcome.h"
#include "supervisor/devices/mount_table.h"
#include "supervisor/devices/nfs_history.h"
#include "supervisor/iotrace/device_store.h"
#include "supervisor/iotrace/io_store.h"

/* A level's device, as it is now. */
struct judged_device {
	struct device_id id;
	char fs[NAME_MAX];
	char disk[NAME_MAX];	/* or "srv:/export"; "": no directory, or on neither */
	char number[24];	/* of the mount's device, if it is on a file server; else "" */
	struct device_probe *probes;	/* [DEVICE_KEPT + 2], oldest first */
	size_t n;
};

struct judging {
	const struct common *common;
	struct device_store *store;
	struct mount_table mounts;
	json_t *changed, *ask;
	int64_t now;
};

/* ------------------------------------------------------------------ places */

/* The level's directory; "": it is on other nodes; NULL: there is no such level. */
static const char *device_judge_dir(const struct common *common, const char *level)
{
	const struct config *config = &common->config;
	const int t = level_configs_find(&config->levels, level);

	if (!strcmp(level, LEVEL_CONFIG_L1))
		return config->image_dir;
	return t < 0 ? NULL : level_config_dir(&config->levels.conf[t]);
}

static const char *device_judge_place(const struct common *common, const char *level)
{
	const int t = level_configs_find(&common->config.levels, level);

	return t < 0 ? common->config.image_dir : common->config.levels.conf[t].place;
}

static void device_judge_disk(dev_t dev, char *disk, size_t size)
{
	char path[64], target[PATH_MAX];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	slash = strrchr(target, '/');
	snprintf(disk, size, "%.60s", slash ? slash + 1 : "");
}

/* The level is on a file server: its source is what it is known by, whatever else it is. */
static void device_judge_served(const struct mount_entry *mount, struct judged_device *d)
{
	char *s;

	snprintf(d->fs, sizeof(d->fs), "%.10s %.200s", mount->type, mount->source);
	snprintf(d->disk, sizeof(d->disk), "%.200s", mount->source);
	/* for JSON; the id keeps the name as it is */
	for (s = d->disk; *s; s++)
		*s = *s & 0x80 ? '?' : *s;
	snprintf(d->number, sizeof(d->number), "%u:%u", mount->major, mount->minor);
}

/* Find out what the level is on; false: there is no such level, or no directory. */
static bool device_judge_find(const struct judging *j, const char *level, struct judged_device *d)
{
	const char *dir = device_judge_dir(j->common, level);
	const struct mount_entry *mount = dir ? mount_table_at(&j->mounts, dir) : NULL;
	struct statfs fs;
	struct stat st;
	int fsid[2];

	d->id = (struct device_id){ .level = level, .id = d->fs };
	if (mount && mount_entry_is_served(mount)) {
		device_judge_served(mount, d);
		return true;
	}
	if (!dir || (*dir && (stat(dir, &st) || statfs(dir, &fs))))
		return false;
	snprintf(d->fs, sizeof(d->fs), "%.200s", device_judge_place(j->common, level));
	d->disk[0] = '\0';
	if (!*dir)
		return true;
	memcpy(fsid, &fs.f_fsid, sizeof(fsid));
	/* some network file systems have no id: their place is all that tells them apart */
	if (fsid[0] || fsid[1])
		snprintf(d->fs, sizeof(d->fs), "%08x%08x", (unsigned int)fsid[0],
			 (unsigned int)fsid[1]);
	device_judge_disk(st.st_dev, d->disk, sizeof(d->disk));
	/* by a symbolic link it is elsewhere than by its name */
	mount = mount_table_of(&j->mounts, major(st.st_dev), minor(st.st_dev));
	if (mount && mount_entry_is_served(mount))
		device_judge_served(mount, d);
	return true;
}

static bool device_judge_load(const struct judging *j, const char *level, struct judged_device *d)
{
	*d = (struct judged_device){};
	if (!level || !device_judge_find(j, level, d))
		return false;
	d->probes = calloc(DEVICE_KEPT + 2, sizeof(*d->probes));
	if (d->probes)
		d->n = device_store_probes(j->store, &d->id, d->probes);
	return d->probes;
}

/* ---------------------------------------------------------------- judgement */

/* The generations of @job among the newest slow ones, whose other nodes have not been asked. */
static json_t *device_judge_question(const struct judged_device *d, int64_t job)
{
	json_t *generations = json_array();
	size_t i = d->n, slow = 0;

	while (i-- && slow < DEVICE_IN_A_ROW) {
		if (d->probes[i].speed != DEVICE_SLOW)
			continue;
		slow++;
		if (d->probes[i].job == job && !d->probes[i].peers)
			json_array_append_new(generations,
					      json_integer((json_int_t)d->probes[i].generation));
	}
	return json_pack("{s:s, s:I, s:o}", "level", d->id.level, "job", (json_int_t)job,
			 "generations", generations);
}

/* Put down the state; @others: first ask how other nodes did at the job's generations. */
static void device_judge_settle(struct judging *j, const struct judged_device *d, int64_t job,
				bool others)
{
	const enum device_state before = device_store_state(j->store, &d->id);
	enum device_state now = device_health_state(d->probes, d->n, before);

	if (now == DEVICE_DEGRADED && before != now && others) {
		json_decref(j->ask);
		j->ask = device_judge_question(d, job);
		now = before;
	}
	device_store_put(j->store, &d->id, now, d->disk, j->now);
	if (now != before)
		json_array_append_new(j->changed, json_pack(
			"{s:s, s:s, s:s}", "level", d->id.level, "from", device_state_name(before),
			"to", device_state_name(now)));
}

/* Whether L1 was slow the last time: a copy, which reads L1, tells nothing of its level then. */
static bool device_judge_l1_is_slow(const struct judging *j)
{
	struct judged_device d;
	const bool slow = device_judge_load(j, LEVEL_CONFIG_L1, &d) &&
			  device_health_in_a_row(d.probes, d.n, DEVICE_SLOW);

	free(d.probes);
	return slow;
}

/* Note how the mount stands that the level is on; the kernel has its counters in memory. */
static void device_judge_sample(struct judging *j, const struct judged_device *d)
{
	struct nfs_mounts mounts = {};
	const struct nfs_mount *mount;
	struct nfs_sample sample;

	if (!*d->number || nfs_mounts_read(&mounts))
		return;
	mount = nfs_mounts_of(&mounts, d->number);
	if (mount) {
		sample = nfs_sample_of(mount);
		device_store_sample(j->store, &d->id, &sample, j->now);
	}
	nfs_mounts_free(&mounts);
}

static void device_judge_probe(struct judging *j, const json_t *said)
{
	const char *level = json_string_value(json_object_get(said, "level"));
	struct judged_device d;
	struct device_probe *p;

	if (!device_judge_load(j, level, &d) ||
	    (strcmp(level, LEVEL_CONFIG_L1) && device_judge_l1_is_slow(j))) {
		free(d.probes);
		return;
	}
	p = &d.probes[d.n];
	*p = (struct device_probe){
		.series = json_integer_value(json_object_get(said, "series")),
		.job = json_integer_value(json_object_get(said, "job")),
		.generation = json_integer_value(json_object_get(said, "generation")),
		.bytes = (double)json_integer_value(json_object_get(said, "bytes")),
		.seconds = (double)json_integer_value(json_object_get(said, "ns")) / 1e9,
	};
	device_health_judge(d.probes, d.n++, device_store_state(j->store, &d.id), p);
	device_store_add(j->store, &d.id, p, j->now);
	device_judge_sample(j, &d);
	device_judge_settle(j, &d, p->job, json_is_true(json_object_get(said, "others")));
	free(d.probes);
}

static void device_judge_peers(struct judging *j, const json_t *peers)
{
	const char *level = json_string_value(json_object_get(peers, "level"));
	const int64_t job = json_integer_value(json_object_get(peers, "job"));
	struct judged_device d;
	const json_t *rate;
	size_t i;

	if (!device_judge_load(j, level, &d))
		return;
	json_array_foreach(json_object_get(peers, "rates"), i, rate)
		device_store_peers(j->store, &d.id, job,
				   json_integer_value(json_object_get(rate, "generation")),
				   (unsigned int)json_integer_value(json_object_get(rate, "peers")),
				   json_number_value(json_object_get(rate, "rate")));
	d.n = device_store_probes(j->store, &d.id, d.probes);
	device_judge_settle(j, &d, job, false);
	free(d.probes);
}

static int device_judge_open(const struct common *common, bool writer,
			     struct device_store **ret_store, struct ckpt_error *error)
{
	char path[PATH_MAX];

	int err;

	snprintf(path, sizeof(path), "%s/" IO_STORE_FILE, common->config.state_dir);
	err = device_store_open(path, writer, ret_store, error);
	if (err != -EUCLEAN || !writer || io_store_put_aside(path))
		return err;
	log_error(&common->log, "%s is damaged (%s), and is %s.damaged now; a new one is begun",
		  path, error->text, path);
	return device_store_open(path, writer, ret_store, error);
}

json_t *device_judge(const struct common *common, const json_t *probes, const json_t *peers)
{
	struct judging j = { .common = common, .now = (int64_t)time(NULL),
			     .changed = json_array() };
	struct ckpt_error error;
	const json_t *probe;
	size_t i;
	const bool any = peers || json_array_size(probes);
	int err = any ? device_judge_open(common, true, &j.store, &error) : 0;

	if (any && !err) {
		/* without the list each level is asked where it is */
		mount_table_read(&j.mounts);
		device_store_begin(j.store);
		if (peers)
			device_judge_peers(&j, peers);
		json_array_foreach(probes, i, probe)
			device_judge_probe(&j, probe);
		err = device_store_commit(j.store, &error);
		device_store_close(j.store);
		mount_table_free(&j.mounts);
	}
	if (!err)
		return outcome_ok(json_pack("{s:o, s:o, s:o*}", "rows", device_report(common),
					    "changed", j.changed, "ask", j.ask));
	json_decref(j.changed);
	json_decref(j.ask);
	return outcome_error(err, "%s", error.text);
}

/* ----------------------------------------------------------------- readers */

static json_t *device_report_find(const json_t *rows, const char *level)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		const char *of = json_string_value(json_object_get(row, "level"));

		if (of && !strcmp(of, level))
			return json_incref(row);
	}
	return json_pack("{s:s, s:s, s:i}", "level", level, "state",
			 device_state_name(DEVICE_UNKNOWN), "probes", 0);
}

static bool device_report_is_degraded(const json_t *row)
{
	const char *state = json_string_value(json_object_get(row, "state"));

	return state && !strcmp(state, device_state_name(DEVICE_DEGRADED));
}

/* Set in @levels what is degraded; @rows: L1, then the configured levels in their order. */
static void device_report_mark(const json_t *rows, struct level_configs *levels)
{
	unsigned int t;

	levels->avoid = 0;
	levels->avoid_l1 = device_report_is_degraded(json_array_get(rows, 0));
	for (t = 0; t < levels->nr; t++)
		levels->avoid |= device_report_is_degraded(json_array_get(rows, t + 1)) ?
				 1u << t : 0;
}

/* One row for L1 and for each level; @ret_error: why the history cannot be read, or "". */
static json_t *device_report_rows(const struct common *common, struct ckpt_error *ret_error)
{
	const struct level_configs *levels = &common->config.levels;
	struct device_store *store = NULL;
	json_t *rows = json_array(), *known = NULL;
	unsigned int t;
	int err;

	/* what was known when devices were measured says nothing of them now */
	err = strcmp(common->config.degraded_devices, "off") ?
	      device_judge_open(common, false, &store, ret_error) : -ENOENT;
	if (!err)
		known = device_store_rows(store);
	if (!err || err == -ENOENT)
		ret_error->text[0] = '\0';
	device_store_close(store);
	json_array_append_new(rows, device_report_find(known, LEVEL_CONFIG_L1));
	for (t = 0; t < levels->nr; t++)
		json_array_append_new(rows, device_report_find(known, levels->conf[t].name));
	json_decref(known);
	return rows;
}

/* Say where the time of writes to an NFS server went; "": not known. */
static json_t *device_report_nfs(const json_t *row)
{
	const json_t *nfs = json_object_get(row, "nfs");
	const double usual = json_number_value(json_object_get(nfs, "usual_write_ms"));
	const json_int_t again = json_integer_value(json_object_get(nfs, "retransmissions"));

	if (usual <= 0)
		return json_string("");
	return json_sprintf("; its server answered a write in %.1f ms, usual are %.1f ms, and "
			    "%lld requests were sent again",
			    json_number_value(json_object_get(nfs, "write_ms")), usual,
			    (long long)again);
}

/* Say what is done about a degraded device, or would be; "": nothing has to be. */
static json_t *device_report_note(const struct common *common, const json_t *row, int instead)
{
	const bool avoid = !strcmp(common->config.degraded_devices, "avoid");
	const bool is_l1 = !strcmp(json_string_value(json_object_get(row, "level")),
				   LEVEL_CONFIG_L1);
	const char *state = json_string_value(json_object_get(row, "state"));
	const char *other = instead < 0 ? "" : common->config.levels.conf[instead].name;

	if (!strcmp(common->config.degraded_devices, "off"))
		return json_string("not measured: degraded_devices = off");
	if (!strcmp(state, device_state_name(DEVICE_UNKNOWN)))
		return json_string("too little history");
	if (!strcmp(state, device_state_name(DEVICE_SLOW_TOO)))
		return json_string("slow, but so are the other nodes");
	if (!device_report_is_degraded(row))
		return json_string("");
	if (instead < 0)
		return json_string("no other level can take its generations");
	if (is_l1)
		return json_sprintf(avoid ? "level %s gets every generation, too" :
				    "degraded_devices = avoid would copy every generation to "
				    "level %s", other);
	return json_sprintf(avoid ? "new generations go to level %s" :
			    "degraded_devices = avoid would have level %s take its generations",
			    other);
}

static void device_report_set_note(const struct common *common, json_t *row, int instead,
				   const char *error)
{
	json_t *note = *error ? json_sprintf("its history cannot be read: %s", error) :
		       device_report_note(common, row, instead);
	const char *state = json_string_value(json_object_get(row, "state"));
	const bool is_slow = !strcmp(state, device_state_name(DEVICE_SLOW_TOO)) ||
			     !strcmp(state, device_state_name(DEVICE_DEGRADED));
	json_t *nfs = is_slow ? device_report_nfs(row) : json_string("");

	json_object_set_new(row, "note", json_sprintf("%s%s", json_string_value(note),
						      json_string_value(nfs)));
	json_decref(note);
	json_decref(nfs);
}

json_t *device_report(const struct common *common)
{
	const bool avoid = !strcmp(common->config.degraded_devices, "avoid");
	struct level_configs levels = common->config.levels;
	struct ckpt_error error = {};
	json_t *rows = device_report_rows(common, &error), *row;
	int instead;
	size_t i;

	device_report_mark(rows, &levels);
	instead = level_configs_instead(&levels);
	json_array_foreach(rows, i, row) {
		const char *level = json_string_value(json_object_get(row, "level"));

		json_object_set_new(row, "place",
				    json_string(device_judge_place(common, level)));
		json_object_set_new(row, "avoided",
				    json_boolean(avoid && i && instead >= 0 &&
						 device_report_is_degraded(row)));
		device_report_set_note(common, row, instead, error.text);
	}
	return rows;
}

void device_report_avoid(const struct common *common, struct level_configs *levels)
{
	struct ckpt_error error = {};
	json_t *rows;

	if (strcmp(common->config.degraded_devices, "avoid"))
		return;
	rows = device_report_rows(common, &error);
	device_report_mark(rows, levels);
	json_decref(rows);
}

/* ------------------------------------------------------------------ replay */

/* Say what `avoid` would do when the level's device comes from state @from to @to. */
static json_t *device_replay_would(const struct common *common, const char *level,
				   enum device_state from, enum device_state to)
{
	struct level_configs levels = common->config.levels;
	const int t = level_configs_find(&levels, level);
	int instead;

	levels.avoid = t < 0 ? 0 : 1u << t;
	levels.avoid_l1 = t < 0;
	instead = level_configs_instead(&levels);
	if (to != DEVICE_DEGRADED)
		return json_string(from != DEVICE_DEGRADED || instead < 0 ? "" :
				   t < 0 ? "other levels get their own generations again" :
				   "the level gets its generations again");
	if (instead < 0)
		return json_string("nothing: no other level can take its generations");
	return json_sprintf(t < 0 ? "level %s gets every generation, too" :
			    "new generations go to level %s", levels.conf[instead].name);
}

static json_t *device_replay_change(const struct common *common, const struct judged_device *d,
				    const struct device_probe *p, enum device_state from,
				    enum device_state to)
{
	return json_pack("{s:I, s:I, s:f, s:f, s:i, s:s, s:s, s:o}", "job", (json_int_t)p->job,
			 "generation", (json_int_t)p->generation, "rate", device_probe_rate(p),
			 "usual", p->usual, "peers", (int)p->peers,
			 "from", device_state_name(from), "to", device_state_name(to),
			 "would", device_replay_would(common, d->id.level, from, to));
}

/*
 * Number of the oldest probes that tell nothing: slow ones from before the history of the others
 * begins, as those that were between them are removed (device_store.h).
 */
static size_t device_replay_first(const struct judged_device *d)
{
	size_t i, slow = 0, first = 0;

	for (i = 0; i < d->n; i++)
		slow += d->probes[i].speed == DEVICE_SLOW;
	if (d->n - slow < DEVICE_USUAL_KEPT)
		return 0;
	while (d->probes[first].speed == DEVICE_SLOW)
		first++;
	return first;
}

json_t *device_replay(const struct common *common, const char *level)
{
	struct judging j = { .common = common };
	enum device_state state = DEVICE_UNKNOWN, before;
	json_t *changes = json_array();
	json_int_t degraded = 0, size;
	struct ckpt_error error = {};
	struct judged_device d = {};
	size_t k, first;
	int err = device_judge_open(common, false, &j.store, &error);

	mount_table_read(&j.mounts);
	if (!err && !device_judge_load(&j, level, &d))
		err = error_set(&error, -ENOENT, "level %.64s has no directory here", level);
	first = err ? 0 : device_replay_first(&d);
	for (k = first + 1; !err && k <= d.n; k++) {
		before = state;
		state = device_health_state(&d.probes[first], k - first, before);
		degraded += state == DEVICE_DEGRADED;
		if (state != before)
			json_array_append_new(changes, device_replay_change(
				common, &d, &d.probes[k - 1], before, state));
	}
	size = (json_int_t)(d.n - first);
	free(d.probes);
	device_store_close(j.store);
	mount_table_free(&j.mounts);
	if (!err)
		return outcome_ok(json_pack("{s:s, s:I, s:I, s:s, s:o}", "level", level,
					    "probes", size, "degraded", degraded, "setting",
					    common->config.degraded_devices, "changes", changes));
	json_decref(changes);
	return outcome_error(err, "%s", error.text);
}

/* ------------------------------------------------------------------ hiding */

void device_rows_hide(json_t *rows, device_owns_fn owns, void *arg)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (owns(json_integer_value(json_object_get(row, "job")), arg))
			continue;
		json_object_del(row, "job");
		json_object_del(row, "generation");
	}
}

/* ------------------------------------------------------------------ forget */

int device_forget(const struct common *common, const char *level, struct ckpt_error *error)
{
	struct device_store *store = NULL;
	int err = device_judge_open(common, false, &store, error);

	if (err)
		return err;
	device_store_begin(store);
	device_store_forget(store, level);
	err = device_store_commit(store, error);
	device_store_close(store);
	return err;
}
