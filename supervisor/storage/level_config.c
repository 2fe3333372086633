// SPDX-License-Identifier: GPL-2.0-only
/*
 * The levels that the configuration names; see level_config.h.
 *
 * Owns the level settings and the names that images have on a level. Knows which function
 * opens which kind of level, and nothing else of them. An image's name tells job (with the
 * random part of its label), generation and node, and proves nothing: who takes an image
 * checks job and generation in its manifest.
 */
#include "supervisor/storage/level_config.h"

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
#include "hosts/hosts.h"
#include "engine/op/op_args.h"
#include "supervisor/storage/mount_id.h"
#include "supervisor/storage/ticket.h"
#include "supervisor/storage/level_config_group.h"

#define LIMIT_DEFAULT	(128ULL << 20)
#define KIND_POSIX	"posix:"
#define KIND_PARTNER	"partner"
#define BUSY_NS		100000000L
#define BUSY_LOOKS	20
#define SERVED_LOOKS	150	/* half a minute */
/* times; one question may be lost when a ckptd has just started */
#define SILENT_MAX	2

/* ---------------------------------------------------------- configuration */

void level_configs_done(struct level_configs *levels)
{
	unsigned int i;

	for (i = 0; i < levels->nr; i++)
		free(levels->conf[i].place);
	memset(levels, 0, sizeof(*levels));
}

void level_configs_set_site(struct level_configs *levels, const struct level_site *site)
{
	unsigned int i;

	for (i = 0; i < levels->nr; i++)
		levels->conf[i].site = site;
}

int level_configs_find(const struct level_configs *levels, const char *name)
{
	unsigned int i;

	for (i = 0; i < levels->nr; i++) {
		if (!strcmp(levels->conf[i].name, name))
			return (int)i;
	}
	return -1;
}

int level_configs_instead(const struct level_configs *levels)
{
	unsigned int t;

	for (t = 0; t < levels->nr; t++) {
		/* parity is no copy, and a level that does not work takes nothing */
		if (!((levels->avoid | levels->silent) & 1u << t) &&
		    !level_config_is_group(&levels->conf[t]))
			return (int)t;
	}
	return -1;
}

bool level_configs_takes(const struct level_configs *levels, unsigned int t, int64_t generation)
{
	const struct level_config *conf = &levels->conf[t];
	const int64_t every = conf->every ? conf->every : 1;
	const int instead = levels->avoid || levels->avoid_l1 ? level_configs_instead(levels) : -1;
	const bool takes = level_config_takes(conf, generation);
	unsigned int i;

	if (instead < 0)
		return takes;
	if (levels->avoid & 1u << t)
		return takes && generation / every % LEVEL_TRIAL == 0;
	if (takes || t != (unsigned int)instead)
		return takes;
	for (i = 0; i < levels->nr && !levels->avoid_l1; i++) {
		if (levels->avoid & 1u << i && level_config_takes(&levels->conf[i], generation))
			return true;
	}
	return levels->avoid_l1;
}

static bool good_name(const char *name)
{
	size_t len = strlen(name);

	return len && len <= LEVEL_CONFIG_NAME_MAX && strcasecmp(name, LEVEL_CONFIG_L1) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
		       len;
}

/* The node behind "partner:"; NULL: there is none, so a node is chosen. */
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
	if (level_config_group_parse(place, &k, &m))
		return true;
	return !strncmp(place, KIND_POSIX, skip) && place[skip] == '/' &&
	       strlen(place) < PATH_MAX / 2;
}

