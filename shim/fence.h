/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fence that this node is in: our block, which waits for ckptd, and what has
 * come of all nodes' (proto.h, SHIM_FENCE; pm.h).
 */
#ifndef STILLPOINT_SHIM_FENCE_H
#define STILLPOINT_SHIM_FENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shim_fence {
	bool active;
	uint64_t number;	/* of the last one, from 1 */
	char *data;
	size_t len;
	char *all;		/* so far */
	size_t all_len, all_size;
	bool has_last;		/* what came of the one before, for a ckptd that has not heard it */
	char *last;
	size_t last_len;
};

/* How far one reader of our block has got. */
struct fence_reader {
	uint64_t number;	/* of the fence that this is about */
	bool sent;		/* all of it */
	size_t at;
	bool wants_last;	/* it comes anew: first the last answer */
	size_t last_at;
};

/* Copies @data. -EBUSY: one is active; -EMSGSIZE, -ENOMEM. */
int fence_begin(struct shim_fence *fence, const void *data, size_t len);
void fence_end(struct shim_fence *fence);

/* The next piece for a reader, of @max bytes at most; false: there is none. */
bool fence_peek(const struct shim_fence *fence, struct fence_reader *reader, size_t max,
		const char **ret_data, size_t *ret_len, bool *ret_more);
void fence_advance(struct fence_reader *reader, size_t len, bool more);

/* A reader comes anew: what another has begun to answer is void. */
void fence_restart(struct shim_fence *fence, struct fence_reader *reader);
/* The next piece of the last answer, and of which fence, as fence_peek(); before that. */
bool fence_peek_last(const struct shim_fence *fence, const struct fence_reader *reader, size_t max,
		     uint64_t *ret_number, const char **ret_data, size_t *ret_len, bool *ret_more);
void fence_advance_last(struct fence_reader *reader, size_t len, bool more);
/* The answer is whole: it becomes the last, and the next may begin. */
void fence_finish(struct shim_fence *fence);
/*
 * A piece of the answer. Return: 1: that was the last, all of it is in fence->all; 0: not
 * yet, or of a fence that is over; -EMSGSIZE, -ENOMEM.
 */
int fence_answer(struct shim_fence *fence, uint64_t number, const void *data, size_t len,
		 bool more);

#endif /* STILLPOINT_SHIM_FENCE_H */
