// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lustre's client by its files: texts as versions 2.12 and 2.15 print them, in trees as both lay
 * them out, with what a client has beside it on a server, cut off and lying files, and counters
 * that began anew. No Lustre is needed: the trees are made here.
 */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "supervisor/devices/lustre_stats.h"

#define CLIENT	"ffff8b1d3c2e9000"

static char root[] = "/tmp/lustre.XXXXXX";

static const char llite_212[] =
	"snapshot_time             1700000000.123456789 secs.nsecs\n"
	"read_bytes                20 samples [bytes] 0 1048576 10485760\n"
	"write_bytes               40 samples [bytes] 4096 4194304 83886080\n"
	"osc_write                 40 samples [bytes] 4096 4194304 77777777\n"
	"open                      7 samples [regs]\n"
	"getattr                   12 samples [regs]\n";

static const char llite_215[] =
	"snapshot_time             1700000000.123456789 secs.nsecs\n"
	"start_time                1699990000.000000000 secs.nsecs\n"
	"elapsed_time              10000.123456789 secs.nsecs\n"
	"read_bytes                20 samples [bytes] 0 1048576 10485760 1099511627776\n"
	"write_bytes               40 samples [bytes] 4096 4194304 83886080 1099511627776\n"
	"read                      20 samples [usecs] 5 900 4000 9000000\n"
	"open                      7 samples [usecs] 10 200 700 90000\n";

static const char osc_stats[] =
	"snapshot_time             1700000000.123456789 secs.nsecs\n"
	"req_waittime              50 samples [usec] 100 90000 500000 9000000000\n"
	"req_active                50 samples [reqs] 1 4 80 170\n"
	"read_bytes                10 samples [bytes] 4096 1048576 10485760 1099511627776\n"
	"write_bytes               20 samples [bytes] 4096 4194304 83886080 1099511627776\n"
	"ost_read                  10 samples [usec] 500 20000 40000 90000000\n"
	"ost_write                 20 samples [usec] 900 80000 400000 900000000\n"
	"ost_connect               1 samples [usec] 300 300 300 90000\n"
	"obd_ping                  9 samples [usec] 100 300 1800 400000\n";

static const char rpc_stats[] =
	"snapshot_time:         1700000000.123456789 (secs.nsecs)\n"
	"read RPCs in flight:  1\n"
	"write RPCs in flight: 3\n"
	"pending write pages:  256\n"
	"pending read pages:   16\n"
	"\n"
	"\t\t\tread\t\t\twrite\n"
	"pages per rpc         rpcs   % cum % |       rpcs   % cum %\n"
	"256:\t\t        10 100 100   |         20 100 100\n";

static const char import_full[] =
	"import:\n"
	"    name: scratch-OST0000-osc-" CLIENT "\n"
	"    target: scratch-OST0000_UUID\n"
	"    state: FULL\n"
	"    connect_flags: [ write_grant, server_lock, version, grant_shrink ]\n"
	"    connect_data:\n"
	"       flags: 0xa0425af0e3440478\n"
	"       target_version: 2.12.9.0\n"
	"    import_flags: [ replayable, pingable, connect_tried ]\n"
	"    connection:\n"
	"       failover_nids: [ 10.0.0.2@tcp ]\n"
	"       current_connection: 10.0.0.2@tcp\n"
	"       connection_attempts: 1\n"
	"    rpcs:\n"
	"       inflight: 4\n"
	"       unregistering: 0\n"
	"       timeouts: 0\n"
	"       avg_waittime: 10000 usec\n";

static const char import_disconn[] =
	"import:\n"
	"    name: scratch-OST0001-osc-" CLIENT "\n"
	"    target: scratch-OST0001_UUID\n"
	"    state: DISCONN\n"
	"    connect_flags: [ write_grant ]\n";

/* ------------------------------------------------------------------- trees */

