// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page of what a job reads and writes: the answer of the request io_report, with pictures of
 * the sizes of operations and of the phases. Each picture has a table with the same figures, and
 * names of files are texts from outside.
 */
#include "web/page.h"

#include <string.h>

#include "base/cleanup.h"

#define WIDTH	960
#define BAR	14
#define HEIGHT	120
#define PHASES	72
#define BUCKETS	62

/* ---------------------------------------------------------------- summary */

/* How often the job was watched on the node where that was most often. */
static size_t page_io_watches(const json_t *spans)
{
	const json_t *span, *other;
	size_t i, k, n, most = 0;

	json_array_foreach(spans, i, span) {
		n = 0;
		json_array_foreach(spans, k, other)
			n += !strcmp(page_str(span, "node"), page_str(other, "node"));
		most = n > most ? n : most;
	}
	return most;
}

static void page_io_lost(struct page *page, const json_t *spans)
{
	int64_t missed = 0, files = 0, names = 0, full = 0;
	const json_t *span;
	size_t i;

	json_array_foreach(spans, i, span) {
		missed += page_int(span, "missed");
		files += page_int(span, "files_lost");
		names += page_int(span, "names_lost");
		full += page_int(span, "files_full");
	}
	if (missed)
		html_rawf(&page->html, " Not counted: %lld operations of the nodes&#39; jobs.",
			  (long long)missed);
	if (files)
		html_rawf(&page->html, " Counted, but not by file: %lld operations.",
			  (long long)files);
	if (names)
		html_rawf(&page->html, " %lld times a file&#39;s name was not told.",
			  (long long)names);
	if (full)
		html_raw(&page->html, " More than 100,000 files on a node: later ones are in the "
				      "sums alone.");
}

/* How the figures came, and what is missing in them. */
static void page_io_spans(struct page *page, const json_t *result)
{
	const json_t *spans = json_object_get(result, "spans");
	const json_t *last = json_array_get(spans, json_array_size(spans) - 1);
	const size_t watches = page_io_watches(spans);

	html_rawf(&page->html, "<p>Watched for %lld s", (long long)page_int(result, "seconds"));
	html_raw(&page->html, strcmp(page_str(last, "source"), "proc") ? "" :
		 ", counted by <code>/proc/PID/io</code>: without sizes, times and files");
	html_raw(&page->html, "; the last time from ");
	html_time(&page->html, page_int(last, "began"));
	html_raw(&page->html, " on.");
	if (watches > 1)
		html_rawf(&page->html, " %zu watches; in between nothing was counted.", watches);
	page_io_lost(page, spans);
	html_raw(&page->html, " ");
	html_text(&page->html, page_str(last, "why"));
	html_raw(&page->html, "</p>\n");
}

static void page_io_without(struct page *page, const char *node, const char *why)
{
	html_raw(&page->html, "<p class=\"note\">Without node <bdi>");
	html_text(&page->html, node);
	html_raw(&page->html, "</bdi>: ");
	html_text(&page->html, why);
	html_raw(&page->html, "</p>\n");
}

/* The nodes of the job that are not in the figures. */
static void page_io_missing(struct page *page, const json_t *result)
{
	const json_t *failed = json_object_get(result, "failed_nodes"), *name;
	const char *node;
	json_t *text;
	size_t i;

	json_array_foreach(json_object_get(result, "silent_nodes"), i, name)
		page_io_without(page, json_string_value(name), "it did not answer in time.");
	json_array_foreach(json_object_get(result, "unwatched_nodes"), i, name)
		page_io_without(page, json_string_value(name), "the job was never watched there.");
	json_object_foreach((json_t *)failed, node, text)
		page_io_without(page, node, json_string_value(text));
}

