/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPU features that a tree needs, and the layout of register areas on different CPUs.
 *
 * @image is the CPU that the tree ran on.  It is NULL if the image does not say: the module
 * that captured the tree did not record it.  A node whose module does not describe its CPU
 * (ckpt_info.cpu is all zero) is treated like such an image: the CPU is unknown.
 */
#ifndef STILLPOINT_CPU_H
#define STILLPOINT_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/ckpt.h>

#include "base/error.h"
#include "engine/core/engine.h"

/* Add a CPU_FEATURES refusal for each way in which this node's CPU does not suffice. */
void cpu_check(const struct ckpt_rec_system *system, const struct ckpt_cpu *image,
	       const struct ckpt_info *node, struct ckpt_error *error);

/* Must a register area of @size bytes go through cpu_move_xstate()? */
bool cpu_moves_xstate(const struct ckpt_cpu *image, const struct ckpt_info *node, size_t size);

/**
 * cpu_move_xstate() - convert a register area from the layout of @image to this node's
 * @area: @size bytes in user (NT_X86_XSTATE) format
 * @ret: zeroed, node->xstate_size bytes
 *
 * Return: 0, or -EINVAL if the area holds a register set that does not lie within it
 * according to @image, or that has no place of the same size on this node
 */
int cpu_move_xstate(const struct ckpt_cpu *image, const struct ckpt_info *node,
		    const void *area, size_t size, void *ret);

#endif /* STILLPOINT_CPU_H */