static int level_config_add(struct level_configs *levels, const char *name, const char *place)
{
	struct level_config *conf = &levels->conf[levels->nr];
	int at = level_configs_find(levels, name);
	char *copy;

	if (!good_name(name) || !good_place(place))
		return -EINVAL;
	if (at < 0 && levels->nr == LEVEL_CONFIGS_MAX)
		return -E2BIG;
	copy = strdup(place);
	if (!copy)
		return -ENOMEM;
	if (at >= 0) {
		conf = &levels->conf[at];
		free(conf->place);
		conf->place = copy;
	} else {
		*conf = (struct level_config) { .place = copy, .every = 1, .limit = LIMIT_DEFAULT };
		strcpy(conf->name, name);
		levels->nr++;
	}
	conf->k = conf->m = 0;
	level_config_group_parse(place, &conf->k, &conf->m);
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

int level_configs_set(struct level_configs *levels, const char *name, const char *value)
{
	const char *dot = strrchr(name, '.');
	char of[LEVEL_CONFIG_NAME_MAX + 1];
	struct level_config *conf;
	int at;

	if (!dot)
		return level_config_add(levels, name, value);
	if (dot - name > LEVEL_CONFIG_NAME_MAX)
		return -ENOENT;
	snprintf(of, sizeof(of), "%.*s", (int)(dot - name), name);
	at = level_configs_find(levels, of);
	if (at < 0)
		return -ENOENT;
	conf = &levels->conf[at];
	if (!strcmp(dot, ".every"))
		return set_count(&conf->every, value, 1);
	if (!strcmp(dot, ".limit"))
		return op_size_parse(value, &conf->limit);
	if (!strcmp(dot, ".keep"))
		return set_count(&conf->retain.keep, value, 0);
	if (!strcmp(dot, ".keep_every"))
		return set_count(&conf->retain.keep_every, value, 0);
	if (!strcmp(dot, ".max_size"))
		return op_size_parse(value, &conf->retain.max_size);
	return -ENOENT;
}

/* ------------------------------------------------------------------- kinds */

const char *level_config_dir(const struct level_config *conf)
{
	return level_config_is_dir(conf) ? conf->place + strlen(KIND_POSIX) : "";
}

bool level_config_is_dir(const struct level_config *conf)
{
	return !is_partner(conf->place) && !level_config_is_group(conf);
}

static char *memo_path(const struct level_config *conf, const char *state_dir)
{
	char *path;

	return asprintf(&path, "%s/level-%s", state_dir, conf->name) < 0 ? NULL : path;
}

static int explain_stale(const char *memo, struct ckpt_error *error)
{
	struct ckpt_error why = *error;

	return error_set(error, -ESTALE, "%.120s (which it was is in %.100s)", why.text, memo);
}

/*
 * The counter of questions that node (NULL: the partner of @owner) did not answer; NULL:
 * not kept.
 */
static unsigned char *silence_of(const struct level_site *site, const char *node, const char *owner)
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

/* If this node is the partner, its store is opened as a directory, read-only. */
int level_config_open_store(const struct level_site *site, const char *node, const char *owner,
			    bool read_only, const struct image_key *key, struct level **ret_level,
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
		return error_set(error, -EHOSTUNREACH,
				 "node %.63s does not answer: see ckptctl nodes",
				 site->nodes[silent - site->silent].name);
	err = ticket_get(&ask, &ticket, &dir, error);
	if (silent && (err == -ETIMEDOUT || err == -EHOSTUNREACH))
		(*silent)++;		/* every further question would wait as long again */
	if (err)
		return err;
	here.dir = dir;
	return dir ? level_posix_open(&here, ret_level, error) :
	       level_partner_open(&there, ret_level, error);
}

int level_config_open_store_patiently(const struct level_site *site, const char *node,
				      const char *owner, const struct image_key *key,
				      struct level **ret_level, struct ckpt_error *error)
{
	unsigned int looks = SERVED_LOOKS;
	int err;

	while ((err = level_config_open_store(site, node, owner, true, key, ret_level, error)) ==
		       -EBUSY &&
	       looks--) {
		/* random, so that waiting workers do not all ask again at once */
		const struct timespec wait = {
			.tv_nsec = BUSY_NS + (long)randombytes_uniform(2 * BUSY_NS) };

		nanosleep(&wait, NULL);
	}
	return err;
}

int level_config_open(const struct level_config *conf, const struct level_user *user,
		      struct level **ret_level, struct ckpt_error *error)
{
	struct level_posix_options options = {
		.dir = level_config_dir(conf), .node = user->node, .key = user->key, .shared = true,
		.read_only = user->read_only, .no_sweep = user->others,
	};
	_cleanup_free_ char *memo = NULL;
	char id[MARKER_ID_CHARS + 1] = "";
	int err;

	if (level_config_is_group(conf))
		return level_config_group_open(conf, user, ret_level, error);
	if (!level_config_is_dir(conf) && user->patient)
		return level_config_open_store_patiently(conf->site, partner_node(conf->place),
							 user->node, user->key, ret_level, error);
	if (!level_config_is_dir(conf))
		return level_config_open_store(conf->site, partner_node(conf->place), user->node,
				       user->read_only, user->key, ret_level, error);
	if (user->state_dir) {
		memo = memo_path(conf, user->state_dir);
		if (!memo)
			return error_set(error, -ENOMEM, "out of memory");
		mount_id_read(memo, conf->place, id);
	}
	options.id = id[0] ? id : NULL;
	err = level_posix_open(&options, ret_level, error);
	if (err == -ESTALE && memo)
		return explain_stale(memo, error);
	if (!err && memo && !id[0] && !user->read_only)
		mount_id_write(memo, conf->place, level_posix_id(*ret_level),
				 conf->site ? conf->site->log : NULL);
	return err;
}

int level_config_open_patiently(const struct level_config *conf, const struct level_user *user,
			struct level **ret_level, struct ckpt_error *error)
{
	const struct timespec wait = { .tv_nsec = BUSY_NS };
	unsigned int looks = BUSY_LOOKS;
	int err;

	while ((err = level_config_open(conf, user, ret_level, error)) == -EBUSY && looks--)
		nanosleep(&wait, NULL);
	return err;
}

int level_config_check(const struct level_config *conf, struct ckpt_error *error)
{
	struct stat st;

	if (!level_config_is_dir(conf))
		return 0;
	if (stat(level_config_dir(conf), &st))
		return error_set(error, -errno,
				 "%.150s: %m; is it mounted? (it is not made by itself)",
				 level_config_dir(conf));
	return S_ISDIR(st.st_mode) ? 0
				   : error_set(error, -ENOTDIR, "%.150s: %s",
					       level_config_dir(conf), strerror(ENOTDIR));
}

const char *level_config_holder(const struct level_config *conf, const char *owner, unsigned int i)
{
	int index;

	if (level_config_is_group(conf))
		return level_config_group_holder(conf, owner, i);
	if (level_config_is_dir(conf) || i)
		return NULL;
	if (partner_node(conf->place))
		return partner_node(conf->place);
	index = conf->site ? partner_choose(conf->site->nodes, conf->site->nr_nodes, owner, NULL) :
			     -ENOENT;
	return index < 0 ? NULL : conf->site->nodes[index].name;
}

int level_config_nodes(const struct level_config *conf, const json_t *hosts,
	       int (*fn)(const char *node, void *arg), void *arg)
{
	_cleanup_dir_ DIR *dir = level_config_is_dir(conf) ? opendir(level_config_dir(conf)) : NULL;
	struct dirent *entry;
	const char *name;
	json_t *value;
	int ret = 0;

	if (!level_config_is_dir(conf)) {
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
