// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mounts of NFS out of mountstats and mountinfo: what the kernel writes, names with escapes, one
 * file system mounted twice, lines that are cut off or lie, and counters that began anew.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/devices/counters.h"
#include "supervisor/devices/mount_table.h"
#include "supervisor/devices/nfs_stats.h"

#define HEAD	"device srv:/export mounted on /data with fstype nfs4 statvers=1.1\n"
#define WRITE	"\t       WRITE: 40 43 2 41943040 6400 120 800 1000 1\n"

static const char whole[] =
	"device proc mounted on /proc with fstype proc\n"
	"no device mounted on /sys with fstype sysfs\n"
	HEAD
	"\topts:\trw,vers=4.2,rsize=1048576,hard,proto=tcp,addr=10.0.0.1\n"
	"\tage:\t123\n"
	"\timpl_id:\tname='',domain='',date='0,0'\n"
	"\tevents:\t4 5 0 0 1 2 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
	"\tbytes:\t100 41943040 0 0 8192 41943040 2 10240\n"
	"\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
	"\txprt:\ttcp 0 1 2 0 0 50 50 0 60 0 2 5 10\n"
	"\tper-op statistics\n"
	"\t        NULL: 1 1 0 44 24 0 0 0 0\n"
	"\t        READ: 2 2 0 400 8400 1 10 12 0\n"
	WRITE
	"\t      COMMIT: 0 0 0 0 0 0 0 0 0\n"
	"\n"
	"device tmpfs mounted on /tmp with fstype tmpfs\n"
	"\t       WRITE: 99 99 0 0 0 0 0 0 0\n";

static struct nfs_mounts parsed(const char *text, const struct mount_table *table)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct nfs_mounts mounts = {};

	assert_non_null(f);
	assert_int_equal(nfs_mounts_parse(f, table, &mounts), 0);
	fclose(f);
	return mounts;
}

static struct mount_table table_of(const char *text)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct mount_table table = {};

	assert_non_null(f);
	assert_int_equal(mount_table_parse(f, &table), 0);
	fclose(f);
	return table;
}

static double real(const json_t *row, const char *name)
{
	assert_non_null(json_object_get(row, name));
	return json_number_value(json_object_get(row, name));
}

static void test_whole(void **state)
{
	struct nfs_mounts mounts = parsed(whole, NULL);
	const struct nfs_mount *m = &mounts.mounts[0];
	const struct nfs_op *write;

	assert_int_equal(mounts.nr, 1);
	assert_string_equal(m->source, "srv:/export");
	assert_string_equal(m->dir, "/data");
	assert_true(m->is_v4);
	assert_int_equal(m->age_s, 123);
	assert_int_equal(m->read_bytes, 8192);
	assert_int_equal(m->written_bytes, 41943040);
	/* NULL, READ, WRITE: COMMIT was not used, and the last line is of a tmpfs */
	assert_int_equal(m->nr_ops, 3);
	write = nfs_mount_op(m, "WRITE");
	assert_int_equal(write->count, 40);
	assert_int_equal(write->transmissions, 43);
	assert_int_equal(write->timeouts, 2);
	assert_int_equal(write->sent, 41943040);
	assert_int_equal(write->received, 6400);
	assert_int_equal(write->queue_ms, 120);
	assert_int_equal(write->rtt_ms, 800);
	assert_int_equal(write->execute_ms, 1000);
	assert_int_equal(write->errors, 1);
	assert_null(nfs_mount_op(m, "COMMIT"));
	nfs_mounts_free(&mounts);
}

