/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The levels beyond the image directory, as the configuration names them. Each is a level
 * of levels/level.h, with rules that decide which generations are flushed to it and removed
 * from it.
 *
 *	level.NAME = posix:/DIR			a directory of all nodes, or of one
 *	level.NAME = partner[:NODE]		another node's partner server
 *						(partner_server.h); default: a chosen node
 *	level.NAME = erasure:K+M		parity over the images of up to K nodes, at M
 *						partner servers (level_config_group.h)
 *	level.NAME.every = N			take generations whose number is a multiple; 1
 *	level.NAME.limit = SIZE			bytes a second; 128M; 0: no limit
 *	level.NAME.keep = N			retention.h, of each job on that level; 0: all
 *	level.NAME.keep_every = N
 *	level.NAME.max_size = SIZE
 *
 * The order of the levels is that of their cost, the cheapest first; the image directory,
 * L1, comes before all of them. The line that makes a level precedes its other settings.
 */
#ifndef STILLPOINT_LEVEL_CONFIG_H
#define STILLPOINT_LEVEL_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "levels/level.h"
#include "supervisor/catalog/retention.h"

#define LEVEL_CONFIGS_MAX	7	/* with L1, as many as interval.h can handle */
#define LEVEL_CONFIG_NAME_MAX	31
#define LEVEL_CONFIG_L1		"L1"	/* name of the image directory; no level may have it */

struct catalog;
struct levels_node;
struct log;

/*
 * The facts about this node that a level on other nodes needs; must live as long as the
 * levels.
 */
struct level_site {
	const char *node;			/* this node */
	const char *socket;			/* the control socket of our ckptd */
	const struct catalog *catalog;
	const struct log *log;			/* NULL: nothing is logged */
	const struct levels_node *nodes;	/* nodes of the hosts file */
	unsigned int nr_nodes;			/* 0: there is no hosts file */
	/*
	 * [nr_nodes], NULL: not kept. How often each node has not answered this process,
	 * which is a worker and ends soon
	 */
	unsigned char *silent;
};

struct level_config {
	char name[LEVEL_CONFIG_NAME_MAX + 1];
	char *place;		/* as configured: "posix:/DIR" */
	const struct level_site *site;	/* NULL: only directories can be opened */
	unsigned int k, m;	/* of erasure:K+M; else 0 */
	unsigned int every;
	uint64_t limit;
	struct retention_rule retain;
};

struct level_configs {
	struct level_config conf[LEVEL_CONFIGS_MAX];
	unsigned int nr;
	/* to be avoided, as their devices are degraded: bit i is conf[i]; and L1's */
	unsigned int avoid;
	bool avoid_l1;
	unsigned int silent;	/* bit i: conf[i] does not work now, and stands in for none */
};

#define LEVEL_TRIAL	8	/* an avoided level gets one of so many, to be found well again */

void level_configs_done(struct level_configs *levels);

/*
 * level_configs_set() - apply one setting
 * @name: without "level."
 *
 * -ENOENT: no such setting, or no such level yet; -EINVAL: invalid value; -E2BIG: too many
 * levels.
 */
int level_configs_set(struct level_configs *levels, const char *name, const char *value);

/* Set the ckptd whose levels these are; @site stays the caller's. */
void level_configs_set_site(struct level_configs *levels, const struct level_site *site);

/* The index of the level of that name; -1: there is none. */
int level_configs_find(const struct level_configs *levels, const char *name);

/* Does the level take a generation of that number, before retention? */
static inline bool level_config_takes(const struct level_config *conf, int64_t generation)
{
	return generation % (conf->every ? conf->every : 1) == 0;
}

/*
 * level_configs_takes() - does level @t take a generation of that number, before retention?
 *
 * As level_config_takes(), but where levels are to be avoided: those take one of LEVEL_TRIAL that
 * they would take, and level_configs_instead() takes all of theirs; all generations if L1 is to be
 * avoided, which has them all the same. If all levels are to be avoided, none is.
 */
bool level_configs_takes(const struct level_configs *levels, unsigned int t, int64_t generation);
/*
 * The level that takes what those to be avoided do not: the cheapest of the others that works and
 * keeps whole images, which an erasure group does not; -1: none.
 */
int level_configs_instead(const struct level_configs *levels);

/*
 * True if the level is a directory, which a process may hold open as long as it likes.
 * Other levels are connections, made for one operation at a time; only over them can other
 * nodes' images be read.
 */
bool level_config_is_dir(const struct level_config *conf);

/* The user of a level: whose images it uses, and how. */
struct level_user {
	const char *node;	/* owner of the images: this node, or with @read_only another */
	const struct image_key *key;
	bool read_only;
	bool patient;		/* wait half a minute for a node that serves as many as it may */
	/* a writer that is not the owner: it does not sweep the directory */
	bool others;
	const char *state_dir;	/* where the directory's id is remembered; NULL: not remembered */
};

/*
 * level_config_open() - open a level; errors as those of the kind's open function
 *
 * With user->state_dir, the id that the directory has when it is first opened for writing
 * is kept in STATE_DIR/level-NAME. From then on another directory at the same place is
 * refused (-ESTALE), as is a mount point without its file system.
 */
int level_config_open(const struct level_config *conf, const struct level_user *user,
		      struct level **ret_level, struct ckpt_error *error);

/*
 * level_config_open_store() - open a node's copies of @owner's images: its partner server's
 *	or, if the node is @owner itself, its image directory (for reading;
 *	levels/partner_serve.h, locate)
 * @node: NULL: the partner of @owner
 */
int level_config_open_store(const struct level_site *site, const char *node, const char *owner,
			    bool read_only, const struct image_key *key, struct level **ret_level,
			    struct ckpt_error *error);

/* The same, for reading; waits for a node that serves as many as it may. For workers. */
int level_config_open_store_patiently(const struct level_site *site, const char *node,
				      const char *owner, const struct image_key *key,
				      struct level **ret_level, struct ckpt_error *error);

/* level_config_open() that waits up to two seconds for another user of the level. For workers. */
int level_config_open_patiently(const struct level_config *conf, const struct level_user *user,
			struct level **ret_level, struct ckpt_error *error);

/* The directory that the configuration names; "": the level is not a directory. */
const char *level_config_dir(const struct level_config *conf);
/*
 * 0, or -ENOENT and the like if the level's directory is missing; other kinds are checked
 * when opened.
 */
int level_config_check(const struct level_config *conf, struct ckpt_error *error);

/*
 * level_config_holder() - the @i-th node that keeps what the level has of @owner's images
 *
 * A partner level has the partner, an erasure level the holders of the parity that @owner codes.
 * NULL: there are no more, the level is a directory, or @owner is not in the hosts file. The name
 * lives as long as the configuration and the hosts file.
 */
const char *level_config_holder(const struct level_config *conf, const char *owner, unsigned int i);

/*
 * level_config_nodes() - call @fn for each node that has a directory on the level, in no
 *	order
 * @hosts: {NAME: anything}: all nodes, for a level that cannot list its own; NULL: none
 * @fn: any result but 0 ends the walk and is returned
 */
int level_config_nodes(const struct level_config *conf, const json_t *hosts,
	       int (*fn)(const char *node, void *arg), void *arg);

#endif /* STILLPOINT_LEVEL_CONFIG_H */
