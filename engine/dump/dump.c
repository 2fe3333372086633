// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dump of one process tree: the sequence of its steps.
 *
 *	device, target → image directory → freeze → snapshot → policy
 *	  → contents that must be read in place → thaw
 *	  → held contents, pages, files → sync → commit
 *
 * Until the commit nothing is visible under the image's name, and every failure leaves the
 * tree running: every way out closes the device.  With stop-and-copy the thaw comes after
 * the last read, with kill after the commit; then nothing needs to be held.
 *
 * The tree stands still between dump_frozen()'s first and last line; nothing
 * slow belongs there that could be done before or after.
 */
#include "base/clock.h"
#include "base/error.h"
#include "engine/core/state_kind.h"
#include "engine/dump/dump_closed.h"
#include "engine/dump/dump_in_place.h"
#include "engine/dump/dump_scrub.h"
#include "engine/dump/dump_sock.h"

#include "engine/core/nsinit_name.h"
#include "image/base.h"
#include "image/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <libgen.h>
#include <limits.h>

#define FREEZE_TIMEOUT_MS	10000
#define MAX_PAUSE_MS		60000
#define SPACE_MIN		(4ULL << 20)
#define SPACE_RATIO		64	/* nothing compresses better than this */
#define HOLD_SHARE		4	/* 1/4 of the free memory may be held in the pause */
#define FILES_EXPECTED	16384	/* descriptors: 128 KiB of the kernel's memory */

void dump_progress(struct dump *d, const char *phase)
{
	struct engine_progress progress = {
		.phase = phase,
		.done = d->bytes_mapped,
		.total = d->bytes_expected,
	};

	if (d->options->progress)
		d->options->progress(&progress, d->options->progress_arg);
}

int dump_image_failed(struct dump *d, int err)
{
	const char *text = d->img ? image_error_text(d->img) : "";

	return error_fail(d->error, err, "%s", text[0] ? text : strerror(-err));
}

/* The value of "name:   123 kB" in a file of /proc, in bytes; 0: not found. */
static uint64_t proc_kb(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
	unsigned long long kb = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			sscanf(line + strlen(name), ": %llu", &kb);
	if (file)
		fclose(file);
	return kb * 1024;
}

/* Refuse only if the image cannot fit at all: its real size is known when it is written. */
static int dump_check_space(struct dump *d, const char *parent)
{
	const struct dump_options *o = d->options;
	uint64_t memory = 0, need, have;
	struct statvfs fs;
	char path[40];

	if (statvfs(parent, &fs))
		return error_fail(d->error, -errno,
				   "the directory for the image, %s, cannot be used: %s",
				   parent, strerror(errno));
	for (unsigned int i = 0; i < o->nr_roots; i++) {
		snprintf(path, sizeof(path), "/proc/%d/status", o->roots[i]);
		memory += proc_kb(path, "RssAnon");
	}
	need = memory / SPACE_RATIO + SPACE_MIN;
	have = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (have < need)
		return error_fail(d->error, -ENOSPC,
				   "%llu MiB free for an image of a tree with %llu MiB of memory: "
				   "free some space or choose another directory",
				   (unsigned long long)(have >> 20),
				   (unsigned long long)(memory >> 20));
	return 0;
}

/* Open the base, if one was asked for; without a usable one the image becomes a full one. */
static void find_base(struct dump *d)
{
	const struct dump_options *o = d->options;
	struct dump_stats *stats = &d->stats;
	struct ckpt_error why = { 0 };

	if (!o->base)
		return;
	if (!(d->cap.dev->info.features & CKPT_FEAT_TRACK)) {
		snprintf(stats->why_full, sizeof(stats->why_full),
			 "the kernel module cannot track writes: load its newer version");
	} else if (image_base(d->img, o->base, o->chain_max, &why)) {
		snprintf(stats->why_full, sizeof(stats->why_full), "%.159s", why.text);
	} else {
		stats->incremental = true;
		stats->base = image_manifest(image_base_reader(d->img))->generation;
	}
}

