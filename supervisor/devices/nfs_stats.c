// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of NFS mounts; see nfs_stats.h.
 *
 * Reads /proc/self/mountstats and mountinfo, and calls nothing that asks a server: no stat, no
 * statfs.
 */
#include "supervisor/devices/nfs_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/devices/counters.h"

#define OP_NUMBERS	8	/* and a ninth from Linux 5.3 on */
#define BYTES_NUMBERS	8
#define SERVER_READ	4
#define SERVER_WRITE	5

/* The mounts so far, and where in the text the parser is. */
struct nfs_parser {
	struct nfs_mounts found;
	struct nfs_mount *mount;	/* whose lines these are; NULL: of another file system */
	bool in_ops;
};

static void nfs_mount_free(struct nfs_mount *mount)
{
	free(mount->source);
	free(mount->dir);
	free(mount->ops);
}

void nfs_mounts_free(struct nfs_mounts *mounts)
{
	size_t i;

	for (i = 0; i < mounts->nr; i++)
		nfs_mount_free(&mounts->mounts[i]);
	free(mounts->mounts);
	*mounts = (struct nfs_mounts){};
}

/* ----------------------------------------------------------------- parser */

/* Take the numbers of a line, up to @max; how many there are. */
static size_t nfs_numbers(const char *text, uint64_t *numbers, size_t max)
{
	size_t n = 0;

	while (n < max && counter_next(&text, &numbers[n]))
		n++;
	/* something that is no number makes the line none */
	return text[strspn(text, " \t\n")] && n < max ? 0 : n;
}

/*
 * "device SOURCE mounted on DIR with fstype TYPE ...", all but the first words escaped; -ENOENT: no
 * such line, or not of NFS.
 */
static int nfs_parse_head(char *line, struct nfs_mount *ret_mount)
{
	static const char *const fixed[] = { "device", NULL, "mounted", "on", NULL, "with",
					     "fstype", NULL };
	char *words[sizeof(fixed) / sizeof(fixed[0])], *save = NULL;
	struct nfs_mount mount = {};
	size_t i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		words[i] = strtok_r(i ? NULL : line, " \n", &save);
		if (!words[i] || (fixed[i] && strcmp(fixed[i], words[i])))
			return -ENOENT;
	}
	mount.is_v4 = !strcmp(words[7], "nfs4");
	if (!mount.is_v4 && strcmp(words[7], "nfs"))
		return -ENOENT;
	mount_unescape(words[1]);
	mount_unescape(words[4]);
	mount.source = strdup(words[1]);
	mount.dir = strdup(words[4]);
	if (!mount.source || !mount.dir) {
		nfs_mount_free(&mount);
		return -ENOMEM;
	}
	*ret_mount = mount;
	return 0;
}

/* The number of the mount's device: of the last mount at its directory, which hides others. */
static void nfs_number(const struct mount_table *table, struct nfs_mount *mount)
{
	const struct mount_entry *e = table ? mount_table_at(table, mount->dir) : NULL;

	if (e && !strcmp(e->dir, mount->dir) && mount_entry_is_served(e))
		snprintf(mount->number, sizeof(mount->number), "%u:%u", e->major, e->minor);
}

static int nfs_begin(struct nfs_parser *p, struct nfs_mount *mount, const struct mount_table *table)
{
	struct nfs_mounts *found = &p->found;
	struct nfs_mount *more;

	p->mount = NULL;
	nfs_number(table, mount);
	if (nfs_mounts_of(found, mount->number) || found->nr == NFS_MOUNTS_MAX) {
		found->cut |= found->nr == NFS_MOUNTS_MAX;
		nfs_mount_free(mount);
		return 0;
	}
	more = realloc(found->mounts, (found->nr + 1) * sizeof(*more));
	if (!more) {
		nfs_mount_free(mount);
		return -ENOMEM;
	}
	found->mounts = more;
	more[found->nr] = *mount;
	p->mount = &more[found->nr++];
	p->in_ops = false;
	return 0;
}

static bool nfs_is_name(const char *name, size_t n)
{
	return n && n < NFS_OP_NAME &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == n;
}

