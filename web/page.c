// SPDX-License-Identifier: GPL-2.0-only
/*
 * The frame of a page, and what all pages share; see page.h.
 *
 * All markup is here and in page_*.c; all texts of answers go through html_text(). A page works
 * without scripts: static/page.js only adds keys and a refresh.
 */
#include "web/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"

/* ------------------------------------------------------------------ frame */

static void page_nav_item(struct page *page, enum route_kind kind, const char *path,
			  const char *name)
{
	const bool here = page->route->kind == kind;

	html_raw(&page->html, "<li><a href=\"");
	html_raw(&page->html, page->base);
	html_raw(&page->html, path);
	html_raw(&page->html, here ? "\" aria-current=\"page\">" : "\">");
	html_raw(&page->html, name);
	html_raw(&page->html, "</a></li>");
}

static void page_head(struct page *page, const char *title)
{
	struct html *h = &page->html;

	html_raw(h, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	html_text(h, title);
	html_raw(h, " – ");
	html_text(h, page->node);
	html_raw(h, " – Stillpoint</title>\n<link rel=\"stylesheet\" href=\"");
	html_raw(h, page->base);
	html_raw(h, "/static/style.css\">\n<link rel=\"icon\" href=\"");
	html_raw(h, page->base);
	html_raw(h, "/static/icon.svg\">\n<script src=\"");
	html_raw(h, page->base);
	html_raw(h, "/static/page.js\" defer></script>\n</head>\n");
}

void page_begin(struct page *page, const char *title)
{
	struct html *h = &page->html;

	page_head(page, title);
	html_raw(h, "<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header>\n"
		    "<p class=\"product\"><span>Stillpoint</span> <bdi>");
	html_text(h, page->node);
	html_raw(h, "</bdi></p>\n<nav aria-label=\"Pages\"><ul>");
	page_nav_item(page, ROUTE_JOBS, "/", "Jobs");
	page_nav_item(page, ROUTE_FINDINGS, "/findings", "Findings");
	page_nav_item(page, ROUTE_INCIDENTS, "/incidents", "Incidents");
	page_nav_item(page, ROUTE_NODES, "/nodes", "Nodes");
	page_nav_item(page, ROUTE_DEVICES, "/devices", "Devices");
	html_raw(h, "</ul></nav>\n</header>\n<main id=\"main\" tabindex=\"-1\">\n<h1>");
	html_text(h, title);
	html_raw(h, "</h1>\n");
}

void page_end(struct page *page)
{
	html_raw(&page->html, "</main>\n<footer><p id=\"refresh\">This page shows, and changes "
			      "nothing. Times are this node&#39;s.</p></footer>\n</body>\n"
			      "</html>\n");
}

void page_make(struct page *page)
{
	static void (*const makers[])(struct page *page) = {
		[ROUTE_JOBS] = page_jobs, [ROUTE_JOB] = page_job, [ROUTE_IO] = page_io,
		[ROUTE_HANG] = page_hang, [ROUTE_FINDINGS] = page_findings,
		[ROUTE_INCIDENTS] = page_incidents, [ROUTE_NODES] = page_nodes,
		[ROUTE_DEVICES] = page_devices,
	};

	page->status = 200;
	makers[page->route->kind](page);
	page_end(page);
}

/* ----------------------------------------------------------------- errors */

unsigned int page_status(const json_t *outcome)
{
	const json_t *error = json_object_get(outcome, "error");

	if (outcome_is_ok(outcome))
		return 200;
	if (json_is_true(json_object_get(error, "usage")))
		return 400;
	switch (outcome_errno(outcome)) {
	case -ENOENT:
		return 404;
	case -EPERM:
	case -EACCES:
		return 403;
	case -EBUSY:
		return 503;
	case -ENOTCONN:
	case -EPIPE:
	case -ECONNRESET:
	case -EPROTO:
		return 502;
	case -ETIMEDOUT:
		return 504;
	case -ENOMEM:
		return 500;
	default:	/* ckptd has said why not */
		return 422;
	}
}

void page_alert(struct page *page, const char *text)
{
	html_raw(&page->html, "<p class=\"alert\" role=\"alert\">");
	html_text(&page->html, text);
	html_raw(&page->html, "</p>\n");
}

json_t *page_result(struct page *page, const json_t *outcome, bool whole)
{
	const json_t *error = json_object_get(outcome, "error");
	const char *text = json_string_value(json_object_get(error, "text"));

	if (outcome_is_ok(outcome))
		return json_object_get(outcome, "result");
	if (whole)
		page->status = page_status(outcome);
	page_alert(page, text ? text : "out of memory");
	return NULL;
}

/* ------------------------------------------------------------------ links */

void page_link(struct page *page, const char *path, const char *markup)
{
	html_raw(&page->html, "<a href=\"");
	html_raw(&page->html, page->base);
	html_raw(&page->html, path);
	html_raw(&page->html, "\">");
	html_raw(&page->html, markup);
	html_raw(&page->html, "</a>");
}

void page_job_href(struct page *page, int64_t job, const char *behind)
{
	html_raw(&page->html, "<a href=\"");
	html_raw(&page->html, page->base);
	html_rawf(&page->html, "/job/%lld", (long long)job);
	html_raw(&page->html, behind);
}

void page_json_link(struct page *page, const char *path, int64_t job)
{
	html_raw(&page->html, "<p class=\"json\"><a href=\"");
	html_raw(&page->html, page->base);
	html_raw(&page->html, path);
	if (job)
		html_rawf(&page->html, "job=%lld", (long long)job);
	html_raw(&page->html, "\">The same as JSON</a></p>\n");
}

/* ----------------------------------------------------------------- tables */

void page_table(struct page *page, const char *label, const char *const *headings)
{
	struct html *h = &page->html;

	html_raw(h, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
	html_raw(h, label);
	html_raw(h, "\">\n<table>\n<caption>");
	html_raw(h, label);
	html_raw(h, "</caption>\n<thead><tr>");
	for (; *headings; headings++) {
		const bool number = **headings == '#';

		html_raw(h, number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">");
		html_raw(h, *headings + number);
		html_raw(h, "</th>");
	}
	html_raw(h, "</tr></thead>\n<tbody>\n");
}

void page_table_end(struct page *page)
{
	html_raw(&page->html, "</tbody>\n</table>\n</div>\n");
}

void page_cell(struct page *page, const char *text)
{
	html_raw(&page->html, "<td>");
	html_text(&page->html, *text ? text : "–");
	html_raw(&page->html, "</td>");
}

void page_cell_int(struct page *page, const json_t *row, const char *name)
{
	if (json_is_integer(json_object_get(row, name)))
		html_rawf(&page->html, "<td class=\"n\">%lld</td>",
			  (long long)page_int(row, name));
	else
		html_raw(&page->html, "<td class=\"n\">–</td>");
}

void page_cell_bytes(struct page *page, const json_t *row, const char *name)
{
	html_raw(&page->html, "<td class=\"n\">");
	html_bytes(&page->html, page_figure(row, name));
	html_raw(&page->html, "</td>");
}

void page_cell_ns(struct page *page, const json_t *row, const char *name)
{
	html_raw(&page->html, "<td class=\"n\">");
	html_ns(&page->html, page_figure(row, name));
	html_raw(&page->html, "</td>");
}

void page_cell_time(struct page *page, const json_t *row, const char *name)
{
	html_raw(&page->html, "<td class=\"time\">");
	html_time(&page->html, page_int(row, name));
	html_raw(&page->html, "</td>");
}

/* ----------------------------------------------------------------- fields */

int64_t page_int(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

int64_t page_figure(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

const char *page_str(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

double page_real(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}
