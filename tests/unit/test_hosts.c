// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hosts file and nodes' keys: what is understood, what is refused and where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "hosts/hosts.h"

#define K1 "zw1rvVjbnfaykc8yrya3a6LqyMkOH3kMOeE5AXL6EiQ="
#define K2 "YkAExrtdyQBi3deFxbiMWjSRITpBUgCVDdfJeySVFH0="
#define K3 "CCgRD3c7qaWEMi9HQNtpcHOU0wbs2mRcAmvgJyd2EBY="

static int parse(const char *text, struct hosts *hosts, struct ckpt_error *error)
{
	return hosts_parse(text, strlen(text), hosts, error);
}

static void test_good(void **state)
{
	struct hosts hosts = { 0 };
	struct ckpt_error error;
	char text[NODE_KEY_TEXT];

	assert_int_equal(parse("# the cluster\n\n"
			       "n1 10.0.0.1 " K1 "\n"
			       "\tn-2.x  node2.example.org:81\t" K2 "  domain=rack-2 # second\r\n"
			       "n3 [fe80::1]:65535 " K3, &hosts, &error), 0);
	assert_int_equal(hosts.nr, 3);
	assert_string_equal(hosts.host[0].domain, "");
	assert_string_equal(hosts.host[1].domain, "rack-2");
	assert_string_equal(hosts.host[0].address, "10.0.0.1");
	assert_int_equal(hosts.host[0].port, HOSTS_PORT);
	assert_string_equal(hosts.host[1].name, "n-2.x");
	assert_string_equal(hosts.host[1].address, "node2.example.org");
	assert_int_equal(hosts.host[1].port, 81);
	assert_string_equal(hosts.host[2].address, "[fe80::1]");
	assert_int_equal(hosts.host[2].port, 65535);
	node_key_text(hosts.host[2].key, text);
	assert_string_equal(text, K3);
	assert_int_equal(hosts_find(&hosts, "n3"), 2);
	assert_int_equal(hosts_find(&hosts, "n4"), -ENOENT);
	assert_int_equal(hosts_find_key(&hosts, hosts.host[1].key), 1);
	hosts_done(&hosts);
	hosts_done(&hosts);
	assert_int_equal(parse("", &hosts, &error), 0);
	assert_int_equal(hosts.nr, 0);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "n1\n", "line 1: NAME" },
		{ "n1 10.0.0.1\n", "line 1: NAME" },
		{ "n1 10.0.0.1 # " K1, "line 1: NAME" },
		{ "n1 10.0.0.1 " K1 " x\n", "line 1: x after" },
		{ "n1 10.0.0.1 " K1 " root=maybe\n", "line 1: root=maybe after" },
		{ "n1 10.0.0.1 " K1 " domain=\n", "line 1: domain=: no name" },
		{ "n1 10.0.0.1 " K1 " domain=a/b\n", "line 1: domain=a/b: no name" },
		{ "n1 10.0.0.1 " K1 " domain=a domain=b\n", "line 1: domain=b: no name" },
		{ "\n\nn/1 10.0.0.1 " K1, "line 3: n/1 is no name" },
		{ "n1 10.0.0.1:0 " K1, "line 1: 10.0.0.1:0 is no" },
		{ "n1 10.0.0.1:65536 " K1, "line 1: 10.0.0.1:65536 is no" },
		{ "n1 10.0.0.1:-1 " K1, "line 1: 10.0.0.1:-1 is no" },
		{ "n1 10.0.0.1: " K1, "line 1: 10.0.0.1: is no" },
		{ "n1 [fe80::1 " K1, "line 1: [fe80::1 is no" },
		{ "n1 [] " K1, "line 1: [] is no" },
		{ "n1 fe80::1 " K1, "line 1: fe80::1 is no" },
		{ "n1 a;b " K1, "line 1: a;b is no" },
		{ "n1 a " K1 "=", "line 1: " K1 "= is no public key" },
		{ "n1 a zw1rvVjbnfaykc8yrya3a6LqyMkOH3kMOeE5AXL6Ei", "line 1: zw" },
		{ "n1 a " K1 "\nn1 b " K2, "line 2: n1 is there twice" },
		{ "n1 a " K1 "\nn2 b " K1, "line 2: n2 has the key of n1" },
	};
	struct hosts hosts = { (struct host *)1, 77 };
	struct ckpt_error error;
	char text[1500];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(parse(rows[i].text, &hosts, &error), -EINVAL);
		assert_int_equal(error.err, -EINVAL);
		if (strncmp(error.text, rows[i].why, strlen(rows[i].why)))
			fail_msg("%s instead of %s", error.text, rows[i].why);
	}
	assert_int_equal(hosts_parse("a\0b\n", 4, &hosts, &error), -EINVAL);
	memset(text, 'x', sizeof(text));
	assert_int_equal(hosts_parse(text, sizeof(text), &hosts, &error), -EINVAL);
	assert_int_equal(hosts_parse(text, HOSTS_FILE_MAX + 1, &hosts, &error), -E2BIG);
	/* nothing was written */
	assert_int_equal(hosts.nr, 77);
}

