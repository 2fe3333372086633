// SPDX-License-Identifier: GPL-2.0-only
/*
 * The token bucket.
 *
 * Tokens are bytes.  Time adds tokens, up to the burst; taking may make the count
 * negative, and the debt determines the wait.  So after a rest a burst goes at once,
 * and over any longer time at most rate bytes a second and one burst do.
 *
 * Must not read a clock, sleep or allocate.
 */
#include <limits.h>

#include "levels/bucket.h"

#define NSEC_PER_SEC	1000000000ULL
#define TENTHS		10

void level_bucket_init(struct level_bucket *b, uint64_t rate, uint64_t burst)
{
	if (!burst)
		burst = rate / TENTHS;
	if (!burst)
		burst = 1;
	*b = (struct level_bucket){
		.rate = rate,
		.burst = burst > INT64_MAX ? INT64_MAX : burst,
	};
	b->tokens = (int64_t)b->burst;
}

static void bucket_refill(struct level_bucket *b, uint64_t now_ns)
{
	unsigned __int128 made;

	if (b->last_ns && now_ns > b->last_ns) {
		made = (unsigned __int128)(now_ns - b->last_ns) * b->rate / NSEC_PER_SEC;
		if ((__int128)made >= (__int128)b->burst - b->tokens)
			b->tokens = (int64_t)b->burst;
		else if (made)
			b->tokens += (int64_t)made;
		else
			return;		/* not even a byte: the time counts on */
	}
	b->last_ns = now_ns;
}

uint64_t level_bucket_take(struct level_bucket *b, uint64_t now_ns, uint64_t bytes)
{
	unsigned __int128 wait;

	if (!b->rate)
		return 0;
	bucket_refill(b, now_ns);
	if (bytes > INT64_MAX / 2)
		bytes = INT64_MAX / 2;
	if (b->tokens < INT64_MIN / 2)	/* owed more than anyone lives to see */
		b->tokens = INT64_MIN / 2;
	b->tokens -= (int64_t)bytes;
	if (b->tokens >= 0)
		return 0;
	wait = ((unsigned __int128)-b->tokens * NSEC_PER_SEC + b->rate - 1) / b->rate;
	return wait > UINT64_MAX ? UINT64_MAX : (uint64_t)wait;
}
