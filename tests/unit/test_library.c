// SPDX-License-Identifier: GPL-2.0-only
/*
 * libckptctl against a daemon that says what the test wants: answers, progress,
 * refusals, and every way in which a daemon can fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libckptctl/ckptctl.h"
#include "libckptctl/wire.h"

/* What the daemon does with each request. */
struct script {
	const char *want;	/* in the request */
	const char *frames[4];	/* sent back */
	const char *raw;	/* instead: bytes, no frame */
	bool with_fd;
};

struct fake {
	char path[64];
	pid_t pid;
	int listener;
};

static void serve(int sock, const struct script *script)
{
	struct wire_in in = { .limit = WIRE_REQUEST_MAX };
	const char *body;
	size_t len;
	int i, fd = 0;

	for (; script->want; script++) {
		while (wire_next(&in, &body, &len) == 0) {
			if (wire_receive(&in, sock) <= 0)
				_exit(1);
		}
		if (!memmem(body, len, script->want, strlen(script->want)))
			_exit(2);
		wire_consume(&in);
		if (script->raw && write(sock, script->raw, strlen(script->raw)) < 0)
			_exit(3);
		for (i = 0; i < 4 && script->frames[i]; i++)
			wire_send(sock, script->frames[i], strlen(script->frames[i]),
				  &fd, script->with_fd);
	}
	_exit(0);
}

static void listen_at(struct fake *f)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(f->path, sizeof(f->path), "/tmp/test-library-%d", (int)getpid());
	strcpy(addr.sun_path, f->path);
	unlink(f->path);
	f->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(f->listener, 1), 0);
}

static struct fake start(const struct script *script)
{
	struct fake f;

	listen_at(&f);
	f.pid = fork();
	if (!f.pid)
		serve(accept(f.listener, NULL, NULL), script);
	return f;
}

static void finish(struct fake f)
{
	int status;

	waitpid(f.pid, &status, 0);
	assert_int_equal(status, 0);
	close(f.listener);
	unlink(f.path);
}

static void test_no_daemon(void **state)
{
	struct ckpt *ckpt = NULL;
	char longest[200];

	assert_int_equal(ckpt_connect("/nonexistent/sock", &ckpt), -ENOENT);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(ckpt_connect(longest, &ckpt), -ENAMETOOLONG);
	assert_int_equal(ckpt_connect("", &ckpt), -EINVAL);
	assert_null(ckpt);
	assert_non_null(ckpt_error_text(NULL));
	ckpt_disconnect(NULL);
}

static void count(const char *phase, uint64_t done, uint64_t total, void *arg)
{
	unsigned int *calls = arg;

	assert_string_equal(phase, "dump");
	assert_int_equal(total, 10);
	(*calls)++;
}