static int create_image(struct dump *d)
{
	const struct dump_options *o = d->options;
	struct image_options options = {
		.generation = o->generation,
		.job = o->job,
		.encrypt = image_key_has_secret(o->key),
		.memory = o->memory,
		.reread = dump_pages_again,
		.reread_arg = d,
	};
	struct ckpt_error why = { 0 };
	char copy[PATH_MAX], *parent;
	struct image_writer *writer;
	int ret;

	if (strlen(o->dir) >= sizeof(copy))
		return error_fail(d->error, -ENAMETOOLONG, "%s: path too long", o->dir);
	parent = dirname(strcpy(copy, o->dir));
	image_sweep(parent, NULL);	/* remove the leftovers of killed dumps */
	ret = dump_check_space(d, parent);
	if (ret)
		return ret;
	ret = image_writer_create(o->dir, &writer, &why);
	if (!ret)
		ret = image_create(writer, o->key, &options, &d->img, &why);
	if (ret)
		return error_fail(d->error, ret, "%s", why.text[0] ? why.text : strerror(-ret));
	find_base(d);
	ret = content_image_create(d->img, &d->image);
	if (!ret && !d->frozen_to_end)
		ret = content_hold_create(&d->hold);
	d->hold_limit = o->hold_max ? o->hold_max :
			proc_kb("/proc/meminfo", "MemAvailable") / HOLD_SHARE;
	return ret ? error_fail(d->error, ret, "out of memory") : 0;
}

/* Ask the caller whether the dump goes on; @what describes its refusal. */
static int dump_hold(struct dump *d, int (*fn)(void *arg), const char *what)
{
	int ret = fn ? fn(d->options->hold_arg) : 0;

	return ret ? error_fail(d->error, ret, "%s: %s", what, strerror(-ret)) : 0;
}

/* Let the kinds of state read what user space has to read. */
static int dump_kinds(struct dump *d)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && state_kinds[i]; i++)
		if (state_kinds[i]->dump)
			ret = state_kinds[i]->dump(d);
	return ret;
}

/* Read all that must be read while the tree stands still. */
static int dump_frozen(struct dump *d)
{
	int ret = dump_files_get(d);

	d->frozen_at = (uint64_t)time(NULL);
	if (!ret)
		ret = dump_kinds(d);
	if (!ret && d->hold)
		ret = dump_pages_live(d);
	if (!ret)
		ret = dump_shared_flush(d);
	if (!ret && d->options->nr_nodes > 1)
		ret = dump_hold(d, d->options->flushed, "the checkpoint was given up");
	if (!ret)
		ret = dump_shared_see(d);
	if (!ret)
		ret = dump_in_place_take(d);
	if (!ret)
		ret = dump_closed_take(d);
	if (!ret)
		ret = dump_contents(d, DUMP_IN_PAUSE);
	if (!ret)
		ret = dump_contents_mark(d);
	if (!ret)
		ret = dump_shm_dir(d);
	if (!ret)
		ret = dump_track_tails(d);
	if (!ret)
		dump_sync_prepare(d);
	return ret;
}

static void dump_expect(struct dump *d)
{
	const struct state *state = d->cap.state;

	for (unsigned int i = 0; i < state->nr_mms; i++)
		d->bytes_expected += state->mms[i].rec->rss_pages * 4096;
	for (unsigned int i = 0; i < state->nr_procs; i++)
		d->stats.nr_threads += state->procs[i].nr_threads;
	d->stats.nr_procs = state->nr_procs;
	d->stats.freeze_ns = d->cap.freeze.freeze_ns;
	d->stats.collect_ns = d->cap.snapshot.collect_ns;
	d->stats.clone_ns = d->cap.snapshot.clone_ns;
}

static uint64_t dump_lap(uint64_t *began)
{
	uint64_t now = clock_monotonic_ns(), took = now - *began;

	*began = now;
	return took;
}

/* Hand the snapshots that a rollback can use to the holder. False: it keeps none. */
static bool dump_keep(struct dump *d)
{
	const struct dump_options *o = d->options;
	const struct state *state = d->cap.state;
	struct ckpt_l0_keep keep = { .fd = o->holder, .max_bytes = o->holder_max };
	uint32_t *ids = calloc(state->nr_mms + 1, sizeof(*ids));
	bool kept = false;

	for (unsigned int i = 0; ids && i < state->nr_mms; i++)
		if (!o->holder_wants ||
		    o->holder_wants(&state->mms[i], state->system->realtime_ns))
			ids[keep.nr_take++] = state->mms[i].rec->mm_id;
	keep.take = (uintptr_t)ids;
	if (keep.nr_take)
		kept = !kdev_l0_keep(d->cap.dev, &keep) && keep.nr_mm;
	free(ids);
	return kept;
}

/*
 * The snapshots were read: hand them over, or drop them early; release does that as well. A holder
 * that does not get them is no failure.
 */
static void dump_drop(struct dump *d)
{
	struct ckpt_drop drop = { 0 };

	if (d->options->holder && d->cap.dev->info.features & CKPT_FEAT_L0)
		d->stats.l0 = dump_keep(d);
	if (!d->stats.l0)
		kdev_drop(d->cap.dev, &drop);
}