/* Rates are differences: also of an operation that was not used before. */
static void test_rates(void **state)
{
	struct nfs_mounts before = parsed(
		HEAD "\tage:\t100\n\tbytes:\t0 0 0 0 0 2097152 0 0\n\tper-op statistics\n"
		"\t       WRITE: 20 20 0 20000000 3200 20 200 300 0\n", NULL);
	struct nfs_mounts now = parsed(whole, NULL);
	const struct nfs_mount *b = nfs_mounts_find(&before, &now.mounts[0]);
	json_t *row, *op;

	assert_ptr_equal(b, &before.mounts[0]);
	row = nfs_rates(b, &now.mounts[0], 2000);
	assert_true(real(row, "writes_per_s") == 10);
	assert_true(real(row, "write_ms") == 30);
	assert_true(real(row, "write_bytes_per_s") == (41943040 - 2097152) / 2.0);
	assert_true(real(row, "reads_per_s") == 1);
	assert_true(real(row, "read_ms") == 5);
	assert_true(real(row, "retransmissions") == 3);
	assert_true(real(row, "timeouts") == 2);
	assert_true(real(row, "written_bytes") == 41943040);
	assert_int_equal(json_array_size(json_object_get(row, "operations")), 3);
	op = json_array_get(json_object_get(row, "operations"), 2);
	assert_string_equal(json_string_value(json_object_get(op, "name")), "WRITE");
	assert_true(real(op, "total") == 40 && real(op, "queue_ms") == 5);
	assert_true(real(op, "execute_ms") == 35 && real(op, "retransmissions") == 3);
	json_decref(row);
	nfs_mounts_free(&before);
	nfs_mounts_free(&now);
}

/* After a remount the counters begin at zero: what they have now came since. */
static void test_remount(void **state)
{
	struct nfs_mounts before = parsed(
		HEAD "\tage:\t5000\n\tbytes:\t0 0 0 0 0 99999999 0 0\n\tper-op statistics\n"
		"\t       WRITE: 30 30 0 1 1 1 1 1 0\n", NULL);
	struct nfs_mounts now = parsed(whole, NULL);
	const struct nfs_op had = { .count = 50, .transmissions = 50, .rtt_ms = 10 };
	struct nfs_op d;
	json_t *row;

	/* younger than before: another mount, though its counter of writes is higher */
	assert_null(nfs_mounts_find(&before, &now.mounts[0]));
	row = nfs_rates(NULL, &now.mounts[0], 1000);
	assert_true(real(row, "writes_per_s") == 40);
	assert_true(real(row, "write_bytes_per_s") == 41943040);
	json_decref(row);
	/* as old, and yet lower: nothing is below zero */
	d = nfs_op_since(nfs_mount_op(&now.mounts[0], "WRITE"), &had);
	assert_int_equal(d.count, 40);
	assert_int_equal(d.rtt_ms, 800);
	assert_int_equal(nfs_op_again(&had), 0);
	before.mounts[0].age_s = 123;
	row = nfs_rates(&before.mounts[0], &now.mounts[0], 1000);
	assert_true(real(row, "write_bytes_per_s") == 41943040);
	json_decref(row);
	nfs_mounts_free(&before);
	nfs_mounts_free(&now);
}

static void test_escapes(void **state)
{
	struct nfs_mounts mounts = parsed(
		"device srv:/my\\040export\\134x mounted on /home/a\\040b\\011c\\012d with "
		"fstype nfs statvers=1.1\n\tage:\t1\n", NULL);
	char text[] = "\\04 \\\\ \\999 \\000 \\777 x\\";
	json_t *row;

	assert_int_equal(mounts.nr, 1);
	assert_string_equal(mounts.mounts[0].source, "srv:/my export\\x");
	assert_string_equal(mounts.mounts[0].dir, "/home/a b\tc\nd");
	assert_false(mounts.mounts[0].is_v4);
	nfs_mounts_free(&mounts);
	/* what is no escape stays */
	mount_unescape(text);
	assert_string_equal(text, "\\04 \\\\ \\999 \\000 \\777 x\\");
	/* a name that is no text does not lose the row */
	mounts = parsed("device srv:/\\377 mounted on /\\376 with fstype nfs\n", NULL);
	row = nfs_rates(NULL, &mounts.mounts[0], 1000);
	assert_string_equal(json_string_value(json_object_get(row, "source")), "srv:/?");
	json_decref(row);
	nfs_mounts_free(&mounts);
}

