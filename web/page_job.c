// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page of one job: what it is, its generations on a time line, and what they have cost.
 *
 * A window of generations at a time, the newest first: a job may have thousands. Shows what the
 * requests list and stats answer; both read the same window.
 */
#include "web/page.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "web/timeline.h"

/* ------------------------------------------------------------------- head */

static void page_job_fact(struct page *page, const char *name)
{
	html_raw(&page->html, "<dt>");
	html_raw(&page->html, name);
	html_raw(&page->html, "</dt><dd>");
}

static void page_job_auto(struct page *page, const json_t *automatic)
{
	const char *error = page_str(automatic, "error");

	if (!automatic)
		return;
	page_job_fact(page, "Automatic checkpoints");
	if (page_int(automatic, "interval_ms")) {
		html_raw(&page->html, "every ");
		html_ns(&page->html, page_int(automatic, "interval_ms") * 1000000);
	} else {
		html_raw(&page->html, "on");
	}
	if (json_object_get(automatic, "next_ms")) {
		html_raw(&page->html, ", the next in ");
		html_ns(&page->html, page_int(automatic, "next_ms") * 1000000);
	}
	html_raw(&page->html, *error ? "; the last one failed: " : "");
	html_text(&page->html, error);
	html_raw(&page->html, "</dd>");
}

static void page_job_names(struct page *page, const json_t *names)
{
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name) {
		html_raw(&page->html, i ? ", <span class=\"bad\">" : "<span class=\"bad\">");
		html_text(&page->html, json_string_value(name) ? json_string_value(name) : "");
		html_raw(&page->html, "</span>");
	}
}

static void page_job_facts(struct page *page, const json_t *job)
{
	html_raw(&page->html, "<dl class=\"facts\">");
	page_job_fact(page, "State");
	page_state(page, job);
	html_raw(&page->html, "</dd>");
	page_job_fact(page, "User");
	html_text(&page->html, page_str(job, "user"));
	html_raw(&page->html, "</dd>");
	page_job_fact(page, "Since");
	html_time(&page->html, page_int(job, "since"));
	html_raw(&page->html, "</dd>");
	page_job_fact(page, "Node");
	html_text(&page->html, page_str(job, "node"));
	html_raw(&page->html, "</dd>");
	if (json_object_get(job, "nr_ranks")) {
		page_job_fact(page, "MPI ranks");
		html_rawf(&page->html, "%lld</dd>", (long long)page_int(job, "nr_ranks"));
	}
	if (json_array_size(json_object_get(job, "silent_nodes"))) {
		page_job_fact(page, "Silent nodes");
		page_job_names(page, json_object_get(job, "silent_nodes"));
		html_raw(&page->html, "</dd>");
	}
	page_job_auto(page, json_object_get(job, "auto"));
	page_job_fact(page, "Command");
	page_command(page, json_object_get(job, "argv"));
	html_raw(&page->html, "</dd></dl>\n");
}

static void page_job_tab(struct page *page, enum route_kind kind, const char *behind,
			 const char *name)
{
	html_raw(&page->html, "<li>");
	page_job_href(page, page->route->job, behind);
	html_raw(&page->html, page->route->kind == kind ? "\" aria-current=\"page\">" : "\">");
	html_raw(&page->html, name);
	html_raw(&page->html, "</a></li>");
}

json_t *page_job_head(struct page *page, json_t *list)
{
	json_t *job = json_array_get(json_object_get(json_object_get(list, "result"), "jobs"), 0);
	char title[160];

	snprintf(title, sizeof(title), "Job %lld%s%.100s", (long long)page->route->job,
		 *page_str(job, "name") ? " " : "", page_str(job, "name"));
	page_begin(page, title);
	if (!page_result(page, list, true) || !job)
		return NULL;
	html_raw(&page->html, "<nav class=\"tabs\" aria-label=\"This job\"><ul>");
	page_job_tab(page, ROUTE_JOB, "", "Generations");
	page_job_tab(page, ROUTE_IO, "/io", "I/O");
	if (json_object_get(job, "nr_ranks"))
		page_job_tab(page, ROUTE_HANG, "/hang", "Does it hang?");
	html_raw(&page->html, "</ul></nav>\n");
	page_job_facts(page, job);
	return job;
}