static void page_io_nodes(struct page *page, const json_t *result)
{
	static const char *const headings[] = {
		"Node", "#Seconds", "Counted by", "#Read", "#Written", "#Readers", "#Writers", NULL
	};
	const json_t *node;
	size_t i;

	if (!json_object_get(result, "silent_nodes"))
		return;
	html_raw(&page->html, "<h2>Nodes</h2>\n");
	page_table(page, "The job on each node", headings);
	json_array_foreach(json_object_get(result, "nodes"), i, node) {
		html_raw(&page->html, "<tr><th scope=\"row\"><bdi>");
		html_text(&page->html, page_str(node, "node"));
		html_raw(&page->html, "</bdi></th>");
		page_cell_int(page, node, "seconds");
		page_cell(page, strcmp(page_str(node, "source"), "bpf") ? "/proc/PID/io" : "BPF");
		page_cell_bytes(page, node, "read_bytes");
		page_cell_bytes(page, node, "write_bytes");
		page_cell_int(page, node, "readers");
		page_cell_int(page, node, "writers");
		html_raw(&page->html, "</tr>\n");
	}
	page_table_end(page);
}

static void page_io_verdict(struct page *page, const json_t *result)
{
	const char *bottleneck = page_str(result, "bottleneck");
	const json_t *checkpoints = json_object_get(result, "checkpoints"), *slow;
	char rate[32], usual[32];
	size_t i;

	if (*bottleneck) {
		html_raw(&page->html, "<p class=\"note\">Probable limit: ");
		html_text(&page->html, bottleneck);
		html_raw(&page->html, ".</p>\n");
	}
	if (json_is_true(json_object_get(result, "many_small_files")))
		html_raw(&page->html, "<p class=\"note\">Many small files.</p>\n");
	json_array_foreach(json_object_get(checkpoints, "slow"), i, slow) {
		html_raw(&page->html, "<p class=\"note\">");
		html_textf(&page->html, "Checkpoint %lld was slow: %s/s, usually %s/s.",
			   (long long)page_int(slow, "generation"),
			   html_bytes_text(page_int(slow, "rate"), rate),
			   html_bytes_text(page_int(slow, "usual"), usual));
		html_raw(&page->html, "</p>\n");
	}
	if (page_int(checkpoints, "number") && !page_int(checkpoints, "judged"))
		html_raw(&page->html, "<p>There are too few checkpoints to say whether one was "
				      "slow.</p>\n");
}

static void page_io_side(struct page *page, const char *name, const json_t *side,
			 const json_t *rate)
{
	html_raw(&page->html, "<tr><th scope=\"row\">");
	html_raw(&page->html, name);
	html_raw(&page->html, "</th>");
	page_cell(page, page_int(side, "files") ? page_str(side, "pattern") : "");
	page_cell_int(page, side, "processes");
	page_cell_int(page, side, "files");
	page_cell_int(page, side, "shared_files");
	page_cell_bytes(page, rate, "mean");
	page_cell_bytes(page, rate, "active");
	page_cell_bytes(page, rate, "peak");
	html_raw(&page->html, "</tr>\n");
}

static void page_io_sides(struct page *page, const json_t *result)
{
	static const char *const headings[] = {
		"", "Pattern", "#Processes", "#Files", "#Shared files", "#Mean, a second",
		"#While active", "#At best", NULL
	};
	const json_t *files = json_object_get(result, "files");

	page_table(page, "Bandwidth and pattern", headings);
	page_io_side(page, "Reading", json_object_get(files, "read"),
		     json_object_get(result, "read_rate"));
	page_io_side(page, "Writing", json_object_get(files, "write"),
		     json_object_get(result, "write_rate"));
	page_table_end(page);
}

/* ------------------------------------------------------------- operations */

static void page_io_operations(struct page *page, const json_t *ops)
{
	static const char *const headings[] = {
		"Operation", "#Number", "#Errors", "#Bytes", "#Time", NULL
	};
	const char *name;
	json_t *op;

	page_table(page, "Operations", headings);
	json_object_foreach((json_t *)ops, name, op) {
		if (!page_int(op, "count"))
			continue;
		html_raw(&page->html, "<tr><th scope=\"row\">");
		html_text(&page->html, name);
		html_raw(&page->html, "</th>");
		page_cell_int(page, op, "count");
		page_cell_int(page, op, "errors");
		page_cell_bytes(page, op, "bytes");
		page_cell_ns(page, op, "ns");
		html_raw(&page->html, "</tr>\n");
	}
	page_table_end(page);
}

