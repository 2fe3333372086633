// SPDX-License-Identifier: GPL-2.0-only
/*
 * Configuration: what is understood, what is refused and where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/storage/config.h"

static int parse(struct config *config, const char *text, unsigned int *line)
{
	return config_parse(config, text, strlen(text), line, NULL);
}

static void test_defaults(void **state)
{
	struct config config;

	assert_int_equal(config_init(&config), 0);
	assert_string_equal(config.socket, "/run/stillpoint/ckptd.sock");
	assert_string_equal(config.key, "/etc/stillpoint/key");
	assert_int_equal(config.log_level, LOG_LEVEL_INFO);
	assert_int_equal(config.socket_mode, 0666);
	assert_null(config.allow_users);
	assert_null(config.allow_groups);
	assert_null(config.socket_group);
	assert_int_equal(config.max_pause_ms, 0);
	assert_string_equal(config.sockets, "refuse");
	assert_int_equal(config.node_mtbf_s, 365 * 86400);
	assert_string_equal(config.diagnose, "off");
	assert_false(config.io_trace);
	assert_null(config.metrics_file);
	assert_string_equal(config.degraded_devices, "notify");
	assert_int_equal(config.diagnose_every_s, 60);
	assert_int_equal(config.diagnose_patience_s, 600);
	assert_false(retention_is_rule(&config.retain));
	assert_int_equal(config.incremental, 0);
	assert_int_equal(config.merge_after, 4);
	assert_string_equal(config.scrub, "off");
	assert_int_equal(config.scrub_every, 8);
	assert_true(config.merge_limit == 128ULL << 20);
	assert_false(config.munge);
	assert_true(config.pipeline_memory == 64ULL << 20);
	assert_true(!config.l0_memory);
	assert_int_equal(config.user_max_jobs, 1000);
	assert_int_equal(config.user_reserve, 5);
	assert_false(config.user_max_records || config.user_max_size ||
		     config.user_min_interval_s);
	assert_int_equal(config.lease_s, 0);
	assert_null(config.fence_command);
	assert_null(config.store);
	assert_null(config.encryption_key);
	assert_string_equal(config.job_keys, "off");
	assert_null(config.job_keys_recovery);
	assert_true(config.store_encrypt && !config.store_port && !config.store_max);
	assert_non_null(config.shim);
	assert_non_null(config.node);
	config_done(&config);
	config_done(&config);
}

static void test_good(void **state)
{
	struct config config;
	unsigned int line = 0;

	assert_int_equal(config_init(&config), 0);
	assert_int_equal(parse(&config,
			       "# comment\n\n  image_dir\t=  /mnt/a b  # why\n"
			       "log_level=debug\nmax_pause_ms = 250\nnode = n-1.x\n"
			       "node_mtbf = 1d12h\n"
			       "diagnose = notify\ndiagnose_every = 5m\n"
			       "diagnose_patience = 1h\n"
			       "io_trace = on\nmetrics_file = /x.prom\n"
			       "degraded_devices = avoid\n"
			       "l0_memory = 3G\npipeline_memory = 48M\n"
			       "incremental = 6\nmerge_after = 0\nmerge_limit = 1G\n"
			       "scrub = stop\nscrub_every = 1\n"
			       "retain_keep = 3\nretain_keep_every=10\nretain_max_size = 2T\n"
			       "user_max_jobs = 0\nuser_max_records = 7\nuser_max_size = 3G\n"
			       "user_reserve = 12\nuser_min_interval = 5m\nmunge = yes\n"
			       "lease = 1m\nfence_command = /f\n"
			       "store = /s\nstore_max = 1G\nstore_port = 7930\nstore_encrypt = no\n"
			       "encryption_key = keyring:still:point\n"
			       "key = /k",
			       &line),
			 0);
	assert_string_equal(config.encryption_key, "keyring:still:point");
	assert_string_equal(config.store, "/s");
	assert_int_equal(config.user_max_jobs, 0);
	assert_int_equal(config.user_max_records, 7);
	assert_true(config.user_max_size == 3ULL << 30);
	assert_int_equal(config.user_reserve, 12);
	assert_int_equal(config.user_min_interval_s, 300);
	assert_int_equal(config.lease_s, 60);
	assert_string_equal(config.fence_command, "/f");
	assert_true(config.store_max == 1ULL << 30 && config.store_port == 7930);
	assert_false(config.store_encrypt);
	assert_true(config.munge);
	assert_int_equal(config.incremental, 6);
	assert_true(config.pipeline_memory == 48ULL << 20);
	assert_true(config.l0_memory == 3ULL << 30);
	assert_int_equal(config.merge_after, 0);
	assert_string_equal(config.scrub, "stop");
	assert_int_equal(config.scrub_every, 1);
	assert_true(config.merge_limit == 1ULL << 30);
	assert_int_equal(config.retain.keep, 3);
	assert_int_equal(config.retain.keep_every, 10);
	assert_true(config.retain.max_size == 2ULL << 40);
	assert_string_equal(config.image_dir, "/mnt/a b");
	assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
	assert_int_equal(config.max_pause_ms, 250);
	assert_int_equal(config.node_mtbf_s, 36 * 3600);
	assert_string_equal(config.diagnose, "notify");
	assert_true(config.io_trace);
	assert_string_equal(config.metrics_file, "/x.prom");
	assert_string_equal(config.degraded_devices, "avoid");
	assert_int_equal(config.diagnose_every_s, 300);
	assert_int_equal(config.diagnose_patience_s, 3600);
	assert_string_equal(config.node, "n-1.x");
	assert_string_equal(config.key, "/k");
	config_done(&config);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text;
		int err;
		unsigned int line;
	} rows[] = {
		{ "listen = 10.0.0.1:80\n", -EINVAL, 1 },
		{ "listen = a b\n", -EINVAL, 1 },
		{ "image_dirs = /x\n", -ENOENT, 1 },
		{ "\n\nimage_dir /x\n", -EINVAL, 3 },
		{ "image_dir =\n", -EINVAL, 1 },
		{ "image_dir = relative\n", -EINVAL, 1 },
		{ "= x\n", -ENOENT, 1 },
		{ "sockets = keep\n", -EINVAL, 1 },
		{ "max_pause_ms = -1\n", -EINVAL, 1 },
		{ "max_pause_ms = 1x\n", -EINVAL, 1 },
		{ "max_pause_ms = 99999999999999999999\n", -EINVAL, 1 },
		{ "user_min_interval = 10ms\n", -EINVAL, 1 },
		{ "user_max_jobs = many\n", -EINVAL, 1 },
		{ "user_reserve = 51\n", -EINVAL, 1 },
		{ "lease = 9s\n", -EINVAL, 1 },
		{ "lease = 2h\n", -EINVAL, 1 },
		{ "lease = -1\n", -EINVAL, 1 },
		{ "fence_command = fence\n", -EINVAL, 1 },
		{ "store_port = 65536\n", -EINVAL, 1 },
		{ "incremental = 16\n", -EINVAL, 1 },
		{ "scrub = repair\n", -EINVAL, 1 },
		{ "scrub_every = 0\n", -EINVAL, 1 },
		{ "scrub_every = 1001\n", -EINVAL, 1 },
		{ "incremental = +1\n", -EINVAL, 1 },
		{ "max_pause_ms = 3600001\n", -EINVAL, 1 },
		{ "store_encrypt = maybe\n", -EINVAL, 1 },
		{ "munge = wherever\n", -EINVAL, 1 },
		{ "encryption_key = relative\n", -EINVAL, 1 },
		{ "job_keys = yes\n", -EINVAL, 1 },
		{ "job_keys_recovery = /etc/key\n", -EINVAL, 1 },
		{ "socket_mode = 0777\n", -EINVAL, 1 },
		{ "socket_mode = 8\n", -EINVAL, 1 },
		{ "socket_group = no-such-group-here\n", -EINVAL, 1 },
		{ "allow_users = root,no-such-user-here\n", -EINVAL, 1 },
		{ "allow_users = root nobody\n", -EINVAL, 1 },
		{ "allow_users = *,root\n", -EINVAL, 1 },
		{ "allow_groups = root,\n", -EINVAL, 1 },
		{ "encryption_key = keyring:\n", -EINVAL, 1 },
		{ "encryption_key = keyring:a b\n", -EINVAL, 1 },
		{ "retain_keep = -1\n", -EINVAL, 1 },
		{ "retain_max_size = 10X\n", -EINVAL, 1 },
		{ "retain_max_size = 10GB\n", -EINVAL, 1 },
		{ "retain_max_size = -1\n", -EINVAL, 1 },
		{ "retain_max_size = G\n", -EINVAL, 1 },
		{ "retain_max_size = 99999999999T\n", -EINVAL, 1 },
		{ "pipeline_memory = 33554431\n", -EINVAL, 1 },
		{ "pipeline_memory = 0\n", -EINVAL, 1 },
		{ "l0_memory = on\n", -EINVAL, 1 },
		{ "l0_memory = off\n", 0, 1 },
		{ "log_level = loud\n", -EINVAL, 1 },
		{ "node_mtbf = 0\n", -EINVAL, 1 },
		{ "diagnose = recover\n", 0, 1 },
		{ "diagnose = restart\n", -EINVAL, 1 },
		{ "io_trace = yes\n", -EINVAL, 1 },
		{ "metrics_file = x.prom\n", -EINVAL, 1 },
		{ "degraded_devices = on\n", -EINVAL, 1 },
		{ "diagnose_every = 0\n", -EINVAL, 1 },
		{ "node_mtbf = -3d\n", -EINVAL, 1 },
		{ "node_mtbf = nan\n", -EINVAL, 1 },
		{ "node_mtbf = 101y\n", -EINVAL, 1 },
		{ "node_mtbf = soon\n", -EINVAL, 1 },
		{ "node = a/b\n", -EINVAL, 1 },
		{ "key = /a\nnode =\n", -EINVAL, 2 },
		{ "key = /a\n#\nkey = /b\n", -EEXIST, 3 },
		{ "level.a = partner\nlevel.a.every = 2\n\nlevel.a.every = 2\n", -EEXIST, 4 },
		{ "level.a = partner\nlevel.a = posix:/x\n", -EEXIST, 2 },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config config;
		unsigned int line = 0;

		assert_int_equal(config_init(&config), 0);
		assert_int_equal(parse(&config, rows[i].text, &line), rows[i].err);
		assert_int_equal(line, rows[i].line);
		config_done(&config);
	}
}

/* Where secrets are looked for, of the settings and of what is in the state directory. */
static void test_secret(void **state)
{
	char dir[] = "/tmp/test_config.XXXXXX", keys[64], want[256], text[256];
	struct config config;
	unsigned int line;

	assert_non_null(mkdtemp(dir));
	snprintf(keys, sizeof(keys), "%s/keys", dir);
	snprintf(text, sizeof(text), "state_dir = %s\n", dir);
	assert_int_equal(config_init(&config), 0);
	assert_int_equal(parse(&config, text, &line), 0);
	assert_int_equal(config_secret(&config), 0);
	assert_null(config.secret);
	assert_false(config_has_job_keys(&config));
	assert_int_equal(config_set(&config, "encryption_key", "keyring:jobs"), 0);
	assert_int_equal(config_secret(&config), 0);
	assert_string_equal(config.secret, "keyring:jobs");
	assert_false(config_has_job_keys(&config));
	assert_int_equal(config_set(&config, "job_keys", "on"), 0);
	assert_int_equal(config_secret(&config), 0);
	snprintf(want, sizeof(want), "jobs:%s\nkeyring:jobs", keys);
	assert_string_equal(config.secret, want);
	assert_true(config_has_job_keys(&config));
	/* keys that are there count, whatever the setting says later */
	assert_int_equal(config_set(&config, "job_keys", "off"), 0);
	assert_int_equal(mkdir(keys, 0700), 0);
	assert_int_equal(config_secret(&config), 0);
	assert_string_equal(config.secret, want);
	assert_int_equal(config_set(&config, "job_keys", "only"), 0);
	assert_int_equal(config_secret(&config), 0);
	snprintf(want, sizeof(want), "jobs-only:%s\nkeyring:jobs", keys);
	assert_string_equal(config.secret, want);
	config_done(&config);
	assert_int_equal(rmdir(keys), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* A message names each setting that was refused, and its allowed values. */
static void test_said(void **state)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{ "log_level = loud",
		"log_level: loud is no value for it (error, warning, info or debug)" },
		{ "allow_users = no-such-user-here",
		  "allow_users: no-such-user-here is no value for it (* or users of this "
		  "machine, as alice,1002)" },
		{ "socket_mode = 777",
		  "socket_mode: 777 is no value for it (an octal mode, as 0660: read and write "
		  "alone)" },
		{ "job_keys = all",
		  "job_keys: all is no value for it (off, on or only)" },
		{ "key = k", "key: k is no value for it (an absolute path)" },
		{ "store_port = 65536",
		"store_port: 65536 is no value for it (a number, at most 65535)" },
		{ "pipeline_memory = 16M",
		  "pipeline_memory: 16M is no value for it (bytes, as 48M, at least 32M)" },
		{ "l0_memory = on",
		  "l0_memory: on is no value for it (off, or bytes, as 500M or 2G)" },
		{ "image_dirs = /x", "image_dirs: no such setting (did you mean image_dir?)" },
		{ "colour = 1", "colour: no such setting" },
		{ "image_dir /x", "image_dir /x: NAME = VALUE is expected" },
		{ "key = /a\n\nkey = /a", "key is there twice (line 1)" },
		{ "level.a.every = 2\nlevel.a = partner",
		  "level.a.every: there is no level a yet: level.a = PLACE has to come first" },
		{ "level.a.often = 2", "level.a.often: no such setting" },
		{ "level.a = partner\nlevel.a.often = 2", "level.a.often: no such setting" },
		{ "level.a = partner\nlevel.a.every = 0",
		"level.a.every: 0 is no value for it (a number from 1)" },
		{ "level.a = partner\nlevel.a.limit = x",
		"level.a.limit: x is no value for it (bytes, as 500, 10M or 2T)" },
		{ "level.1=partner\nlevel.2=partner\nlevel.3=partner\nlevel.4=partner\n"
		  "level.5=partner\nlevel.6=partner\nlevel.7=partner\nlevel.8=partner",
		  "level.8: too many levels, there may be 7" },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ckpt_error error;
		struct config config;
		unsigned int line;

		assert_int_equal(config_init(&config), 0);
		assert_true(config_parse(&config, rows[i].text, strlen(rows[i].text), &line,
					 &error) < 0);
		assert_string_equal(error.text, rows[i].said);
		config_done(&config);
	}
}

/* NUL bytes, no line end, lines longer than any path. */
static void test_hostile(void **state)
{
	struct config config;
	unsigned int line;
	char *text = malloc(100000);
	size_t i;

	assert_non_null(text);
	assert_int_equal(config_init(&config), 0);
	memset(text, 'a', 100000);
	assert_int_equal(config_parse(&config, text, 100000, &line, NULL), -EINVAL);
	memcpy(text, "key = /a\0b", 10);
	assert_int_equal(config_parse(&config, text, 10, &line, NULL), -EINVAL);
	assert_int_equal(config_parse(&config, "", 0, &line, NULL), 0);
	srand(1);
	for (i = 0; i < 2000; i++) {
		size_t j, n = (size_t)rand() % 64;

		for (j = 0; j < n; j++)
			text[j] = "=# \n/akey\t\0"[rand() % 11];
		config_parse(&config, text, n, &line, NULL);
	}
	config_done(&config);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_secret),
		cmocka_unit_test(test_said),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
