// SPDX-License-Identifier: GPL-2.0-only
/*
 * Judged phases between nodes and in reports; see io_judged.h.
 *
 * Owns the bounds of what another node may say, the comparison among nodes, and the words for
 * causes.
 */
#include "supervisor/iotrace/io_judged.h"

#include <errno.h>
#include <stdlib.h>

#define FIELDS		12
#define NUMBER_MAX	((json_int_t)1 << 62)
#define RATE_MAX	((json_int_t)1 << 53)	/* each integer up to it is a double */
#define SECONDS_MAX	((json_int_t)1 << 40)
#define LONGEST_S	86400	/* phases that began so long before may overlap */

/* -------------------------------------------------------- between nodes */

static json_int_t io_judged_whole(double number)
{
	return number > 0 ? number < (double)RATE_MAX ? (json_int_t)number : RATE_MAX : 0;
}

json_t *io_judged_encode(const struct io_judged *judged, size_t n)
{
	json_t *rows = json_array();
	size_t i;

	for (i = 0; i < n; i++) {
		const struct io_judged *p = &judged[i];
		const struct anomaly_judgement *j = &p->judgement;

		json_array_append_new(rows, json_pack(
			"[I, I, i, i, i, i, I, I, I, I, i, I]", (json_int_t)p->began,
			(json_int_t)p->seconds, (int)p->kind, (int)j->verdict, (int)j->few,
			(int)j->compared, io_judged_whole(j->rate), io_judged_whole(j->usual),
			io_judged_whole(j->operation), io_judged_whole(j->usual_operation),
			(int)p->cause, (json_int_t)p->by));
	}
	return rows;
}

static bool io_judged_decode_row(const json_t *row, struct io_judged *ret_judged)
{
	/* the largest number of each field */
	static const json_int_t most[FIELDS] = {
		SECONDS_MAX, SECONDS_MAX, ANOMALY_MIXED, ANOMALY_ABNORMAL, 1, ANOMALY_MAX,
		RATE_MAX, RATE_MAX, RATE_MAX, RATE_MAX, ANOMALY_CHECKPOINT, NUMBER_MAX,
	};
	json_int_t n[FIELDS];
	size_t i;

	if (json_array_size(row) != FIELDS)
		return false;
	for (i = 0; i < FIELDS; i++) {
		n[i] = json_integer_value(json_array_get(row, i));
		if (!json_is_integer(json_array_get(row, i)) || n[i] < 0 || n[i] > most[i])
			return false;
	}
	*ret_judged = (struct io_judged){
		.began = n[0], .seconds = n[1], .kind = (enum anomaly_kind)n[2],
		.judgement = {
			.verdict = (enum anomaly_verdict)n[3], .few = n[4],
			.compared = (unsigned int)n[5], .rate = (double)n[6],
			.usual = (double)n[7], .operation = (double)n[8],
			.usual_operation = (double)n[9],
		},
		.cause = (enum anomaly_cause)n[10], .by = n[11],
	};
	return true;
}

int io_judged_decode(const json_t *json, struct io_judged *ret_judged)
{
	const json_t *row;
	size_t i;

	if (json && (!json_is_array(json) || json_array_size(json) > IO_JUDGED_MAX))
		return -EBADMSG;
	json_array_foreach(json, i, row) {
		if (!io_judged_decode_row(row, &ret_judged[i]))
			return -EBADMSG;
	}
	return (int)json_array_size(json);
}

/* ---------------------------------------------------------- among nodes */

static int io_judged_compare(const void *a, const void *b)
{
	const struct io_judged *x = a, *y = b;

	return x->began != y->began ? (x->began > y->began) - (x->began < y->began) :
				      (x->node > y->node) - (x->node < y->node);
}

void io_judged_sort(struct io_judged *judged, size_t n)
{
	if (n)
		qsort(judged, n, sizeof(*judged), io_judged_compare);
}

static bool io_judged_overlaps(const struct io_judged *p, const struct io_judged *q)
{
	return q->node != p->node && q->kind == p->kind &&
	       q->began < p->began + p->seconds && p->began < q->began + q->seconds;
}

static enum anomaly_cause io_judged_among(const struct io_judged *judged, size_t n, size_t which)
{
	const struct io_judged *p = &judged[which];
	size_t usual = 0, abnormal = 0, i;

