// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading the files of Lustre's client; see lustre_stats.h.
 *
 * Opens files named stats, rpc_stats and import, and no others: some of their neighbours ask a
 * server when they are read. Import is read by a child, which the parent waits for with a deadline.
 */
#include "supervisor/devices/lustre_stats.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/devices/asked.h"

#define TEXT_MAX	65536	/* of a file; a longer one is cut */

static const char *const lustre_places[] = {
	"proc/fs/lustre", "sys/fs/lustre", "sys/kernel/debug/lustre",
};

#define PLACES	(sizeof(lustre_places) / sizeof(lustre_places[0]))

struct lustre_reader {
	const char *root;
	struct lustre_clients found;
	size_t nr_targets;
	char text[TEXT_MAX];
};

/* Read KIND/NAME/FILE, where it is, into r->text; false: nowhere. */
static bool lustre_read_text(struct lustre_reader *r, const char *kind, const char *name,
			     const char *file)
{
	char path[PATH_MAX];
	size_t i, n = 0;

	for (i = 0; !n && i < PLACES; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s/%s/%s/%s", r->root, lustre_places[i], kind,
			 name, file);
		f = fopen(path, "re");
		if (!f)
			continue;
		n = fread(r->text, 1, sizeof(r->text) - 1, f);
		fclose(f);
	}
	r->text[n] = '\0';
	return n;
}

/* Call @fn for each directory of @kind; one that is in several places more than once. */
static int lustre_each(struct lustre_reader *r, const char *kind,
		       int (*fn)(struct lustre_reader *r, const char *kind, const char *name))
{
	char path[PATH_MAX];
	int err = 0;
	size_t i;

	for (i = 0; !err && i < PLACES; i++) {
		struct dirent *e;
		DIR *dir;

		snprintf(path, sizeof(path), "%s/%s/%s", r->root, lustre_places[i], kind);
		dir = opendir(path);
		while (dir && !err && (e = readdir(dir)))
			err = e->d_name[0] == '.' ? 0 : fn(r, kind, e->d_name);
		if (dir)
			closedir(dir);
	}
	return err;
}

