// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metrics of NFS, Lustre and NVMe; see source_metrics.h.
 *
 * Owns the look before, and the sums. A name that does not fit a label, as bytes that are no ASCII,
 * has question marks.
 */
#include "supervisor/devices/source_metrics.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/devices/counters.h"
#include "supervisor/devices/nvme_health.h"

#define LABEL_MAX	128

enum source_kind { SOURCE_READ, SOURCE_WRITE, SOURCE_OTHER, SOURCE_KINDS };

static const char *const source_words[SOURCE_KINDS] = { "read", "write", "other" };

struct source_server {
	char name[LABEL_MAX];
	struct nfs_op ops[SOURCE_KINDS];	/* sums */
	uint64_t bytes[2];
};

struct source_fs {
	char name[LABEL_MAX];
	struct lustre_count used[2];		/* by programs: operations and bytes */
	struct lustre_count requests[2];	/* to OSTs: how many, and their time in us */
	unsigned int targets[2];		/* not connected, connected; when last looked at */
};

struct source_metrics {
	struct device_look before;
	json_t *nvme;
	struct source_server servers[SOURCE_SERVERS_MAX];
	struct source_fs fs[LUSTRE_CLIENTS_MAX];
	size_t nr_servers, nr_fs;
};

struct source_metrics *source_metrics_new(void)
{
	return calloc(1, sizeof(struct source_metrics));
}

void source_metrics_free(struct source_metrics *m)
{
	if (!m)
		return;
	device_look_free(&m->before);
	json_decref(m->nvme);
	free(m);
}

/* -------------------------------------------------------------------- sums */

/* The first @n bytes of @name as a label. */
static void source_label(const char *name, size_t n, char *ret_label)
{
	size_t i;

	n = n < LABEL_MAX - 1 ? n : LABEL_MAX - 1;
	for (i = 0; i < n; i++)
		ret_label[i] = name[i] > ' ' && name[i] <= '~' && !strchr("\"\\{}", name[i]) ?
			       name[i] : '?';
	ret_label[n] = '\0';
}

/* The sums of the server of "srv:/export"; also of "[fe80::1]:/export". */
static struct source_server *source_server_of(struct source_metrics *m, const char *source)
{
	const char *end = strstr(source, ":/");
	char name[LABEL_MAX];
	size_t i;

	source_label(source, end ? (size_t)(end - source) : strlen(source), name);
	for (i = 0; i < m->nr_servers; i++) {
		if (!strcmp(m->servers[i].name, name))
			return &m->servers[i];
	}
	if (m->nr_servers == SOURCE_SERVERS_MAX)
		return &m->servers[SOURCE_SERVERS_MAX - 1];
	strcpy(m->servers[i].name, m->nr_servers == SOURCE_SERVERS_MAX - 1 ? "other" : name);
	return &m->servers[m->nr_servers++];
}

static void source_add_nfs(struct source_metrics *m, const struct nfs_mount *before,
			   const struct nfs_mount *now)
{
	struct source_server *server = source_server_of(m, now->source);
	size_t i;

	for (i = 0; i < now->nr_ops; i++) {
		const struct nfs_op *op = &now->ops[i];
		const struct nfs_op d = nfs_op_since(op, before ? nfs_mount_op(before, op->name) :
						     NULL);
		struct nfs_op *sum = &server->ops[!strcmp(op->name, "READ") ? SOURCE_READ :
						  !strcmp(op->name, "WRITE") ? SOURCE_WRITE :
						  SOURCE_OTHER];

		sum->count += d.count;
		sum->transmissions += nfs_op_again(&d);
		sum->timeouts += d.timeouts;
		sum->queue_ms += d.queue_ms;
		sum->rtt_ms += d.rtt_ms;
		sum->execute_ms += d.execute_ms;
	}
	server->bytes[0] += counter_since(now->read_bytes, before ? before->read_bytes : 0);
	server->bytes[1] += counter_since(now->written_bytes, before ? before->written_bytes : 0);
}

