// SPDX-License-Identifier: GPL-2.0-only
/*
 * Incidents: hangs that ckptd has found by itself on this node, open ones and those that are over.
 *
 * Owns the table that the page of incidents and the page "Does it hang?" of a job share. ckptd
 * decides which incidents the viewer may see; the evidence is not shown here, as it is large.
 */
#include "web/page.h"

#include <string.h>

#define INCIDENTS_SHOWN	200
#define SUSPECTS_SHOWN	4

static void page_incident_suspects(struct page *page, const json_t *incident)
{
	const json_t *list = json_object_get(incident, "suspects"), *one;
	const int64_t nr = page_int(incident, "nr_suspects");
	size_t i;

	html_raw(&page->html, "<td>");
	json_array_foreach(list, i, one) {
		if (i < SUSPECTS_SHOWN)
			html_textf(&page->html, "%s%lld on %s", i ? ", " : "",
				   (long long)page_int(one, "rank"), page_str(one, "node"));
	}
	if (nr > SUSPECTS_SHOWN)
		html_rawf(&page->html, " and %lld more", (long long)nr - SUSPECTS_SHOWN);
	html_raw(&page->html, nr ? "</td>" : "–</td>");
}

static void page_incident_row(struct page *page, const json_t *incident)
{
	const bool open = !json_object_get(incident, "closed");
	const int64_t job = page_int(incident, "job");

	html_rawf(&page->html, "<tr><th scope=\"row\">i%lld</th><td>",
		  (long long)page_int(incident, "incident"));
	page_job_href(page, job, "/hang");
	html_rawf(&page->html, "\">%lld</a></td>", (long long)job);
	page_cell_time(page, incident, "since");
	html_raw(&page->html, open ? "<td class=\"bad\">" : "<td>");
	html_text(&page->html, page_str(incident, "state"));
	html_raw(&page->html, "</td>");
	page_cell(page, page_str(incident, "cause"));
	page_incident_suspects(page, incident);
	page_cell(page, page_str(incident, "action"));
	page_cell(page, page_str(incident, "result"));
	html_raw(&page->html, "</tr>\n");
}

void page_incident_table(struct page *page, const json_t *result)
{
	static const char *const headings[] = {
		"Incident", "Job", "Since", "State", "Cause", "Suspects", "Action", "Result", NULL
	};
	const json_t *list = json_object_get(result, "incidents"), *incident;
	size_t i;

	if (!json_array_size(list))
		return;
	if (json_array_size(list) > INCIDENTS_SHOWN)
		html_rawf(&page->html, "<p>The newest %d of %zu incidents are shown.</p>\n",
			  INCIDENTS_SHOWN, json_array_size(list));
	page_table(page, "Incidents", headings);
	json_array_foreach(list, i, incident) {
		if (i < INCIDENTS_SHOWN)
			page_incident_row(page, incident);
	}
	page_table_end(page);
}

void page_incidents(struct page *page)
{
	json_t *outcome = ask_call(page->ask, "incidents", json_object());
	const json_t *result;

	page_begin(page, "Incidents");
	result = page_result(page, outcome, true);
	if (result) {
		html_raw(&page->html, "<p>Hangs of your MPI jobs that this node has found by "
			 "itself: <code>diagnose</code> in <code>ckptd.conf</code>.</p>\n");
		page_incident_table(page, result);
		if (!json_array_size(json_object_get(result, "incidents")))
			html_raw(&page->html, "<p class=\"well\">There are none.</p>\n");
		page_json_link(page, "/api/diag/incidents", 0);
	}
	json_decref(outcome);
}
