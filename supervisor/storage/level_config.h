/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The levels beyond the image directory, as the configuration names them: each a place of
 * levels/level.h and the rules by which generations get there and go.
 *
 *	level.NAME = posix:/DIR			a directory of all nodes, or of one
 *	level.NAME = partner[:NODE]		another node's store (partner_server.h); default: a chosen one
 *	level.NAME = erasure:K+M		parity over the images of up to K nodes in M stores
 *						(level_config_group.h)
 *	level.NAME.every = N			generations whose number is a multiple; 1
 *	level.NAME.limit = SIZE			bytes a second; 128M; 0: no limit
 *	level.NAME.keep = N			retention.h, of each job on that level; 0: all
 *	level.NAME.keep_every = N
 *	level.NAME.max_size = SIZE
 *
 * Their order is that of cost, the cheapest first; the image directory, L1, comes before
 * all of them.  A level's other settings stand behind the line that makes it.
 */
#ifndef STILLPOINT_LEVEL_CONFIG_H
#define STILLPOINT_LEVEL_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "levels/level.h"
#include "supervisor/catalog/retention.h"

#define LEVEL_CONFIGS_MAX	7	/* with L1 as many as interval.h goes into */
#define LEVEL_CONFIG_NAME_MAX	31
#define LEVEL_CONFIG_L1		"L1"	/* what no level may be called */

struct catalog;
struct levels_node;
struct log;

/* What levels that are other nodes have to know of ours; all of it lives as long as the levels. */
struct level_site {
	const char *node;			/* ours */
	const char *socket;			/* the control socket of our ckptd */
	const struct catalog *catalog;
	const struct log *log;			/* NULL: nothing is logged */
	const struct levels_node *nodes;	/* of the hosts file */
	unsigned int nr_nodes;			/* 0: there is none */
	unsigned char *silent;			/* [nr_nodes], NULL: not kept. How often each has not */
						/* answered this process: a worker, which ends soon */
};

struct level_config {
	char name[LEVEL_CONFIG_NAME_MAX + 1];
	char *place;		/* "posix:/DIR" */
	const struct level_site *site;	/* NULL: of directories alone */
	unsigned int k, m;	/* erasure; else 0 */
	unsigned int every;
	uint64_t limit;
	struct retention_rule retain;
};

struct level_configs {
	struct level_config conf[LEVEL_CONFIGS_MAX];
	unsigned int nr;
};

void level_configs_done(struct level_configs *levels);

/*
 * level_configs_set() - one setting
 * @name: without "level."
 *
 * -ENOENT: no such setting, or no such level yet; -EINVAL: a value that is none; -E2BIG: too many.
 */
int level_configs_set(struct level_configs *levels, const char *name, const char *value);

/* Of the ckptd whose levels they are; stays the caller's. */
void level_configs_set_site(struct level_configs *levels, const struct level_site *site);

/* By name; -1: none. */
int level_configs_find(const struct level_configs *levels, const char *name);

/* What of a generation's number goes there, before retention. */
static inline bool level_config_takes(const struct level_config *conf, int64_t generation)
{
	return generation % (conf->every ? conf->every : 1) == 0;
}

/*
 * Is it a directory that one process holds open for as long as it likes?  If not, it is a connection,
 * which is made for one operation after the other, and other nodes' images can only be read by it.
 */
bool level_config_is_dir(const struct level_config *conf);

/* Whose, and for what. */
struct level_user {
	const char *node;	/* whose images: ours, or with @read_only another's */
	const struct image_key *key;
	bool read_only;
	bool patient;		/* waits half a minute for a node that serves as many as it may */
	bool others;		/* it is another node's, for writing all the same: what that writes there is let alone */
	const char *state_dir;	/* where it is remembered which directory it was; NULL: nowhere */
};

/*
 * level_config_open() - errors as those of the kind's open function
 *
 * With user->state_dir the directory's id of the first time that it is open for writing is kept in
 * STATE_DIR/level-NAME; another one at the same place is refused (-ESTALE) from then on, as is a mount
 * point where nothing is mounted.
 */
int level_config_open(const struct level_config *conf, const struct level_user *user, struct level **ret_level,
	      struct ckpt_error *error);

/*
 * level_config_open_store() - what a node keeps of @owner's images, in its store or, if it is @owner itself, in
 *	its image directory (for reading; levels/partner_serve.h, locate)
 * @node: NULL: the partner of @owner
 */
int level_config_open_store(const struct level_site *site, const char *node, const char *owner, bool read_only,
		    const struct image_key *key, struct level **ret_level,
		    struct ckpt_error *error);

/* The same, for reading; waits for a node that serves as many as it may. For workers. */
int level_config_open_store_patiently(const struct level_site *site, const char *node, const char *owner,
			      const struct image_key *key, struct level **ret_level,
			      struct ckpt_error *error);

/* The same as level_config_open(); waits up to two seconds for who looks at it, or removes from it. For workers. */
int level_config_open_patiently(const struct level_config *conf, const struct level_user *user,
			struct level **ret_level, struct ckpt_error *error);

/* The directory that the configuration names; "": it is none. */
const char *level_config_dir(const struct level_config *conf);
/* Is the directory there at all?  0, or -ENOENT and the like; of others that is seen when they are opened. */
int level_config_check(const struct level_config *conf, struct ckpt_error *error);

/*
 * level_config_nodes() - the nodes whose directories there are, in no order
 * @hosts: {NAME: anything}: of a level that cannot tell, all of them; NULL: none
 * @fn: called with each; anything but 0 ends it and is returned
 */
int level_config_nodes(const struct level_config *conf, const json_t *hosts,
	       int (*fn)(const char *node, void *arg), void *arg);

#endif /* STILLPOINT_LEVEL_CONFIG_H */