	for (i = which; i && judged[i - 1].began > p->began - LONGEST_S; i--)
		;
	for (; i < n && judged[i].began < p->began + p->seconds; i++) {
		if (!io_judged_overlaps(p, &judged[i]))
			continue;
		if (judged[i].cause == ANOMALY_CHECKPOINT)
			return ANOMALY_CHECKPOINT;
		usual += judged[i].judgement.verdict == ANOMALY_USUAL;
		abnormal += judged[i].judgement.verdict == ANOMALY_ABNORMAL;
	}
	return usual > abnormal ? ANOMALY_NODE : abnormal > usual ? ANOMALY_ALL_NODES :
	       ANOMALY_UNTOLD;
}

void io_judged_settle(struct io_judged *judged, size_t n)
{
	size_t i = n, looked = 0;

	while (i-- && looked < IO_JUDGED_LIST) {
		if (judged[i].judgement.verdict != ANOMALY_ABNORMAL)
			continue;
		looked++;
		if (judged[i].cause == ANOMALY_UNTOLD)
			judged[i].cause = io_judged_among(judged, n, i);
	}
}

/* ----------------------------------------------------------------- words */

static json_t *io_judged_text(const struct io_judged *p)
{
	switch (p->cause) {
	case ANOMALY_NEIGHBOUR:
		return p->by ? json_sprintf("interference by job %lld", (long long)p->by) :
		       json_string("interference by another user's job");
	case ANOMALY_CROWD:
		return json_string("likely interference: several jobs used the node");
	case ANOMALY_OPERATIONS:
		return json_sprintf("configuration: operations of %.0f bytes, usually %.0f",
				    p->judgement.operation, p->judgement.usual_operation);
	case ANOMALY_DEVICE:
		return json_string("a degraded device of the node: ckptctl dev list");
	case ANOMALY_CHECKPOINT:
		return json_string("a checkpoint of the job: ckptctl stats");
	case ANOMALY_NODE:
		return json_string("a degraded node or device: the job's other nodes were as fast "
				   "as usual");
	case ANOMALY_ALL_NODES:
		return json_string("configuration, or storage that all nodes use: the others were "
				   "slow, too");
	default:
		return json_string("configuration, or a degraded node or device");
	}
}

static json_t *io_judged_row(const struct io_judged *p, const json_t *nodes)
{
	const struct anomaly_judgement *j = &p->judgement;
	json_t *row = json_pack("{s:I, s:I, s:s, s:I, s:I, s:i, s:b, s:s, s:o}",
				"began", (json_int_t)p->began, "seconds", (json_int_t)p->seconds,
				"kind", anomaly_kind_name(p->kind),
				"rate", io_judged_whole(j->rate),
				"usual", io_judged_whole(j->usual), "compared", (int)j->compared,
				"few", j->few, "cause", anomaly_cause_name(p->cause),
				"text", io_judged_text(p));

	if (nodes)
		json_object_set(row, "node", json_object_get(json_array_get(nodes, p->node),
							     "node"));
	if (p->cause == ANOMALY_NEIGHBOUR && p->by)
		json_object_set_new(row, "by", json_integer(p->by));
	return row;
}

json_t *io_judged_json(const struct io_judged *judged, size_t n, uint64_t left_out,
		       const json_t *nodes)
{
	size_t i, known = 0, few = 0, abnormal = 0, skip, skipped;
	json_t *list = json_array();

	for (i = 0; i < n; i++) {
		known += judged[i].judgement.verdict != ANOMALY_UNKNOWN;
		few += judged[i].judgement.few;
		abnormal += judged[i].judgement.verdict == ANOMALY_ABNORMAL;
	}
	skipped = skip = abnormal > IO_JUDGED_LIST ? abnormal - IO_JUDGED_LIST : 0;
	for (i = 0; i < n; i++) {
		if (judged[i].judgement.verdict != ANOMALY_ABNORMAL)
			continue;
		if (skip)
			skip--;
		else
			json_array_append_new(list, io_judged_row(&judged[i], nodes));
	}
	return json_pack("{s:I, s:I, s:I, s:o, s:I, s:b}", "judged", (json_int_t)known,
			 "few", (json_int_t)few, "unknown", (json_int_t)(n - known), "list", list,
			 "left_out", (json_int_t)left_out, "more", left_out || skipped);
}
