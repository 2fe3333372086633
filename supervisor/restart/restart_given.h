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
 * restart_given_wants() - find the files that parts want
 * @tried: result of a dry run of all parts; the lists "wants", "keeps" and "made", as of
 *	op_restore(), are taken out of it; any may be missing
 * @ret_wanted: what the parts are to be asked next: "wanted" of op_restore(); the caller's. Set if
 *	there are such files
 *
 * Return: list of the files, each once; the caller's. If they are more than ENGINE_GIVEN_MAX, one
 * that nobody gives. NULL: no part wants any
 */
json_t *restart_given_wants(json_t *tried, json_t **ret_wanted);

/**
 * restart_given() - decide on the files that parts want
 * @wants: of restart_given_wants()
 * @tried: as there, of the dry run in which parts were asked for "wanted"
 * @ret_given: list of hashes as in struct engine_given; the caller's
 *
 * A file is given if some part keeps it, or if a part made it, and no later than it was seen with
 * its time: a file that was seen with an earlier time was there before that.
 *
 * Return: true if a file that is wanted is not given
 */
bool restart_given(const json_t *wants, json_t *tried, json_t **ret_given);

#endif /* STILLPOINT_RESTART_GIVEN_H */
