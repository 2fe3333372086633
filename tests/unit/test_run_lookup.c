// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names that `run` looks up: of the user, and of the MPI library. A directory server or a file
 * system that does not answer holds up that request alone, and for a time only.
 */
#include "tests/unit/ctl_fixture.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/storage/common.h"
#include "supervisor/verbs/run_lookup.h"

static bool user_hangs;

/* Called by the worker instead of those of the C library. */
char *__real_realpath(const char *path, char *buf);
char *__wrap_realpath(const char *path, char *buf);
int __real_getpwuid_r(uid_t uid, struct passwd *pw, char *text, size_t size,
		      struct passwd **ret_pw);
int __wrap_getpwuid_r(uid_t uid, struct passwd *pw, char *text, size_t size,
		      struct passwd **ret_pw);

char *__wrap_realpath(const char *path, char *buf)
{
	while (!strncmp(path, "/hangs/", 7))
		pause();
	return __real_realpath(path, buf);
}

int __wrap_getpwuid_r(uid_t uid, struct passwd *pw, char *text, size_t size,
		      struct passwd **ret_pw)
{
	while (user_hangs)
		pause();
	return __real_getpwuid_r(uid, pw, text, size, ret_pw);
}

static void found(struct request *request)
{
	bool named = json_is_string(json_object_get(request->found, "user"));
	bool library = json_object_get(request->found, "library");

	request_answer(request, named && library ? outcome_ok(NULL) :
		       outcome_error(-ENOENT, "no name, or no library"));
}

static void run(struct request *request)
{
	run_lookup(request, found);
}

static request_fn find(const char *verb, size_t *ret_max)
{
	return run;
}

static int ask(struct server *s, const char *env, const char *library)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "{\"verb\":\"run\",\"args\":{\"env\":[\"%s\"],\"ranks\":{\"mpi\":\"mpich\","
		 "\"library\":\"%s\"}}}", env, library);
	return server_asked(s, text);
}

static void assert_only_waits(struct server *s, const char *env, const char *library)
{
	int64_t since = clock_monotonic_ms();

	server_tick(s);
	assert_int_equal(ask(s, env, library), -ETIMEDOUT);
	assert_in_range(clock_monotonic_ms() - since, RUN_LOOKUP_MS, 4 * RUN_LOOKUP_MS);
	assert_in_range(s->gap_ms, 0, RUN_LOOKUP_MS / 2);
}

static void test_lookup(void **state)
{
	static struct common common;
	struct server *s = server_open(find, &common);

	common.workers.reactor = s->reactor;
	assert_int_equal(ask(s, "A=1", "/usr/lib/libmpich.so.12"), 0);
	assert_int_equal(ask(s, "A=1", "libmpich.so.12"), -EINVAL);
	assert_only_waits(s, "A=1", "/hangs/libmpich.so.12");
	assert_only_waits(s, "CKPT_MPI_LIBRARY=/hangs/libmpich.so.12", "/usr/lib/libmpich.so.12");
	user_hangs = true;
	assert_only_waits(s, "A=1", "/usr/lib/libmpich.so.12");
	server_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