/* ------------------------------------------------------------ generations */

static void page_job_level_cell(struct page *page, const json_t *row, const char *level)
{
	const char *state = json_object_get(row, "levels") ? timeline_level_state(row, level) :
			    "here";

	html_raw(&page->html, !strcmp(state, "damaged") ? "<td class=\"bad\">" : "<td>");
	html_text(&page->html, !strcmp(state, "missing") ? "–" : state);
	html_raw(&page->html, "</td>");
}

/* Words beside a generation: as ckptctl list says them. */
static void page_job_remark(struct page *page, const json_t *row)
{
	const char *trust = page_str(row, "trust"), *error = page_str(row, "error");
	const bool marked = *trust && strcmp(trust, "unverified");
	const bool bad = *error || !strcmp(trust, "suspect") || !strcmp(trust, "rejected");

	html_raw(&page->html, bad ? "<td class=\"bad\">" : "<td>");
	if (marked)
		html_text(&page->html, trust);
	if (json_is_true(json_object_get(row, "pinned")))
		html_raw(&page->html, marked ? ", pinned" : "pinned");
	if (json_is_true(json_object_get(json_object_get(row, "note"), "killed")))
		html_raw(&page->html, " job ended by it");
	html_raw(&page->html, *error ? " " : "");
	html_text(&page->html, error);
	html_raw(&page->html, "</td>");
}

static void page_job_row(struct page *page, const json_t *row, const char *const *levels,
			 size_t nr_levels)
{
	const json_t *nodes = json_object_get(row, "nodes");
	size_t i;

	html_rawf(&page->html, "<tr id=\"g%lld\" tabindex=\"-1\"><th scope=\"row\" class=\"n\">"
			       "%lld</th>",
		  (long long)page_int(row, "generation"), (long long)page_int(row, "generation"));
	page_cell_time(page, row, "created");
	page_cell_ns(page, row, "pause_ns");
	page_cell_bytes(page, row, "bytes_stored");
	page_cell_int(page, row, "processes");
	page_cell_int(page, row, "threads");
	if (json_array_size(nodes))
		html_rawf(&page->html, "<td class=\"n\">%zu</td>", json_array_size(nodes));
	else
		html_raw(&page->html, "<td class=\"n\">–</td>");
	for (i = 0; i < nr_levels; i++)
		page_job_level_cell(page, row, levels[i]);
	page_job_remark(page, row);
	html_raw(&page->html, "</tr>\n");
}

/* The headings are ours but for the names of levels, so that page_table() is not for them. */
static void page_job_table(struct page *page, const json_t *rows)
{
	const char *levels[TIMELINE_LEVELS];
	const size_t nr = timeline_levels(rows, levels);
	size_t i;

	html_raw(&page->html, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
			      "aria-label=\"Generations\">\n<table>\n<caption>Generations</caption>"
			      "<thead><tr><th scope=\"col\" class=\"n\">Generation</th>"
			      "<th scope=\"col\">Taken</th><th scope=\"col\" class=\"n\">Pause</th>"
			      "<th scope=\"col\" class=\"n\">Stored</th>"
			      "<th scope=\"col\" class=\"n\">Processes</th>"
			      "<th scope=\"col\" class=\"n\">Threads</th>"
			      "<th scope=\"col\" class=\"n\">Nodes</th>");
	for (i = 0; i < nr; i++) {
		html_raw(&page->html, "<th scope=\"col\">");
		html_text(&page->html, levels[i]);
		html_raw(&page->html, "</th>");
	}
	html_raw(&page->html, "<th scope=\"col\">Remark</th></tr></thead>\n<tbody>\n");
	for (i = json_array_size(rows); i--;)
		page_job_row(page, json_array_get(rows, i), levels, nr);
	page_table_end(page);
}

