// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page that says whether an MPI job hangs: the answer of the request diagnose, and the job's
 * incidents.
 *
 * The request looks at the ranks' status pages and samples threads; nothing is stopped. It is made
 * only when the viewer asks for this page.
 */
#include "web/page.h"

#include <string.h>

#define RANKS_SHOWN	256

static void page_hang_verdict(struct page *page, const json_t *result)
{
	const char *verdict = page_str(result, "verdict");
	const json_t *line;
	size_t i;

	if (!strcmp(verdict, "hangs")) {
		html_raw(&page->html, "<p class=\"alert\"><strong>The job hangs</strong> (");
		html_text(&page->html, page_str(result, "cause"));
		html_raw(&page->html, "): status pages and samples agree.</p>\n");
	} else {
		html_raw(&page->html, !strcmp(verdict, "runs") ?
			 "<p class=\"well\">No rank hangs.</p>\n" :
			 "<p class=\"note\">A hang is not confirmed.</p>\n");
	}
	html_raw(&page->html, "<ul>");
	json_array_foreach(json_object_get(result, "text"), i, line) {
		html_raw(&page->html, "<li>");
		html_text(&page->html, json_string_value(line) ? json_string_value(line) : "");
		html_raw(&page->html, "</li>");
	}
	json_array_foreach(json_object_get(result, "silent_nodes"), i, line) {
		html_raw(&page->html, "<li>");
		html_textf(&page->html, "Node %s does not answer: nothing is known of its ranks.",
			   json_string_value(line) ? json_string_value(line) : "");
		html_raw(&page->html, "</li>");
	}
	html_raw(&page->html, "</ul>\n");
}

static bool page_hang_is_suspect(const json_t *result, int64_t rank)
{
	const json_t *suspect;
	size_t i;

	json_array_foreach(json_object_get(result, "suspects"), i, suspect) {
		if (json_integer_value(suspect) == rank)
			return true;
	}
	return false;
}

static void page_hang_ranks(struct page *page, const json_t *result)
{
	static const char *const headings[] = {
		"#Rank", "Node", "Doing", "Call", "#Peer", "Communicator", "#Sequence", NULL
	};
	const json_t *rows = json_object_get(result, "mpi_ranks"), *row;
	size_t i;

	if (json_array_size(rows) > RANKS_SHOWN)
		html_rawf(&page->html, "<p>The first %d of %zu ranks are shown.</p>\n", RANKS_SHOWN,
			  json_array_size(rows));
	page_table(page, "Ranks", headings);
	json_array_foreach(rows, i, row) {
		const bool suspect = page_hang_is_suspect(result, page_int(row, "rank"));

		if (i >= RANKS_SHOWN)
			break;
		html_raw(&page->html, suspect ? "<tr class=\"suspect\">" : "<tr>");
		html_rawf(&page->html, "<th scope=\"row\" class=\"n\">%lld</th>",
			  (long long)page_int(row, "rank"));
		page_cell(page, page_str(row, "node"));
		page_cell(page, page_str(row, "doing"));
		page_cell(page, page_str(row, "call"));
		page_cell_int(page, row, "peer");
		page_cell(page, page_str(row, "comm"));
		page_cell_int(page, row, "sequence");
		html_raw(&page->html, "</tr>\n");
	}
	page_table_end(page);
}

void page_hang(struct page *page)
{
	const json_int_t job = (json_int_t)page->route->job;
	json_t *list = ask_call(page->ask, "list", json_pack("{s:I, s:i}", "job", job, "last", 1));
	json_t *outcome = NULL, *incidents = NULL;
	const json_t *result = NULL;

	if (page_job_head(page, list)) {
		incidents = ask_call(page->ask, "incidents", json_pack("{s:I}", "job", job));
		page_incident_table(page, json_object_get(incidents, "result"));
		outcome = ask_call(page->ask, "diagnose", json_pack("{s:I}", "job", job));
		html_raw(&page->html, "<h2>Does it hang?</h2>\n");
		result = page_result(page, outcome, true);
	}
	if (result) {
		page_hang_verdict(page, result);
		page_hang_ranks(page, result);
		page_json_link(page, "/api/diag/run?", page->route->job);
	}
	json_decref(incidents);
	json_decref(outcome);
	json_decref(list);
}
