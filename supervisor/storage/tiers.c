// SPDX-License-Identifier: GPL-2.0-only
/*
 * Levels as the configuration names them; see tiers.h.
 *
 * Owns what is written in the configuration and the names that images have on a level; knows
 * which kind of place is opened by which function, and nothing else of them.  A name says job
 * (with the random part of its label), generation and node, and proves nothing: who takes an
 * image expects job and generation of its manifest.
 */
#include "supervisor/storage/tiers.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "levels/marker.h"
#include "levels/partner.h"
#include "levels/posix.h"
#include "supervisor/catalog/catalog.h"
#include "supervisor/net/hosts.h"
#include "engine/op/op_args.h"
#include "supervisor/storage/place_memo.h"
#include "supervisor/storage/ticket.h"
#include "supervisor/storage/tier_group.h"

#define LIMIT_DEFAULT	(128ULL << 20)
#define KIND_POSIX	"posix:"
#define KIND_PARTNER	"partner"
#define BUSY_NS		100000000L
#define BUSY_LOOKS	20
#define SERVED_LOOKS	150	/* half a minute */
#define SILENT_MAX	2	/* one may be lost when a ckptd has just begun */

/* ---------------------------------------------------------- configuration */

void tiers_done(struct tiers *tiers)
{
	unsigned int i;

	for (i = 0; i < tiers->nr; i++)
		free(tiers->tier[i].place);
	memset(tiers, 0, sizeof(*tiers));
}

void tiers_set_site(struct tiers *tiers, const struct tiers_site *site)
{
	unsigned int i;

	for (i = 0; i < tiers->nr; i++)
		tiers->tier[i].site = site;
}

int tiers_find(const struct tiers *tiers, const char *name)
{
	unsigned int i;

	for (i = 0; i < tiers->nr; i++) {
		if (!strcmp(tiers->tier[i].name, name))
			return (int)i;
	}
	return -1;
}

static bool good_name(const char *name)
{
	size_t len = strlen(name);

	return len && len <= TIER_NAME_MAX && strcasecmp(name, TIER_L1) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == len;
}

/* What stands behind "partner:"; NULL: nothing, a node is chosen. */
static const char *partner_node(const char *place)
{
	const char *node = place + strlen(KIND_PARTNER);

	return *node ? node + 1 : NULL;
}

static bool is_partner(const char *place)
{
	size_t len = strlen(KIND_PARTNER);

	return !strncmp(place, KIND_PARTNER, len) && (!place[len] || place[len] == ':');
}

static bool good_place(const char *place)
{
	size_t skip = strlen(KIND_POSIX);
	unsigned int k, m;

	if (is_partner(place))
		return !partner_node(place) || !host_name_check(partner_node(place));
	if (tier_group_parse(place, &k, &m))
		return true;
	return !strncmp(place, KIND_POSIX, skip) && place[skip] == '/' && strlen(place) < PATH_MAX / 2;
}

static int add(struct tiers *tiers, const char *name, const char *place)
{
	struct tier *tier = &tiers->tier[tiers->nr];
	int at = tiers_find(tiers, name);
	char *copy;

	if (!good_name(name) || !good_place(place))
		return -EINVAL;
	if (at < 0 && tiers->nr == TIERS_MAX)
		return -E2BIG;
	copy = strdup(place);
	if (!copy)
		return -ENOMEM;
	if (at >= 0) {
		tier = &tiers->tier[at];
		free(tier->place);
		tier->place = copy;
	} else {
		*tier = (struct tier) { .place = copy, .every = 1, .limit = LIMIT_DEFAULT };
		strcpy(tier->name, name);
		tiers->nr++;
	}
	tier->k = tier->m = 0;
	tier_group_parse(place, &tier->k, &tier->m);
	return 0;
}

static int set_count(unsigned int *field, const char *value, unsigned int least)
{
	uint64_t number;

	if (!*value || value[strspn(value, "0123456789")] || op_size_parse(value, &number) ||
	    number < least || number > INT_MAX)
		return -EINVAL;
	*field = (unsigned int)number;
	return 0;
}