static void put(const char *path, const char *text)
{
	char full[PATH_MAX], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(full, 0755) && errno != EEXIST)
			fail_msg("%s: %s", full, strerror(errno));
		*slash = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int begin(void **state)
{
	memcpy(root + strlen(root) - 6, "XXXXXX", 6);
	return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Version 2.12: counters below /proc, other things below /sys. */
static void tree_212(void)
{
	put("proc/fs/lustre/llite/scratch-" CLIENT "/stats", llite_212);
	put("sys/fs/lustre/llite/scratch-" CLIENT "/max_cached_mb", "1024\n");
	put("proc/fs/lustre/osc/scratch-OST0001-osc-" CLIENT "/import", import_disconn);
	put("proc/fs/lustre/osc/scratch-OST0000-osc-" CLIENT "/stats", osc_stats);
	put("proc/fs/lustre/osc/scratch-OST0000-osc-" CLIENT "/rpc_stats", rpc_stats);
	put("proc/fs/lustre/osc/scratch-OST0000-osc-" CLIENT "/import", import_full);
	put("proc/fs/lustre/mdc/scratch-MDT0000-mdc-" CLIENT "/import", import_full);
	/* a metadata server on the same machine has targets that are no client's */
	put("proc/fs/lustre/osc/scratch-OST0000-osc-MDT0000/import", import_disconn);
	put("proc/fs/lustre/osc/num_refs", "4\n");
}

/* Version 2.15: counters in debugfs, attributes in sysfs. */
static void tree_215(void)
{
	put("sys/kernel/debug/lustre/llite/scratch-" CLIENT "/stats", llite_215);
	put("sys/fs/lustre/llite/scratch-" CLIENT "/max_cached_mb", "1024\n");
	put("sys/fs/lustre/osc/scratch-OST0000-osc-" CLIENT "/active", "1\n");
	put("sys/kernel/debug/lustre/osc/scratch-OST0000-osc-" CLIENT "/stats", osc_stats);
	put("sys/kernel/debug/lustre/osc/scratch-OST0000-osc-" CLIENT "/import", import_full);
	put("sys/kernel/debug/lustre/osc/scratch-OST0000-osc-" CLIENT "/rpc_stats",
	    "snapshot_time:            1700000000.123456789 secs.nsecs\n"
	    "start_time:               1699990000.000000000 secs.nsecs\n"
	    "elapsed_time:             10000.123456789 secs.nsecs\n"
	    "read RPCs in flight:  1\nwrite RPCs in flight: 3\nDIO RPCs in flight: 0\n"
	    "pending write pages:  256\npending read pages:   16\n");
}

static struct lustre_clients clients_of(bool states)
{
	struct lustre_clients clients = {};

	assert_int_equal(lustre_read(root, &clients), 0);
	if (states)
		assert_int_equal(lustre_read_states(root, root, 10000, &clients), 0);
	return clients;
}

static void is_read(const struct lustre_client *c)
{
	const struct lustre_target *t = &c->targets[c->nr_targets == 1 ? 0 : 1];

	assert_string_equal(c->fs, "scratch");
	assert_string_equal(c->instance, CLIENT);
	assert_int_equal(c->read.count, 20);
	assert_int_equal(c->read.sum, 10485760);
	assert_int_equal(c->write.sum, 83886080);
	assert_string_equal(t->name, "OST0000");
	assert_true(t->is_ost);
	assert_string_equal(t->state, "FULL");
	assert_int_equal(t->read.sum, 10485760);
	assert_int_equal(t->write.count, 20);
	assert_int_equal(t->read_us.sum, 40000);
	assert_int_equal(t->write_us.count, 20);
	assert_int_equal(t->write_us.sum, 400000);
	assert_int_equal(t->wait_us.count, 50);
	assert_int_equal(t->in_flight[0], 1);
	assert_int_equal(t->in_flight[1], 3);
	assert_int_equal(t->pending_pages[0], 16);
	assert_int_equal(t->pending_pages[1], 256);
}

static void test_212(void **state)
{
	struct lustre_clients clients;

	tree_212();
	clients = clients_of(true);
	assert_int_equal(clients.nr, 1);
	assert_false(clients.cut);
	assert_int_equal(clients.clients[0].nr_targets, 3);
	is_read(&clients.clients[0]);
	assert_string_equal(clients.clients[0].targets[0].name, "MDT0000");
	assert_string_equal(clients.clients[0].targets[2].state, "DISCONN");
	lustre_free(&clients);
	/* without the states nothing else is missing */
	clients = clients_of(false);
	assert_string_equal(clients.clients[0].targets[1].state, "");
	assert_int_equal(clients.clients[0].targets[1].write.count, 20);
	lustre_free(&clients);
}

static void test_215(void **state)
{
	struct lustre_clients clients;

	tree_215();
	clients = clients_of(true);
	assert_int_equal(clients.nr, 1);
	assert_int_equal(clients.clients[0].nr_targets, 1);
	is_read(&clients.clients[0]);
	lustre_free(&clients);
}

/* A state that is not told, as while a client is being disconnected: a pipe that nobody writes. */
static void test_hangs(void **state)
{
	const int64_t began = clock_monotonic_ms();
	struct lustre_clients clients = {};
	char path[PATH_MAX];

	tree_215();
	snprintf(path, sizeof(path), "%s/sys/kernel/debug/lustre/osc/scratch-OST0000-osc-" CLIENT
		 "/import", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(lustre_read(root, &clients), 0);
	assert_int_equal(lustre_read_states(root, root, 300, &clients), -ETIMEDOUT);
	assert_in_range(clock_monotonic_ms() - began, 300, 20000);
	assert_string_equal(clients.clients[0].targets[0].state, "");
	assert_int_equal(clients.clients[0].targets[0].write.count, 20);
	lustre_free(&clients);
}

static void test_none(void **state)
{
	struct lustre_clients clients = clients_of(true);

	assert_int_equal(clients.nr, 0);
	lustre_free(&clients);
	/* targets without a client, and a directory that is none of a client */
	put("proc/fs/lustre/osc/scratch-OST0000-osc-MDT0000/stats", osc_stats);
	put("proc/fs/lustre/llite/noinstance/stats", llite_212);
	put("proc/fs/lustre/llite/x-/stats", llite_212);
	clients = clients_of(true);
	assert_int_equal(clients.nr, 0);
	lustre_free(&clients);
}

/* ------------------------------------------------------------------- rates */

static double real(const json_t *row, const char *name)
{
	assert_non_null(json_object_get(row, name));
	return json_number_value(json_object_get(row, name));
}

static void test_rates(void **state)
{
	struct lustre_clients before, now;
	json_t *row, *target;

	tree_212();
	put("proc/fs/lustre/llite/scratch-" CLIENT "/stats",
	    "write_bytes 20 samples [bytes] 4096 4194304 41943040\n");
	put("proc/fs/lustre/osc/scratch-OST0000-osc-" CLIENT "/stats",
	    "ost_write 10 samples [usec] 1 1 100000 1\n"
	    "write_bytes 10 samples [bytes] 1 1 43886080\n");
	before = clients_of(true);
	tree_212();
	now = clients_of(true);
	row = lustre_rates(lustre_find(&before, &now.clients[0]), &now.clients[0], 2000);
	assert_true(real(row, "writes_per_s") == 10);
	assert_true(real(row, "write_bytes_per_s") == 41943040 / 2.0);
	assert_true(real(row, "reads_per_s") == 10);
	/* ten requests to OSTs took 300 ms */
	assert_true(real(row, "write_ms") == 30);
	assert_true(real(row, "in_flight") == 4);
	assert_true(real(row, "disconnected") == 1);
	assert_true(real(row, "written_bytes") == 83886080);
	target = json_array_get(json_object_get(row, "targets"), 1);
	assert_string_equal(json_string_value(json_object_get(target, "state")), "FULL");
	assert_true(real(target, "write_bytes_per_s") == 20000000);
	assert_true(real(target, "wait_ms") == 10);
	assert_true(real(target, "pending_pages") == 272);
	json_decref(row);
	/* somebody cleared the counters, as `lctl set_param llite.*.stats=0` does */
	row = lustre_rates(&now.clients[0], &before.clients[0], 1000);
	assert_true(real(row, "writes_per_s") == 20);
	assert_true(real(row, "write_bytes_per_s") == 41943040);
	assert_true(real(row, "reads_per_s") == 0);
	json_decref(row);
	/* another mount of the file system has another instance */
	strcpy(before.clients[0].instance, "ffff000000000000");
	assert_null(lustre_find(&before, &now.clients[0]));
	row = lustre_rates(NULL, &now.clients[0], 0);
	assert_true(real(row, "writes_per_s") == 0);
	json_decref(row);
	lustre_free(&before);
	lustre_free(&now);
}

/* ----------------------------------------------------------------- hostile */

static void test_stats_hostile(void **state)
{
	static const char *const none[] = {
		"", "\n", "write_bytes", "write_bytes ", "write_bytes 4", "write_bytes 4 samples",
		"write_bytes 4 samples [bytes", "write_bytes 4 samples [bytes\n]",
		"write_bytes -4 samples [bytes] 1 2 3", "write_bytes x samples [bytes] 1 2 3",
		"write_bytes 99999999999999999999999 samples [bytes] 1 2 3",
		"write_bytes_more 4 samples [bytes] 1 2 3", "write_bytes 4 simples [bytes] 1 2 3",
	};
	static const char *const without_sum[] = {
		"write_bytes 4 samples [bytes]", "write_bytes 4 samples [bytes] 1 2",
		"write_bytes 4 samples [bytes] 1 2\n3 4 5",
		"write_bytes 4 samples [bytes] 1 2 99999999999999999999999",
		"write_bytes 4 samples [bytes] 1 2 -3",
	};
	struct lustre_count count = { 77, 77 };
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_int_equal(lustre_parse_stats(none[i], "write_bytes", &count), -ENOENT);
		assert_int_equal(count.count, 77);
	}
	for (i = 0; i < sizeof(without_sum) / sizeof(without_sum[0]); i++) {
		assert_int_equal(lustre_parse_stats(without_sum[i], "write_bytes", &count), 0);
		assert_int_equal(count.count, 4);
		assert_int_equal(count.sum, 0);
	}
	assert_int_equal(lustre_parse_stats("x\n\twrite_bytes\t4", "write_bytes", &count), -ENOENT);
	assert_int_equal(lustre_parse_stats("write_bytes 18446744073709551615 samples [bytes] 0 0 "
					    "18446744073709551615", "write_bytes", &count), 0);
	assert_true(count.sum == UINT64_MAX);
}

static void test_import_hostile(void **state)
{
	static const char *const none[] = {
		"", "import:\n", "    state:\n", "    state: \n", "    state: full\n",
		"    state: FULL;rm\n", "    state: ABCDEFGHIJKLMNOPQRST\n",
		"    state: FU\001LL\n",
	};
	char text[16] = "as before";
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_int_equal(lustre_parse_import(none[i], text), -EBADMSG);
		assert_string_equal(text, "as before");
	}
	assert_int_equal(lustre_parse_import("    state: REPLAY_LOCKS", text), 0);
	assert_string_equal(text, "REPLAY_LOCKS");
	assert_false(lustre_state_is_good(text));
	assert_true(lustre_state_is_good("IDLE"));
	assert_true(lustre_state_is_good("FULL"));
	assert_true(lustre_state_is_good(""));
	assert_false(lustre_state_is_good("EVICTED"));
}

