/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A restart over nodes: files that ranks of one node changed after the checkpoint, and of which
 * another node has the content, or which another node's ranks made after the checkpoint
 * (docs/decisions/0108).
 */
#ifndef STILLPOINT_RESTART_GIVEN_H
#define STILLPOINT_RESTART_GIVEN_H

#include <jansson.h>
#include <stdbool.h>

/**
 * restart_given() - decide on the files that parts want
 * @tried: result of a dry run of all parts: "wants", "keeps" and "made", lists as of op_restore(),
 *	which are taken out of it; any may be missing
 * @ret_given: list of hashes as in struct engine_given; the caller's
 *
 * A file is given if some part keeps it, or if a part made it, and no later than it was seen with
 * its time: a file that was seen with an earlier time was there before that.
 *
 * Return: true if a file that is wanted is not given
 */
bool restart_given(json_t *tried, json_t **ret_given);

#endif /* STILLPOINT_RESTART_GIVEN_H */