/* All work that takes time, those first that free most memory; mostly after the thaw. */
static int dump_running(struct dump *d)
{
	struct dump_stats *stats = &d->stats;
	uint64_t began = clock_monotonic_ns();
	int ret = 0;

	if (d->hold)
		ret = dump_hold_empty(d);
	if (ret)
		return ret;
	stats->contents_ns = dump_lap(&began);
	ret = dump_pages(d);
	if (!ret && !d->frozen_to_end)
		dump_drop(d);
	stats->pages_ns = dump_lap(&began);
	if (!ret)
		ret = dump_contents(d, DUMP_AFTER);
	if (!ret)
		ret = dump_closed_records(d);
	if (!ret)
		ret = dump_probe_links(d);
	stats->contents_ns += dump_lap(&began);
	if (ret)
		return ret;
	dump_progress(d, "sync");
	ret = dump_sync(d);
	if (!ret)
		ret = dump_track_records(d);
	if (!ret)
		ret = dump_marks(d);
	stats->sync_ns = dump_lap(&began);
	return ret;
}

/* Put the times of the phases into the manifest, as far as they are known before the commit. */
static void describe_phases(struct dump *d)
{
	const struct dump_options *o = d->options;
	char thaw[48] = "", text[240];

	if (!o->kill)
		snprintf(thaw, sizeof(thaw), "\"thaw_ns\": %llu, ",
			 (unsigned long long)d->stats.thaw_ns);
	snprintf(text, sizeof(text),
		 "{%s\"pages_ns\": %llu, \"contents_ns\": %llu, \"sync_ns\": %llu%s}", thaw,
		 (unsigned long long)d->stats.pages_ns, (unsigned long long)d->stats.contents_ns,
		 (unsigned long long)d->stats.sync_ns,
		 o->stop_and_copy && !o->kill ? ", \"in_place\": true" : "");
	image_set(d->img, "phases", text);
}

static void dump_identify(struct dump *d, uint64_t started)
{
	const struct state *state = d->cap.state;
	const struct state_proc *root = state->roots;
	struct image_identity identity = {
		.xfeatures = state->system->xfeatures,
		.xstate_size = state->system->xstate_size,
		.nr_procs = state->nr_procs,
		.nr_threads = d->stats.nr_threads,
		.release = state->system->release,
	};
	struct image_timing timing = {
		.pause_ns = d->stats.pause_ns,
		.freeze_ns = d->stats.freeze_ns,
		.collect_ns = d->stats.collect_ns,
		.clone_ns = d->stats.clone_ns,
		.dump_ns = clock_monotonic_ns() - started,
	};

	struct image_counts counts;
	char text[80];

	while (root && !root->nr_threads)
		root = root->sibling;
	if (root) {
		identity.uid = root->threads[0].rec->creds.euid;
		identity.gid = root->threads[0].rec->creds.egid;
	}
	if (d->options->owner) {
		identity.uid = d->options->owner->uid;
		identity.gid = d->options->owner->gid;
	}
	if (root)
		image_set(d->img, "command", root->rec->comm);
	if (d->stats.pages_excluded) {
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)d->stats.pages_excluded);
		image_set(d->img, "pages.excluded", text);
	}
	snprintf(text, sizeof(text), "{\"untouched\": %llu, \"file\": %llu}",
		 (unsigned long long)d->stats.pages_untouched,
		 (unsigned long long)d->stats.pages_file);
	image_set(d->img, IMAGE_KEY_SKIPPED, text);
	if (d->options->note)
		image_set(d->img, "note", d->options->note);
	if (d->options->record)
		image_set(d->img, "record", d->options->record);
	image_get_counts(d->img, &counts);
	if (d->stats.incremental && !counts.pages_base) {
		d->stats.incremental = false;
		snprintf(d->stats.why_full, sizeof(d->stats.why_full),
			 "no page is known to be as it was in the base");
	}
	if (d->stats.why_full[0])
		image_set(d->img, "full.because", d->stats.why_full);
	describe_phases(d);
	dump_scrub_describe(d);
	image_set_identity(d->img, &identity);
	image_set_timing(d->img, &timing);
}

static int check_living(struct dump *d)
{
	const struct dump_options *o = d->options;

	for (unsigned int i = 0; i < o->nr_living; i++) {
		const struct state_proc *proc = state_proc_find(d->cap.state, o->living[i]);

		if (o->living[i] && (!proc || proc->rec->state == CKPT_PROC_ZOMBIE))
			return error_fail(d->error, -ECHILD,
					   "process %d of the job ended before the checkpoint "
					   "was taken", (int)o->living[i]);
	}
	return 0;
}

