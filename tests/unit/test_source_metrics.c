// SPDX-License-Identifier: GPL-2.0-only
/*
 * NFS, Lustre and NVMe as metrics: sums that only grow, over remounts and mounts that go; bounds of
 * labels. And the history of an NFS mount that holds a level.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/devices/nfs_history.h"
#include "supervisor/devices/source_metrics.h"

/* ----------------------------------------------------------------- metrics */

/* A look at the mounts in @text, which is mountstats. */
static struct device_look look_at(int64_t ms, const char *text)
{
	struct device_look look = { .ms = ms };
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_int_equal(nfs_mounts_parse(f, NULL, &look.nfs), 0);
	fclose(f);
	return look;
}

static void take(struct source_metrics *m, int64_t ms, const char *text)
{
	struct device_look look = look_at(ms, text);

	source_metrics_take(m, &look, json_object());
}

static char *printed(const struct source_metrics *m)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	source_metrics_print(m, f);
	fclose(f);
	return text;
}

/* The value of the series @name; -1: there is none. */
static double value(const struct source_metrics *m, const char *name)
{
	char *text = printed(m), *at, key[200];
	double found = -1;

	snprintf(key, sizeof(key), "\n%s ", name);
	at = strstr(text, key);
	if (at)
		found = strtod(at + strlen(key), NULL);
	free(text);
	return found;
}

#define MOUNT(source, dir, age, written, counts) \
	"device " source " mounted on " dir " with fstype nfs4\n\tage:\t" age "\n" \
	"\tbytes:\t0 0 0 0 0 " written " 0 0\n\tper-op statistics\n\tWRITE: " counts "\n"

#define WRITES		"ckpt_nfs_operations_total{server=\"srv\",op=\"write\"}"
#define BYTES		"ckpt_nfs_bytes_total{server=\"srv\",op=\"write\"}"
#define AGAIN		"ckpt_nfs_retransmissions_total{server=\"srv\"}"
#define RTT		"ckpt_nfs_seconds_total{server=\"srv\",op=\"write\",part=\"rtt\"}"

static void test_nfs(void **state)
{
	struct source_metrics *m = source_metrics_new();

	take(m, 1, MOUNT("srv:/a", "/a", "50", "1000", "100 100 0 1 1 1 1000 1"));
	assert_true(value(m, WRITES) == -1);
	take(m, 2, MOUNT("srv:/a", "/a", "55", "1500", "110 113 1 1 1 1 3000 1")
	     MOUNT("srv:/b", "/b", "1", "70", "7 7 0 1 1 1 500 1"));
	/* ten of the one, all of the one that came in between */
	assert_true(value(m, WRITES) == 17);
	assert_true(value(m, BYTES) == 570);
	assert_true(value(m, AGAIN) == 3);
	assert_true(value(m, RTT) == 2.5);
	/* the first one is gone, the second one was mounted anew */
	take(m, 3, MOUNT("srv:/b", "/b", "0", "20", "2 2 0 1 1 1 100 1"));
	assert_true(value(m, WRITES) == 19);
	assert_true(value(m, BYTES) == 590);
	/* none is there, and the sums stay */
	take(m, 4, "");
	assert_true(value(m, WRITES) == 19);
	take(m, 5, MOUNT("srv:/a", "/a", "2", "30", "3 3 0 1 1 1 100 1"));
	assert_true(value(m, WRITES) == 22);
	source_metrics_free(m);
}

static void test_labels(void **state)
{
	struct source_metrics *m = source_metrics_new();
	char *text, line[400];
	size_t size, i;
	FILE *f;

	/* one by one more servers than there are labels */
	for (i = 0; i < SOURCE_SERVERS_MAX + 20; i++) {
		snprintf(line, sizeof(line), MOUNT("s%zu:/x", "/x%zu", "9", "1", "1 1 0 1 1 1 1 1"),
			 i, i);
		take(m, 1 + (int64_t)i, line);
	}
	text = printed(m);
	for (size = 0, f = fmemopen(text, strlen(text), "r"); fgets(line, sizeof(line), f);)
		size += !strncmp(line, "ckpt_nfs_timeouts_total{", 24);
	fclose(f);
	assert_int_equal(size, SOURCE_SERVERS_MAX);
	/* the first look is no difference */
	assert_null(strstr(text, "\"s0\""));
	assert_non_null(strstr(text, "server=\"other\""));
	free(text);
	source_metrics_free(m);
	m = source_metrics_new();
	take(m, 1, "");
	take(m, 2, MOUNT("[fe80::1%eth0]:/x", "/x", "9", "1", "1 1 0 1 1 1 1 1")
	     MOUNT("a\\042b\\134c\\012d\\303\\244:/x", "/y", "9", "1", "1 1 0 1 1 1 1 1"));
	text = printed(m);
	assert_non_null(strstr(text, "{server=\"[fe80::1%eth0]\"}"));
	assert_non_null(strstr(text, "{server=\"a?b?c?d??\"}"));
	free(text);
	source_metrics_free(m);
}

static struct device_look lustre_look(int64_t ms, const char *instance, uint64_t n)
{
	struct device_look look = { .ms = ms };
	struct lustre_client *c = calloc(1, sizeof(*c));

	strcpy(c->fs, "scratch");
	strcpy(c->instance, instance);
	c->read = (struct lustre_count){ n, n << 10 };
	c->targets = calloc(1, sizeof(*c->targets));
	c->nr_targets = 1;
	strcpy(c->targets[0].name, "OST0000");
	c->targets[0].read_us = (struct lustre_count){ n, 500000 * n };
	look.lustre = (struct lustre_clients){ .clients = c, .nr = 1 };
	return look;
}