static int64_t page_io_bucket(const json_t *rows, int64_t below)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (page_int(row, "below") == below)
			return page_int(row, "count");
	}
	return 0;
}

/* One entry of a legend; both texts are ours. */
static void page_io_swatch(struct page *page, const char *class, const char *name)
{
	html_raw(&page->html, "<li><svg class=\"swatch\" aria-hidden=\"true\" "
			      "viewBox=\"0 0 12 12\"><rect class=\"");
	html_raw(&page->html, class);
	html_raw(&page->html, "\" width=\"12\" height=\"12\"/></svg> ");
	html_raw(&page->html, name);
	html_raw(&page->html, "</li>");
}

struct page_io_sizes {
	int64_t below[BUCKETS], reads[BUCKETS], writes[BUCKETS], most;
	size_t nr;
};

static void page_io_sizes_bars(struct page *page, const struct page_io_sizes *s)
{
	const double step = (WIDTH - 20) / (double)(s->nr ? s->nr : 1);
	char text[32];
	size_t i;

	html_raw(&page->html, "<figure>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
			      "aria-label=\"Picture of sizes, scrolls\">");
	html_rawf(&page->html, "<svg role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
			       "aria-label=\"Sizes of operations; the table has the numbers\">",
		  WIDTH, HEIGHT + 40, WIDTH, HEIGHT + 40);
	for (i = 0; i < s->nr; i++) {
		const double x = 10 + step * (double)i + step / 2;
		const double r = (double)s->reads[i] * HEIGHT / (double)s->most;
		const double w = (double)s->writes[i] * HEIGHT / (double)s->most;

		html_rawf(&page->html, "<rect class=\"io-read\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" "
				       "height=\"%.1f\"/>", x - BAR, HEIGHT + 10 - r, BAR, r);
		html_rawf(&page->html, "<rect class=\"io-write\" x=\"%.1f\" y=\"%.1f\" "
				       "width=\"%d\" height=\"%.1f\"/>",
			  x, HEIGHT + 10 - w, BAR, w);
		html_rawf(&page->html, "<text class=\"tick\" x=\"%.1f\" y=\"%d\">", x, HEIGHT + 28);
		html_text(&page->html, html_bytes_text(s->below[i], text));
		html_raw(&page->html, "</text>");
	}
	html_rawf(&page->html, "<line class=\"axis\" x1=\"10\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
			       "</svg></div>\n<figcaption><ul class=\"legend\">",
		  WIDTH - 10, HEIGHT + 10, HEIGHT + 10);
	page_io_swatch(page, "io-read", "reads");
	page_io_swatch(page, "io-write", "writes");
	html_raw(&page->html, "</ul></figcaption></figure>\n");
}

static void page_io_sizes(struct page *page, const json_t *hists)
{
	static const char *const headings[] = { "#Below", "#Reads", "#Writes", NULL };
	const json_t *reads = json_object_get(hists, "read_size");
	const json_t *writes = json_object_get(hists, "write_size");
	struct page_io_sizes s = { .most = 1 };
	size_t i;
	int k;

	for (k = 0; k < BUCKETS; k++) {
		const int64_t r = page_io_bucket(reads, 1ll << k);
		const int64_t w = page_io_bucket(writes, 1ll << k);

		if (!r && !w)
			continue;
		s.below[s.nr] = 1ll << k;
		s.reads[s.nr] = r;
		s.writes[s.nr++] = w;
		s.most = r > s.most ? r : s.most;
		s.most = w > s.most ? w : s.most;
	}
	if (!s.nr)
		return;
	html_raw(&page->html, "<h2>Sizes</h2>\n");
	page_io_sizes_bars(page, &s);
	page_table(page, "Operations by size", headings);
	for (i = 0; i < s.nr; i++) {
		html_raw(&page->html, "<tr><th scope=\"row\" class=\"n\">");
		html_bytes(&page->html, s.below[i]);
		html_rawf(&page->html, "</th><td class=\"n\">%lld</td><td class=\"n\">%lld</td>"
				       "</tr>\n", (long long)s.reads[i], (long long)s.writes[i]);
	}
	page_table_end(page);
}