static int dump_commit(struct dump *d, uint64_t started)
{
	struct ckpt_error why = { 0 };
	uint64_t began = clock_monotonic_ns();
	int ret;

	dump_progress(d, "commit");
	ret = dump_hold(d, d->options->commits, "what the job printed could not be made durable");
	if (ret)
		return ret;
	dump_identify(d, started);
	ret = image_state_append(d->img, d->cap.records, d->cap.records_len);
	if (!ret)
		ret = image_state_append(d->img, d->records, d->records_len);
	if (ret)
		return dump_image_failed(d, ret);
	ret = image_commit(d->img, &why);
	d->stats.commit_ns = dump_lap(&began);
	return ret ? error_fail(d->error, ret, "%s", why.text) : 0;
}

/* Remove the image if the caller abandons the checkpoint; in doubt (-EINPROGRESS) it stays. */
static int hold_stored(struct dump *d)
{
	int ret = dump_hold(d, d->options->stored, "the checkpoint was given up after the dump");
	struct ckpt_error why = { 0 };

	if (!ret || ret == -EINPROGRESS)
		return ret;
	image_destroy(d->img);
	d->img = NULL;
	image_remove(d->options->dir, &why);
	return ret;
}

/* The tree runs on. */
static int dump_thaw(struct dump *d)
{
	uint64_t began = clock_monotonic_ns();
	int ret = capture_thaw(&d->cap, 0, d->error);

	d->stats.thaw_ns = dump_lap(&began);
	d->stats.pause_ns = d->cap.pause_ns;
	return ret;
}

/*
 * After stop-and-copy: has the tree stood still until the last read? Otherwise the pages do not
 * fit together.  This must be known before the commit makes an image that others could use.
 */
static int thaw_when_read(struct dump *d)
{
	return d->options->kill ? capture_check(&d->cap, d->error) : dump_thaw(d);
}

/*
 * The image is complete: kill the tree.  If the kernel thawed the tree before us, the image is
 * removed again and the dump fails, as the tree that was to end runs on.  An image that was
 * announced by stored() stays: others know of it.
 */
static int kill_at_end(struct dump *d)
{
	struct ckpt_error why = { 0 };
	int ret = capture_thaw(&d->cap, CKPT_THAW_KILL, d->error);

	d->stats.pause_ns = d->cap.pause_ns;
	if (ret && !d->options->stored) {
		image_destroy(d->img);
		d->img = NULL;
		image_remove(d->options->dir, &why);
	}
	return ret;
}

static void dump_count(struct dump *d, uint64_t started)
{
	struct image_counts counts;

	image_get_counts(d->img, &counts);
	d->stats.bytes_mapped = d->bytes_mapped;
	d->stats.bytes_raw = counts.bytes_raw;
	d->stats.bytes_stored = counts.bytes_stored;
	d->stats.pages_data = counts.pages_data;
	d->stats.pages_zero = counts.pages_zero;
	d->stats.pages_same = counts.pages_same;
	d->stats.pages_base = counts.pages_base;
	d->stats.total_ns = clock_monotonic_ns() - started;
}

static int dump_captured(struct dump *d, uint64_t started)
{
	int ret;

	dump_expect(d);
	ret = check_living(d);
	if (!ret)
		ret = dump_sock_links(d);
	if (!ret)
		ret = dump_probe(d);
	if (!ret)
		ret = dump_policy_check(d);
	if (!ret)
		ret = dump_files_plan(d);
	if (!ret && d->options->dry_run) {
		ret = dump_thaw(d);
		dump_in_place_foresee(d);
		dump_closed_foresee(d);
		d->stats.total_ns = clock_monotonic_ns() - started;
		return ret;
	}
	if (!ret)
		ret = dump_frozen(d);
	if (!ret)
		ret = dump_hold(d, d->options->captured, "the checkpoint was given up");
	if (!ret && !d->frozen_to_end)
		ret = dump_thaw(d);
	if (ret)
		return ret;
	dump_progress(d, "dump");
	if (!d->stats.incremental)
		image_expect(d->img, d->bytes_expected);
	ret = dump_running(d);
	if (!ret)
		ret = dump_record_tree(d);
	if (!ret)
		ret = dump_records_externals(d);
	if (!ret)
		ret = dump_records_check(d);
	if (!ret && d->frozen_to_end)
		ret = thaw_when_read(d);
	if (!ret)
		ret = dump_commit(d, started);
	if (!ret)
		dump_count(d, started);
	if (!ret)
		ret = hold_stored(d);
	if (!ret && d->options->kill)
		ret = kill_at_end(d);
	return ret;
}

