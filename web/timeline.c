// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time line of a job; see timeline.h.
 *
 * Pure: makes markup of answers, and asks nothing. Colours are classes of static/style.css, since
 * the page's policy allows no style in the markup. Each generation is a link to its row of the
 * table, with a text for those who do not see the picture.
 */
#include "web/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define LEFT		84	/* names of lanes */
#define RIGHT		14
#define WIDTH		960
#define PLOT		(WIDTH - LEFT - RIGHT)
#define PAUSES		110	/* height of the lane of pauses */
#define TOP		18
#define LANE		26
#define AXIS		34

struct timeline {
	struct html *html;
	const json_t *checkpoints;
	int64_t from, to;	/* seconds */
	int64_t longest;	/* ns that the job stood still */
	double bar;		/* width of a bar */
	const char *levels[TIMELINE_LEVELS];
	size_t nr_levels;
};

static int64_t timeline_int(const json_t *row, const char *name)
{
	return json_integer_value(json_object_get(row, name));
}

size_t timeline_levels(const json_t *rows, const char *names[TIMELINE_LEVELS])
{
	const json_t *row, *level;
	size_t nr = 0, i, k, m;

	json_array_foreach(rows, i, row) {
		json_array_foreach(json_object_get(row, "levels"), k, level) {
			const char *name = json_string_value(json_object_get(level, "level"));

			for (m = 0; name && m < nr && strcmp(names[m], name); m++)
				;
			if (name && m == nr && nr < TIMELINE_LEVELS)
				names[nr++] = name;
		}
	}
	return nr;
}

const char *timeline_level_state(const json_t *row, const char *name)
{
	const json_t *level;
	const char *state;
	size_t i;

	json_array_foreach(json_object_get(row, "levels"), i, level) {
		const char *other = json_string_value(json_object_get(level, "level"));

		state = json_string_value(json_object_get(level, "state"));
		if (other && state && !strcmp(other, name))
			return state;
	}
	return "missing";
}

/* ------------------------------------------------------------------ scale */

/* The time for which the job stood still. */
static int64_t timeline_still(const json_t *c)
{
	return timeline_int(c, "quiesce_ns") + timeline_int(c, "pause_ns");
}

static void timeline_stretch(struct timeline *t, int64_t when)
{
	if (when <= 0)
		return;
	if (!t->from || when < t->from)
		t->from = when;
	if (when > t->to)
		t->to = when;
}

/*
 * When generation @row was taken, as its cost has it: an image is created a little later. *@at: 0
 * before the first of the rows, which ascend as @checkpoints do.
 */
static int64_t timeline_taken(const struct timeline *t, const json_t *row, size_t *at)
{
	const int64_t number = timeline_int(row, "generation");
	const json_t *c;

	while ((c = json_array_get(t->checkpoints, *at)) && timeline_int(c, "generation") < number)
		++*at;
	return c && timeline_int(c, "generation") == number ? timeline_int(c, "taken") :
	       timeline_int(row, "created");
}

/* Is the generation from which @restart was made in the picture? */
static bool timeline_has(const json_t *rows, int64_t generation)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (timeline_int(row, "generation") == generation)
			return true;
	}
	return false;
}

static void timeline_scale(struct timeline *t, const json_t *rows, const json_t *checkpoints,
			   const json_t *restarts)
{
	const size_t nr = json_array_size(rows) + json_array_size(checkpoints);
	const json_t *row;
	size_t i, at = 0;

	json_array_foreach(rows, i, row)
		timeline_stretch(t, timeline_taken(t, row, &at));
	json_array_foreach(restarts, i, row) {
		if (timeline_has(rows, timeline_int(row, "restart")))
			timeline_stretch(t, timeline_int(row, "taken"));
	}
	json_array_foreach(checkpoints, i, row) {
		timeline_stretch(t, timeline_int(row, "taken"));
		if (timeline_still(row) > t->longest)
			t->longest = timeline_still(row);
	}
	t->bar = nr ? 1.2 * PLOT / (double)nr : 0;
	t->bar = t->bar < 2 ? 2 : t->bar > 14 ? 14 : t->bar;
}

static double timeline_x(const struct timeline *t, int64_t when)
{
	if (t->to == t->from)
		return LEFT + PLOT / 2.0;
	return LEFT + 8 + (PLOT - 16) * (double)(when - t->from) / (double)(t->to - t->from);
}

/* ----------------------------------------------------------------- pauses */

static const struct {
	const char *class, *name, *fields[2];
} phases[] = {
	{ "quiesce", "quiesce", { "quiesce_ns", "" } },
	{ "freeze", "freeze", { "freeze_ns", "" } },
	{ "snapshot", "snapshot", { "collect_ns", "clone_ns" } },
	{ "thaw", "thaw and the rest", { "thaw_ns", "" } },
};