/* ----------------------------------------------------------------- phases */

static void page_io_phase_bars(struct page *page, const json_t *phases)
{
	const size_t nr = json_array_size(phases);
	const json_t *end = json_array_get(phases, nr - 1), *p;
	const int64_t from = page_int(json_array_get(phases, 0), "began");
	const int64_t to = page_int(end, "began") + page_int(end, "seconds");
	const double scale = (WIDTH - 20) / (double)(to > from ? to - from : 1);
	char text[32];
	size_t i;

	html_raw(&page->html, "<figure>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
			      "aria-label=\"Picture of phases, scrolls\">");
	html_rawf(&page->html, "<svg role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
			       "aria-label=\"Phases; the table has the numbers\">",
		  WIDTH, PHASES, WIDTH, PHASES);
	json_array_foreach(phases, i, p) {
		const double x = 10 + scale * (double)(page_int(p, "began") - from);
		const double width = scale * (double)page_int(p, "seconds");
		const char *kind = page_str(p, "kind");

		html_raw(&page->html, !strcmp(kind, "read") ? "<rect class=\"io-read\"" :
			 !strcmp(kind, "write") ? "<rect class=\"io-write\"" :
			 "<rect class=\"io-mixed\"");
		html_rawf(&page->html, " x=\"%.1f\" y=\"10\" width=\"%.1f\" height=\"40\"/>", x,
			  width < 2 ? 2 : width);
	}
	html_rawf(&page->html, "<line class=\"axis\" x1=\"10\" x2=\"%d\" y1=\"50\" y2=\"50\"/>"
			       "<text class=\"begin\" x=\"10\" y=\"66\">", WIDTH - 10);
	html_text(&page->html, html_time_text(from, text));
	html_rawf(&page->html, "</text><text class=\"end\" x=\"%d\" y=\"66\">", WIDTH - 10);
	html_text(&page->html, html_time_text(to, text));
	html_raw(&page->html, "</text></svg></div>\n<figcaption><ul class=\"legend\">");
	page_io_swatch(page, "io-read", "reads");
	page_io_swatch(page, "io-write", "writes");
	page_io_swatch(page, "io-mixed", "both");
	html_raw(&page->html, "</ul></figcaption></figure>\n");
}

static void page_io_phases(struct page *page, const json_t *phases)
{
	static const char *const headings[] = {
		"Began", "#Seconds", "Kind", "#Read", "#Written", NULL
	};
	size_t i = json_array_size(phases);

	if (!i)
		return;
	html_raw(&page->html, "<h2>Phases</h2>\n");
	page_io_phase_bars(page, phases);
	page_table(page, "Phases, the newest first", headings);
	while (i--) {
		const json_t *p = json_array_get(phases, i);

		html_raw(&page->html, "<tr>");
		page_cell_time(page, p, "began");
		page_cell_int(page, p, "seconds");
		page_cell(page, page_str(p, "kind"));
		page_cell_bytes(page, p, "read_bytes");
		page_cell_bytes(page, p, "write_bytes");
		html_raw(&page->html, "</tr>\n");
	}
	page_table_end(page);
}

