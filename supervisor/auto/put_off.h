/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long levels that failed are left alone: 5 s after the first failure, twice as long after
 * each failure that follows, 15 minutes at most. A level that works is forgotten here.
 *
 * Knows levels by their index in the configuration. Times are of clock_monotonic_ms(), and come
 * from the caller: nothing here waits or logs.
 */
#ifndef STILLPOINT_PUT_OFF_H
#define STILLPOINT_PUT_OFF_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/storage/level_config.h"

#define PUT_OFF_MS	5000
#define PUT_OFF_MAX_MS	(15 * 60 * 1000)

/**
 * struct put_off - the levels that are left alone; zeroed: none
 * @failures: in a row
 * @until_ms: when the level is tried again; 0: the level works
 * @text: of the last failure, owned; NULL: none
 */
struct put_off {
	struct {
		unsigned int failures;
		int64_t until_ms;
		char *text;
	} level[LEVEL_CONFIGS_MAX];
};

/*
 * put_off_fail() - level @t has failed with @text at @now_ms
 * @ret_wait_ms: until it is tried again
 *
 * Return: true if its last failure, if there was one, had another text: this one is news.
 */
bool put_off_fail(struct put_off *off, unsigned int t, const char *text, int64_t now_ms,
		  int64_t *ret_wait_ms);
/* Level @t works. Return: true if it did not before. */
bool put_off_work(struct put_off *off, unsigned int t);
/* True if level @t may be tried at @now_ms. */
bool put_off_may(const struct put_off *off, unsigned int t, int64_t now_ms);
/* True if level @t failed and is due to be tried again. */
bool put_off_is_due(const struct put_off *off, unsigned int t, int64_t now_ms);
/* Milliseconds until level @t is tried again; -1: it works. */
int64_t put_off_left_ms(const struct put_off *off, unsigned int t, int64_t now_ms);
/* {NAME: {"failures", "text", "again_ms"}} of the @levels that do not work; a new reference. */
json_t *put_off_describe(const struct put_off *off, const struct level_configs *levels,
			 int64_t now_ms);
void put_off_done(struct put_off *off);

#endif /* STILLPOINT_PUT_OFF_H */