/*
 * Grow our descriptor table before the pause.  Each time that a table shared by threads
 * grows, it doubles, and the kernel waits for a grace period; in the pause these waits
 * would add up to most of it.
 */
static void grow_file_table(rlim_t limit)
{
	int last = (int)(limit < FILES_EXPECTED ? limit : FILES_EXPECTED) - 1;
	_cleanup_fd_ int fd = open("/", O_PATH | O_CLOEXEC);
	_cleanup_fd_ int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, last);

	(void)high;
}

/* Raise our limit of open files: descriptors of all the tree's files are held at once. */
static void raise_file_limit(struct rlimit *ret_old)
{
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, ret_old)) {
		ret_old->rlim_cur = 0;
		return;
	}
	more = *ret_old;
	more.rlim_cur = more.rlim_max;
	setrlimit(RLIMIT_NOFILE, &more);
	grow_file_table(more.rlim_cur);
}

/* A tree that was restored in a PID namespace of its own is known by its init. */
static bool roots_are_inits(const struct dump_options *o)
{
	for (unsigned int i = 0; i < o->nr_roots; i++)
		if (!nsinit_is(o->roots[i]))
			return false;
	return true;
}

static int dump_run(struct dump *d, kdev_open_fn open)
{
	const struct dump_options *o = d->options;
	uint64_t started = clock_monotonic_ns();
	struct capture_options capture = {
		.open = open,
		.roots = o->roots,
		.nr_roots = o->nr_roots,
		.descendants = o->descendants || roots_are_inits(o),
		.owner = o->owner,
		.excludes = o->excludes,
		.nr_excludes = o->nr_excludes,
		.in_place = d->frozen_to_end,
		.dry_run = o->dry_run,
		.track = o->track,
		.freeze_timeout_ms = o->freeze_timeout_ms ? o->freeze_timeout_ms :
							    FREEZE_TIMEOUT_MS,
		/* a tree that is frozen to the end may stand still as long as the module allows */
		.max_pause_ms = o->max_pause_ms ? o->max_pause_ms :
				d->frozen_to_end ? 0 : MAX_PAUSE_MS,
		.check = dump_sockets_check,
		.sockets = o->sockets,
		.links = dump_sock_links_wanted(o),
		.frozen = o->dry_run ? NULL : o->frozen,
		.targeted = o->targeted,
		.frozen_arg = o->frozen_arg,
	};
	int ret = dump_externals_open(d);

	if (!ret)
		ret = capture_open(&d->cap, &capture, d->error);
	if (!ret && !o->dry_run)
		ret = create_image(d);
	if (!ret)
		ret = dump_exclude_shm_find(d);
	if (ret)
		return ret;
	dump_closed_prepare(d);
	dump_prepare_files(d);
	dump_progress(d, "freeze");
	ret = capture_begin(&d->cap, &capture, d->error);
	return ret ? ret : dump_captured(d, started);
}

int dump_tree_on(kdev_open_fn open, const struct dump_options *options,
		 struct dump_stats *ret_stats, struct ckpt_error *error)
{
	struct ckpt_error mine = { 0 };
	struct dump d = {
		.options = options,
		.error = error ? error : &mine,
		.frozen_to_end = (options->kill || options->stop_and_copy) && !options->dry_run,
		.closed_root = -1,
	};
	struct rlimit limit;
	int ret;

	memset(d.error, 0, sizeof(*d.error));
	if (!options->nr_roots || (!options->dry_run && (!options->dir || !options->key)))
		return error_fail(error, -EINVAL, "dump: roots, directory or key missing");
	raise_file_limit(&limit);
	ret = capture_explain(&d.cap, dump_run(&d, open), d.error);
	capture_end(&d.cap);		/* first of all, so that the tree runs */
	dump_files_put(&d);
	dump_closed_done(&d);
	dump_sync_done(&d);
	dump_probe_done(&d);
	dump_externals_done(&d);
	dump_exclude_shm_done(&d);
	content_destroy(d.hold);
	content_destroy(d.image);
	image_destroy(d.img);
	free(d.records);
	if (limit.rlim_cur)
		setrlimit(RLIMIT_NOFILE, &limit);
	if (!ret && ret_stats)
		*ret_stats = d.stats;
	error_done(&mine);
	if (ret)
		d.error->err = ret;
	return ret;
}

int dump_tree(const struct dump_options *options, struct dump_stats *ret_stats,
	      struct ckpt_error *error)
{
	return dump_tree_on(kdev_open, options, ret_stats, error);
}