static struct source_fs *source_fs_of(struct source_metrics *m, const char *fs)
{
	char name[LABEL_MAX];
	size_t i;

	source_label(fs, strlen(fs), name);
	for (i = 0; i < m->nr_fs; i++) {
		if (!strcmp(m->fs[i].name, name))
			return &m->fs[i];
	}
	if (m->nr_fs == LUSTRE_CLIENTS_MAX)
		return NULL;
	strcpy(m->fs[i].name, name);
	return &m->fs[m->nr_fs++];
}

static void source_add_count(struct lustre_count *sum, struct lustre_count now,
			     struct lustre_count before)
{
	const struct lustre_count d = lustre_since(now, before);

	sum->count += d.count;
	sum->sum += d.sum;
}

static void source_add_lustre(struct source_metrics *m, const struct lustre_client *before,
			      const struct lustre_client *now)
{
	struct source_fs *fs = source_fs_of(m, now->fs);
	size_t i;

	if (!fs)
		return;
	source_add_count(&fs->used[0], now->read, before ? before->read : (struct lustre_count){});
	source_add_count(&fs->used[1], now->write,
			 before ? before->write : (struct lustre_count){});
	for (i = 0; i < now->nr_targets; i++) {
		const struct lustre_target *t = &now->targets[i];
		const struct lustre_target *b = lustre_target_before(before, t);

		source_add_count(&fs->requests[0], t->read_us,
				 b ? b->read_us : (struct lustre_count){});
		source_add_count(&fs->requests[1], t->write_us,
				 b ? b->write_us : (struct lustre_count){});
	}
}

/* The states of all targets now; a file system that is not mounted any more has none. */
static void source_count_targets(struct source_metrics *m, const struct lustre_clients *now)
{
	size_t i, k;

	for (i = 0; i < m->nr_fs; i++)
		memset(m->fs[i].targets, 0, sizeof(m->fs[i].targets));
	for (i = 0; i < now->nr; i++) {
		struct source_fs *fs = source_fs_of(m, now->clients[i].fs);

		for (k = 0; fs && k < now->clients[i].nr_targets; k++) {
			const char *state = now->clients[i].targets[k].state;

			if (*state)
				fs->targets[lustre_state_is_good(state)]++;
		}
	}
}

void source_metrics_take(struct source_metrics *m, struct device_look *look, json_t *nvme)
{
	size_t i;

	for (i = 0; m->before.ms && i < look->nfs.nr; i++) {
		const struct nfs_mount *mount = &look->nfs.mounts[i];

		source_add_nfs(m, nfs_mounts_find(&m->before.nfs, mount), mount);
	}
	for (i = 0; m->before.ms && i < look->lustre.nr; i++) {
		const struct lustre_client *client = &look->lustre.clients[i];

		source_add_lustre(m, lustre_find(&m->before.lustre, client), client);
	}
	if (look->has_states)
		source_count_targets(m, &look->lustre);
	device_look_free(&m->before);
	m->before = *look;
	*look = (struct device_look){};
	json_decref(m->nvme);
	m->nvme = nvme;
}

/* ------------------------------------------------------------------- print */

static void source_head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void source_print_seconds(const struct source_metrics *m, FILE *f)
{
	static const char name[] = "ckpt_nfs_seconds_total";
	size_t i, k;

	source_head(f, name, "counter", "Time of operations on NFS servers: waiting to be sent, "
		    "until the answer, and all together.");
	for (i = 0; m && i < m->nr_servers; i++) {
		const struct source_server *s = &m->servers[i];

		for (k = 0; k < SOURCE_KINDS; k++) {
			fprintf(f, "%s{server=\"%s\",op=\"%s\",part=\"queue\"} %.3f\n", name,
				s->name, source_words[k], (double)s->ops[k].queue_ms / 1000);
			fprintf(f, "%s{server=\"%s\",op=\"%s\",part=\"rtt\"} %.3f\n", name,
				s->name, source_words[k], (double)s->ops[k].rtt_ms / 1000);
			fprintf(f, "%s{server=\"%s\",op=\"%s\",part=\"execute\"} %.3f\n", name,
				s->name, source_words[k], (double)s->ops[k].execute_ms / 1000);
		}
	}
}