static void test_calls(void **state)
{
	static const struct script script[] = {
		{ .want = "\"verb\":\"run\"", { "{\"ok\": true, \"result\": {\"job\": 7}}" } },
		{ .want = "\"kill\":true", {
			"{\"progress\": {\"phase\": \"dump\", \"done\": 1, \"total\": 10}}",
			"{\"progress\": {\"phase\": \"dump\", \"done\": 9, \"total\": 10}}",
			"{\"ok\": true, \"result\": {\"generation\": 3, \"dir\": \"/x\"}}" } },
		{ .want = "\"generation\":2", { "{\"ok\": true, \"result\": {}}" } },
		{ .want = "\"nodes\":[\"n1\",\"n3\"],\"map_path\":[[\"/scratch/1\",\"/scratch/2\"],"
			  "[\"/in\",\"/dev/null\"]]}", { "{\"ok\": true, \"result\": {}}" } },
		{ .want = "\"nodes\":[\"n1\",\"n3\"]}", { "{\"ok\": true, \"result\": {}}" } },
		{ .want = "\"verb\":\"wait\"", {
		"{\"ok\": true, \"result\": {\"exit_status\": 9}}" } },
		{ .want = "\"signal\":15", { "{\"ok\": true, \"result\": {}}" } },
		{ .want = "\"force\":true", { "{\"ok\": true, \"result\": {}}" } },
		{ .want = "\"settings\":{\"every_ms\":2000}", {
		"{\"ok\": true, \"result\": {}}" } },
		{ .want = "\"on\":false", { "{\"ok\": true, \"result\": {}}" } },
		{ .want = "\"verb\":\"pin\",\"args\":{\"job\":7}", {
		"{\"ok\": true, \"result\": {}}" } },
		{ .want = "\"verb\":\"unpin\",\"args\":{\"job\":7,\"generation\":4}", {
		"{\"ok\": true, \"result\": {}}" } },
		{ .want = "\"keep\":2,\"keep_every\":0,\"max_size\":5000,\"dry_run\":true", {
			"{\"ok\": true, \"result\": {\"freed\": 17}}" } },
		{ .want = "\"verb\":\"prune\",\"args\":{}", {
		"{\"ok\": true, \"result\": {\"freed\": 0}}" } },
		{ .want = "attach", { "{\"ok\": true, \"result\": {}}" }, .with_fd = true },
		{ NULL }
	};
	const struct ckpt_prune prune = {
		.size = sizeof(prune), .flags = CKPT_PRUNE_DRY_RUN, .keep = 2, .max_size = 5000,
	};
	static const char *const argv[] = { "a", "b", NULL }, *const nodes[] = { "n1", "n3", NULL };
	static const char *const moved[] = { "/scratch/1", "/scratch/2", "/in", "/dev/null", NULL };
	const struct ckpt_restart_on restart = {
		.size = sizeof(restart), .nodes = nodes, .map_path = moved,
	};
	const struct ckpt_restart_on of_before = {
		.size = offsetof(struct ckpt_restart_on, map_path), .nodes = nodes,
		.map_path = moved,
	};
	const struct ckpt_auto every = { .size = sizeof(every), .every_ms = 2000 };
	const struct ckpt_auto off = { .size = sizeof(off), .flags = CKPT_AUTO_OFF };
	struct ckpt_run run = { .size = sizeof(run), .argv = argv, .cwd = "/" };
	struct fake f = start(script);
	unsigned int calls = 0;
	struct ckpt *ckpt;
	const char *text;
	int64_t number;
	int status, fd;

	assert_int_equal(ckpt_connect(f.path, &ckpt), 0);
	ckpt_set_progress(ckpt, count, &calls);
	assert_int_equal(ckpt_job_run(ckpt, &run, &number), 0);
	assert_int_equal(number, 7);
	assert_int_equal(ckpt_job_checkpoint(ckpt, 7, CKPT_CHECKPOINT_KILL, &number), 0);
	assert_int_equal(number, 3);
	assert_int_equal(calls, 2);
	assert_int_equal(ckpt_answer_string(ckpt, "dir", &text), 0);
	assert_string_equal(text, "/x");
	assert_int_equal(ckpt_answer_string(ckpt, "generation", &text), -ENOENT);
	assert_int_equal(ckpt_answer_int(ckpt, "nothing", &number), -ENOENT);
	assert_int_equal(ckpt_job_restart(ckpt, 7, 2, CKPT_RESTART_NODE_LOST), 0);
	assert_int_equal(ckpt_job_restart_on(ckpt, 7, &restart), 0);
	assert_int_equal(ckpt_job_restart_on(ckpt, 7, &of_before), 0);
	assert_int_equal(ckpt_job_wait(ckpt, 7, &status), 0);
	assert_int_equal(status, 9);
	assert_int_equal(ckpt_job_kill(ckpt, 7, 15), 0);
	assert_int_equal(ckpt_job_remove(ckpt, 7, 0, CKPT_REMOVE_FORCE), 0);
	assert_int_equal(ckpt_job_auto(ckpt, 7, &every), 0);
	assert_int_equal(ckpt_job_auto(ckpt, 7, &off), 0);
	assert_int_equal(ckpt_job_pin(ckpt, 7, 0), 0);
	assert_int_equal(ckpt_job_unpin(ckpt, 7, 4), 0);
	assert_int_equal(ckpt_job_prune(ckpt, 7, &prune, &number), 0);
	assert_int_equal(number, 17);
	assert_int_equal(ckpt_job_prune(ckpt, 0, NULL, NULL), 0);
	assert_int_equal(ckpt_answer_fd(ckpt), -ENOENT);
	assert_int_equal(ckpt_call(ckpt, "attach", "{\"job\": 7}", NULL, 0), 0);
	fd = ckpt_answer_fd(ckpt);
	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(ckpt_answer_fd(ckpt), -ENOENT);
	ckpt_disconnect(ckpt);
	finish(f);
}