/* Each of these leaves the mount, without the line that is none. */
static void test_hostile(void **state)
{
	static const char *const lines[] = {
		"\t       WRITE: 40 43 2 41943040 6400 120 800",		/* cut off */
		"\t       WRITE: 40 43 2 41943040 6400 120 800 ",
		"\t       WRITE: 40 43 2 41943040 6400 120 800 99999999999999999999999\n",
		"\t       WRITE: 40 43 2 41943040 6400 120 800 -1 0\n",
		"\t       WRITE: 40 43 2 41943040 6400 120 800 1x 0\n",
		"\t       WRITE: 40 43 2 41943040 6400 120 800 1000 x\n",
		"\t       WRITE:\n", "\t       WRITE\n", "\t       : 40 43 2 1 1 1 1 1 1\n",
		"\t       write: 40 43 2 1 1 1 1 1 1\n",
		"\tABCDEFGHIJKLMNOPQRSTUVWXYZ_ABCDEFGHIJ: 40 43 2 1 1 1 1 1 1\n",
		"\tage:\t\n", "\tage:\t-5\n", "\tbytes:\t1 2 3\n", "\tbytes:\t1 2 3 4 x 6 7 8\n",
	};
	static const char *const heads[] = {
		"device\n", "device \n", "device srv:/x\n", "device srv:/x mounted on\n",
		"device srv:/x mounted on /data with fstype\n",
		"device srv:/x mounted over /data with fstype nfs\n",
		"device srv:/x mounted on /data with fstype nfsd\n",
	};
	struct nfs_mounts mounts;
	char text[512];
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(text, sizeof(text), HEAD "\tper-op statistics\n%s", lines[i]);
		mounts = parsed(text, NULL);
		assert_int_equal(mounts.nr, 1);
		assert_int_equal(mounts.mounts[0].nr_ops, 0);
		assert_int_equal(mounts.mounts[0].age_s, 0);
		assert_int_equal(mounts.mounts[0].written_bytes, 0);
		nfs_mounts_free(&mounts);
	}
	/* lines of a mount that cannot be read are not the one's before */
	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		snprintf(text, sizeof(text), HEAD "\tper-op statistics\n%s" WRITE, heads[i]);
		mounts = parsed(text, NULL);
		assert_int_equal(mounts.nr, 1);
		assert_int_equal(mounts.mounts[0].nr_ops, 0);
		nfs_mounts_free(&mounts);
	}
	/* numbers as high as they can be stay in JSON */
	mounts = parsed(HEAD "\tage:\t18446744073709551615\n\tbytes:\t0 0 0 0 "
			"18446744073709551615 18446744073709551615 0 0\n\tper-op statistics\n"
			"\tWRITE: 18446744073709551615 1 1 1 1 1 1 1\n", NULL);
	assert_int_equal(mounts.mounts[0].nr_ops, 1);
	{
		json_t *row = nfs_rates(NULL, &mounts.mounts[0], 0);

		assert_true(json_integer_value(json_object_get(row, "written_bytes")) == INT64_MAX);
		assert_true(real(row, "write_bytes_per_s") == 0);
		json_decref(row);
	}
	nfs_mounts_free(&mounts);
}

/* Many mounts are cut, and so are the operations of one. */
static void test_many(void **state)
{
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);
	struct nfs_mounts mounts;

	for (i = 0; i < NFS_MOUNTS_MAX + 5; i++)
		fprintf(f, "device srv:/home/u%zu mounted on /home/u%zu with fstype nfs4\n", i, i);
	fclose(f);
	mounts = parsed(text, NULL);
	assert_int_equal(mounts.nr, NFS_MOUNTS_MAX);
	assert_true(mounts.cut);
	nfs_mounts_free(&mounts);
	free(text);
	f = open_memstream(&text, &size);
	fprintf(f, HEAD "\tper-op statistics\n");
	for (i = 0; i < NFS_OPS_MAX + 5; i++)
		fprintf(f, "\tOP%zu: 1 1 1 1 1 1 1 1 1\n", i);
	fclose(f);
	mounts = parsed(text, NULL);
	assert_int_equal(mounts.mounts[0].nr_ops, NFS_OPS_MAX);
	nfs_mounts_free(&mounts);
	free(text);
}

