/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What group_level.c, group_encode.c and group_rebuild.c share, and nobody else.
 */
#ifndef STILLPOINT_GROUP_PRIV_H
#define STILLPOINT_GROUP_PRIV_H

#include "base/error.h"
#include "supervisor/storage/group_level.h"
#include "supervisor/storage/scratch.h"

struct group_level {
	struct level base;
	char coder[PARITY_NODE_MAX + 1];
	char holders[RS_PARITY_MAX][PARITY_NODE_MAX + 1];
	unsigned int nr_holders;
	const struct image_key *key;
	struct group_ways ways;
	bool read_only;
	char *scratch_base;
	struct scratch_dir scratch;	/* open from its first use on */
};

static inline struct group_level *group_of(struct level *l)
{
	return (struct group_level *)l;		/* base is the first member */
}

/* Parity of which some pieces were found. */
struct group_set {
	struct group_set *next;
	struct parity_set set;
	uint64_t created_ns;		/* of the oldest piece */
	unsigned int have;		/* pieces, as bits, */
	unsigned char at[RS_PARITY_MAX];	/* and which holder has each */
};

struct group_survey {
	struct group_set *sets;
	unsigned int answered;		/* holders */
	int err;			/* of one that did not, */
	struct ckpt_error why;		/* and what it said */
};

/*
 * group_survey() - what pieces there are
 * @prefix: what their names begin with; "": all
 *
 * A holder that cannot be asked is in ret_survey->err, the others are asked all the same.
 */
void group_survey(struct group_level *g, const char *prefix, struct group_survey *ret_survey);
void group_survey_done(struct group_survey *survey);

/* The store of the holder of that number, for what this coder made. */
int group_open_store(struct group_level *g, unsigned int holder, bool read_only,
		     struct level **ret_level, struct ckpt_error *error);

/* "JOB.gen-N.parity-": what all pieces of a generation are called, but for their number; as level_name(). */
int group_pieces_prefix(const char *job, uint64_t generation, char ret_prefix[LEVEL_NAME_MAX + 1]);
/* "JOB.gen-N.parity-I", what a piece is called in its holder's store. */
int group_piece_name(const char *job, uint64_t generation, unsigned int index,
		     char ret_name[LEVEL_NAME_MAX + 1]);

/* A path in the scratch directory, to be freed. */
int group_scratch_path(struct group_level *g, const char *kind, unsigned int number,
		       char **ret_path, struct ckpt_error *error);

/*
 * group_take_image() - a member's image: here, or fetched into the scratch directory
 * @id: which; NULL: that of that job, generation and part
 * @number: of its path there
 * @ret_dir: to be freed
 */
int group_take_image(struct group_level *g, const char *job, uint64_t generation,
		     const char *node, int part, const uint8_t *id, unsigned int number,
		     const struct level_options *options, char **ret_dir,
		     struct ckpt_error *error);

int group_get(struct level *l, const char *name, const char *image,
	      const struct level_options *options, struct ckpt_error *error);
int group_verify(struct level *l, const char *name, bool deep,
		 const struct level_options *options, struct ckpt_error *error);

#endif /* STILLPOINT_GROUP_PRIV_H */