static void test_refusal(void **state)
{
	static const struct script script[] = {{.want = "checkpoint",
						{"{\"ok\": false, \"error\": {\"errno\": -95, "
						 "\"text\": \"no\", \"refusals\": ["
						 "{\"reason\": 30, \"name\": \"FD_SOCKET\", "
						 "\"text\": \"t\", \"advice\": \"a\","
						 " \"pid\": 5, \"tid\": 6, \"comm\": \"c\", "
						 "\"object\": 3, \"detail\": \"d\"},"
						 "{}]}}"}},
					       {.want = "wait", {"{\"ok\": false}"}},
					       {.want = "wait",
						{"{\"ok\": false, \"error\": {\"errno\": 5}}"}},
					       {NULL}};
	struct ckpt_refusal refusal = { .size = sizeof(refusal) };
	struct fake f = start(script);
	int64_t generation = -1;
	struct ckpt *ckpt;
	int status = -1;

	assert_int_equal(ckpt_connect(f.path, &ckpt), 0);
	assert_int_equal(ckpt_job_checkpoint(ckpt, 1, 0, &generation), -EOPNOTSUPP);
	assert_int_equal(generation, -1);
	assert_string_equal(ckpt_error_text(ckpt), "no");
	assert_int_equal(ckpt_refusal_count(ckpt), 2);
	assert_int_equal(ckpt_refusal_get(ckpt, 0, &refusal), 0);
	assert_int_equal(refusal.code, 30);
	assert_int_equal(refusal.pid, 5);
	assert_int_equal(refusal.tid, 6);
	assert_int_equal(refusal.object, 3);
	assert_string_equal(refusal.name, "FD_SOCKET");
	assert_string_equal(refusal.comm, "c");
	assert_int_equal(ckpt_refusal_get(ckpt, 1, &refusal), 0);
	assert_string_equal(refusal.name, "");
	assert_int_equal(ckpt_refusal_get(ckpt, 2, &refusal), -ENOENT);
	refusal.size = 4;
	assert_int_equal(ckpt_refusal_get(ckpt, 0, &refusal), -EINVAL);
	/* answers without sense are failures, never success */
	assert_int_equal(ckpt_job_wait(ckpt, 1, &status), -EPROTO);
	assert_int_equal(ckpt_job_wait(ckpt, 1, &status), -EPROTO);
	assert_int_equal(status, -1);
	ckpt_disconnect(ckpt);
	finish(f);
}

static void broken(const struct script *script, int want)
{
	struct fake f = start(script);
	struct ckpt *ckpt;
	int status;

	assert_int_equal(ckpt_connect(f.path, &ckpt), 0);
	assert_int_equal(ckpt_job_wait(ckpt, 1, &status), want);
	assert_true(strlen(ckpt_error_text(ckpt)) > 0);
	/* once broken, always broken */
	assert_int_equal(ckpt_job_wait(ckpt, 1, &status), want);
	ckpt_disconnect(ckpt);
	finish(f);
}

static void test_broken(void **state)
{
	static const struct script hangs_up[] = { { .want = "wait" }, { NULL } };
	static const struct script no_json[] = { { .want = "wait", { "{" } }, { NULL } };
	static const struct script array[] = { { .want = "wait", { "[]" } }, { NULL } };
	static const struct script noise[] = {
		{ .want = "wait", .raw = "HTTP/1.1 400 Bad Request\r\n" }, { NULL }
	};
	static const struct script half[] = { { .want = "wait", .raw = "CKPT" }, { NULL } };

	broken(hangs_up, -EPIPE);
	broken(no_json, -EPROTO);
	broken(array, -EPROTO);
	broken(noise, -EPROTO);
	broken(half, -EPIPE);
}

/* Refused before anything is sent; the connection stays good. */
/* A job gets its caller's umask. */
static void test_umask(void **state)
{
	static const struct script script[] = {
		{ .want = "\"umask\":63", .frames = { "{\"ok\":true,\"result\":{\"job\":7}}" } },
		{ NULL }
	};
	const char *argv[] = { "true", NULL };
	struct ckpt_run run = { .size = sizeof(run), .argv = argv };
	struct fake fake = start(script);
	struct ckpt *ckpt = NULL;
	mode_t before = umask(077);
	int64_t job = 0;

	assert_int_equal(ckpt_connect(fake.path, &ckpt), 0);
	assert_int_equal(ckpt_job_run(ckpt, &run, &job), 0);
	assert_int_equal(job, 7);
	assert_int_equal(umask(before), 077);
	ckpt_disconnect(ckpt);
	finish(fake);
}