static void test_names_hostile(void **state)
{
	static const char *const none[] = {
		"", "-osc-", "scratch-OST0000-osc-", "-OST0000-osc-ffff", "scratch-osc-ffff",
		"scratch--osc-ffff", "OST0000", "scratch-OST0000-mdc-ffff",
		"0123456789012345678901234567890123456789012345678901234567890123-OST0000-osc-ffff",
		"s-0123456789012345678901234567890123456789012345678901234567890123-osc-ffff",
	};
	char fs[LUSTRE_NAME], target[LUSTRE_NAME], instance[LUSTRE_NAME];
	uint64_t in_flight[2] = {}, pages[2] = {};
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(lustre_parse_target(none[i], "osc", fs, target, instance),
				 -EBADMSG);
	/* names of file systems may have dashes, and parts that look like a kind */
	assert_int_equal(lustre_parse_target("my-osc-fs-OST00ff-osc-ffff", "osc", fs, target,
					     instance), 0);
	assert_string_equal(fs, "my-osc-fs");
	assert_string_equal(target, "OST00ff");
	assert_string_equal(instance, "ffff");
	assert_int_equal(lustre_parse_rpcs("", in_flight, pages), -EBADMSG);
	assert_int_equal(lustre_parse_rpcs("read RPCs in flight:\nwrite RPCs in flight: x\n"
					   "pending read pages: -1\n", in_flight, pages), -EBADMSG);
	assert_int_equal(lustre_parse_rpcs("write RPCs in flight: 5", in_flight, pages), 0);
	assert_int_equal(in_flight[1], 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_212, begin, end),
		cmocka_unit_test_setup_teardown(test_215, begin, end),
		cmocka_unit_test_setup_teardown(test_hangs, begin, end),
		cmocka_unit_test_setup_teardown(test_none, begin, end),
		cmocka_unit_test_setup_teardown(test_rates, begin, end),
		cmocka_unit_test(test_stats_hostile), cmocka_unit_test(test_import_hostile),
		cmocka_unit_test(test_names_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