#define READS	"ckpt_lustre_operations_total{fs=\"scratch\",op=\"read\"}"

static void test_lustre(void **state)
{
	struct source_metrics *m = source_metrics_new();
	struct device_look look = lustre_look(1, "a", 100);

	source_metrics_take(m, &look, json_object());
	assert_null(look.lustre.clients);
	look = lustre_look(2, "a", 120);
	source_metrics_take(m, &look, json_object());
	assert_true(value(m, READS) == 20);
	assert_true(value(m, "ckpt_lustre_bytes_total{fs=\"scratch\",op=\"read\"}") == 20480);
	assert_true(value(m, "ckpt_lustre_request_seconds_total{fs=\"scratch\",op=\"read\"}") ==
		    10);
	/* mounted anew, then counters that were cleared */
	look = lustre_look(3, "b", 5);
	source_metrics_take(m, &look, json_object());
	assert_true(value(m, READS) == 25);
	look = lustre_look(4, "b", 2);
	source_metrics_take(m, &look, json_object());
	assert_true(value(m, READS) == 27);
	/* states are looked at less often, and stay until then */
	assert_true(value(m, "ckpt_lustre_targets{fs=\"scratch\",connected=\"no\"}") == 0);
	look = lustre_look(5, "b", 2);
	look.has_states = true;
	strcpy(look.lustre.clients[0].targets[0].state, "DISCONN");
	source_metrics_take(m, &look, json_object());
	look = lustre_look(6, "b", 2);
	source_metrics_take(m, &look, json_object());
	assert_true(value(m, "ckpt_lustre_targets{fs=\"scratch\",connected=\"no\"}") == 1);
	look = (struct device_look){ .ms = 7, .has_states = true };
	source_metrics_take(m, &look, json_object());
	assert_true(value(m, "ckpt_lustre_targets{fs=\"scratch\",connected=\"no\"}") == 0);
	source_metrics_free(m);
}

static void test_nvme(void **state)
{
	struct source_metrics *m = source_metrics_new();
	struct device_look look = {};

	source_metrics_take(m, &look, json_pack(
		"{s:i, s:[{s:s, s:[s], s:i}, {s:s, s:[s, i]}]}", "time", 1700000000, "controllers",
		"controller", "nvme0", "warnings", "worn", "used_percent", 104, "controller",
		"nvme1", "warnings", "silent", 5));
	assert_true(value(m, "ckpt_nvme_warning{device=\"nvme0\",kind=\"worn\"}") == 1);
	assert_true(value(m, "ckpt_nvme_warning{device=\"nvme0\",kind=\"silent\"}") == 0);
	assert_true(value(m, "ckpt_nvme_warning{device=\"nvme1\",kind=\"silent\"}") == 1);
	assert_true(value(m, "ckpt_nvme_used_ratio{device=\"nvme0\"}") == 1.04);
	/* nothing is said of who did not answer */
	assert_true(value(m, "ckpt_nvme_used_ratio{device=\"nvme1\"}") == -1);
	assert_true(value(m, "ckpt_nvme_read_timestamp_seconds") == 1700000000);
	source_metrics_free(m);
	assert_true(value(NULL, "ckpt_nvme_read_timestamp_seconds") == -1);
}

/* ----------------------------------------------------------------- history */

static double real(const json_t *row, const char *name)
{
	assert_non_null(json_object_get(row, name));
	return json_number_value(json_object_get(row, name));
}

static void test_history(void **state)
{
	struct nfs_sample s[8];
	json_t *row;
	size_t i;

	/* ten writes of 5 ms for each generation, and a last one that is slow */
	for (i = 0; i < 7; i++)
		s[i] = (struct nfs_sample){ .age_s = 100 + i, .writes = 10 * i,
					    .bytes = 1000 * i, .transmissions = 10 * i,
					    .rtt_ms = 50 * i, .queue_ms = 10 * i };
	s[7] = (struct nfs_sample){ .age_s = 200, .writes = 70, .bytes = 7000,
				    .transmissions = 74, .timeouts = 2, .rtt_ms = 1300,
				    .queue_ms = 60, .execute_ms = 1400 };
	assert_null(nfs_history_json(s, 0));
	assert_null(nfs_history_json(s, 1));
	row = nfs_history_json(s, 8);
	assert_true(real(row, "writes") == 10 && real(row, "bytes") == 1000);
	assert_true(real(row, "write_ms") == 100 && real(row, "usual_write_ms") == 5);
	assert_true(real(row, "queue_ms") == 0 && real(row, "usual_queue_ms") == 1);
	assert_true(real(row, "retransmissions") == 4 && real(row, "timeouts") == 2);
	assert_true(real(row, "samples") == 8);
	json_decref(row);
	/* few tell nothing of what is usual */
	row = nfs_history_json(&s[4], 4);
	assert_true(real(row, "usual_write_ms") == 0 && real(row, "write_ms") == 100);
	json_decref(row);
	/* mounted anew before the last one */
	s[7] = (struct nfs_sample){ .age_s = 3, .writes = 4, .transmissions = 4, .rtt_ms = 40 };
	row = nfs_history_json(s, 8);
	assert_true(real(row, "writes") == 4 && real(row, "write_ms") == 10);
	json_decref(row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nfs), cmocka_unit_test(test_labels),
		cmocka_unit_test(test_lustre), cmocka_unit_test(test_nvme),
		cmocka_unit_test(test_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
