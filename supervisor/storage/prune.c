// SPDX-License-Identifier: GPL-2.0-only
/*
 * Removing generations; see prune.h.
 *
 * The rule's input comes from the index where that is fresh. But the generations that
 * justify the removal of others are checked now, by their manifests. retention.c decides
 * what is removed. Each generation is checked once more before its removal: for a pin
 * (under the catalog's lock), for a restart on another node, for a restore. The levels are
 * asked which generations they still wait for before the lock is taken.
 */
#include "supervisor/storage/prune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/catalog/pin.h"
#include "supervisor/catalog/trust.h"
#include "supervisor/storage/prune_levels.h"

#define DEPTH	3	/* gen-N/node-K/image */

/* ---------------------------------------------------------------- collect */

/* The size of a generation without a readable manifest. */
static uint64_t bytes_below(int parent, const char *name, unsigned int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	_cleanup_dir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	uint64_t sum = 0;
	struct stat st;

	if (fd >= 0 && !dir)
		close(fd);
	while (dir && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISDIR(st.st_mode) && depth)
			sum += bytes_below(fd, entry->d_name, depth - 1);
		else if (S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	}
	return sum;
}

static void prune_fill(const struct prune *prune, struct retention_item *item, const json_t *row)
{
	enum trust trust;

	if (!json_object_get(row, "error")) {
		item->flags |= RETENTION_GOOD;
		item->bytes = (uint64_t)json_integer_value(json_object_get(row, "bytes_stored"));
	} else if (listing_is_foreign(row)) {
		/* Its size is not this job's: no own generation is removed because of it. */
		item->flags |= RETENTION_FOREIGN;
	} else {
		item->bytes = bytes_below(AT_FDCWD, json_string_value(json_object_get(row, "dir")),
					  DEPTH);
	}
	if (json_object_get(row, "pinned"))
		item->flags |= RETENTION_PINNED;
	if (!trust_parse(json_string_value(json_object_get(row, "trust")), &trust))
		item->flags |= trust_is_good(trust) ? RETENTION_VERIFIED :
			       trust_is_doubted(trust) ? RETENTION_DOUBTED : 0;
	if (item->generation == prune->undecided)
		item->flags |= RETENTION_UNDECIDED;
}

/* Ascending; NULL: no memory. */
static struct retention_item *prune_collect(const struct prune *prune, size_t nr)
{
	struct retention_item *items = calloc(nr + 1, sizeof(*items));
	unsigned int want = prune->rule.keep ? prune->rule.keep : 1, good = 0;
	size_t i = nr;

	while (items && i--) {
		const json_t *number = json_array_get(prune->generations, i);
		json_t *row;

		items[i].generation = json_integer_value(number);
		row = good < want ? listing_row_read(&prune->listing, items[i].generation) :
		      listing_row(&prune->listing, items[i].generation);
		prune_fill(prune, &items[i], row);
		good += (items[i].flags & (RETENTION_GOOD | RETENTION_UNDECIDED)) == RETENTION_GOOD;
		json_decref(row);
	}
	return items;
}

/* Apply the rule until no generation that it removes is in use. */
static void prune_decide(const struct prune *prune, struct retention_item *items, size_t nr)
{
	bool again = true;
	size_t i;

	while (again) {
		again = false;
		retention_decide(&prune->rule, items, nr);
		for (i = 0; i < nr; i++) {
			if (!retention_goes(&items[i]) ||
			    !catalog_generation_in_use(prune->listing.catalog, prune->listing.job,
						       items[i].generation))
				continue;
			items[i].flags |= RETENTION_IN_USE;
			again = true;
		}
	}
}

/* ----------------------------------------------------------------- remove */

static bool restarted_elsewhere(const struct prune *prune, char *holder, size_t size)
{
	return catalog_claimed(prune->listing.catalog, prune->listing.job, holder, size) &&
	       strcmp(holder, prune->node);
}

