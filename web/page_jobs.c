// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page of all jobs: those that the viewer may see, running ones first.
 *
 * Shows what the request ps answers; ?all=1 adds the jobs that are over. Does not sort or choose:
 * ckptd has decided which jobs the viewer may see.
 */
#include "web/page.h"

#include <string.h>

#define JOBS_SHOWN	1000	/* rows; the JSON has all */

static const char *const headings[] = {
	"#Job", "Name", "User", "State", "#Ranks", "Since", "Node", "Command", NULL
};

void page_state(struct page *page, const json_t *job)
{
	static const char *const good[] = { "running", "ended", "saved" };
	const char *state = page_str(job, "state");
	const char *class = "other";
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (!strcmp(state, good[i]))
			class = good[i];
	}
	if (!strcmp(state, "lost"))
		class = "lost";
	html_raw(&page->html, "<span class=\"state ");
	html_raw(&page->html, class);
	html_raw(&page->html, "\">");
	html_text(&page->html, state);
	html_raw(&page->html, "</span>");
	if (json_object_get(job, "busy")) {
		html_raw(&page->html, " <span class=\"busy\">");
		html_text(&page->html, page_str(job, "busy"));
		html_raw(&page->html, "</span>");
	}
	if (json_object_get(job, "exit_status"))
		html_textf(&page->html, " with %lld", (long long)page_int(job, "exit_status"));
}

void page_command(struct page *page, const json_t *argv)
{
	const json_t *word;
	size_t i;

	html_raw(&page->html, "<code class=\"command\"><bdi>");
	json_array_foreach(argv, i, word) {
		html_raw(&page->html, i ? " " : "");
		html_text(&page->html, json_string_value(word) ? json_string_value(word) : "");
	}
	html_raw(&page->html, "</bdi></code>");
}

static void page_jobs_row(struct page *page, const json_t *job)
{
	const int64_t number = page_int(job, "job");

	html_raw(&page->html, "<tr><th scope=\"row\" class=\"n\">");
	page_job_href(page, number, "");
	html_rawf(&page->html, "\">%lld</a></th><td class=\"name\"><bdi>", (long long)number);
	html_text(&page->html, page_str(job, "name"));
	html_raw(&page->html, "</bdi></td>");
	page_cell(page, page_str(job, "user"));
	html_raw(&page->html, "<td>");
	page_state(page, job);
	html_raw(&page->html, "</td>");
	page_cell_int(page, job, "nr_ranks");
	page_cell_time(page, job, "since");
	page_cell(page, page_str(job, "node"));
	html_raw(&page->html, "<td>");
	page_command(page, json_object_get(job, "argv"));
	html_raw(&page->html, "</td></tr>\n");
}

static void page_jobs_table(struct page *page, const json_t *jobs)
{
	size_t nr = json_array_size(jobs), i;

	if (!nr) {
		html_raw(&page->html, page->route->all ? "<p>You have no job here.</p>\n" :
			 "<p>No job of yours runs here.</p>\n");
		return;
	}
	if (nr > JOBS_SHOWN)
		html_textf(&page->html, "The newest %d of %zu jobs are shown.", JOBS_SHOWN, nr);
	page_table(page, page->route->all ? "All jobs" : "Running jobs", headings);
	/* the newest first */
	for (i = nr; i-- && nr - i <= JOBS_SHOWN;)
		page_jobs_row(page, json_array_get(jobs, i));
	page_table_end(page);
}

void page_jobs(struct page *page)
{
	json_t *args = json_object(), *outcome;
	const json_t *result;

	if (page->route->all)
		json_object_set_new(args, "all", json_true());
	outcome = ask_call(page->ask, "ps", args);
	page_begin(page, "Jobs");
	result = page_result(page, outcome, true);
	if (result) {
		page_jobs_table(page, json_object_get(result, "jobs"));
		if (json_array_size(json_object_get(result, "unreadable")))
			html_rawf(&page->html, "<p class=\"alert\">The records of %zu jobs cannot "
				  "be read: see Findings.</p>\n",
				  json_array_size(json_object_get(result, "unreadable")));
		html_raw(&page->html, "<p>");
		if (page->route->all)
			page_link(page, "/", "Only jobs that run");
		else
			page_link(page, "/?all=1", "Also jobs that are over");
		html_raw(&page->html, "</p>\n");
		page_json_link(page, page->route->all ? "/api/ps?all=1" : "/api/ps", 0);
	}
	json_decref(outcome);
}
