/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stacks of a report of a diagnosis, as one tree.
 */
#ifndef STILLPOINT_DIAG_TREE_H
#define STILLPOINT_DIAG_TREE_H

#include <jansson.h>

#include "ckptctl/stack_tree.h"

/* The stacks of all ranks of @result, after diag_name_places(); NULL: no memory. */
struct stack_tree *diag_tree(const json_t *result);

#endif /* STILLPOINT_DIAG_TREE_H */
