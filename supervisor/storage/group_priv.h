/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by group_level.c, group_encode.c and group_rebuild.c, and nobody else.
 * The level is used by one process, and holds no connection between two operations.
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
	struct scratch_dir scratch;	/* opened at its first use */
};

static inline struct group_level *group_of(struct level *l)
{
	return (struct group_level *)l;		/* base is the first member */
}

/* A set of parity of which some pieces were found. */
struct group_set {
	struct group_set *next;
	struct parity_set set;
	uint64_t created_ns;		/* when the oldest piece was made */
	unsigned int have;		/* pieces found, as bits */
	unsigned char at[RS_PARITY_MAX];	/* number of the holder of each */
};

struct group_survey {
	struct group_set *sets;
	unsigned int answered;		/* number of holders that did */
	int err;			/* error of a holder that did not answer */
	struct ckpt_error why;		/* and its text */
};

/*
 * group_survey() - ask the holders which pieces they have
 * @prefix: beginning of the pieces' names; "": all
 *
 * The error of a holder that cannot be asked is in ret_survey->err; the others are still
 * asked.
 */
void group_survey(struct group_level *g, const char *prefix, struct group_survey *ret_survey);
void group_survey_done(struct group_survey *survey);

/* Open the partner server of holder number @holder, for pieces that this coder made. */
int group_open_store(struct group_level *g, unsigned int holder, bool read_only,
		     struct level **ret_level, struct ckpt_error *error);

/*
 * "JOB.gen-N.parity-": the common beginning of a generation's piece names; returns as
 * level_name().
 */
int group_pieces_prefix(const char *job, uint64_t generation, char ret_prefix[LEVEL_NAME_MAX + 1]);
/* "JOB.gen-N.parity-I": the name of a piece at its holder. */
int group_piece_name(const char *job, uint64_t generation, unsigned int index,
		     char ret_name[LEVEL_NAME_MAX + 1]);

/* A path in the scratch directory; the caller frees it. */
int group_scratch_path(struct group_level *g, const char *kind, unsigned int number,
		       char **ret_path, struct ckpt_error *error);

/*
 * group_take_image() - find a member's image here, or fetch it into the scratch directory
 * @id: id of the image; NULL: whichever image has that job, generation and part
 * @number: number in the scratch path
 * @ret_dir: path of the image; the caller frees it
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
