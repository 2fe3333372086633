/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nodes and processors of ranks, in the words of MPI launchers: --bind-to, --map-by, --hostfile.
 *
 * Names of objects are those of Open MPI 4.1 and of MPICH's Hydra, in any case. A word that would
 * put a rank elsewhere than this program can is refused.
 */
#ifndef CKPTCTL_PLACEMENT_H
#define CKPTCTL_PLACEMENT_H

#include <jansson.h>
#include <stdbool.h>

#include "ckptctl/cli.h"

/**
 * struct placement - what the options say beside "ranks" of the request
 * @bind:    "bind" of the request as far as it is known; NULL: nothing was said
 * @none:    --bind-to none
 * @by_node: --map-by node: the nodes take turns
 * @slots:   of each node, from --hostfile; NULL: not said
 */
struct placement {
	json_t *bind;
	bool none;
	bool by_node;
	json_t *slots;
};

/* Take the value of an option. An exit status or 0. */
int placement_bind_to(struct cli *cli, struct placement *place, const char *value);
/* *@ret_per_node is set by ppr:N:node. */
int placement_map_by(struct cli *cli, struct placement *place, const char *value,
		     long long *ret_per_node);
/* Read the file @path: "nodes" into @ranks. */
int placement_hostfile(struct cli *cli, struct placement *place, const char *path, json_t *ranks);

/*
 * When the nodes of @ranks are known: "n" from the slots of a host file, if nobody said it, and
 * "map", unless the ranks are in even blocks.
 */
int placement_map(struct cli *cli, const struct placement *place, json_t *ranks);
/* When the library of @ranks is known: "bind". */
void placement_bind(const struct placement *place, json_t *ranks);

void placement_done(struct placement *place);

#endif