static size_t page_job_window(const struct page *page)
{
	int64_t last = page->route->last ? page->route->last : PAGE_GENERATIONS;

	return (size_t)(last < PAGE_GENERATIONS_MAX ? last : PAGE_GENERATIONS_MAX);
}

/* Links to the windows beside this one; @older: generations may be below it. */
static void page_job_pager(struct page *page, const json_t *job, const json_t *rows, bool older)
{
	const size_t nr = json_array_size(rows);
	const int64_t first = page_int(json_array_get(rows, 0), "generation");
	const int64_t last = nr ? page_int(json_array_get(rows, nr - 1), "generation") : 0;
	const size_t size = page_job_window(page);

	html_raw(&page->html, "<nav class=\"pager\" aria-label=\"Generations\"><p>");
	if (nr)
		html_rawf(&page->html, "Generations %lld to %lld. ", (long long)first,
			  (long long)last);
	html_rawf(&page->html, "The image directory has %lld.</p><ul>",
		  (long long)page_int(job, "nr_generations"));
	if (page->route->before) {
		html_raw(&page->html, "<li>");
		page_job_href(page, page->route->job, "?last=");
		html_rawf(&page->html, "%zu\" rel=\"first\">Newest</a></li>", size);
	}
	if (older) {
		html_raw(&page->html, "<li>");
		page_job_href(page, page->route->job, "?before=");
		html_rawf(&page->html, "%lld&amp;last=%zu\" rel=\"next\">Older</a></li>",
			  (long long)first, size);
	}
	html_raw(&page->html, "</ul></nav>\n");
}

/* ------------------------------------------------------------------- cost */

static void page_job_cost_row(struct page *page, const json_t *row)
{
	static const char *const figures[] = {
		"quiesce_ns", "freeze_ns", "", "thaw_ns", "pause_ns", "pages_ns", "contents_ns",
		"sync_ns", "commit_ns", "total_ns",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(figures); i++) {
		if (*figures[i]) {
			page_cell_ns(page, row, figures[i]);
			continue;
		}
		html_raw(&page->html, "<td class=\"n\">");
		html_ns(&page->html, json_object_get(row, "clone_ns") ?
			page_int(row, "collect_ns") + page_int(row, "clone_ns") : -1);
		html_raw(&page->html, "</td>");
	}
	page_cell_bytes(page, row, "bytes_mapped");
	page_cell_bytes(page, row, "bytes_stored");
}

static void page_job_cost(struct page *page, const json_t *stats)
{
	static const char *const headings[] = {
		"#Generation", "#Quiesce", "#Freeze", "#Snapshot", "#Thaw", "#Pause", "#Memory",
		"#Files", "#Sync", "#Commit", "#Total", "#Size", "#Stored", "Remark", NULL
	};
	const json_t *rows = json_object_get(stats, "checkpoints"), *row;
	size_t i;

	if (!json_array_size(rows))
		return;
	html_raw(&page->html, "<h2 id=\"cost\">Cost of checkpoints</h2>\n<p>Freeze, snapshot and "
			      "most of thaw are parts of the pause, for which the job stands "
			      "still; memory, files, sync and commit pass behind its back.</p>\n");
	page_table(page, "Cost of checkpoints, phase by phase", headings);
	html_raw(&page->html, "<tr class=\"median\"><th scope=\"row\">median</th>");
	page_job_cost_row(page, json_object_get(stats, "medians"));
	html_raw(&page->html, "<td></td></tr>\n");
	for (i = json_array_size(rows); i--;) {
		row = json_array_get(rows, i);
		html_rawf(&page->html, "<tr><th scope=\"row\" class=\"n\">%lld</th>",
			  (long long)page_int(row, "generation"));
		page_job_cost_row(page, row);
		html_raw(&page->html, "<td>");
		html_raw(&page->html, json_is_true(json_object_get(row, "auto")) ? "auto " : "");
		html_raw(&page->html, json_is_true(json_object_get(row, "in_place")) ?
			 "stop and copy " : "");
		html_raw(&page->html, json_is_true(json_object_get(row, "kept")) ? "" : "removed");
		html_raw(&page->html, "</td></tr>\n");
	}
	page_table_end(page);
}