static void test_bad_arguments(void **state)
{
	static const struct script script[] = {
		{ .want = "\"verb\":\"ps\"", { "{\"ok\": true, \"result\": {}}" } }, { NULL }
	};
	static const char *const argv[] = { "a", NULL };
	static const char *const not_utf8[] = { "a", "\xff", NULL };
	static const char *const odd[] = { "/a", "/b", "/c", NULL };
	struct ckpt_run run = { .size = sizeof(run), .argv = argv, .cwd = "/" };
	struct ckpt_restart_on restart = { .size = 8, .nodes = not_utf8 };
	struct ckpt_auto how = { .size = 8 };
	struct ckpt_prune prune = { .size = 4 };
	const int fds[17] = { 0 };
	struct fake f = start(script);
	struct ckpt *ckpt;
	int64_t job;

	assert_int_equal(ckpt_connect(f.path, &ckpt), 0);
	run.flags = 1u << 31;
	assert_int_equal(ckpt_job_run(ckpt, &run, &job), -EINVAL);
	run.flags = 0;
	run.size = 8;
	assert_int_equal(ckpt_job_run(ckpt, &run, &job), -EINVAL);
	run.size = sizeof(run);
	run.in = "null";
	assert_int_equal(ckpt_job_run(ckpt, &run, &job), -EINVAL);
	run.in = "/dev/null";
	run.out = "pipe";
	assert_int_equal(ckpt_job_run(ckpt, &run, &job), -EINVAL);
	run.out = NULL;
	run.err = "log/err";
	assert_int_equal(ckpt_job_run(ckpt, &run, &job), -EINVAL);
	run.err = NULL;
	run.argv = not_utf8;
	assert_int_equal(ckpt_job_run(ckpt, &run, &job), -EILSEQ);
	assert_int_equal(ckpt_job_checkpoint(ckpt, 1, 1u << 30, NULL), -EINVAL);
	assert_int_equal(ckpt_job_restart(ckpt, 1, 0, 1u << 30), -EINVAL);
	assert_int_equal(ckpt_job_restart_on(ckpt, 1, &restart), -EINVAL);
	restart.size = sizeof(restart);
	assert_int_equal(ckpt_job_restart_on(ckpt, 1, &restart), -EILSEQ);
	restart.nodes = NULL;
	restart.map_path = not_utf8;
	assert_int_equal(ckpt_job_restart_on(ckpt, 1, &restart), -EILSEQ);
	restart.map_path = odd;
	assert_int_equal(ckpt_job_restart_on(ckpt, 1, &restart), -EINVAL);
	assert_int_equal(ckpt_job_auto(ckpt, 1, &how), -EINVAL);
	how = (struct ckpt_auto) { .size = sizeof(how), .flags = CKPT_AUTO_OFF, .mtbf_ms = 1 };
	assert_int_equal(ckpt_job_auto(ckpt, 1, &how), -EINVAL);
	assert_int_equal(ckpt_job_prune(ckpt, 1, &prune, NULL), -EINVAL);
	prune.size = sizeof(prune);
	prune.flags = 1u << 30;
	assert_int_equal(ckpt_job_prune(ckpt, 1, &prune, NULL), -EINVAL);
	assert_int_equal(ckpt_job_remove(ckpt, 1, 0, 1u << 30), -EINVAL);
	assert_int_equal(ckpt_call(ckpt, "ps", "no json", NULL, 0), -EINVAL);
	assert_int_equal(ckpt_call(ckpt, "ps", "[]", NULL, 0), -EINVAL);
	assert_int_equal(ckpt_call(ckpt, "\xff", NULL, NULL, 0), -EILSEQ);
	assert_int_equal(ckpt_call(ckpt, "ps", NULL, fds, 17), -EINVAL);
	assert_non_null(strstr(ckpt_error_text(ckpt), "descriptors"));
	assert_int_equal(ckpt_call(ckpt, "ps", NULL, NULL, 0), 0);
	ckpt_disconnect(ckpt);
	finish(f);
}

