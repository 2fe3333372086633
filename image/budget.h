/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory limit of an image under construction, and how the memory is shared out.
 */
#ifndef STILLPOINT_IMAGE_BUDGET_H
#define STILLPOINT_IMAGE_BUDGET_H

#include <stdint.h>

struct image_writer;

/*
 * image_budget_share() - set the writer's share of @bytes
 * @bytes: as struct image_options has them
 *
 * Return: how many workers may encode, or -EINVAL: @bytes is too little.
 */
int image_budget_share(uint64_t bytes, struct image_writer *w);

#endif /* STILLPOINT_IMAGE_BUDGET_H */
