// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pages of the nodes of the hosts file, and of this node's block devices.
 *
 * Both show figures that anybody on the node may know, by the requests nodes and devices. A node
 * without a hosts file is no error: it is on its own.
 */
#include "web/page.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/outcome.h"

#define DEVICES_MS	250	/* between the two looks */

/* ------------------------------------------------------------------ nodes */

static void page_nodes_row(struct page *page, const json_t *node)
{
	const char *state = page_str(node, "state");
	const bool well = !strcmp(state, "answers") || !strcmp(state, "this node");

	html_raw(&page->html, "<tr><th scope=\"row\"><bdi>");
	html_text(&page->html, page_str(node, "name"));
	html_raw(&page->html, "</bdi></th>");
	page_cell(page, page_str(node, "address"));
	html_raw(&page->html, well ? "<td>" : "<td class=\"bad\">");
	html_text(&page->html, state);
	html_raw(&page->html, "</td>");
	page_cell_time(page, node, "since");
	page_cell_time(page, node, "heard");
	page_cell_ns(page, node, "rtt_ns");
	page_cell(page, page_str(node, "ckptd"));
	if (!json_object_get(node, "module"))
		html_raw(&page->html, "<td>–</td>");
	else
		html_raw(&page->html, page_int(node, "module") ? "<td>loaded</td>" :
			 "<td class=\"bad\">none</td>");
	page_cell(page, page_str(node, "remark"));
	html_raw(&page->html, "</tr>\n");
}

void page_nodes(struct page *page)
{
	static const char *const headings[] = {
		"Node", "Address", "State", "Since", "Heard", "#Round trip", "ckptd", "Module",
		"Remark", NULL
	};
	json_t *outcome = ask_call(page->ask, "nodes", json_object());
	const json_t *result, *node;
	size_t i;

	page_begin(page, "Nodes");
	if (outcome_errno(outcome) == -ENOENT) {
		html_raw(&page->html, "<p>This node is on its own: it has no hosts file.</p>\n");
		json_decref(outcome);
		return;
	}
	result = page_result(page, outcome, true);
	if (result) {
		page_table(page, "Nodes of the hosts file", headings);
		json_array_foreach(json_object_get(result, "nodes"), i, node)
			page_nodes_row(page, node);
		page_table_end(page);
		page_json_link(page, "/api/nodes", 0);
	}
	json_decref(outcome);
}

/* ---------------------------------------------------------------- devices */

static void page_devices_rate(struct page *page, const json_t *row, const char *name, bool bytes)
{
	if (bytes) {
		html_raw(&page->html, "<td class=\"n\">");
		html_bytes(&page->html, (int64_t)page_real(row, name));
		html_raw(&page->html, "/s</td>");
	} else {
		html_rawf(&page->html, "<td class=\"n\">%.1f</td>", page_real(row, name));
	}
}

static void page_devices_busy(struct page *page, double percent)
{
	/* <meter> is a picture that screen readers read out */
	html_rawf(&page->html, "<td class=\"n\"><meter aria-label=\"busy\" min=\"0\" max=\"100\" "
			       "high=\"90\" value=\"%.0f\"></meter> %.0f %%</td>",
		  percent, percent);
}

static void page_devices_level_rate(struct page *page, const json_t *row, const char *name)
{
	if (page_real(row, name) > 0)
		page_devices_rate(page, row, name, true);
	else
		html_raw(&page->html, "<td class=\"n\">–</td>");
}

/* The levels of the node, and whether their devices got slow. */
static void page_devices_levels(struct page *page, const json_t *levels)
{
	static const char *const headings[] = {
		"Level", "Disk", "State", "Since", "#Written", "#Usual", "#Generations", "Note",
		NULL
	};
	const json_t *row;
	size_t i;

	page_table(page, "Levels: how fast generations were written", headings);
	json_array_foreach(levels, i, row) {
		const char *state = page_str(row, "state");

		html_raw(&page->html, "<tr><th scope=\"row\"><bdi>");
		html_text(&page->html, page_str(row, "level"));
		html_raw(&page->html, "</bdi></th>");
		page_cell(page, page_str(row, "disk"));
		html_raw(&page->html,
			 strcmp(state, "degraded") ? "<td>" : "<td class=\"bad\">");
		html_text(&page->html, state);
		html_raw(&page->html, "</td>");
		page_cell_time(page, row, "since");
		page_devices_level_rate(page, row, "rate");
		page_devices_level_rate(page, row, "usual");
		page_cell_int(page, row, "probes");
		page_cell(page, page_str(row, "note"));
		html_raw(&page->html, "</tr>\n");
	}
	page_table_end(page);
}

void page_devices(struct page *page)
{
	static const char *const headings[] = {
		"Device", "#Number", "#Reads/s", "#Read", "#Each, ms", "#Writes/s", "#Written",
		"#Each, ms", "#Waiting", "#Busy", NULL
	};
	json_t *outcome = ask_call(page->ask, "devices",
				   json_pack("{s:i}", "interval_ms", DEVICES_MS));
	const json_t *result, *row;
	size_t i;

	page_begin(page, "Devices");
	result = page_result(page, outcome, true);
	if (result) {
		html_rawf(&page->html, "<p>Block devices of this node, over the last %d ms. Each: "
				       "the mean time of an operation.</p>\n", DEVICES_MS);
		page_table(page, "Block devices", headings);
		json_array_foreach(json_object_get(result, "devices"), i, row) {
			html_raw(&page->html, "<tr><th scope=\"row\">");
			html_text(&page->html, page_str(row, "device"));
			html_raw(&page->html, "</th><td class=\"n\">");
			html_text(&page->html, page_str(row, "number"));
			html_raw(&page->html, "</td>");
			page_devices_rate(page, row, "reads_per_s", false);
			page_devices_rate(page, row, "read_bytes_per_s", true);
			page_devices_rate(page, row, "read_ms", false);
			page_devices_rate(page, row, "writes_per_s", false);
			page_devices_rate(page, row, "write_bytes_per_s", true);
			page_devices_rate(page, row, "write_ms", false);
			page_cell_int(page, row, "in_flight");
			page_devices_busy(page, page_real(row, "busy_percent"));
			html_raw(&page->html, "</tr>\n");
		}
		page_table_end(page);
		if (json_object_get(result, "remark")) {
			html_raw(&page->html, "<p>");
			html_text(&page->html, page_str(result, "remark"));
			html_raw(&page->html, "</p>\n");
		}
		page_devices_levels(page, json_object_get(result, "levels"));
		page_json_link(page, "/api/dev/list", 0);
	}
	json_decref(outcome);
}
