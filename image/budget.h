/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an image under construction may have in memory, and how it is shared out.
 */
#ifndef STILLPOINT_IMAGE_BUDGET_H
#define STILLPOINT_IMAGE_BUDGET_H

#include <stdint.h>

struct image_writer;

/*
 * image_budget_share() - the writer's share of @bytes is set
 * @bytes: as struct image_options has them
 *
 * Return: how many workers may encode, or -EINVAL: that is too little.
 */
int image_budget_share(uint64_t bytes, struct image_writer *w);

#endif /* STILLPOINT_IMAGE_BUDGET_H */
