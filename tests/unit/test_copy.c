// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl copy, the command itself: what is there after it, what it says, its status.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/unit/image_fixture.h"

struct command {
	struct scratch *s;
	char program[PATH_MAX];
	char out[4000];		/* what it printed last, both streams */
};

/* This is build/san/bin/tests/unit/test_copy, the command build/bin/ckptctl. */
static void command_init(struct command *c, struct scratch *s)
{
	static const struct model_size size = {
		.mms = 1, .pages = 400, .records = 5, .blobs = 1, .incompressible = 1,
	};
	struct model m;
	ssize_t len;
	int i;

	c->s = s;
	len = readlink("/proc/self/exe", c->program, sizeof(c->program) - 32);
	assert_true(len > 0);
	c->program[len] = '\0';
	for (i = 0; i < 5; i++)
		*strrchr(c->program, '/') = '\0';
	strcat(c->program, "/bin/ckptctl");
	store_file(scratch_path(s, "key"), "a key for tests, thirty-two long", 32);
	store_file(scratch_path(s, "other"), "another key, also thirty-two by.", 32);
	model_init(&m, 3, &size);
	model_store(&m, s, scratch_path(s, "image"), 9, "job", 0);
	model_done(&m);
}

/* Run with key, words and the two paths (or none); exit status. */
static int run(struct command *c, const char *key, const char *words, const char *from,
	       const char *to)
{
	char line[PATH_MAX + 1000];
	size_t len;
	FILE *f;
	int status;

	snprintf(line, sizeof(line), "'%s' --key '%s' %s '%s' %s%s%s 2>&1", c->program,
		 scratch_path(c->s, key), words, scratch_path(c->s, from), to ? "'" : "",
		 to ? scratch_path(c->s, to) : "", to ? "'" : "");
	f = popen(line, "r");
	assert_non_null(f);
	len = fread(c->out, 1, sizeof(c->out) - 1, f);
	c->out[len] = '\0';
	status = pclose(f);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void copies(void **state)
{
	struct command c;

	command_init(&c, *state);
	if (run(&c, "key", "copy", "image", "copy"))
		fail_msg("%s", c.out);
	assert_non_null(strstr(c.out, "copied"));
	assert_int_equal(run(&c, "key", "--standalone verify --deep", "copy", NULL), 0);
	assert_int_equal(run(&c, "key", "--json copy --limit 1000", "copy", "again"), 0);
	assert_non_null(strstr(c.out, "\"generation\": 9"));
	assert_int_equal(run(&c, "key", "--standalone diff", "image", "again"), 0);
}

static void refuses(void **state)
{
	struct scratch *s = *state;
	struct command c;
	int fd;

	command_init(&c, s);
	assert_int_equal(run(&c, "key", "copy", "image", "copy"), 0);
	assert_int_equal(run(&c, "key", "copy", "image", "copy"), 1);
	assert_non_null(strstr(c.out, "there already"));
	assert_int_equal(run(&c, "other", "copy", "image", "x"), 1);
	assert_non_null(strstr(c.out, "another key"));
	assert_int_equal(run(&c, "key", "copy", "nothing", "x"), 1);
	assert_int_equal(run(&c, "key", "copy", "image", "no/x"), 1);
	assert_int_equal(run(&c, "key", "copy", "image", NULL), 2);
	assert_int_equal(run(&c, "key", "copy -l 0", "image", "x"), 2);
	fd = open(scratch_path(s, "image/pages"), O_WRONLY);
	assert_int_equal(pwrite(fd, "x", 1, 500000), 1);
	close(fd);
	assert_int_equal(run(&c, "key", "copy", "image", "x"), 1);
	assert_non_null(strstr(c.out, "authentication failed"));
	/* keys, image, copy */
	assert_int_equal(count_entries(s->root), 4);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(copies),
		T(refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
