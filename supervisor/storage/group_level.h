/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A level that has images as parity: those of one generation of the nodes of a group
 * (levels/groups.h) are coded by one of them, the coder, and each of the m pieces is kept in the
 * store of another node, the holder, below the coder's name.
 *
 * One level is what one coder has made.  Of level.h
 *
 *	list	has an item for every image that the pieces are of, whatever node's; have and of
 *		say how many pieces there are
 *	get	rebuilds: from pieces, and from the other nodes' images where these are (nothing of
 *		what is gone has to be there).  -EHOSTUNREACH: too much is out of reach; -ENOENT: too
 *		much is gone; the text says what
 *	verify	whether it could be got: as far as that is seen without reading all of it
 *	delete	removes all pieces of that generation, so of the other members as well
 *	put	is group_level_encode()
 *	space	of the holder that has least
 *
 * A holder that does not answer is left out for as long as another one does.
 */
#ifndef STILLPOINT_GROUP_LEVEL_H
#define STILLPOINT_GROUP_LEVEL_H

#include "base/error.h"
#include "levels/erasure.h"

/* How the nodes are reached; for tests directories. */
struct group_ways {
	/* What @holder has in its store of @owner. */
	int (*open_store)(const char *holder, const char *owner, bool read_only,
			  const struct image_key *key, const void *arg, struct level **ret_level,
			  struct ckpt_error *error);
	/* The images that @node has in its image directory: get and verify are enough. */
	int (*open_images)(const char *node, const struct image_key *key, const void *arg,
			   struct level **ret_level, struct ckpt_error *error);
	/* The directory in which we would have it, to be freed. */
	char *(*find_image)(const char *job, uint64_t generation, int part, const void *arg);
	const void *arg;
};

/**
 * struct group_level_options
 * @coder: name of the node
 * @holders: of piece 0 to @nr_holders - 1; copied, as is @scratch
 * @scratch: directory that is made for what is fetched and coded, which takes the room of up to
 *	k + m images; what dead processes left in it is removed
 * @key, and what @ways has as arg: must live as long as the level
 */
struct group_level_options {
	const char *coder;
	const char *const *holders;
	unsigned int nr_holders;
	const char *scratch;
	const struct image_key *key;
	struct group_ways ways;
	bool read_only;
};

int group_level_open(const struct group_level_options *options, struct level **ret_level,
		     struct ckpt_error *error);

struct group_member {
	const char *node;
	int part;		/* of the generation; -1: it is this one image */
};

/**
 * group_level_encode() - make the pieces that are missing of a generation
 * @members: of its nodes those of the group, by part
 * @ret_bytes: of parity that was stored
 *
 * Their images are taken from where they are: from this node's image directory, or from the
 * member's.  Pieces that are there already and are of these very images stay; what has their names and
 * is not, or is damaged, is replaced.
 */
int group_level_encode(struct level *l, const char *job, uint64_t generation,
		       const struct group_member *members, unsigned int nr_members,
		       const struct level_options *options, uint64_t *ret_bytes,
		       struct ckpt_error *error);

#endif /* STILLPOINT_GROUP_LEVEL_H */