int tiers_set(struct tiers *tiers, const char *name, const char *value)
{
	const char *dot = strrchr(name, '.');
	char of[TIER_NAME_MAX + 1];
	struct tier *tier;
	int at;

	if (!dot)
		return add(tiers, name, value);
	if (dot - name > TIER_NAME_MAX)
		return -ENOENT;
	snprintf(of, sizeof(of), "%.*s", (int)(dot - name), name);
	at = tiers_find(tiers, of);
	if (at < 0)
		return -ENOENT;
	tier = &tiers->tier[at];
	if (!strcmp(dot, ".every"))
		return set_count(&tier->every, value, 1);
	if (!strcmp(dot, ".limit"))
		return op_size_parse(value, &tier->limit);
	if (!strcmp(dot, ".keep"))
		return set_count(&tier->retain.keep, value, 0);
	if (!strcmp(dot, ".keep_every"))
		return set_count(&tier->retain.keep_every, value, 0);
	if (!strcmp(dot, ".max_size"))
		return op_size_parse(value, &tier->retain.max_size);
	return -ENOENT;
}

/* ------------------------------------------------------------------- kinds */

const char *tier_dir(const struct tier *tier)
{
	return tier_is_dir(tier) ? tier->place + strlen(KIND_POSIX) : "";
}

bool tier_is_dir(const struct tier *tier)
{
	return !is_partner(tier->place) && !tier_is_group(tier);
}

static char *memo_path(const struct tier *tier, const char *state_dir)
{
	char *path;

	return asprintf(&path, "%s/level-%s", state_dir, tier->name) < 0 ? NULL : path;
}

static int explain_stale(const char *memo, struct ckpt_error *error)
{
	struct ckpt_error why = *error;

	return error_set(error, -ESTALE, "%.120s (which it was is in %.100s)", why.text, memo);
}

/* Where it is kept how often that node (NULL: the partner of @owner) has not answered; NULL: nowhere. */
static unsigned char *silence_of(const struct tiers_site *site, const char *node, const char *owner)
{
	unsigned int i;
	int index;

	if (!node && site->silent) {
		index = partner_choose(site->nodes, site->nr_nodes, owner, NULL);
		return index < 0 ? NULL : &site->silent[index];
	}
	for (i = 0; node && site->silent && i < site->nr_nodes; i++) {
		if (!strcmp(site->nodes[i].name, node))
			return &site->silent[i];
	}
	return NULL;
}

/* What a partner keeps of whatever node is read here if we are that partner. */
int tier_open_store(const struct tiers_site *site, const char *node, const char *owner, bool read_only,
		    const struct image_key *key, struct level **ret_level,
		    struct ckpt_error *error)
{
	const struct ticket_ask ask = {
		.socket = site ? site->socket : NULL, .node = node, .owner = owner,
		.read_only = read_only,
	};
	struct level_posix_options here = {
		.node = owner, .key = key, .shared = true, .read_only = true,
	};
	struct partner_ticket ticket = { .port = 0 };
	struct level_partner_options there = { .ticket = &ticket, .key = key };
	_cleanup_free_ char *dir = NULL;
	unsigned char *silent;
	int err;

	if (!ask.socket)
		return error_set(error, -EINVAL, "images on other nodes: only within ckptd");
	silent = silence_of(site, node, owner);
	if (silent && *silent >= SILENT_MAX)
		return error_set(error, -EHOSTUNREACH, "node %.63s does not answer: see ckptctl nodes",
				       site->nodes[silent - site->silent].name);
	err = ticket_get(&ask, &ticket, &dir, error);
	if (silent && (err == -ETIMEDOUT || err == -EHOSTUNREACH))
		(*silent)++;		/* each of many questions would wait as long again */
	if (err)
		return err;
	here.dir = dir;
	return dir ? level_posix_open(&here, ret_level, error) :
	       level_partner_open(&there, ret_level, error);
}

int tier_open_store_patiently(const struct tiers_site *site, const char *node, const char *owner,
			      const struct image_key *key, struct level **ret_level,
			      struct ckpt_error *error)
{
	unsigned int looks = SERVED_LOOKS;
	int err;

	while ((err = tier_open_store(site, node, owner, true, key, ret_level, error)) == -EBUSY &&
	       looks--) {
		/* not all of those that wait at the same time */
		const struct timespec wait = { .tv_nsec = BUSY_NS + (long)randombytes_uniform(2 * BUSY_NS) };

		nanosleep(&wait, NULL);
	}
	return err;
}

