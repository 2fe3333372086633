/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The levels beyond the image directory, as the configuration names them: each a place of
 * levels/level.h and the rules by which generations get there and go.
 *
 *	level.NAME = posix:/DIR			a directory of all nodes, or of one
 *	level.NAME = partner[:NODE]		another node's store (store.h); default: a chosen one
 *	level.NAME = erasure:K+M		parity over the images of up to K nodes in M stores
 *						(tier_group.h)
 *	level.NAME.every = N			generations whose number is a multiple; 1
 *	level.NAME.limit = SIZE			bytes a second; 128M; 0: no limit
 *	level.NAME.keep = N			retention.h, of each job on that level; 0: all
 *	level.NAME.keep_every = N
 *	level.NAME.max_size = SIZE
 *
 * Their order is that of cost, the cheapest first; the image directory, L1, comes before
 * all of them.  A level's other settings stand behind the line that makes it.
 */
#ifndef STILLPOINT_TIERS_H
#define STILLPOINT_TIERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "levels/level.h"
#include "supervisor/catalog/retention.h"

#define TIERS_MAX	7	/* with L1 as many as interval.h goes into */
#define TIER_NAME_MAX	31
#define TIER_L1		"L1"	/* what no level may be called */

struct catalog;
struct levels_node;
struct log;

/* What levels that are other nodes have to know of ours; all of it lives as long as the levels. */
struct tiers_site {
	const char *node;			/* ours */
	const char *socket;			/* the control socket of our ckptd */
	const struct catalog *catalog;
	const struct log *log;			/* NULL: nothing is logged */
	const struct levels_node *nodes;	/* of the hosts file */
	unsigned int nr_nodes;			/* 0: there is none */
	unsigned char *silent;			/* [nr_nodes], NULL: not kept. How often each has not */
						/* answered this process: a worker, which ends soon */
};

struct tier {
	char name[TIER_NAME_MAX + 1];
	char *place;		/* "posix:/DIR" */
	const struct tiers_site *site;	/* NULL: of directories alone */
	unsigned int k, m;	/* erasure; else 0 */
	unsigned int every;
	uint64_t limit;
	struct retention_rule retain;
};

struct tiers {
	struct tier tier[TIERS_MAX];
	unsigned int nr;
};

void tiers_done(struct tiers *tiers);

/*
 * tiers_set() - one setting
 * @name: without "level."
 *
 * -ENOENT: no such setting, or no such level yet; -EINVAL: a value that is none; -E2BIG: too many.
 */
int tiers_set(struct tiers *tiers, const char *name, const char *value);

/* Of the ckptd whose levels they are; stays the caller's. */
void tiers_set_site(struct tiers *tiers, const struct tiers_site *site);

/* By name; -1: none. */
int tiers_find(const struct tiers *tiers, const char *name);

/* What of a generation's number goes there, before retention. */
static inline bool tier_takes(const struct tier *tier, int64_t generation)
{
	return generation % (tier->every ? tier->every : 1) == 0;
}

/*
 * Is it a directory that one process holds open for as long as it likes?  If not, it is a connection,
 * which is made for one operation after the other, and other nodes' images can only be read by it.
 */
bool tier_is_dir(const struct tier *tier);

/* Whose, and for what. */
struct tier_user {
	const char *node;	/* whose images: ours, or with @read_only another's */
	const struct image_key *key;
	bool read_only;
	bool patient;		/* waits half a minute for a node that serves as many as it may */
	bool others;		/* it is another node's, for writing all the same: what that writes there is let alone */
	const char *state_dir;	/* where it is remembered which directory it was; NULL: nowhere */
};

/*
 * tier_open() - errors as those of the kind's open function
 *
 * With user->state_dir the directory's id of the first time that it is open for writing is kept in
 * STATE_DIR/level-NAME; another one at the same place is refused (-ESTALE) from then on, as is a mount
 * point where nothing is mounted.
 */
int tier_open(const struct tier *tier, const struct tier_user *user, struct level **ret_level,
	      struct ckpt_error *error);

/*
 * tier_open_store() - what a node keeps of @owner's images, in its store or, if it is @owner itself, in
 *	its image directory (for reading; levels/partner_serve.h, locate)
 * @node: NULL: the partner of @owner
 */
int tier_open_store(const struct tiers_site *site, const char *node, const char *owner, bool read_only,
		    const struct image_key *key, struct level **ret_level,
		    struct ckpt_error *error);

/* The same, for reading; waits for a node that serves as many as it may. For workers. */
int tier_open_store_patiently(const struct tiers_site *site, const char *node, const char *owner,
			      const struct image_key *key, struct level **ret_level,
			      struct ckpt_error *error);

/* The same as tier_open(); waits up to two seconds for who looks at it, or removes from it. For workers. */
int tier_open_patiently(const struct tier *tier, const struct tier_user *user,
			struct level **ret_level, struct ckpt_error *error);

/* The directory that the configuration names; "": it is none. */
const char *tier_dir(const struct tier *tier);
/* Is the directory there at all?  0, or -ENOENT and the like; of others that is seen when they are opened. */
int tier_check(const struct tier *tier, struct ckpt_error *error);

/*
 * tier_nodes() - the nodes whose directories there are, in no order
 * @hosts: {NAME: anything}: of a level that cannot tell, all of them; NULL: none
 * @fn: called with each; anything but 0 ends it and is returned
 */
int tier_nodes(const struct tier *tier, const json_t *hosts,
	       int (*fn)(const char *node, void *arg), void *arg);

/* "12-0123456789abcdef.gen-3", of one node "….node-1" behind it; @part < 0: of one image. */
int tier_image_name(const char *label, int64_t generation, int part,
		    char ret_name[LEVEL_NAME_MAX + 1]);
/* The reverse: true if it is such a name; @label gets at most @size bytes. */
bool tier_image_parse(const char *name, char *label, size_t size, int64_t *ret_generation,
		      int *ret_part);

#endif /* STILLPOINT_TIERS_H */
