/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A level that keeps images as parity. The images of one generation on the nodes of a group
 * (levels/groups.h) are coded by one of these nodes, the coder. Each of the m pieces is
 * kept by the partner server of another node, the holder, below the coder's name.
 *
 * One struct level is what one coder has made. The operations of level.h:
 *
 *	list	reports one item for every image that the pieces cover, whatever node's; "have" and
 *		"of" count the pieces
 *	get	rebuilds from pieces and from the other nodes' images where these are; the lost
 *		images need not exist anywhere. -EHOSTUNREACH: too much is out of reach;
 *		-ENOENT: too much is gone; the text tells what
 *	verify	tells whether get would succeed, as far as that is seen without reading everything
 *	delete	removes all pieces of that generation, so those of the other members as well
 *	put	is group_level_encode() instead
 *	space	is that of the holder that has least
 *
 * list skips a holder that does not answer, as long as another one does.
 */
#ifndef STILLPOINT_GROUP_LEVEL_H
#define STILLPOINT_GROUP_LEVEL_H

#include "base/error.h"
#include "levels/erasure.h"

/* How to reach the nodes; tests use directories. */
struct group_ways {
	/* Open what @holder keeps of @owner's images. */
	int (*open_store)(const char *holder, const char *owner, bool read_only,
			  const struct image_key *key, const void *arg, struct level **ret_level,
			  struct ckpt_error *error);
	/* Open the images in @node's own image directory: get and verify are enough. */
	int (*open_images)(const char *node, const struct image_key *key, const void *arg,
			   struct level **ret_level, struct ckpt_error *error);
	/*
	 * The path where this node's image directory would have the image; the caller frees
	 * it.
	 */
	char *(*find_image)(const char *job, uint64_t generation, int part, const void *arg);
	const void *arg;
};

/**
 * struct group_level_options - for group_level_open()
 * @coder: name of the node that codes
 * @holders: nodes that hold pieces 0 to @nr_holders - 1; copied, as is @scratch
 * @scratch: directory made for fetched and coded files, with room for up to k + m images;
 *	leftovers of dead processes in it are removed
 * @key, and the arg of @ways: must live as long as the level
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
	/* number within the generation; -1: the generation is one image */
	int part;
};

/**
 * group_level_encode() - make the missing pieces of a generation
 * @members: the generation's nodes that belong to the group, by part
 * @ret_bytes: size of the parity that was stored
 *
 * Images are read from this node's image directory or from the member's. Existing pieces of
 * these very images stay; a damaged piece, or another file with a piece's name, is
 * replaced.
 */
int group_level_encode(struct level *l, const char *job, uint64_t generation,
		       const struct group_member *members, unsigned int nr_members,
		       const struct level_options *options, uint64_t *ret_bytes,
		       struct ckpt_error *error);

#endif /* STILLPOINT_GROUP_LEVEL_H */