static void source_print_again(const struct source_metrics *m, FILE *f)
{
	size_t i;

	source_head(f, "ckpt_nfs_retransmissions_total", "counter",
		    "Requests to NFS servers that were sent again.");
	for (i = 0; m && i < m->nr_servers; i++)
		fprintf(f, "ckpt_nfs_retransmissions_total{server=\"%s\"} %llu\n",
			m->servers[i].name,
			(unsigned long long)(m->servers[i].ops[SOURCE_READ].transmissions +
					     m->servers[i].ops[SOURCE_WRITE].transmissions +
					     m->servers[i].ops[SOURCE_OTHER].transmissions));
	source_head(f, "ckpt_nfs_timeouts_total", "counter",
		    "Requests to NFS servers that were not answered in time.");
	for (i = 0; m && i < m->nr_servers; i++)
		fprintf(f, "ckpt_nfs_timeouts_total{server=\"%s\"} %llu\n", m->servers[i].name,
			(unsigned long long)(m->servers[i].ops[SOURCE_READ].timeouts +
					     m->servers[i].ops[SOURCE_WRITE].timeouts +
					     m->servers[i].ops[SOURCE_OTHER].timeouts));
}

static void source_print_nfs(const struct source_metrics *m, FILE *f)
{
	size_t i, k;

	source_head(f, "ckpt_nfs_operations_total", "counter", "Operations on NFS servers.");
	for (i = 0; m && i < m->nr_servers; i++) {
		for (k = 0; k < SOURCE_KINDS; k++)
			fprintf(f, "ckpt_nfs_operations_total{server=\"%s\",op=\"%s\"} %llu\n",
				m->servers[i].name, source_words[k],
				(unsigned long long)m->servers[i].ops[k].count);
	}
	source_head(f, "ckpt_nfs_bytes_total", "counter", "Bytes from and to NFS servers.");
	for (i = 0; m && i < m->nr_servers; i++) {
		for (k = 0; k < 2; k++)
			fprintf(f, "ckpt_nfs_bytes_total{server=\"%s\",op=\"%s\"} %llu\n",
				m->servers[i].name, source_words[k],
				(unsigned long long)m->servers[i].bytes[k]);
	}
	source_print_seconds(m, f);
	source_print_again(m, f);
}

/* One pair of series for each file system; @at: of struct source_fs. */
static void source_print_fs(const struct source_metrics *m, FILE *f, const char *name,
			    const char *help, size_t at, bool sum, double unit)
{
	size_t i, k;

	source_head(f, name, "counter", help);
	for (i = 0; m && i < m->nr_fs; i++) {
		const struct lustre_count *counts =
			(const struct lustre_count *)((const char *)&m->fs[i] + at);

		for (k = 0; k < 2; k++)
			fprintf(f, "%s{fs=\"%s\",op=\"%s\"} %.15g\n", name, m->fs[i].name,
				source_words[k],
				unit * (double)(sum ? counts[k].sum : counts[k].count));
	}
}

static void source_print_lustre(const struct source_metrics *m, FILE *f)
{
	const size_t used = offsetof(struct source_fs, used);
	const size_t requests = offsetof(struct source_fs, requests);
	size_t i;

	source_print_fs(m, f, "ckpt_lustre_operations_total",
			"Reads and writes of programs on Lustre.", used, false, 1);
	source_print_fs(m, f, "ckpt_lustre_bytes_total", "Bytes that they read and wrote.", used,
			true, 1);
	source_print_fs(m, f, "ckpt_lustre_requests_total", "Requests to OSTs.", requests, false,
			1);
	source_print_fs(m, f, "ckpt_lustre_request_seconds_total", "Their time.", requests, true,
			1e-6);
	source_head(f, "ckpt_lustre_targets", "gauge", "OSTs and MDTs, by whether the client is "
		    "connected to them.");
	for (i = 0; m && i < m->nr_fs; i++) {
		fprintf(f, "ckpt_lustre_targets{fs=\"%s\",connected=\"no\"} %u\n", m->fs[i].name,
			m->fs[i].targets[0]);
		fprintf(f, "ckpt_lustre_targets{fs=\"%s\",connected=\"yes\"} %u\n", m->fs[i].name,
			m->fs[i].targets[1]);
	}
}