/* 1: the generation is kept after all; 0: it is gone; negative errno with @error. */
static int prune_remove_one(const struct prune *prune, struct retention_item *item,
			    struct ckpt_error *error)
{
	const struct listing *l = &prune->listing;
	char holder[80];
	int err;

	if (prune->dry_run)
		return 0;
	if (pin_has(l->catalog, l->job, item->generation)) {
		item->verdict = RETENTION_KEPT_PINNED;
		return 1;
	}
	if (restarted_elsewhere(prune, holder, sizeof(holder))) {
		item->verdict = RETENTION_KEPT_IN_USE;
		return 1;
	}
	err = catalog_generation_remove(l->catalog, l->job, item->generation, error);
	if (err != -EBUSY)
		return err;
	item->verdict = RETENTION_KEPT_IN_USE;
	return 1;
}

static void prune_add(json_t *list, const struct retention_item *item, const json_t *missed)
{
	char number[24];

	snprintf(number, sizeof(number), "%lld", (long long)item->generation);
	json_array_append_new(list, json_pack("{s:I, s:I, s:s, s:O*}", "generation",
					      (json_int_t)item->generation, "bytes",
					      (json_int_t)item->bytes, "why",
					      retention_text(item->verdict), "missed",
					      json_object_get(missed, number)));
}

static json_t *prune_remove_all(const struct prune *prune, struct retention_item *items, size_t nr,
				const json_t *missed)
{
	json_t *removed = json_array(), *kept = json_array(), *failed = json_array();
	uint64_t freed = 0;
	struct ckpt_error error = {};
	size_t i;

	for (i = 0; i < nr; i++) {
		int err = 1;

		if (retention_goes(&items[i]))
			err = prune_remove_one(prune, &items[i], &error);
		if (err < 0)
			json_array_append_new(failed, json_pack("{s:I, s:s}", "generation",
								(json_int_t)items[i].generation,
								"text", error.text));
		/* It is no generation any more, but some of its files stay. */
		if (err < 0 && !catalog_has(prune->listing.catalog, prune->listing.job,
					    items[i].generation)) {
			items[i].bytes = 0;
			err = 0;
		}
		prune_add(err ? kept : removed, &items[i], err ? NULL : missed);
		freed += err ? 0 : items[i].bytes;
	}
	return json_pack("{s:I, s:o, s:o, s:o, s:I}", "job", (json_int_t)prune->listing.job,
			 "removed", removed, "kept", kept, "failed", failed, "freed",
			 (json_int_t)freed);
}

static json_t *prune_skipped(const struct prune *prune, const struct ckpt_error *error)
{
	return json_pack("{s:I, s:s, s:i}", "job", (json_int_t)prune->listing.job, "skipped",
			 error->text, "errno", -error->err);
}

json_t *prune_job(const struct prune *prune)
{
	size_t nr = json_array_size(prune->generations);
	_cleanup_free_ struct retention_item *items = NULL;
	_cleanup_fd_ int lock = -1;
	struct ckpt_error error;
	json_t *missed, *entry;
	char holder[80];
	int err = 0;

	if (restarted_elsewhere(prune, holder, sizeof(holder))) {
		error_set(&error, -EBUSY, "it is being restarted on node %s", holder);
		return prune_skipped(prune, &error);
	}
	items = prune_collect(prune, nr);
	if (!items) {
		error_set(&error, -ENOMEM, "out of memory");
		return prune_skipped(prune, &error);
	}
	missed = prune_ask_levels(prune, items, nr, prune_decide);
	/* Manifests and levels may be slow, so they are read before the lock is taken. */
	if (!prune->dry_run)
		err = catalog_lock(prune->listing.catalog, prune->listing.job, &lock);
	if (err) {
		error_set(&error, err, "%s", err == -EBUSY ?
			  "its generations are being removed or pinned just now" : strerror(-err));
		entry = prune_skipped(prune, &error);
	} else {
		prune_decide(prune, items, nr);
		entry = prune_remove_all(prune, items, nr, missed);
	}
	json_decref(missed);
	return entry;
}