static int lustre_add_client(struct lustre_reader *r, const char *kind, const char *name)
{
	const char *dash = strrchr(name, '-');
	struct lustre_client client = {}, *more;

	if (!dash || dash == name || dash - name >= LUSTRE_NAME || !dash[1] ||
	    strlen(dash + 1) >= LUSTRE_NAME)
		return 0;
	snprintf(client.fs, sizeof(client.fs), "%.*s", (int)(dash - name), name);
	snprintf(client.instance, sizeof(client.instance), "%s", dash + 1);
	if (lustre_find(&r->found, &client))
		return 0;
	if (r->found.nr == LUSTRE_CLIENTS_MAX) {
		r->found.cut = true;
		return 0;
	}
	more = realloc(r->found.clients, (r->found.nr + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	if (lustre_read_text(r, kind, name, "stats")) {
		lustre_parse_stats(r->text, "read_bytes", &client.read);
		lustre_parse_stats(r->text, "write_bytes", &client.write);
	}
	r->found.clients = more;
	more[r->found.nr++] = client;
	return 0;
}

static void lustre_fill_target(struct lustre_reader *r, const char *kind, const char *name,
			       struct lustre_target *t)
{
	if (lustre_read_text(r, kind, name, "stats")) {
		lustre_parse_stats(r->text, "read_bytes", &t->read);
		lustre_parse_stats(r->text, "write_bytes", &t->write);
		lustre_parse_stats(r->text, "ost_read", &t->read_us);
		lustre_parse_stats(r->text, "ost_write", &t->write_us);
		lustre_parse_stats(r->text, "req_waittime", &t->wait_us);
	}
	if (t->is_ost && lustre_read_text(r, kind, name, "rpc_stats"))
		lustre_parse_rpcs(r->text, t->in_flight, t->pending_pages);
}

/* The target's client has no such target yet; NULL: it has, or there is no such client. */
static struct lustre_client *lustre_client_of(struct lustre_reader *r,
					      const struct lustre_client *key,
					      const struct lustre_target *target)
{
	struct lustre_client *client = (struct lustre_client *)lustre_find(&r->found, key);
	size_t i;

	for (i = 0; client && i < client->nr_targets; i++) {
		if (!strcmp(client->targets[i].name, target->name))
			return NULL;
	}
	return client;
}

static int lustre_add_target(struct lustre_reader *r, const char *kind, const char *name)
{
	struct lustre_target target = { .is_ost = !strcmp(kind, "osc") }, *more;
	struct lustre_client key = {}, *client;

	/* a server has targets, too, which are no client's */
	if (lustre_parse_target(name, kind, key.fs, target.name, key.instance))
		return 0;
	client = lustre_client_of(r, &key, &target);
	if (!client)
		return 0;
	if (r->nr_targets == LUSTRE_TARGETS_MAX) {
		r->found.cut = true;
		return 0;
	}
	more = realloc(client->targets, (client->nr_targets + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	lustre_fill_target(r, kind, name, &target);
	client->targets = more;
	more[client->nr_targets++] = target;
	r->nr_targets++;
	return 0;
}

static int lustre_by_name(const void *a, const void *b)
{
	return strcmp(((const struct lustre_target *)a)->name,
		      ((const struct lustre_target *)b)->name);
}

int lustre_read(const char *root, struct lustre_clients *ret_clients)
{
	struct lustre_reader *r = calloc(1, sizeof(*r));
	size_t i;
	int err;

	if (!r)
		return -ENOMEM;
	r->root = root;
	err = lustre_each(r, "llite", lustre_add_client);
	if (!err && r->found.nr)
		err = lustre_each(r, "osc", lustre_add_target);
	if (!err && r->found.nr)
		err = lustre_each(r, "mdc", lustre_add_target);
	for (i = 0; i < r->found.nr; i++) {
		struct lustre_client *client = &r->found.clients[i];

		if (client->nr_targets)
			qsort(client->targets, client->nr_targets, sizeof(*client->targets),
			      lustre_by_name);
	}
	if (err)
		lustre_free(&r->found);
	else
		*ret_clients = r->found;
	free(r);
	return err;
}

/* ------------------------------------------------------------------ states */

struct lustre_question {
	struct lustre_reader *reader;
	const struct lustre_clients *clients;
};

/* In the child: a line for each target whose state is known, by the parent's numbers. */
static int lustre_ask(unsigned int number, void *arg, int fd)
{
	const struct lustre_question *q = arg;
	size_t i, k;

	for (i = 0; i < q->clients->nr; i++) {
		const struct lustre_client *c = &q->clients->clients[i];

		for (k = 0; k < c->nr_targets; k++) {
			const char *kind = c->targets[k].is_ost ? "osc" : "mdc";
			char name[3 * LUSTRE_NAME + 8], state[16];

			snprintf(name, sizeof(name), "%s-%s-%s-%s", c->fs, c->targets[k].name, kind,
				 c->instance);
			if (lustre_read_text(q->reader, kind, name, "import") &&
			    !lustre_parse_import(q->reader->text, state) &&
			    dprintf(fd, "%zu %zu %s\n", i, k, state) < 0)
				return -EIO;
		}
	}
	return 0;
}

static void lustre_answer(const char *text, struct lustre_clients *clients)
{
	char state[16];
	size_t i, k;
	int n;

	while (sscanf(text, "%zu %zu %15s%n", &i, &k, state, &n) == 3) {
		if (i < clients->nr && k < clients->clients[i].nr_targets)
			strcpy(clients->clients[i].targets[k].state, state);
		text += n;
	}
}

int lustre_read_states(const char *root, const char *state_dir, unsigned int ms,
		       struct lustre_clients *clients)
{
	struct asked asked = { .number = ASKED_LUSTRE };
	struct lustre_question q = { .clients = clients };

	if (!clients->nr)
		return 0;
	q.reader = calloc(1, sizeof(*q.reader));
	if (!q.reader)
		return -ENOMEM;
	q.reader->root = root;
	asked_start(&asked, state_dir, lustre_ask, &q);
	asked_wait(&asked, 1, ms);
	if (!asked.err && asked.size)
		lustre_answer(asked.answer, clients);
	asked_free(&asked, 1);
	free(q.reader);
	return asked.err;
}

void lustre_free(struct lustre_clients *clients)
{
	size_t i;

	for (i = 0; i < clients->nr; i++)
		free(clients->clients[i].targets);
	free(clients->clients);
	*clients = (struct lustre_clients){};
}
