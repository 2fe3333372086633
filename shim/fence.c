// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fence that this node is in; see fence.h.
 *
 * Both directions go in pieces, and either may be cut off by the death of ckptd:
 * this node's block is kept until the answer is whole, and a new reader starts at
 * the block's beginning.  A fence has a number, which tells a late answer to the
 * fence before from an answer to this one.
 */
#include "shim/fence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/pm.h"

int fence_begin(struct shim_fence *f, const void *data, size_t len)
{
	char *copy;

	if (f->active)
		return -EBUSY;
	if (len > PM_FENCE_MAX)
		return -EMSGSIZE;
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	if (len)
		memcpy(copy, data, len);
	f->data = copy;
	f->len = len;
	f->number++;
	f->active = true;
	return 0;
}

void fence_end(struct shim_fence *f)
{
	free(f->data);
	free(f->all);
	free(f->last);
	*f = (struct shim_fence) { .number = f->number };
}

bool fence_peek(const struct shim_fence *f, struct fence_reader *reader, size_t max,
		const char **ret_data, size_t *ret_len, bool *ret_more)
{
	size_t left;

	if (!f->active)
		return false;
	if (reader->number != f->number)
		*reader = (struct fence_reader) { .number = f->number };
	if (reader->sent)
		return false;
	left = f->len - reader->at;
	*ret_data = f->data + reader->at;
	*ret_len = left < max ? left : max;
	*ret_more = left > max;
	return true;
}

void fence_advance(struct fence_reader *reader, size_t len, bool more)
{
	reader->at += len;
	reader->sent = !more;
}

void fence_restart(struct shim_fence *f, struct fence_reader *reader)
{
	f->all_len = 0;
	*reader = (struct fence_reader) { .wants_last = f->has_last };
}

bool fence_peek_last(const struct shim_fence *f, const struct fence_reader *reader, size_t max,
		     uint64_t *ret_number, const char **ret_data, size_t *ret_len, bool *ret_more)
{
	size_t left;

	if (!reader->wants_last)
		return false;
	left = f->last_len - reader->last_at;
	*ret_number = f->number - f->active;
	*ret_data = f->last + reader->last_at;
	*ret_len = left < max ? left : max;
	*ret_more = left > max;
	return true;
}

void fence_advance_last(struct fence_reader *reader, size_t len, bool more)
{
	reader->last_at += len;
	reader->wants_last = more;
}

void fence_finish(struct shim_fence *f)
{
	free(f->data);
	free(f->last);
	*f = (struct shim_fence) {
		.number = f->number, .has_last = true, .last = f->all, .last_len = f->all_len,
	};
}

int fence_answer(struct shim_fence *f, uint64_t number, const void *data, size_t len,
		 bool more)
{
	size_t size = f->all_size ? f->all_size : 4096;
	char *all;

	if (!f->active || number != f->number)
		return 0;
	if (len > PM_FENCE_MAX - f->all_len)
		return -EMSGSIZE;
	while (size < f->all_len + len)
		size *= 2;
	if (size != f->all_size) {
		all = realloc(f->all, size);
		if (!all)
			return -ENOMEM;
		f->all = all;
		f->all_size = size;
	}
	if (len)
		memcpy(f->all + f->all_len, data, len);
	f->all_len += len;
	return more ? 0 : 1;
}
