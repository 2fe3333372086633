// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parsing the text of Lustre's client, and its rates; see lustre_stats.h.
 *
 * Pure: lustre_read.c reads the files. No text is trusted to end where it should, and no
 * counter to grow.
 */
#include "supervisor/devices/lustre_stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/devices/counters.h"

/* ----------------------------------------------------------------- parsers */

/* The rest of the first line that begins with @name, after blanks; NULL: there is none. */
static const char *lustre_line(const char *text, const char *name)
{
	const size_t n = strlen(name);
	const char *end;

	for (; text; text = end ? end + 1 : NULL) {
		end = strchr(text, '\n');
		text += strspn(text, " \t");
		if (!strncmp(text, name, n))
			return text + n;
	}
	return NULL;
}

int lustre_parse_stats(const char *text, const char *name, struct lustre_count *ret_count)
{
	char key[LUSTRE_NAME];
	struct lustre_count found = {};
	const char *line;
	uint64_t least, most, sum;

	snprintf(key, sizeof(key), "%s ", name);
	line = lustre_line(text, key);
	if (!line || !counter_next(&line, &found.count))
		return -ENOENT;
	line += strspn(line, " \t");
	if (strncmp(line, "samples [", 9) || strcspn(line, "]") >= strcspn(line, "\n"))
		return -ENOENT;
	line += strcspn(line, "]") + 1;
	if (counter_next(&line, &least) && counter_next(&line, &most) && counter_next(&line, &sum))
		found.sum = sum;
	*ret_count = found;
	return 0;
}

int lustre_parse_import(const char *text, char *ret_state)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	const char *line = lustre_line(text, "state: ");
	size_t n;

	if (!line)
		return -EBADMSG;
	n = strspn(line, letters);
	if (!n || n > 15 || (line[n] && line[n] != '\n' && line[n] != ' '))
		return -EBADMSG;
	memcpy(ret_state, line, n);
	ret_state[n] = '\0';
	return 0;
}

int lustre_parse_rpcs(const char *text, uint64_t in_flight[2], uint64_t pending_pages[2])
{
	static const char *const names[] = {
		"read RPCs in flight:", "write RPCs in flight:", "pending read pages:",
		"pending write pages:",
	};
	uint64_t *const values[] = { &in_flight[0], &in_flight[1], &pending_pages[0],
				     &pending_pages[1] };
	int err = -EBADMSG;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *line = lustre_line(text, names[i]);

		if (line && counter_next(&line, values[i]))
			err = 0;
	}
	return err;
}

int lustre_parse_target(const char *name, const char *kind, char *ret_fs, char *ret_target,
			char *ret_instance)
{
	char middle[16];
	const char *instance = NULL, *target = NULL, *s;
	size_t fs;

	snprintf(middle, sizeof(middle), "-%s-", kind);
	for (s = strstr(name, middle); s; s = strstr(s + 1, middle))
		instance = s;
	if (!instance)
		return -EBADMSG;
	for (s = strchr(name, '-'); s && s < instance; s = strchr(s + 1, '-'))
		target = s;
	fs = target ? (size_t)(target - name) : 0;
	s = instance + strlen(middle);
	if (!fs || fs >= LUSTRE_NAME || instance - target < 2 ||
	    instance - target > LUSTRE_NAME || !*s || strlen(s) >= LUSTRE_NAME)
		return -EBADMSG;
	snprintf(ret_fs, LUSTRE_NAME, "%.*s", (int)fs, name);
	snprintf(ret_target, LUSTRE_NAME, "%.*s", (int)(instance - target - 1), target + 1);
	snprintf(ret_instance, LUSTRE_NAME, "%s", s);
	return 0;
}

/* ------------------------------------------------------------- differences */

const struct lustre_client *lustre_find(const struct lustre_clients *clients,
					const struct lustre_client *client)
{
	size_t i;

	for (i = 0; i < clients->nr; i++) {
		if (!strcmp(clients->clients[i].fs, client->fs) &&
		    !strcmp(clients->clients[i].instance, client->instance))
			return &clients->clients[i];
	}
	return NULL;
}

bool lustre_state_is_good(const char *state)
{
	return !*state || !strcmp(state, "FULL") || !strcmp(state, "IDLE");
}

