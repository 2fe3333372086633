/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time line of a job: a picture of its generations, in time, with how long the job stood
 * still for each, the levels that hold it, and the restarts. Tables have the same figures.
 */
#ifndef STILLPOINT_WEB_TIMELINE_H
#define STILLPOINT_WEB_TIMELINE_H

#include <jansson.h>

#include "web/html.h"

#define TIMELINE_LEVELS	8	/* lanes; the table names all levels */

/*
 * timeline_draw() - append a <figure>
 * @rows: generations as list has them
 * @checkpoints: what they have cost, as stats has it; also of generations that are gone
 * @restarts: as stats has them
 *
 * Appends nothing if there is no generation.
 */
void timeline_draw(struct html *html, const json_t *rows, const json_t *checkpoints,
		   const json_t *restarts);

/* The names of the levels in @rows, in the order in which they are first met; returns how many. */
size_t timeline_levels(const json_t *rows, const char *names[TIMELINE_LEVELS]);
/* The state of generation @row on level @name; "missing" if nothing is said. */
const char *timeline_level_state(const json_t *row, const char *name);

#endif /* STILLPOINT_WEB_TIMELINE_H */
