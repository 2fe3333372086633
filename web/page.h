/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A page: its frame, what all pages share, and one function for each page.
 *
 * A page asks ckptd and shows the answer. An answer that is an error becomes a part of the page
 * that says so, and the rest of the page is made all the same.
 */
#ifndef STILLPOINT_WEB_PAGE_H
#define STILLPOINT_WEB_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "web/ask.h"
#include "web/html.h"
#include "web/route.h"

#define PAGE_GENERATIONS	100	/* on the page of a job, unless the viewer says otherwise */
#define PAGE_GENERATIONS_MAX	500

struct page {
	struct html html;
	struct ask *ask;
	const struct route *route;
	const char *base;	/* "/TOKEN": where the pages are */
	const char *node;	/* this machine's name, for titles */
	unsigned int status;	/* of HTTP */
};

/* Make the page of @page->route, which is neither ROUTE_STATIC nor ROUTE_API. */
void page_make(struct page *page);

/* page_jobs.c */
void page_jobs(struct page *page);
/* The state of a job with its colour, and its command line. */
void page_state(struct page *page, const json_t *job);
void page_command(struct page *page, const json_t *argv);
/* page_job.c */
void page_job(struct page *page);
/* Title, tabs and facts of the page of one job; NULL: not there, and said; else its description. */
json_t *page_job_head(struct page *page, json_t *list);
/* page_io.c */
void page_io(struct page *page);
/* page_hang.c */
void page_hang(struct page *page);
/* page_incident.c */
void page_incidents(struct page *page);
/* The table of incidents in the answer of the request incidents; nothing if there are none. */
void page_incident_table(struct page *page, const json_t *result);
/* page_findings.c */
void page_findings(struct page *page);
/* page_node.c */
void page_nodes(struct page *page);
void page_devices(struct page *page);

/* The frame: call page_begin() once the title is known, then put in the content. */
void page_begin(struct page *page, const char *title);
void page_end(struct page *page);

/* The status of HTTP that goes with an outcome. */
unsigned int page_status(const json_t *outcome);
/*
 * The result of @outcome, which stays the caller's; NULL: it is an error, and the page says which
 * (and gets its status, if @whole).
 */
json_t *page_result(struct page *page, const json_t *outcome, bool whole);
void page_alert(struct page *page, const char *text);

/* A link to a page below the base; @path is ours. */
void page_link(struct page *page, const char *path, const char *markup);
/* A link to page "/job/N" with @behind ("", "/io") behind it, up to the quote that ends it. */
void page_job_href(struct page *page, int64_t job, const char *behind);
/* "The same as JSON": a link to what the page was made of; @path is ours, with the job's number. */
void page_json_link(struct page *page, const char *path, int64_t job);

/* Begin a table of @label with headings of ours (numeric ones begin with '#'), NULL at the end. */
void page_table(struct page *page, const char *label, const char *const *headings);
void page_table_end(struct page *page);

/* Cells of a row of a table. @row is JSON; a figure that it lacks is a dash. */
void page_cell(struct page *page, const char *text);
void page_cell_int(struct page *page, const json_t *row, const char *name);
void page_cell_bytes(struct page *page, const json_t *row, const char *name);
void page_cell_ns(struct page *page, const json_t *row, const char *name);
void page_cell_time(struct page *page, const json_t *row, const char *name);

/* Fields of an answer: 0 or "" if there is none; page_figure(): -1 if there is none. */
int64_t page_int(const json_t *object, const char *name);
int64_t page_figure(const json_t *object, const char *name);
const char *page_str(const json_t *object, const char *name);
double page_real(const json_t *object, const char *name);

#endif /* STILLPOINT_WEB_PAGE_H */
