// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page of findings: everything of the viewer's jobs and of the nodes that somebody should look
 * at, and what to do.
 *
 * Found in the answers of list, nodes and incidents at the time of asking; nothing is kept. Of each
 * job only the newest generations are looked at: a page must not take longer the older a job is.
 */
#include "web/page.h"

#include <errno.h>
#include <string.h>

#include "base/outcome.h"

#define LOOKED_AT	20	/* generations of a job */

struct findings {
	struct page *page;
	unsigned int nr;
};

/* Begin a row; then come the finding's text, and page_findings_advice(). @job 0: of no job. */
static void page_findings_row(struct findings *f, bool bad, int64_t job)
{
	struct html *h = &f->page->html;

	f->nr++;
	html_raw(h, bad ? "<tr><td class=\"bad\">trouble</td><td>" : "<tr><td>notice</td><td>");
	if (job) {
		page_job_href(f->page, job, "");
		html_rawf(h, "\">job %lld</a>", (long long)job);
	}
	html_raw(h, job ? "</td><td>" : "node</td><td>");
}

static void page_findings_advice(struct findings *f, const char *advice)
{
	html_raw(&f->page->html, "</td><td>");
	html_raw(&f->page->html, advice);
	html_raw(&f->page->html, "</td></tr>\n");
}

static void page_findings_generation(struct findings *f, int64_t job, const json_t *row)
{
	const char *trust = page_str(row, "trust"), *error = page_str(row, "error");
	struct html *h = &f->page->html;
	const json_t *level;
	size_t i;

	json_array_foreach(json_object_get(row, "levels"), i, level) {
		if (strcmp(page_str(level, "state"), "damaged"))
			continue;
		page_findings_row(f, true, job);
		html_textf(h, "generation %lld is damaged on level %s",
			   (long long)page_int(row, "generation"), page_str(level, "level"));
		page_findings_advice(f, "<code>ckptctl verify</code> says more");
	}
	if (*error) {
		page_findings_row(f, true, job);
		html_rawf(h, "generation %lld cannot be read: ",
			  (long long)page_int(row, "generation"));
		html_text(h, error);
		page_findings_advice(f, "<code>ckptctl verify</code> says more; "
				     "<code>ckptctl rm</code> removes it");
	}
	if (!strcmp(trust, "suspect") || !strcmp(trust, "rejected")) {
		page_findings_row(f, true, job);
		html_rawf(h, "generation %lld is ", (long long)page_int(row, "generation"));
		html_text(h, trust);
		page_findings_advice(f, "restart from an earlier generation");
	}
}

static void page_findings_job(struct findings *f, const json_t *job)
{
	const json_t *automatic = json_object_get(job, "auto"), *row;
	const int64_t number = page_int(job, "job");
	size_t i;

	if (!strcmp(page_str(job, "state"), "lost")) {
		page_findings_row(f, true, number);
		html_raw(&f->page->html, "is lost");
		page_findings_advice(f, "<code>ckptctl restart</code> gives it back");
	}
	json_array_foreach(json_object_get(job, "silent_nodes"), i, row) {
		page_findings_row(f, true, number);
		html_textf(&f->page->html, "node %s does not answer and may run it",
			   json_string_value(row) ? json_string_value(row) : "");
		page_findings_advice(f, "<code>ckptctl recover --dry-run</code> says what can be "
				     "done");
	}
	if (*page_str(automatic, "error")) {
		page_findings_row(f, true, number);
		html_raw(&f->page->html, "the last automatic checkpoint failed: ");
		html_text(&f->page->html, page_str(automatic, "error"));
		page_findings_advice(f, "<code>ckptctl doctor</code> says what cannot be saved");
	}
	json_array_foreach(json_object_get(job, "generations"), i, row)
		page_findings_generation(f, number, row);
}

static void page_findings_nodes(struct findings *f, const json_t *outcome)
{
	const json_t *result = json_object_get(outcome, "result"), *node;
	size_t i;

	/* a node on its own has no others */
	if (!outcome_is_ok(outcome) && outcome_errno(outcome) != -ENOENT) {
		page_findings_row(f, true, 0);
		html_text(&f->page->html, page_str(json_object_get(outcome, "error"), "text"));
		page_findings_advice(f, "");
	}
	json_array_foreach(json_object_get(result, "nodes"), i, node) {
		const char *state = page_str(node, "state");

		if (strcmp(state, "answers") && strcmp(state, "this node")) {
			page_findings_row(f, true, 0);
			html_textf(&f->page->html, "%s: %s", page_str(node, "name"), state);
			page_findings_advice(f, "is <code>ckptd</code> running there?");
		}
		if (*page_str(node, "remark")) {
			page_findings_row(f, false, 0);
			html_textf(&f->page->html, "%s: %s", page_str(node, "name"),
				   page_str(node, "remark"));
			page_findings_advice(f, "");
		}
	}
}

static void page_findings_jobs(struct findings *f, const json_t *result)
{
	const json_t *job;
	size_t i;

	json_array_foreach(json_object_get(result, "jobs"), i, job)
		page_findings_job(f, job);
	json_array_foreach(json_object_get(result, "unreadable"), i, job) {
		page_findings_row(f, true, 0);
		html_textf(&f->page->html, "the record of job %lld cannot be read: %s",
			   (long long)page_int(job, "job"), page_str(job, "error"));
		page_findings_advice(f, "<code>ckptctl fsck</code> says more");
	}
}

/* Hangs that are not over. A node that looks for none has no answer, which is no finding. */
static void page_findings_hangs(struct findings *f, const json_t *outcome)
{
	const json_t *incident;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(outcome, "result"), "incidents"), i,
			   incident) {
		if (json_object_get(incident, "closed"))
			continue;
		page_findings_row(f, true, page_int(incident, "job"));
		html_textf(&f->page->html, "hangs (%s), incident i%lld",
			   page_str(incident, "cause"), (long long)page_int(incident, "incident"));
		if (*page_str(incident, "result")) {
			html_raw(&f->page->html, ": ");
			html_text(&f->page->html, page_str(incident, "result"));
		}
		page_findings_advice(f, "<code>ckptctl diag show</code> says more; "
				     "<code>ckptctl diag bundle</code> has the evidence");
	}
}

void page_findings(struct page *page)
{
	static const char *const headings[] = { "Kind", "Of", "Finding", "Advice", NULL };
	json_t *jobs = ask_call(page->ask, "list", json_pack("{s:i}", "last", LOOKED_AT));
	json_t *nodes = NULL, *incidents;
	const json_t *result;
	struct findings f = { .page = page };

	page_begin(page, "Findings");
	result = page_result(page, jobs, true);
	if (result) {
		nodes = ask_call(page->ask, "nodes", json_object());
		html_rawf(&page->html, "<p>Of your jobs, with their newest %d generations, and of "
				       "the nodes.</p>\n", LOOKED_AT);
		page_table(page, "Findings", headings);
		page_findings_jobs(&f, result);
		page_findings_nodes(&f, nodes);
		incidents = ask_call(page->ask, "incidents", json_object());
		page_findings_hangs(&f, incidents);
		json_decref(incidents);
		if (!f.nr)
			html_raw(&page->html, "<tr><td colspan=\"4\" class=\"well\">Nothing was "
					      "found.</td></tr>\n");
		page_table_end(page);
	}
	json_decref(nodes);
	json_decref(jobs);
}