/* One value of each NVMe controller that answered. */
static void source_print_value(const struct source_metrics *m, FILE *f, const char *name,
			       const char *type, const char *help, const char *field, double unit)
{
	const json_t *row;
	size_t i;

	source_head(f, name, type, help);
	json_array_foreach(m ? json_object_get(m->nvme, "controllers") : NULL, i, row) {
		const json_t *value = json_object_get(row, field);
		char label[LABEL_MAX];
		const char *controller = json_string_value(json_object_get(row, "controller"));

		if (!value || !controller)
			continue;
		source_label(controller, strlen(controller), label);
		fprintf(f, "%s{device=\"%s\"} %.15g\n", name, label,
			unit * json_number_value(value));
	}
}

static bool source_warns(const json_t *row, const char *kind)
{
	const json_t *word;
	size_t i;

	json_array_foreach(json_object_get(row, "warnings"), i, word) {
		if (json_is_string(word) && !strcmp(json_string_value(word), kind))
			return true;
	}
	return false;
}

static void source_print_warnings(const struct source_metrics *m, FILE *f)
{
	const json_t *row;
	size_t i;
	int k;

	source_head(f, "ckpt_nvme_warning", "gauge", "1: the NVMe controller warns of this.");
	json_array_foreach(m ? json_object_get(m->nvme, "controllers") : NULL, i, row) {
		const char *controller = json_string_value(json_object_get(row, "controller"));
		char label[LABEL_MAX];

		source_label(controller ? controller : "", controller ? strlen(controller) : 0,
			     label);
		for (k = 0; k < NVME_WARNINGS; k++) {
			const char *kind = nvme_warning_name((enum nvme_warning)k);

			fprintf(f, "ckpt_nvme_warning{device=\"%s\",kind=\"%s\"} %d\n", label,
				kind, source_warns(row, kind));
		}
	}
}

static void source_print_nvme(const struct source_metrics *m, FILE *f)
{
	source_print_warnings(m, f);
	source_print_value(m, f, "ckpt_nvme_used_ratio", "gauge",
			   "Used endurance; 1 is the vendor's estimate.", "used_percent", 0.01);
	source_print_value(m, f, "ckpt_nvme_spare_ratio", "gauge", "Spare blocks that are left.",
			   "spare_percent", 0.01);
	source_print_value(m, f, "ckpt_nvme_temperature_celsius", "gauge", "Its temperature.",
			   "temperature_celsius", 1);
	source_print_value(m, f, "ckpt_nvme_media_errors_total", "counter",
			   "Unrecovered errors of the medium.", "media_errors", 1);
	source_print_value(m, f, "ckpt_nvme_unsafe_shutdowns_total", "counter",
			   "Times that it lost power without notice.", "unsafe_shutdowns", 1);
	source_head(f, "ckpt_nvme_read_timestamp_seconds", "gauge",
		    "When the controllers were asked last.");
	if (m && json_integer_value(json_object_get(m->nvme, "time")))
		fprintf(f, "ckpt_nvme_read_timestamp_seconds %lld\n",
			(long long)json_integer_value(json_object_get(m->nvme, "time")));
}

void source_metrics_print(const struct source_metrics *m, FILE *f)
{
	source_print_nfs(m, f);
	source_print_lustre(m, f);
	source_print_nvme(m, f);
}