/* "        WRITE: COUNT TRANSMISSIONS TIMEOUTS SENT RECEIVED QUEUE RTT EXECUTE [ERRORS]" */
static int nfs_parse_op(struct nfs_mount *mount, const char *line)
{
	uint64_t n[OP_NUMBERS + 1] = {};
	const char *colon = strchr(line, ':');
	struct nfs_op *op, *more;

	if (!colon || !nfs_is_name(line, (size_t)(colon - line)) ||
	    nfs_numbers(colon + 1, n, OP_NUMBERS + 1) < OP_NUMBERS || !n[0] ||
	    mount->nr_ops == NFS_OPS_MAX)
		return 0;
	more = realloc(mount->ops, (mount->nr_ops + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	mount->ops = more;
	op = &more[mount->nr_ops++];
	*op = (struct nfs_op){
		.count = n[0], .transmissions = n[1], .timeouts = n[2], .sent = n[3],
		.received = n[4], .queue_ms = n[5], .rtt_ms = n[6], .execute_ms = n[7],
		.errors = n[8],
	};
	memcpy(op->name, line, (size_t)(colon - line));
	return 0;
}

static int nfs_parse_line(struct nfs_parser *p, const char *line)
{
	uint64_t n[BYTES_NUMBERS];

	line += strspn(line, " \t");
	if (!strncmp(line, "age:", 4)) {
		if (nfs_numbers(line + 4, n, 1) == 1)
			p->mount->age_s = n[0];
	} else if (!strncmp(line, "bytes:", 6)) {
		if (nfs_numbers(line + 6, n, BYTES_NUMBERS) == BYTES_NUMBERS) {
			p->mount->read_bytes = n[SERVER_READ];
			p->mount->written_bytes = n[SERVER_WRITE];
		}
	} else if (!strncmp(line, "per-op statistics", 17)) {
		p->in_ops = true;
	} else if (p->in_ops) {
		return nfs_parse_op(p->mount, line);
	}
	return 0;
}

int nfs_mounts_parse(FILE *f, const struct mount_table *table, struct nfs_mounts *ret_mounts)
{
	struct nfs_parser p = {};
	struct nfs_mount mount;
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	while (!err && getline(&line, &size, f) > 0) {
		/* lines of a mount are indented */
		if (!strchr(" \t\n", *line)) {
			p.mount = NULL;
			err = nfs_parse_head(line, &mount);
			err = err ? err : nfs_begin(&p, &mount, table);
			err = err == -ENOENT ? 0 : err;
		} else if (p.mount) {
			err = nfs_parse_line(&p, line);
		}
	}
	free(line);
	if (err)
		nfs_mounts_free(&p.found);
	else
		*ret_mounts = p.found;
	return err;
}

int nfs_mounts_read(struct nfs_mounts *ret_mounts)
{
	FILE *f = fopen("/proc/self/mountstats", "re");
	struct mount_table table = {};
	int err = f ? mount_table_read(&table) : -errno;

	if (!err)
		err = nfs_mounts_parse(f, &table, ret_mounts);
	mount_table_free(&table);
	if (f)
		fclose(f);
	return err;
}

/* ------------------------------------------------------------- differences */

const struct nfs_mount *nfs_mounts_of(const struct nfs_mounts *mounts, const char *number)
{
	size_t i;

	for (i = 0; *number && i < mounts->nr; i++) {
		if (!strcmp(mounts->mounts[i].number, number))
			return &mounts->mounts[i];
	}
	return NULL;
}

const struct nfs_mount *nfs_mounts_find(const struct nfs_mounts *mounts,
					const struct nfs_mount *mount)
{
	size_t i;

	for (i = 0; i < mounts->nr; i++) {
		const struct nfs_mount *one = &mounts->mounts[i];

		/* a younger one was mounted anew */
		if (!strcmp(one->source, mount->source) && !strcmp(one->dir, mount->dir))
			return one->age_s <= mount->age_s ? one : NULL;
	}
	return NULL;
}

const struct nfs_op *nfs_mount_op(const struct nfs_mount *mount, const char *name)
{
	size_t i;

	for (i = 0; mount && i < mount->nr_ops; i++) {
		if (!strcmp(mount->ops[i].name, name))
			return &mount->ops[i];
	}
	return NULL;
}

struct nfs_op nfs_op_since(const struct nfs_op *now, const struct nfs_op *before)
{
	struct nfs_op d = *now;

	/* all of an operation begins anew, or nothing does */
	if (!before || before->count > now->count)
		return d;
	d.count -= before->count;
	d.transmissions = counter_since(now->transmissions, before->transmissions);
	d.timeouts = counter_since(now->timeouts, before->timeouts);
	d.sent = counter_since(now->sent, before->sent);
	d.received = counter_since(now->received, before->received);
	d.queue_ms = counter_since(now->queue_ms, before->queue_ms);
	d.rtt_ms = counter_since(now->rtt_ms, before->rtt_ms);
	d.execute_ms = counter_since(now->execute_ms, before->execute_ms);
	d.errors = counter_since(now->errors, before->errors);
	return d;
}

uint64_t nfs_op_again(const struct nfs_op *op)
{
	return op->transmissions > op->count ? op->transmissions - op->count : 0;
}

static json_t *nfs_op_json(const struct nfs_op *d, uint64_t total, uint64_t ms)
{
	return json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I}", "name", d->name,
			 "total", (json_int_t)counter_bounded(total), "per_s",
			 1000 * counter_per(d->count, ms), "queue_ms",
			 counter_per(d->queue_ms, d->count), "rtt_ms",
			 counter_per(d->rtt_ms, d->count), "execute_ms",
			 counter_per(d->execute_ms, d->count), "retransmissions",
			 (json_int_t)counter_bounded(nfs_op_again(d)), "timeouts",
			 (json_int_t)counter_bounded(d->timeouts), "errors",
			 (json_int_t)counter_bounded(d->errors), "sent_bytes",
			 (json_int_t)counter_bounded(d->sent), "received_bytes",
			 (json_int_t)counter_bounded(d->received));
}