/* A part of the bar that ends at *@y; moves *@y up. */
static void timeline_segment(struct timeline *t, size_t phase, int64_t ns, double x, double *y)
{
	const double height = t->longest ? (double)ns * PAUSES / (double)t->longest : 0;

	if (height <= 0)
		return;
	*y -= height;
	html_raw(t->html, "<rect class=\"p-");
	html_raw(t->html, phases[phase].class);
	html_rawf(t->html, "\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
		  x - t->bar / 2, *y, t->bar, height);
}

static void timeline_title(struct timeline *t, const json_t *c)
{
	char pause[32], when[32];

	html_raw(t->html, "<title>");
	html_textf(t->html, "Generation %lld, %s: the job stood still for %s%s",
		   (long long)timeline_int(c, "generation"),
		   html_time_text(timeline_int(c, "taken"), when),
		   html_ns_text(timeline_still(c), pause),
		   json_is_true(json_object_get(c, "kept")) ? "" : "; removed since");
	html_raw(t->html, "</title>");
}

static void timeline_pause(struct timeline *t, const json_t *c)
{
	const double x = timeline_x(t, timeline_int(c, "taken"));
	const bool kept = json_is_true(json_object_get(c, "kept"));
	double y = TOP + PAUSES;
	int64_t left = timeline_still(c), ns;
	size_t i;

	html_rawf(t->html, "<a class=\"mark\" href=\"#g%lld\">",
		  (long long)timeline_int(c, "generation"));
	timeline_title(t, c);
	html_raw(t->html, kept ? "<g>" : "<g class=\"gone\">");
	for (i = 0; i < ARRAY_SIZE(phases); i++) {
		ns = timeline_int(c, phases[i].fields[0]) + timeline_int(c, phases[i].fields[1]);
		if (i + 1 == ARRAY_SIZE(phases) || ns > left)
			ns = left;	/* the rest */
		left -= ns;
		timeline_segment(t, i, ns, x, &y);
	}
	/* to be hit by a finger, and seen where it is 0 */
	html_rawf(t->html, "<rect class=\"hit\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>"
			   "</g></a>\n", x - t->bar / 2, TOP, t->bar, PAUSES);
}

/* ----------------------------------------------------------------- levels */

static const struct {
	const char *state, *text;
} states[] = {
	{ "here", "whole" }, { "partial", "in part" }, { "damaged", "damaged" },
	{ "unknown", "could not be asked" },
};

/* A circle, half a circle, a cross, a question mark: told apart without colours. */
static void timeline_mark(struct timeline *t, const char *state, double x, double y)
{
	if (!strcmp(state, "here"))
		html_rawf(t->html, "<circle class=\"l-here\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>",
			  x, y);
	else if (!strcmp(state, "partial"))
		html_rawf(t->html, "<path class=\"l-partial\" d=\"M%.1f %.1fa4 4 0 0 1 0 8z\"/>"
			  "<circle class=\"l-ring\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>",
			  x, y - 4, x, y);
	else if (!strcmp(state, "damaged"))
		html_rawf(t->html, "<path class=\"l-damaged\" d=\"M%.1f %.1fl8 8m0 -8l-8 8\"/>",
			  x - 4, y - 4);
	else
		html_rawf(t->html, "<text class=\"l-unknown\" x=\"%.1f\" y=\"%.1f\">?</text>",
			  x, y + 4);
}

static void timeline_on_level(struct timeline *t, const json_t *row, size_t level, int64_t when)
{
	const char *state = json_object_get(row, "levels") ?
			    timeline_level_state(row, t->levels[level]) :
			    json_object_get(row, "error") ? "damaged" : "here";
	const double y = TOP + PAUSES + LANE * ((double)level + 0.5) + 4;
	const double x = timeline_x(t, when);
	size_t i;

	/* what cannot be read tells no time */
	if (!strcmp(state, "missing") || when <= 0)
		return;
	html_raw(t->html, "<g><title>");
	html_textf(t->html, "Generation %lld on level %s: ",
		   (long long)timeline_int(row, "generation"), t->levels[level]);
	for (i = 0; i < ARRAY_SIZE(states); i++)
		html_raw(t->html, strcmp(states[i].state, state) ? "" : states[i].text);
	html_raw(t->html, "</title>");
	timeline_mark(t, state, x, y);
	html_raw(t->html, "</g>\n");
}

static void timeline_lanes(struct timeline *t, const json_t *rows)
{
	const json_t *row;
	size_t i, level, at;

	for (level = 0; level < t->nr_levels; level++) {
		const int y = TOP + PAUSES + LANE * (int)level + LANE / 2 + 4;

		html_rawf(t->html, "<line class=\"lane\" x1=\"%d\" x2=\"%d\" y1=\"%d\" "
				   "y2=\"%d\"/><text class=\"name\" x=\"%d\" y=\"%d\">",
			  LEFT, WIDTH - RIGHT, y, y, LEFT - 8, y + 4);
		html_textf(t->html, "%.10s", t->levels[level]);
		html_raw(t->html, "</text>\n");
		at = 0;
		json_array_foreach(rows, i, row)
			timeline_on_level(t, row, level, timeline_taken(t, row, &at));
	}
}