/* No string that cannot be handed over is left out: that would be the default. */
static void test_not_utf8(void **state)
{
	static const struct script script[] = {
		{ .want = "\"verb\":\"run\"", { "{\"ok\": true, \"result\": {\"job\": 1}}" } },
		{ NULL }
	};
	static const char *const argv[] = { "a", NULL }, *const envp[] = { "A=\xff", NULL };
	const struct ckpt_run good = { .size = sizeof(good), .argv = argv, .cwd = "/" };
	struct ckpt_run bad[6];
	struct fake f = start(script);
	struct ckpt *ckpt;
	int64_t job;
	size_t i;

	for (i = 0; i < 6; i++)
		bad[i] = good;
	bad[0].out = bad[1].err = bad[2].in = bad[3].name = bad[4].cwd = "/\xff";
	bad[5].envp = envp;
	assert_int_equal(ckpt_connect(f.path, &ckpt), 0);
	for (i = 0; i < 6; i++)
		assert_int_equal(ckpt_job_run(ckpt, &bad[i], &job), -EILSEQ);
	assert_int_equal(ckpt_job_run(ckpt, &good, &job), 0);
	ckpt_disconnect(ckpt);
	finish(f);
}

/* What the text says is of the last call, also of one that was not made. */
static void test_text_of_last_call(void **state)
{
	static const struct script script[] = {{.want = "checkpoint",
						{"{\"ok\": false, \"error\": {\"errno\": -95, "
						 "\"text\": \"there is no job 99\","
						 " \"refusals\": [{}]}}"}},
					       {NULL}};
	static const char *const argv[] = { "a", NULL };
	struct ckpt_run run = { .size = sizeof(run), .argv = argv, .cwd = "/", .reserved = 7 };
	struct fake f = start(script);
	struct ckpt *ckpt;
	int64_t job;

	assert_int_equal(ckpt_connect(f.path, &ckpt), 0);
	assert_int_equal(ckpt_job_checkpoint(ckpt, 99, 0, NULL), -EOPNOTSUPP);
	assert_int_equal(ckpt_refusal_count(ckpt), 1);
	assert_int_equal(ckpt_job_checkpoint(ckpt, 1, 0x80, NULL), -EINVAL);
	assert_non_null(strstr(ckpt_error_text(ckpt), "flag"));
	assert_int_equal(ckpt_refusal_count(ckpt), 0);
	assert_int_equal(ckpt_job_run(ckpt, &run, &job), -EINVAL);
	assert_non_null(strstr(ckpt_error_text(ckpt), "reserved"));
	ckpt_disconnect(ckpt);
	finish(f);
}

/* A daemon that turns somebody away has said why before it was asked. */
static void test_turned_away(void **state)
{
	static const char busy[] = "{\"ok\": false, \"error\": {\"errno\": -16, \"text\": \"too "
				   "many\"}}";
	struct ckpt *ckpt;
	int status, sock;
	struct fake f;

	listen_at(&f);
	assert_int_equal(ckpt_connect(f.path, &ckpt), 0);
	sock = accept(f.listener, NULL, NULL);
	assert_int_equal(wire_send(sock, busy, strlen(busy), NULL, 0), 0);
	close(sock);
	assert_int_equal(ckpt_job_wait(ckpt, 1, &status), -EBUSY);
	assert_string_equal(ckpt_error_text(ckpt), "too many");
	close(f.listener);
	assert_int_equal(ckpt_job_wait(ckpt, 1, &status), -EPIPE);
	ckpt_disconnect(ckpt);
	unlink(f.path);
}

/* One that the daemon has ended between two calls is made again; while it is away, that is said. */
static void test_ended_between(void **state)
{
	static const struct script one[] = {
		{ .want = "wait", { "{\"ok\": true, \"result\": {\"exit_status\": 4}}" } }, { NULL }
	};
	struct fake f;
	struct ckpt *ckpt;
	int status, i;
	pid_t pid;

	listen_at(&f);
	for (i = 0; i < 3; i++) {
		pid = fork();
		if (!pid)
			serve(accept(f.listener, NULL, NULL), one);
		if (!i)
			assert_int_equal(ckpt_connect(f.path, &ckpt), 0);
		assert_int_equal(ckpt_job_wait(ckpt, 1, &status), 0);
		assert_int_equal(status, 4);
		waitpid(pid, &status, 0);
		assert_int_equal(status, 0);
	}
	close(f.listener);
	assert_int_equal(ckpt_job_wait(ckpt, 1, &status), -EPIPE);
	ckpt_disconnect(ckpt);
	unlink(f.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_daemon),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_umask),
		cmocka_unit_test(test_bad_arguments),
		cmocka_unit_test(test_not_utf8),
		cmocka_unit_test(test_text_of_last_call),
		cmocka_unit_test(test_turned_away),
		cmocka_unit_test(test_ended_between),
	};

	return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}