static void page_job_restarts(struct page *page, const json_t *restarts)
{
	static const char *const headings[] = {
		"#From generation", "When", "#Total", "#Fetch", "#Restore", "#Ranks up", NULL
	};
	const json_t *row;
	size_t i;

	if (!json_array_size(restarts))
		return;
	html_raw(&page->html, "<h2>Restarts</h2>\n");
	page_table(page, "Restarts", headings);
	json_array_foreach(restarts, i, row) {
		html_raw(&page->html, "<tr>");
		page_cell_int(page, row, "restart");
		page_cell_time(page, row, "taken");
		page_cell_ns(page, row, "total_ns");
		page_cell_ns(page, row, "fetch_ns");
		page_cell_ns(page, row, "restore_ns");
		page_cell_ns(page, row, "ranks_ns");
		html_raw(&page->html, "</tr>\n");
	}
	page_table_end(page);
}

static void page_job_copies(struct page *page, const json_t *levels)
{
	static const char *const headings[] = {
		"#Generation", "Level", "When", "#Took", "#Stored", NULL
	};
	const size_t nr = json_array_size(levels);
	size_t i;

	if (!nr)
		return;
	html_raw(&page->html, "<h2>Copies to levels</h2>\n");
	page_table(page, "Copies to levels, the newest 100 at most", headings);
	for (i = nr; i-- && nr - i <= PAGE_GENERATIONS;) {
		const json_t *row = json_array_get(levels, i);

		html_raw(&page->html, "<tr>");
		page_cell_int(page, row, "generation");
		page_cell(page, page_str(row, "level"));
		page_cell_time(page, row, "taken");
		page_cell_ns(page, row, "total_ns");
		page_cell_bytes(page, row, "bytes_stored");
		html_raw(&page->html, "</tr>\n");
	}
	page_table_end(page);
}

/* ------------------------------------------------------------------- page */

static json_t *page_job_args(const struct page *page, size_t last)
{
	json_t *args = json_pack("{s:I, s:I}", "job", (json_int_t)page->route->job, "last",
				 (json_int_t)last);

	if (page->route->before)
		json_object_set_new(args, "before", json_integer(page->route->before));
	return args;
}

static void page_job_body(struct page *page, const json_t *job, const json_t *stats)
{
	const json_t *checkpoints = json_object_get(stats, "checkpoints");
	json_t *rows = json_object_get(job, "generations");
	const bool older = json_array_size(rows) > page_job_window(page);

	if (older)
		json_array_remove(rows, 0);
	html_raw(&page->html, "<h2 id=\"generations\">Generations</h2>\n");
	if (json_array_size(rows) || json_array_size(checkpoints))
		timeline_draw(&page->html, rows, checkpoints, json_object_get(stats, "restarts"));
	else
		html_raw(&page->html, page->route->before ?
			 "<p>No older checkpoint is there.</p>\n" :
			 "<p>No checkpoint of this job is there.</p>\n");
	if (json_array_size(rows))
		page_job_table(page, rows);
	page_job_pager(page, job, rows, older);
	page_job_cost(page, stats);
	page_job_restarts(page, json_object_get(stats, "restarts"));
	page_job_copies(page, json_object_get(stats, "levels"));
}

void page_job(struct page *page)
{
	/* one more than is shown tells whether there are older ones */
	json_t *list = ask_call(page->ask, "list", page_job_args(page, page_job_window(page) + 1));
	const json_t *job = page_job_head(page, list), *result;
	json_t *stats = NULL;

	if (job) {
		stats = ask_call(page->ask, "stats", page_job_args(page, page_job_window(page)));
		result = page_result(page, stats, false);
		page_job_body(page, job, result);
		page_json_link(page, "/api/list?", page->route->job);
	}
	json_decref(stats);
	json_decref(list);
}