struct lustre_count lustre_since(struct lustre_count now, struct lustre_count before)
{
	/* both begin anew, or none does: somebody wrote to the file, or it is another mount */
	if (now.count < before.count || now.sum < before.sum)
		return now;
	return (struct lustre_count){ now.count - before.count, now.sum - before.sum };
}

static double lustre_each_ms(struct lustre_count us)
{
	return counter_per(us.sum, us.count) / 1000;
}

const struct lustre_target *lustre_target_before(const struct lustre_client *before,
						 const struct lustre_target *now)
{
	size_t i;

	for (i = 0; before && i < before->nr_targets; i++) {
		if (before->targets[i].is_ost == now->is_ost &&
		    !strcmp(before->targets[i].name, now->name))
			return &before->targets[i];
	}
	return NULL;
}

/* The target, with what came between the looks as its counts. */
static struct lustre_target lustre_target_since(const struct lustre_client *before,
						const struct lustre_target *now)
{
	const struct lustre_target *b = lustre_target_before(before, now);
	struct lustre_target d = *now;

	if (!b)
		return d;
	d.read = lustre_since(now->read, b->read);
	d.write = lustre_since(now->write, b->write);
	d.read_us = lustre_since(now->read_us, b->read_us);
	d.write_us = lustre_since(now->write_us, b->write_us);
	d.wait_us = lustre_since(now->wait_us, b->wait_us);
	return d;
}

static json_t *lustre_target_json(const struct lustre_target *d, uint64_t ms)
{
	return json_pack(
		"{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I}", "target", d->name,
		"state", d->state, "reads_per_s", 1000 * counter_per(d->read.count, ms),
		"read_bytes_per_s", 1000 * counter_per(d->read.sum, ms), "read_ms",
		lustre_each_ms(d->read_us), "writes_per_s",
		1000 * counter_per(d->write.count, ms), "write_bytes_per_s",
		1000 * counter_per(d->write.sum, ms), "write_ms", lustre_each_ms(d->write_us),
		"wait_ms", lustre_each_ms(d->wait_us), "in_flight",
		(json_int_t)counter_bounded(d->in_flight[0] + d->in_flight[1]), "pending_pages",
		(json_int_t)counter_bounded(d->pending_pages[0] + d->pending_pages[1]));
}

static void lustre_add(struct lustre_count *sum, struct lustre_count one)
{
	sum->count += one.count;
	sum->sum += one.sum;
}

json_t *lustre_rates(const struct lustre_client *before, const struct lustre_client *now,
		     uint64_t ms)
{
	const struct lustre_count none = {};
	const struct lustre_count reads = lustre_since(now->read, before ? before->read : none);
	const struct lustre_count writes = lustre_since(now->write, before ? before->write : none);
	struct lustre_count read_us = {}, write_us = {};
	json_t *targets = json_array();
	uint64_t in_flight = 0, bad = 0;
	size_t i;

	for (i = 0; i < now->nr_targets; i++) {
		const struct lustre_target d = lustre_target_since(before, &now->targets[i]);

		lustre_add(&read_us, d.read_us);
		lustre_add(&write_us, d.write_us);
		in_flight += d.in_flight[0] + d.in_flight[1];
		bad += !lustre_state_is_good(d.state);
		json_array_append_new(targets, lustre_target_json(&d, ms));
	}
	return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:o}", "fs",
			 now->fs, "instance", now->instance, "reads_per_s",
			 1000 * counter_per(reads.count, ms), "read_bytes_per_s",
			 1000 * counter_per(reads.sum, ms), "read_ms", lustre_each_ms(read_us),
			 "writes_per_s", 1000 * counter_per(writes.count, ms), "write_bytes_per_s",
			 1000 * counter_per(writes.sum, ms), "write_ms", lustre_each_ms(write_us),
			 "read_bytes", (json_int_t)counter_bounded(now->read.sum), "written_bytes",
			 (json_int_t)counter_bounded(now->write.sum), "in_flight",
			 (json_int_t)counter_bounded(in_flight), "disconnected",
			 (json_int_t)counter_bounded(bad), "targets", targets);
}
