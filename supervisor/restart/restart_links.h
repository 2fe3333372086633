/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections between the nodes of a job: where both ends of each are in a restart.
 */
#ifndef STILLPOINT_RESTART_LINKS_H
#define STILLPOINT_RESTART_LINKS_H

#include <jansson.h>

/*
 * restart_links() - put together what all parts told in the dry run
 * @tried: the sums of parts_try(); its "links" are taken out
 * @ret_links: "links" of op_restore(), a new reference; NULL: the job has no such connections
 *
 * Return: NULL, or an outcome: an end of one is missing.
 */
json_t *restart_links(json_t *tried, json_t **ret_links);

#endif /* STILLPOINT_RESTART_LINKS_H */
