/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parity over the images of a group of nodes: k images of one generation of one job,
 * m files of parity, any k of the k + m give all the others (groups.h says which nodes;
 * parity.h is the format).
 *
 *	erasure_encode()	some or all of the parity, from all images
 *	erasure_rebuild()	some or all of what was lost, from what is left
 *	erasure_verify()	one file of parity
 *
 * The promises of level.h for put and get hold here: durable, read back and
 * authenticated before it is visible, nothing left behind by a failure, nothing
 * replaced.  A rebuilt image is the lost one to the last bit, because it is checked with
 * its own manifest; from damaged inputs no image is made.
 *
 * Memory: 6 MiB for the stripe and some tables, whatever the sizes and numbers; and
 * while a rebuilt image is read back what any reader of it needs.
 *
 * Errors beside those of reader.h and level.h:
 *   -ESTALE	images or parity of different generations, jobs or sets
 *   -ENODATA	more is lost than there is parity; the text names what is lost
 */
#ifndef STILLPOINT_LEVELS_ERASURE_H
#define STILLPOINT_LEVELS_ERASURE_H

#include "base/error.h"
#include "levels/level.h"
#include "levels/parity.h"

/* Where time went, and how much there was. */
struct erasure_figures {
	uint64_t read_ns;	/* read, and authenticate what is parity */
	uint64_t code_ns;	/* ISA-L */
	uint64_t write_ns;	/* authenticate what is parity, and write */
	uint64_t commit_ns;	/* sync, read back, rename */
	uint64_t code_cpu_ns;	/* CPU time of code_ns: what a busy machine does not change */
	uint64_t bytes_in;	/* read, without padding */
	uint64_t bytes_out;
};

/**
 * struct erasure_options - all of it may be NULL
 * @transfer: expected generation and job, progress, cancellation, bandwidth (bytes read
 *	and written) as for a level; its expect->id is not used
 * @note: called with a warning although nothing fails: an input that is not used
 * @arg: of @note
 * @figures: filled in, also by what fails
 */
struct erasure_options {
	const struct level_options *transfer;
	void (*note)(const char *text, void *arg);
	void *arg;
	struct erasure_figures *figures;
};

struct erasure_member {
	const char *node;	/* at most 63 bytes, unique in its group */
	const char *image;	/* directory of its committed image */
	int part;		/* the image's number among its generation's; -1: the only one */
};

/* A file of parity to be made: directory @dir must not exist, its parent must. */
struct erasure_output {
	unsigned int index;	/* 0 to m-1 */
	const char *dir;
};

/**
 * erasure_encode() - parity over the images of a group
 * @members: k of them; the order is part of the code and is kept in the parity
 * @outputs: which of the @m pieces are made here; the others may be made elsewhere,
 *	of the same members in the same order.  Each is committed by itself, and stays
 *	if a later one fails
 */
int erasure_encode(const struct erasure_member *members, unsigned int k, unsigned int m,
		   const struct erasure_output *outputs, unsigned int nr_outputs,
		   const struct image_key *key, const struct erasure_options *options,
		   struct ckpt_error *error);

/* The surviving images and parity of a group, in any order; lost ones are not listed. */
struct erasure_inputs {
	const char *const *images;
	unsigned int nr_images;
	const char *const *parities;
	unsigned int nr_parities;
};

/* The piece to rebuild: the image of @node or, if that is NULL, parity @index. */
struct erasure_wanted {
	const char *node;
	unsigned int index;
	const char *dir;	/* directory to make */
};

/**
 * erasure_rebuild() - rebuild lost images or parity
 * @wanted: at most m
 *
 * Inputs that turn out to be damaged, before or in the middle, are noted and count as
 * lost; as long as k whole inputs are left the rebuild goes on.  Whole inputs of another
 * generation or group are refused: the caller is wrong about which image is where.
 * Each wanted piece is committed by itself, and stays if a later one fails.  If all of
 * the parity is lost, nothing describes the group any more (-ENODATA): encode again.
 */
int erasure_rebuild(const struct erasure_inputs *inputs,
		    const struct erasure_wanted *wanted, unsigned int nr_wanted,
		    const struct image_key *key, const struct erasure_options *options,
		    struct ckpt_error *error);

struct erasure_info {
	unsigned int index;
	struct parity_set set;
};

/*
 * erasure_verify() - check a file of parity
 * @deep: every frame, not only header and length
 * @ret_info: whose parity it is; may be NULL
 */
int erasure_verify(const char *dir, const struct image_key *key, bool deep,
		   struct erasure_info *ret_info, struct ckpt_error *error);

#endif /* STILLPOINT_LEVELS_ERASURE_H */