/* The operation of the mount since @before; all zero if it was not used. */
static struct nfs_op nfs_mount_since(const struct nfs_mount *before, const struct nfs_mount *now,
				     const char *name)
{
	const struct nfs_op *op = nfs_mount_op(now, name);

	return op ? nfs_op_since(op, nfs_mount_op(before, name)) : (struct nfs_op){};
}

json_t *nfs_rates(const struct nfs_mount *before, const struct nfs_mount *now, uint64_t ms)
{
	const struct nfs_op reads = nfs_mount_since(before, now, "READ");
	const struct nfs_op writes = nfs_mount_since(before, now, "WRITE");
	json_t *ops = json_array();
	uint64_t again = 0, timeouts = 0;
	size_t i;

	for (i = 0; i < now->nr_ops; i++) {
		const struct nfs_op d = nfs_mount_since(before, now, now->ops[i].name);

		again += nfs_op_again(&d);
		timeouts += d.timeouts;
		json_array_append_new(ops, nfs_op_json(&d, now->ops[i].count, ms));
	}
	return json_pack(
		"{s:o, s:o, s:s, s:i, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:o}",
		"source", outcome_text(now->source), "dir", outcome_text(now->dir), "number",
		now->number, "version", now->is_v4 ? 4 : 3, "age_s",
		(json_int_t)counter_bounded(now->age_s), "read_bytes",
		(json_int_t)counter_bounded(now->read_bytes), "written_bytes",
		(json_int_t)counter_bounded(now->written_bytes), "reads_per_s",
		1000 * counter_per(reads.count, ms), "read_bytes_per_s",
		1000 * counter_per(counter_since(now->read_bytes, before ? before->read_bytes : 0),
				   ms),
		"read_ms", counter_per(reads.rtt_ms, reads.count), "writes_per_s",
		1000 * counter_per(writes.count, ms), "write_bytes_per_s",
		1000 * counter_per(counter_since(now->written_bytes,
						 before ? before->written_bytes : 0), ms),
		"write_ms", counter_per(writes.rtt_ms, writes.count), "retransmissions",
		(json_int_t)counter_bounded(again), "timeouts",
		(json_int_t)counter_bounded(timeouts), "operations", ops);
}
