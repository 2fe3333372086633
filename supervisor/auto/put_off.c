// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long levels that failed are left alone; see put_off.h.
 *
 * Owns the delays, and the text of each level's last failure. A failure that has the same text as
 * the one before is no news: a level that is away for a day is logged once.
 */
#include "supervisor/auto/put_off.h"

#include <stdlib.h>
#include <string.h>

bool put_off_fail(struct put_off *off, unsigned int t, const char *text, int64_t now_ms,
		  int64_t *ret_wait_ms)
{
	const char *before = off->level[t].text;
	bool is_news = !before || strcmp(before, text) != 0;
	int64_t wait = PUT_OFF_MS;
	unsigned int i;

	for (i = 0; i < off->level[t].failures && wait < PUT_OFF_MAX_MS; i++)
		wait *= 2;
	wait = wait > PUT_OFF_MAX_MS ? PUT_OFF_MAX_MS : wait;
	off->level[t].failures++;
	off->level[t].until_ms = now_ms + wait;
	free(off->level[t].text);
	off->level[t].text = strdup(text);
	*ret_wait_ms = wait;
	return is_news;
}

bool put_off_work(struct put_off *off, unsigned int t)
{
	bool failed = off->level[t].failures;

	free(off->level[t].text);
	memset(&off->level[t], 0, sizeof(off->level[t]));
	return failed;
}

bool put_off_may(const struct put_off *off, unsigned int t, int64_t now_ms)
{
	return off->level[t].until_ms <= now_ms;
}

bool put_off_is_due(const struct put_off *off, unsigned int t, int64_t now_ms)
{
	return off->level[t].until_ms && put_off_may(off, t, now_ms);
}

int64_t put_off_left_ms(const struct put_off *off, unsigned int t, int64_t now_ms)
{
	if (!off->level[t].until_ms)
		return -1;
	return put_off_may(off, t, now_ms) ? 0 : off->level[t].until_ms - now_ms;
}

json_t *put_off_describe(const struct put_off *off, const struct level_configs *levels,
			 int64_t now_ms)
{
	json_t *json = json_object();
	unsigned int t;

	for (t = 0; t < levels->nr; t++) {
		const char *text = off->level[t].text;

		if (off->level[t].failures)
			json_object_set_new(json, levels->conf[t].name,
					    json_pack("{s:i, s:s, s:I}", "failures",
						      (int)off->level[t].failures, "text",
						      text ? text : "", "again_ms",
						      (json_int_t)put_off_left_ms(off, t,
										  now_ms)));
	}
	return json;
}

void put_off_done(struct put_off *off)
{
	unsigned int t;

	for (t = 0; t < LEVEL_CONFIGS_MAX; t++)
		put_off_work(off, t);
}
