/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evidence of a hang, in a new directory: the report as JSON, the stacks as a tree and as text for
 * flame graphs. To keep, or to send to whoever looks into it, before anything is done to the job.
 */
#ifndef STILLPOINT_BUNDLE_H
#define STILLPOINT_BUNDLE_H

#include <jansson.h>

#include "ckptctl/stack_tree.h"

/*
 * bundle_write() - make @dir, which must not exist, for the user alone, and write the files
 * @stacks: NULL: there are none
 *
 * 0 or negative errno; -EEXIST: there is something of that name, which is left as it is
 */
int bundle_write(const char *dir, const json_t *report, struct stack_tree *stacks);

#endif /* STILLPOINT_BUNDLE_H */
