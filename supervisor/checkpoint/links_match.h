/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which connections of a job's nodes to the outside lead to each other (engine/core/sock_link.h).
 * Only compares what the nodes told.
 */
#ifndef STILLPOINT_LINKS_MATCH_H
#define STILLPOINT_LINKS_MATCH_H

#include <jansson.h>

/*
 * links_match() - find pairs
 * @told: for each node a list of its connections: [[own, remote, accepted, got_seq, end_seq], ...]
 *
 * Both ends must be of different nodes, have each other's addresses, which nobody else may have
 * told, and sequence numbers of one connection. An empty remote is that of a socket that listens.
 *
 * Return: a new reference: for each node a list of the same length: [[link, role], ...], where
 * link 0 says that there is no pair: with the role SOCK_LINK_UNPAIRED the remote address is one
 * that another node has told, with SOCK_LINK_NEAR it is at least that node's, else the peer is not
 * the job's. NULL: out of memory, or @told is
 * not well formed.
 */
json_t *links_match(const json_t *told);

#endif /* STILLPOINT_LINKS_MATCH_H */
