/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a tree needs of the CPU, and where CPUs keep their registers.
 *
 * @image: that the tree ran on, NULL if the image does not say (it was captured
 * by a module that did not record it).  A node whose module does not tell of its CPU
 * (ckpt_info.cpu is all zero) is taken as older images are.
 */
#ifndef STILLPOINT_CPU_H
#define STILLPOINT_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/ckpt.h>

#include "base/error.h"
#include "engine/core/engine.h"

/* Adds a CPU_FEATURES refusal for each kind of thing that this node's CPU lacks. */
void cpu_check(const struct ckpt_rec_system *system, const struct ckpt_cpu *image,
	       const struct ckpt_info *node, struct ckpt_error *error);

/* Must a register area of @size bytes go through cpu_move_xstate()? */
bool cpu_moves_xstate(const struct ckpt_cpu *image, const struct ckpt_info *node, size_t size);

/**
 * cpu_move_xstate() - each register set from where it lay to where this node has it
 * @area: @size bytes in user (NT_X86_XSTATE) format
 * @ret: zeroed, node->xstate_size bytes
 *
 * Return: 0, or -EINVAL if the area holds what does not lie in it by @image, or has
 * no place here.
 */
int cpu_move_xstate(const struct ckpt_cpu *image, const struct ckpt_info *node,
		    const void *area, size_t size, void *ret);

#endif /* STILLPOINT_CPU_H */
