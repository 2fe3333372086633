/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A limit on bytes a second, as a token bucket.  It decides and does not wait: no
 * clock is read and nothing sleeps in here, so that a test can say what time it is.
 *
 * One thread at a time.  Transfers that are to share a limit share a bucket.
 */
#ifndef STILLPOINT_LEVELS_BUCKET_H
#define STILLPOINT_LEVELS_BUCKET_H

#include <stdint.h>

struct level_bucket {
	uint64_t rate;		/* bytes a second; 0: no limit */
	uint64_t burst;		/* bytes that may go at once after a rest */
	uint64_t last_ns;	/* when the tokens were counted; 0: never */
	int64_t tokens;		/* bytes; below 0: owed */
};

/* @burst: 0: what goes in a tenth of a second, at least 1 byte */
void level_bucket_init(struct level_bucket *b, uint64_t rate, uint64_t burst);

/*
 * level_bucket_take() - account for @bytes that are about to be moved
 * @now_ns: of a clock that does not jump; if it goes backwards no time has passed
 *
 * A transfer larger than the burst is let through and owed, so that no size of
 * buffer is too large for any limit.
 *
 * Return: nanoseconds to wait before moving them
 */
uint64_t level_bucket_take(struct level_bucket *b, uint64_t now_ns, uint64_t bytes);

#endif /* STILLPOINT_LEVELS_BUCKET_H */
