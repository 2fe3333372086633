// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bounds of a request; see request_head.h.
 *
 * One pass over the text, without memory: it counts, and takes the verb out. Must not decide
 * whether the text is JSON; for text that is none, the counts are upper bounds of what a parser
 * makes before it notices.
 */
#include "supervisor/control/request_head.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct glance {
	struct request_head head;
	unsigned int depth;
	bool bare;		/* in a number or a word */
	bool is_value;		/* a colon of the outermost object came */
	bool of_verb;		/* the last name of the outermost object is "verb" */
};

/* The string @text of @len bytes at the outermost level, without its quotes. */
static void glance_string(struct glance *g, const char *text, size_t len)
{
	static const char verb[] = "verb";

	if (!g->is_value) {
		g->of_verb = len == strlen(verb) && !memcmp(text, verb, len);
	} else if (g->of_verb && len < sizeof(g->head.verb)) {
		memcpy(g->head.verb, text, len);
		g->head.verb[len] = 0;
	}
}

/* Return: where the string that begins at @at with its quote ends, behind the quote. */
static size_t glance_skip(struct glance *g, const char *text, size_t at, size_t len)
{
	size_t end = at + 1;

	while (end < len && text[end] != '"')
		end += text[end] == '\\' ? 2 : 1;
	g->head.values++;
	if (g->depth == 1 && end < len)
		glance_string(g, text + at + 1, end - at - 1);
	return end + 1;
}

static void glance_at(struct glance *g, char c)
{
	bool bare = !strchr("{}[]:, \t\r\n", c);

	if (c == '{' || c == '[') {
		g->head.values++;
		if (++g->depth > g->head.depth)
			g->head.depth = g->depth;
	} else if (c == '}' || c == ']') {
		g->depth -= g->depth > 0;
	} else if (g->depth == 1 && (c == ':' || c == ',')) {
		g->is_value = c == ':';
	}
	g->head.values += bare && !g->bare;
	g->bare = bare;
}

struct request_head request_head(const char *text, size_t len)
{
	struct glance g = { .depth = 0 };
	size_t at = 0;

	while (at < len) {
		if (text[at] == '"') {
			at = glance_skip(&g, text, at, len);
			g.bare = false;
		} else {
			glance_at(&g, text[at++]);
		}
	}
	return g.head;
}

int request_head_fits(const struct request_head *head, size_t len, size_t max)
{
	return len > max || head->depth > REQUEST_DEPTH || head->values > max / REQUEST_VALUE ?
	       -E2BIG : 0;
}