int tier_open(const struct tier *tier, const struct tier_user *user, struct level **ret_level,
	      struct ckpt_error *error)
{
	struct level_posix_options options = {
		.dir = tier_dir(tier), .node = user->node, .key = user->key, .shared = true,
		.read_only = user->read_only, .no_sweep = user->others,
	};
	_cleanup_free_ char *memo = NULL;
	char id[MARKER_ID_CHARS + 1] = "";
	int err;

	if (tier_is_group(tier))
		return tier_group_open(tier, user, ret_level, error);
	if (!tier_is_dir(tier) && user->patient)
		return tier_open_store_patiently(tier->site, partner_node(tier->place), user->node,
						 user->key, ret_level, error);
	if (!tier_is_dir(tier))
		return tier_open_store(tier->site, partner_node(tier->place), user->node,
				       user->read_only, user->key, ret_level, error);
	if (user->state_dir) {
		memo = memo_path(tier, user->state_dir);
		if (!memo)
			return error_set(error, -ENOMEM, "out of memory");
		place_memo_read(memo, tier->place, id);
	}
	options.id = id[0] ? id : NULL;
	err = level_posix_open(&options, ret_level, error);
	if (err == -ESTALE && memo)
		return explain_stale(memo, error);
	if (!err && memo && !id[0] && !user->read_only)
		place_memo_write(memo, tier->place, level_posix_id(*ret_level),
				 tier->site ? tier->site->log : NULL);
	return err;
}

int tier_open_patiently(const struct tier *tier, const struct tier_user *user,
			struct level **ret_level, struct ckpt_error *error)
{
	const struct timespec wait = { .tv_nsec = BUSY_NS };
	unsigned int looks = BUSY_LOOKS;
	int err;

	while ((err = tier_open(tier, user, ret_level, error)) == -EBUSY && looks--)
		nanosleep(&wait, NULL);
	return err;
}

int tier_check(const struct tier *tier, struct ckpt_error *error)
{
	struct stat st;

	if (!tier_is_dir(tier))
		return 0;
	if (stat(tier_dir(tier), &st))
		return error_set(error, -errno, "%.150s: %m; is it mounted? (it is not made by itself)",
				       tier_dir(tier));
	return S_ISDIR(st.st_mode) ? 0 : error_set(error, -ENOTDIR, "%.150s: %s",
							  tier_dir(tier), strerror(ENOTDIR));
}

int tier_nodes(const struct tier *tier, const json_t *hosts,
	       int (*fn)(const char *node, void *arg), void *arg)
{
	_cleanup_dir_ DIR *dir = tier_is_dir(tier) ? opendir(tier_dir(tier)) : NULL;
	struct dirent *entry;
	const char *name;
	json_t *value;
	int ret = 0;

	if (!tier_is_dir(tier)) {
		json_object_foreach((json_t *)hosts, name, value)
			ret = ret ? ret : fn(name, arg);
	}

	while (!ret && dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && marker_node_valid(entry->d_name) &&
		    (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
			ret = fn(entry->d_name, arg);
	}
	return ret;
}

/* ------------------------------------------------------------------- names */

int tier_image_name(const char *label, int64_t generation, int part,
		    char ret_name[LEVEL_NAME_MAX + 1])
{
	int err = level_name(label, (uint64_t)generation, ret_name);
	size_t len;

	if (err || part < 0)
		return err;
	len = strlen(ret_name);
	return (size_t)snprintf(ret_name + len, LEVEL_NAME_MAX + 1 - len, ".node-%d", part) >=
	       LEVEL_NAME_MAX + 1 - len ? -ENAMETOOLONG : 0;
}

bool tier_image_parse(const char *name, char *label, size_t size, int64_t *ret_generation,
		      int *ret_part)
{
	const char *at = strstr(name, ".gen-");
	char again[LEVEL_NAME_MAX + 1];
	long long generation = 0;
	int part = -1;

	if (!at || (size_t)(at - name) >= size)
		return false;
	if (sscanf(at, ".gen-%lld.node-%d", &generation, &part) < 1 || generation < 1 ||
	    generation >= CATALOG_NUMBERS)
		return false;
	snprintf(label, size, "%.*s", (int)(at - name), name);
	if (tier_image_name(label, generation, part, again) || strcmp(again, name))
		return false;
	*ret_generation = generation;
	*ret_part = part;
	return true;
}
