// SPDX-License-Identifier: GPL-2.0-only
/*
 * Texts of /proc that say what confines a caller: its status, its control groups, and the
 * directories of those, also where mounts show a part of the hierarchy only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "supervisor/control/confines_parse.h"

#define MOUNTS \
	"21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" \
	"30 21 0:26 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n" \
	"31 21 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n" \
	"32 21 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n" \
	"33 21 0:29 /docker/c1 /sys/fs/cgroup/memory rw shared:1 master:2 - cgroup x rw,memory\n" \
	"34 21 0:30 / /odd\\040place\\134x rw - cgroup pids rw,pids\n"

static void test_status(void **state)
{
	const char *text = "Name:\tx\nUid:\t1000\t1001\t1002\t1003\nNoNewPrivs:\t1\n"
			   "CapBnd:\t000001fffeffffff\nSeccomp:\t2\nSeccomp_filters:\t3\n";
	struct confines_status status;

	assert_int_equal(confines_parse_status(text, &status), 0);
	assert_int_equal(status.uid, 1001);
	assert_true(status.no_new_privs);
	assert_int_equal(status.seccomp, 2);
	assert_int_equal(status.filters, 3);
	assert_true(status.bounding == 0x1fffeffffffULL);
	/* A name cannot pass for a field: the kernel escapes line breaks in it. */
	text = "Name:\tNoNewPrivs:\\nNoNewPrivs:\t1\nUid:\t0\t0\t0\t0\nCapBnd:\tf\n"
	       "NoNewPrivs:\t0\nSeccomp:\t0\n";
	assert_int_equal(confines_parse_status(text, &status), 0);
	assert_false(status.no_new_privs);
	assert_int_equal(status.filters, -1);
	assert_int_equal(confines_parse_status("Uid:\t0\t0\nNoNewPrivs:\t0\n", &status), -EINVAL);
	assert_int_equal(confines_parse_status("", &status), -EINVAL);
}

static void test_cgroups(void **state)
{
	struct confines_cgroup groups[CONFINES_HIERARCHIES];
	char text[] = "9:name=systemd:/a\n4:cpu,cpuacct:/slurm/uid_1000/job_2\n0::/user:x/b c\n";
	char many[CONFINES_HIERARCHIES * 8 + 16] = "", bad[] = "0::relative\n", cut[] = "0::/a";
	int i;

	assert_int_equal(confines_parse_cgroups(text, groups), 3);
	assert_string_equal(groups[1].controllers, "cpu,cpuacct");
	assert_string_equal(groups[2].path, "/user:x/b c");
	assert_string_equal(confines_cgroup_path(groups, 3, ""), "/user:x/b c");
	assert_string_equal(confines_cgroup_path(groups, 3, "name=systemd"), "/a");
	assert_null(confines_cgroup_path(groups, 3, "cpu"));
	assert_int_equal(confines_parse_cgroups(bad, groups), -EINVAL);
	assert_int_equal(confines_parse_cgroups(cut, groups), -EINVAL);
	for (i = 0; i <= CONFINES_HIERARCHIES; i++)
		strcat(many, "1:a:/\n");
	assert_int_equal(confines_parse_cgroups(many, groups), -E2BIG);
}

static void dir_is(const char *controllers, const char *path, const char *want)
{
	const struct confines_cgroup group = { controllers, path };
	char dir[256] = "";
	int err = confines_cgroup_dir(MOUNTS, &group, dir, sizeof(dir));

	if (want) {
		assert_int_equal(err, 0);
		assert_string_equal(dir, want);
	} else {
		assert_int_equal(err, -ENOENT);
	}
}

static void test_dir(void **state)
{
	const struct confines_cgroup group = { "", "/long/path" };
	char small[16];

	dir_is("", "/a/b", "/sys/fs/cgroup/unified/a/b");
	dir_is("", "/", "/sys/fs/cgroup/unified/");
	dir_is("cpu,cpuacct", "/s", "/sys/fs/cgroup/cpu,cpuacct/s");
	dir_is("name=systemd", "/s", "/sys/fs/cgroup/systemd/s");
	dir_is("pids", "/s", "/odd place\\x/s");
	dir_is("memory", "/docker/c1", "/sys/fs/cgroup/memory");
	dir_is("memory", "/docker/c1/job", "/sys/fs/cgroup/memory/job");
	dir_is("memory", "/docker/c12", NULL);
	dir_is("memory", "/", NULL);
	dir_is("freezer", "/s", NULL);
	/* outside of ckptd's cgroup namespace */
	dir_is("", "/../a", NULL);
	dir_is("", "/..", NULL);
	dir_is("", "/..a", "/sys/fs/cgroup/unified/..a");
	assert_int_equal(confines_cgroup_dir(MOUNTS, &group, small, sizeof(small)), -ENAMETOOLONG);
}

static void profile_is(const char *text, const char *want)
{
	char copy[64];

	strcpy(copy, text);
	confines_parse_profile(copy);
	assert_string_equal(copy, want);
}

static void test_profile(void **state)
{
	profile_is("unconfined\n", "unconfined");
	profile_is("/usr/bin/man (enforce)\n", "/usr/bin/man");
	profile_is("a b (x)//&c (complain)\n", "a b (x)//&c");
	profile_is("odd(name)", "odd(name)");
	profile_is("", "");
	profile_is("(enforce)", "(enforce)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_cgroups),
		cmocka_unit_test(test_dir),
		cmocka_unit_test(test_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
