// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tree of the stacks of a report; see diag_tree.h. Owns the words for a rank whose place is not
 * known. Must not look names up: diag_name_places() has put them into the report before. At most
 * DIAG_FRAMES frames of a rank are taken, the innermost ones.
 */
#include "ckptctl/diag_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ckptctl/cli.h"
#include "ckptctl/diag_place.h"

#define DIAG_FRAMES	64
#define DIAG_NAME	600

/* The stack of a row, the outermost first; below it the call, as MPI calls it. */
static int diag_add_stack(struct stack_tree *tree, const json_t *row)
{
	const json_t *frames = json_object_get(json_object_get(row, "thread"), "frames");
	char (*text)[DIAG_NAME] = calloc(DIAG_FRAMES + 1, sizeof(*text));
	const char *name[DIAG_FRAMES + 1];
	size_t nr = json_array_size(frames), i;
	int err;

	if (!text)
		return -ENOMEM;
	nr = nr > DIAG_FRAMES ? DIAG_FRAMES : nr;
	for (i = 0; i < nr; i++)
		name[i] = diag_place(json_array_get(frames, nr - 1 - i), false, text[i],
				     sizeof(text[i]));
	if (!nr) {
		snprintf(text[0], sizeof(text[0]), "%s, state %s, place not known",
			 json_object_get(row, "call") ? cli_str(row, "call") : "outside MPI",
			 cli_str(json_object_get(row, "thread"), "state"));
		name[nr++] = text[0];
	}
	err = stack_tree_add(tree, cli_int(row, "rank"), name, nr);
	free(text);
	return err;
}

struct stack_tree *diag_tree(const json_t *result)
{
	struct stack_tree *tree = stack_tree_new();
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "mpi_ranks"), i, row) {
		if (tree && diag_add_stack(tree, row))
			break;
	}
	return tree;
}