static const char info[] =
	"20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	"21 20 0:45 / /data rw shared:2 master:3 - nfs4 srv:/export rw,vers=4.2\n"
	"22 20 0:45 /sub /other rw - nfs4 srv:/export/sub rw,vers=4.2\n"
	"23 21 0:46 / /data/deep\\040er rw - lustre 10.0.0.1@tcp:/scratch rw\n"
	"a line that is none\n"
	"24 20 0:47 / nowhere rw - tmpfs tmpfs rw\n"
	"25 20 0:48 / /cut rw shared:1";

static void test_table(void **state)
{
	struct mount_table table = table_of(info);
	const struct mount_entry *e;

	assert_int_equal(table.nr, 4);
	e = mount_table_at(&table, "/data/x/y");
	assert_string_equal(e->source, "srv:/export");
	assert_true(mount_entry_is_served(e));
	assert_int_equal(e->minor, 45);
	e = mount_table_at(&table, "/data/deep er");
	assert_string_equal(e->type, "lustre");
	assert_true(mount_entry_is_served(e));
	/* a name that only begins alike */
	e = mount_table_at(&table, "/data2");
	assert_string_equal(e->dir, "/");
	assert_false(mount_entry_is_served(e));
	assert_null(mount_table_at(&table, "data"));
	assert_null(mount_table_at(&table, "/x/../data"));
	assert_null(mount_table_at(&table, "/x/.."));
	assert_non_null(mount_table_at(&table, "/x/..data"));
	assert_string_equal(mount_table_of(&table, 0, 45)->dir, "/data");
	assert_null(mount_table_of(&table, 0, 99));
	mount_table_free(&table);
}

/* One file system that is mounted twice has one set of counters, and is one row. */
static void test_twice(void **state)
{
	struct mount_table table = table_of(info);
	struct nfs_mounts mounts = parsed(
		"device srv:/export mounted on /data with fstype nfs4\n\tper-op statistics\n" WRITE
		"device srv:/export/sub mounted on /other with fstype nfs4\n\tper-op statistics\n"
		WRITE "device srv:/new mounted on /new with fstype nfs4\n\tper-op statistics\n"
		WRITE, &table);

	assert_int_equal(mounts.nr, 2);
	assert_string_equal(mounts.mounts[0].number, "0:45");
	assert_ptr_equal(nfs_mounts_of(&mounts, "0:45"), &mounts.mounts[0]);
	/* mounted between the reading of the two files */
	assert_string_equal(mounts.mounts[1].number, "");
	assert_int_equal(mounts.mounts[0].nr_ops, 1);
	assert_null(nfs_mounts_of(&mounts, ""));
	nfs_mounts_free(&mounts);
	mount_table_free(&table);
}

/* The files of this machine, whatever it has mounted. */
static void test_here(void **state)
{
	struct nfs_mounts mounts = {};
	struct mount_table table = {};
	const int err = nfs_mounts_read(&mounts);

	assert_true(!err || err == -ENOENT);
	nfs_mounts_free(&mounts);
	assert_int_equal(mount_table_read(&table), 0);
	assert_non_null(mount_table_at(&table, "/proc/self"));
	assert_string_equal(mount_table_at(&table, "/proc/self")->type, "proc");
	mount_table_free(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole), cmocka_unit_test(test_rates),
		cmocka_unit_test(test_remount), cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_many),
		cmocka_unit_test(test_table), cmocka_unit_test(test_twice),
		cmocka_unit_test(test_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