/* --------------------------------------------------------------- the rest */

static void timeline_restarts(struct timeline *t, const json_t *restarts)
{
	const int bottom = TOP + PAUSES + LANE * (int)t->nr_levels + 4;
	const json_t *row;
	char when[32];
	size_t i;

	json_array_foreach(restarts, i, row) {
		const int64_t taken = timeline_int(row, "taken");
		const double x = timeline_x(t, taken);

		if (taken < t->from || taken > t->to)
			continue;
		html_raw(t->html, "<g><title>");
		html_textf(t->html, "Restarted from generation %lld, %s",
			   (long long)timeline_int(row, "restart"), html_time_text(taken, when));
		html_rawf(t->html, "</title><line class=\"restart\" x1=\"%.1f\" x2=\"%.1f\" "
				   "y1=\"%d\" y2=\"%d\"/><path class=\"restart\" "
				   "d=\"M%.1f %dl10 -5l0 10z\"/></g>\n",
			  x, x, TOP - 8, bottom, x, TOP - 8);
	}
}

static void timeline_axis(struct timeline *t)
{
	const int bottom = TOP + PAUSES + LANE * (int)t->nr_levels + AXIS - 8;
	char text[32];

	html_rawf(t->html, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
			   "<text class=\"name\" x=\"%d\" y=\"%d\">stood still</text>"
			   "<text class=\"name small\" x=\"%d\" y=\"%d\">",
		  LEFT, WIDTH - RIGHT, TOP + PAUSES, TOP + PAUSES, LEFT - 8, TOP + PAUSES,
		  LEFT - 8, TOP + 8);
	html_text(t->html, html_ns_text(t->longest, text));
	html_rawf(t->html, "</text><text class=\"begin\" x=\"%d\" y=\"%d\">", LEFT, bottom);
	html_text(t->html, html_time_text(t->from, text));
	html_rawf(t->html, "</text><text class=\"end\" x=\"%d\" y=\"%d\">", WIDTH - RIGHT, bottom);
	html_text(t->html, t->to != t->from ? html_time_text(t->to, text) : "");
	html_raw(t->html, "</text>\n");
}

static void timeline_legend(struct timeline *t)
{
	size_t i;

	html_raw(t->html, "<figcaption><ul class=\"legend\">");
	for (i = 0; i < ARRAY_SIZE(phases); i++) {
		html_raw(t->html, "<li><svg class=\"swatch\" aria-hidden=\"true\" viewBox=\"0 0 12 "
				  "12\"><rect class=\"p-");
		html_raw(t->html, phases[i].class);
		html_raw(t->html, "\" width=\"12\" height=\"12\"/></svg> ");
		html_raw(t->html, phases[i].name);
		html_raw(t->html, "</li>");
	}
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		html_raw(t->html, "<li><svg class=\"swatch\" aria-hidden=\"true\" viewBox=\"0 0 12 "
				  "12\">");
		timeline_mark(t, states[i].state, 6, 6);
		html_raw(t->html, "</svg> ");
		html_raw(t->html, states[i].text);
		html_raw(t->html, "</li>");
	}
	html_raw(t->html, "</ul>\n<p>Bars: how long the job stood still, by phase; pale ones are "
			  "of generations that were removed. Marks: the levels that hold a "
			  "generation. "
			  "Flags: restarts. The tables below have the same figures.</p>"
			  "</figcaption>\n</figure>\n");
}

void timeline_draw(struct html *html, const json_t *rows, const json_t *checkpoints,
		   const json_t *restarts)
{
	struct timeline t = { .html = html, .checkpoints = checkpoints };
	const json_t *row;
	size_t i;

	timeline_scale(&t, rows, checkpoints, restarts);
	if (!t.from)
		return;
	t.nr_levels = timeline_levels(rows, t.levels);
	if (!t.nr_levels && json_array_size(rows))
		t.levels[t.nr_levels++] = "L1";
	html_raw(html, "<figure class=\"timeline\">\n<div class=\"scroll\" tabindex=\"0\" "
		       "role=\"region\" aria-label=\"Time line, scrolls\">\n");
	html_rawf(html, "<svg role=\"group\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
			"aria-label=\"Time line of %zu generations\">\n",
		  WIDTH, TOP + PAUSES + LANE * (int)t.nr_levels + AXIS, WIDTH,
		  TOP + PAUSES + LANE * (int)t.nr_levels + AXIS, json_array_size(rows));
	timeline_axis(&t);
	timeline_lanes(&t, rows);
	json_array_foreach(checkpoints, i, row)
		timeline_pause(&t, row);
	timeline_restarts(&t, restarts);
	html_raw(html, "</svg>\n</div>\n");
	timeline_legend(&t);
}