/* As many as there may be, and one more. */
static void test_many(void **state)
{
	char *text = malloc((HOSTS_MAX + 1) * 80), *at = text;
	uint8_t key[NODE_KEY_BYTES] = { 0 };
	struct hosts hosts = { 0 };
	struct ckpt_error error;
	char name[NODE_KEY_TEXT];
	unsigned int i;
	size_t len = 0;

	for (i = 0; i <= HOSTS_MAX; i++) {
		if (i == HOSTS_MAX)
			len = (size_t)(at - text);
		key[0] = (uint8_t)i;
		key[1] = (uint8_t)(i >> 8);
		node_key_text(key, name);
		at += sprintf(at, "n%u a %s\n", i, name);
	}
	assert_int_equal(hosts_parse(text, (size_t)(at - text), &hosts, &error), -E2BIG);
	assert_int_equal(hosts_parse(text, len, &hosts, &error), 0);
	assert_int_equal(hosts.nr, HOSTS_MAX);
	hosts_done(&hosts);
	free(text);
}

static void put(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void test_files(void **state)
{
	char dir[] = "/tmp/test_hosts.XXXXXX", path[64];
	struct ckpt_error error;
	struct hosts hosts = { 0 };

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/hosts", dir);
	assert_int_equal(hosts_load(path, &hosts, &error), -ENOENT);
	put(path, "n1 a " K1 "\nn2\n", 0644);
	assert_int_equal(hosts_load(path, &hosts, &error), -EINVAL);
	assert_non_null(strstr(error.text, "/hosts: line 2: "));
	put(path, "n1 a " K1 "\n", 0664);
	assert_int_equal(hosts_load(path, &hosts, &error), -EPERM);
	put(path, "n1 a " K1 "\n", 0644);
	assert_int_equal(hosts_load(path, &hosts, &error), 0);
	hosts_done(&hosts);
	assert_int_equal(hosts_load(dir, &hosts, &error), -EINVAL);
	unlink(path);
	rmdir(dir);
}

static void test_key_files(void **state)
{
	char dir[] = "/tmp/test_hosts.XXXXXX", path[64];
	struct node_key key, again, third;
	struct ckpt_error error;
	struct stat st;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/node.key", dir);
	assert_int_equal(node_key_load(path, &key, &error), -ENOENT);
	assert_non_null(strstr(error.text, "keygen"));
	assert_int_equal(node_key_create(path, false, &key, &error), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(node_key_load(path, &again, &error), 0);
	assert_memory_equal(&key, &again, sizeof(key));
	assert_int_equal(node_key_create(path, false, &third, &error), -EEXIST);
	assert_int_equal(node_key_create(path, true, &third, &error), 0);
	assert_memory_not_equal(&key, &third, sizeof(key));
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(node_key_load(path, &again, &error), -EPERM);
	put(path, K1 "x\n", 0600);
	assert_int_equal(node_key_load(path, &again, &error), -EINVAL);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);	/* nothing is left beside it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good), cmocka_unit_test(test_bad),
		cmocka_unit_test(test_many), cmocka_unit_test(test_files),
		cmocka_unit_test(test_key_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
