/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fence that this node is in: this node's block, which waits for ckptd, and the
 * part of all nodes' blocks that has arrived (proto.h, SHIM_FENCE; pm.h).
 */
#ifndef STILLPOINT_SHIM_FENCE_H
#define STILLPOINT_SHIM_FENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shim_fence {
	bool active;
	uint64_t number;	/* of the last fence, from 1 */
	char *data;
	size_t len;
	char *all;		/* the answer, as far as it has arrived */
	size_t all_len, all_size;
	bool has_last;		/* the answer before is kept, for a new ckptd */
	char *last;
	size_t last_len;
};

/* How far one reader of this node's block has got. */
struct fence_reader {
	uint64_t number;	/* of the fence that is being read */
	bool sent;		/* the whole block */
	size_t at;
	bool wants_last;	/* a new reader: gets the last answer first */
	size_t last_at;
};

/* Copies @data. -EBUSY: a fence is active; -EMSGSIZE, -ENOMEM. */
int fence_begin(struct shim_fence *fence, const void *data, size_t len);
void fence_end(struct shim_fence *fence);

/* The next piece of the block for @reader, at most @max bytes; false: none is left. */
bool fence_peek(const struct shim_fence *fence, struct fence_reader *reader, size_t max,
		const char **ret_data, size_t *ret_len, bool *ret_more);
void fence_advance(struct fence_reader *reader, size_t len, bool more);

/* Begin with a new reader: the part of an answer that another one sent is dropped. */
void fence_restart(struct shim_fence *fence, struct fence_reader *reader);
/*
 * As fence_peek(), for the last answer, with its fence's number. Call it before fence_peek():
 * a new reader gets the last answer first.
 */
bool fence_peek_last(const struct shim_fence *fence, const struct fence_reader *reader, size_t max,
		     uint64_t *ret_number, const char **ret_data, size_t *ret_len, bool *ret_more);
void fence_advance_last(struct fence_reader *reader, size_t len, bool more);
/* The answer is whole: keep it as the last answer, and let the next fence begin. */
void fence_finish(struct shim_fence *fence);
/*
 * Take a piece of the answer. Return: 1: the answer is whole, in fence->all; 0: more pieces
 * follow, or the piece belongs to a fence that is over; -EMSGSIZE, -ENOMEM.
 */
int fence_answer(struct shim_fence *fence, uint64_t number, const void *data, size_t len,
		 bool more);

#endif /* STILLPOINT_SHIM_FENCE_H */