/* The phases that were slower than those of earlier runs. */
static void page_io_anomalies(struct page *page, const json_t *anomalies)
{
	static const char *const headings[] = {
		"Began", "Node", "#Seconds", "Kind", "#A second", "#Usual", "#Like it",
		"Probably", NULL
	};
	const json_t *list = json_object_get(anomalies, "list");
	size_t i = json_array_size(list);

	if (!i)
		return;
	html_rawf(&page->html, "<h2>Slower than usual</h2>\n<p>%zu of %lld phases, compared with "
			       "those of your runs of the program.", i,
		  (long long)page_int(anomalies, "judged"));
	if (page_int(anomalies, "left_out"))
		html_rawf(&page->html, " %lld older ones were not looked at.",
			  (long long)page_int(anomalies, "left_out"));
	html_raw(&page->html, "</p>\n");
	page_table(page, "Phases that were slower than usual, the newest first", headings);
	while (i--) {
		const json_t *p = json_array_get(list, i);

		html_raw(&page->html, "<tr>");
		page_cell_time(page, p, "began");
		html_raw(&page->html, "<td><bdi>");
		html_text(&page->html, page_str(p, "node"));
		html_raw(&page->html, "</bdi></td>");
		page_cell_int(page, p, "seconds");
		page_cell(page, page_str(p, "kind"));
		page_cell_bytes(page, p, "rate");
		page_cell_bytes(page, p, "usual");
		page_cell_int(page, p, "compared");
		page_cell(page, page_str(p, "text"));
		html_raw(&page->html, "</tr>\n");
	}
	page_table_end(page);
}

/* ------------------------------------------------------------------ files */

static void page_io_file(struct page *page, const json_t *f)
{
	const bool r = json_is_true(json_object_get(f, "shared_read"));
	const bool w = json_is_true(json_object_get(f, "shared_write"));
	const char *path = page_str(f, "path"), *last = page_str(f, "last_name");

	html_raw(&page->html, "<tr><th scope=\"row\" class=\"path\"><bdi>");
	if (*path)
		html_text(&page->html, path);
	else if (*last)
		html_textf(&page->html, ".../%s", last);
	else
		html_textf(&page->html, "inode %lld of device %s", (long long)page_int(f, "inode"),
			   page_str(f, "device"));
	html_raw(&page->html, "</bdi></th>");
	page_cell_bytes(page, f, "read_bytes");
	page_cell_bytes(page, f, "write_bytes");
	page_cell_int(page, f, "reads");
	page_cell_int(page, f, "writes");
	page_cell_int(page, f, "opens");
	page_cell(page, r && w ? "both" : w ? "written" : r ? "read" : "");
	page_cell_int(page, f, "nodes");
	html_raw(&page->html, "</tr>\n");
}

static void page_io_files(struct page *page, const json_t *files)
{
	static const char *const headings[] = {
		"File", "#Read", "#Written", "#Reads", "#Writes", "#Opens", "Shared", "#Nodes",
		NULL
	};
	const json_t *f;
	size_t i;

	if (!page_int(files, "number"))
		return;
	html_rawf(&page->html, "<h2>Files</h2>\n<p>%lld files; those with most bytes are "
			       "shown.</p>\n", (long long)page_int(files, "number"));
	page_table(page, "Files with most bytes", headings);
	json_array_foreach(json_object_get(files, "list"), i, f)
		page_io_file(page, f);
	page_table_end(page);
}

/* ------------------------------------------------------------------- page */

void page_io(struct page *page)
{
	const json_int_t job = (json_int_t)page->route->job;
	json_t *list = ask_call(page->ask, "list", json_pack("{s:I, s:i}", "job", job, "last", 1));
	json_t *outcome = NULL;
	const json_t *result = NULL;

	if (page_job_head(page, list)) {
		outcome = ask_call(page->ask, "io_report", json_pack("{s:I}", "job", job));
		html_raw(&page->html, "<h2>What it reads and writes</h2>\n");
		result = page_result(page, outcome, true);
		if (!result)
			html_rawf(&page->html, "<p><code>ckptctl io watch %lld on</code> begins to "
					       "count.</p>\n", (long long)job);
	}
	if (result) {
		page_io_spans(page, result);
		page_io_missing(page, result);
		page_io_verdict(page, result);
		page_io_sides(page, result);
		page_io_nodes(page, result);
		page_io_phases(page, json_object_get(result, "phases"));
		page_io_anomalies(page, json_object_get(result, "anomalies"));
		html_raw(&page->html, "<h2>Operations</h2>\n");
		page_io_operations(page, json_object_get(result, "operations"));
		page_io_sizes(page, json_object_get(result, "histograms"));
		page_io_files(page, json_object_get(result, "files"));
		page_json_link(page, "/api/io/report?", page->route->job);
	}
	json_decref(outcome);
	json_decref(list);
}
