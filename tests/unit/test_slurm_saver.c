// SPDX-License-Identifier: GPL-2.0-only
/*
 * Questions of ckpt-slurm-run to ckptd that are not answered: no saved job may be taken for one
 * that is over, for one of an older generation, or for none.
 *
 * libckptctl and ckpt-slurm-run's own files ask a process that takes the place of ckptd and says
 * what the test wants, with one answer for each connection.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libckptctl/wire.h"
#include "scheduler/slurm/child.h"
#include "scheduler/slurm/port.h"
#include "scheduler/slurm/request.h"
#include "scheduler/slurm/saver.h"

#define EXITED(STATUS)	((STATUS) << 8)	/* as of waitpid() */
#define BUSY		"{\"ok\": false, \"error\": {\"errno\": -16, \"text\": \"no place\"}}"
#define REFUSED		"{\"ok\": false, \"error\": {\"errno\": -1, \"text\": \"not you\"}}"
#define DONE		"{\"ok\": true, \"result\": {}}"

struct answer {
	const char *want;	/* in the request; NULL: the last one was before */
	const char *frame;
};

static char socket_path[64];
static pid_t daemon_pid;

static void serve(int sock, const struct answer *answer)
{
	struct wire_in in = { .limit = WIRE_REQUEST_MAX };
	const char *body;
	size_t len;

	while (wire_next(&in, &body, &len) == 0) {
		if (wire_receive(&in, sock) <= 0)
			_exit(1);
	}
	if (!memmem(body, len, answer->want, strlen(answer->want)))
		_exit(2);
	wire_send(sock, answer->frame, strlen(answer->frame), NULL, 0);
	close(sock);
}

static void daemon_start(const struct answer *answer)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(socket_path, sizeof(socket_path), "/tmp/test-slurm-saver-%d", (int)getpid());
	strcpy(addr.sun_path, socket_path);
	unlink(socket_path);
	setenv("CKPTD_SOCKET", socket_path, 1);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 8), 0);
	daemon_pid = fork();
	if (!daemon_pid)
		alarm(60);	/* an answer that nobody asks for is a failure */
	for (; !daemon_pid && answer->want; answer++)
		serve(accept(listener, NULL, NULL), answer);
	if (!daemon_pid)
		_exit(0);
	close(listener);
}

/* All answers were asked for. */
static void daemon_end(void)
{
	int status;

	assert_int_equal(waitpid(daemon_pid, &status, 0), daemon_pid);
	assert_int_equal(status, 0);
	unlink(socket_path);
}

/* The answer to ps: job 7, "slurm-c-1.x", in @state. */
static const char *jobs(const char *state)
{
	static char text[2][256];
	static int next;

	next = !next;
	snprintf(text[next], sizeof(text[0]),
		 "{\"ok\": true, \"result\": {\"jobs\": [{\"job\": 7, \"name\": \"slurm-c-1.x\", "
		 "\"uid\": %u, \"state\": \"%s\", \"exit_status\": 137}]}}", geteuid(), state);
	return text[next];
}

static const char three[] =
	"{\"ok\": true, \"result\": {\"jobs\": [{\"job\": 7, \"generations\": ["
	"{\"generation\": 2}, {\"generation\": 3}, {\"generation\": 4, \"error\": \"torn\"}, "
	"{\"generation\": 5}]}]}}";

static void test_found(void **state)
{
	const struct answer answers[] = {
		{ "\"verb\":\"ps\"", jobs("saved") }, { "\"job\":7", three }, { NULL },
	};
	struct saver_job job;

	daemon_start(answers);
	assert_int_equal(saver_find_patiently("slurm-c-1.x", 5, &job), 0);
	daemon_end();
	assert_int_equal(job.job, 7);
	assert_true(job.saved);
	assert_int_equal(job.newest, 5);
	assert_int_equal(job.best, 5);
	assert_int_equal(job.older, 3);
}

static struct saver_job found_of(const char *rows, int64_t than)
{
	char list[512];
	const struct answer answers[] = {
		{ "\"verb\":\"ps\"", jobs("ended") }, { "\"job\":7", list }, { NULL },
	};
	struct saver_job job;

	snprintf(list, sizeof(list), "{\"ok\": true, \"result\": {\"jobs\": [{\"job\": 7, "
		 "\"generations\": [%s]}]}}", rows);
	daemon_start(answers);
	assert_int_equal(saver_find_patiently("slurm-c-1.x", than, &job), 0);
	daemon_end();
	return job;
}

/* scrub = stop leaves a job that was killed and whose newest generation is suspect. */
static void test_doubted(void **state)
{
	static const char some[] =
		"{\"generation\": 1, \"trust\": \"unverified\"},"
		"{\"generation\": 2, \"trust\": \"rejected\"},"
		"{\"generation\": 3}, {\"generation\": 4, \"trust\": \"suspect\"}";
	static const char voted[] =
		"{\"generation\": 1, \"trust\": \"verified\"},"
		"{\"generation\": 2, \"trust\": \"repaired\"},"
		"{\"generation\": 3, \"trust\": \"unverified\"}";
	static const char right[] =
		"{\"generation\": 1}, {\"generation\": 2, \"trust\": \"verified\"},"
		"{\"generation\": 3}, {\"generation\": 4, \"trust\": \"suspect\"}";
	struct saver_job job = found_of(some, 3);

	assert_int_equal(job.newest, 4);
	assert_int_equal(job.best, 3);
	assert_int_equal(job.older, 1);
	job = found_of(voted, 2);
	assert_int_equal(job.newest, 3);
	assert_int_equal(job.best, 3);	/* a vote long ago does not cost what came after it */
	assert_int_equal(job.older, 1);
	job = found_of(right, 4);
	assert_int_equal(job.best, 2);
	assert_int_equal(job.older, 3);
	job = found_of("{\"generation\": 1, \"trust\": \"suspect\"}", 2);
	assert_int_equal(job.newest, 1);
	assert_int_equal(job.oldest, 1);
	assert_int_equal(job.best, 0);
	assert_int_equal(job.older, 0);
}

/* ckptd has no place for the connection, or does not say which generations there are. */
static void test_asked_again(void **state)
{
	const struct answer answers[] = {
		{ "\"verb\":\"ps\"", BUSY }, { "\"verb\":\"ps\"", jobs("saved") },
		{ "\"verb\":\"list\"", BUSY }, { "\"verb\":\"ps\"", jobs("saved") },
		{ "\"verb\":\"list\"", three }, { NULL },
	};
	struct saver_job job;

	daemon_start(answers);
	assert_int_equal(saver_find_patiently("slurm-c-1.x", 0, &job), 0);
	daemon_end();
	assert_int_equal(job.newest, 5);
	assert_int_equal(job.older, 0);
}

static void test_generations_unknown(void **state)
{
	const struct answer answers[] = {
		{ "\"verb\":\"ps\"", jobs("saved") }, { "\"verb\":\"list\"", BUSY }, { NULL },
	};
	struct saver_job job = { .newest = 4711 };

	daemon_start(answers);
	assert_int_equal(saver_find("slurm-c-1.x", &job), -EBUSY);
	daemon_end();
	assert_int_equal(job.newest, 4711);
}

static void test_save_waits(void **state)
{
	const struct answer answers[] = {
		{ "\"kill\":true", BUSY }, { "\"kill\":true", BUSY }, { "\"kill\":true", DONE },
		{ NULL },
	};
	char why[SAVER_WHY];

	daemon_start(answers);
	assert_int_equal(saver_save(7, why, sizeof(why)), 0);
	daemon_end();
}

/* Which jobs are launches of one command, and which of them wait to go on. */
static void test_steps(void **state)
{
	static const char row[] = "{\"job\": %d, \"name\": \"slurm-c-1.%s\", \"uid\": %u, "
				  "\"state\": \"%s\", \"exit_status\": %d}";
	char text[2048] = "{\"ok\": true, \"result\": {\"jobs\": [";
	const struct answer answers[] = { { "\"verb\":\"ps\"", BUSY }, { "\"verb\":\"ps\"", text },
					  { NULL } };
	static const struct {
		const char *name, *state;
		int status;
	} rows[] = {
		{ "000000ab-0-0001000000000000", "ended", 3 },
		{ "000000ab-1-0002000000000000", "saved", 0 },
		{ "000000ab-2-0002000000000000", "ended", 137 },
		{ "000000ac-0-0001000000000000", "saved", 0 },
		{ "script", "saved", 0 },
		{ "000000ab-0-0001000000000000", "lost", 0 },
	};
	struct step_job *steps;
	size_t nr, i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, row, (int)i + 1, rows[i].name, geteuid(),
			 rows[i].state, rows[i].status);
		strcat(text, i < 5 ? "," : "]}}");
	}
	daemon_start(answers);
	assert_int_equal(saver_steps("slurm-c-1.", 0xab, true, &steps, &nr), 0);
	daemon_end();
	assert_int_equal(nr, 3);
	/* started anew as job 6 */
	assert_int_equal(steps[0].number, 0);
	assert_true(steps[0].waits);
	assert_int_equal(steps[1].number, 1);
	assert_int_equal(steps[1].key.line, 2);
	assert_true(steps[1].waits);
	/* Slurm has killed it */
	assert_true(steps[2].waits);
	free(steps);
}

static void test_knows(void **state)
{
	const struct answer answers[] = {
		{ "\"verb\":\"ps\"", jobs("saved") }, { "\"verb\":\"ps\"", jobs("saved") },
		{ "\"verb\":\"stats\"", "{\"ok\": true, \"result\": {\"checkpoints\": ["
		  "{\"total_ns\": 9000000}, {\"total_ns\": 70000000000}, {}]}}" },
		{ NULL },
	};

	daemon_start(answers);
	assert_int_equal(saver_knows(7), 1);
	assert_int_equal(saver_knows(6), 0);
	assert_int_equal(saver_cost_ms(7), 70000);
	daemon_end();
}

static struct child restarted_child(void)
{
	return (struct child) {
		.name = "slurm-c-1.x", .restarted = true, .generation = 5,
		.before = { .job = 7, .newest = 5 },
	};
}

static void test_judge(void **state)
{
	const struct answer answers[] = {
		{ "\"verb\":\"ps\"", BUSY }, { "\"verb\":\"ps\"", jobs("saved") },
		{ "\"verb\":\"list\"", three }, { NULL },
	};
	struct child child = restarted_child();
	struct child_how next = { 0 };
	int status;

	daemon_start(answers);
	assert_int_equal(child_judge(&child, EXITED(3), &status, &next), POLICY_OLDER);
	daemon_end();
	assert_int_equal(status, 3);
	assert_int_equal(next.generation, 3);
}

/* The job had been killed, its restart is refused, and ckptd has it as killed still. */
static void test_judge_refused(void **state)
{
	const struct answer answers[] = {
		{ "\"verb\":\"ps\"", jobs("ended") }, { "\"verb\":\"list\"", three }, { NULL },
	};
	struct child child = restarted_child();
	struct child_how next = { 0 };
	int status;

	daemon_start(answers);
	assert_int_equal(child_judge(&child, EXITED(3), &status, &next), POLICY_OLDER);
	daemon_end();
	assert_int_equal(next.generation, 3);
	/* it was restarted, and was killed once more */
	child = restarted_child();
	daemon_start(answers);
	assert_int_equal(child_judge(&child, EXITED(137), &status, &next), POLICY_DONE);
	daemon_end();
}

/* The same of a program that ended well because SIGTERM had told it to: that was no end. */
static void test_judge_told(void **state)
{
	char told[256];
	const struct answer answers[] = {
		{ "\"verb\":\"ps\"", told }, { "\"verb\":\"list\"", three }, { NULL },
	};
	struct child child = restarted_child();
	struct child_how next = { 0 };
	int status;

	snprintf(told, sizeof(told),
		 "{\"ok\": true, \"result\": {\"jobs\": [{\"job\": 7, \"name\": \"slurm-c-1.x\", "
		 "\"uid\": %u, \"state\": \"ended\", \"exit_status\": 0, \"kill_signal\": 15}]}}",
		 geteuid());
	daemon_start(answers);
	assert_int_equal(child_judge(&child, EXITED(3), &status, &next), POLICY_OLDER);
	daemon_end();
	assert_int_equal(next.generation, 3);
}

static void test_judge_unanswered(void **state)
{
	const struct answer no_job[] = { { "\"verb\":\"ps\"", REFUSED }, { NULL } };
	const struct answer no_generation[] = {
		{ "\"verb\":\"ps\"", jobs("saved") }, { "\"verb\":\"list\"", REFUSED }, { NULL },
	};
	struct child child = restarted_child();
	struct child_how next = { 0 };
	int status;

	daemon_start(no_job);
	assert_int_equal(child_judge(&child, EXITED(137), &status, &next), POLICY_UNKNOWN);
	daemon_end();
	daemon_start(no_generation);
	assert_int_equal(child_judge(&child, EXITED(137), &status, &next), POLICY_UNKNOWN);
	daemon_end();
}

/* The job was started anew, and its generations begin anew. */
static void test_judge_other_job(void **state)
{
	const struct answer answers[] = {
		{ "\"verb\":\"ps\"", jobs("saved") }, { "\"verb\":\"list\"", three }, { NULL },
	};
	struct child child = {
		.name = "slurm-c-1.x", .before = { .job = 6, .newest = 9 },
	};
	struct child_how next = { 0 };
	int status;

	daemon_start(answers);
	assert_int_equal(child_judge(&child, EXITED(137), &status, &next), POLICY_SAVED);
	daemon_end();
}

/* The answer to ps of @state, "": no job, and of job @unreadable, whose record cannot be read. */
static const char *jobs_and_unreadable(const char *state, int unreadable)
{
	static char text[512];

	snprintf(text, sizeof(text), "%s", *state ? jobs(state) :
		 "{\"ok\": true, \"result\": {\"jobs\": []}}");
	text[strlen(text) - 2] = '\0';
	snprintf(text + strlen(text), sizeof(text) - strlen(text),
		 ", \"unreadable\": [{\"job\": %d, \"other_key\": false, \"error\": \"\"}]}}",
		 unreadable);
	return text;
}

/* Start "slurm-c-1.x" beside job @unreadable: what child_start() says. There is no ckptctl. */
static int started_beside(const char *state, int unreadable, struct child_how how)
{
	static char *const argv[] = { (char *)"true", NULL };
	const struct sigaction pipe = { .sa_handler = SIG_DFL };
	const struct answer answers[] = {
		{ "\"verb\":\"ps\"", jobs_and_unreadable(state, unreadable) },
		{ *state ? "\"verb\":\"list\"" : NULL, three }, { NULL },
	};
	struct child child = { .name = "slurm-c-1.x" };
	char *path = strdup(getenv("PATH"));
	sigset_t mask;
	int err;

	sigemptyset(&mask);
	how.argv = argv;
	how.mask = &mask;
	how.pipe = &pipe;
	daemon_start(answers);
	setenv("PATH", "/nonexistent", 1);
	err = child_start(&child, &how);
	setenv("PATH", path, 1);
	daemon_end();
	free(path);
	if (child.pid)
		waitpid(child.pid, NULL, 0);
	return err;
}

/* A job whose record cannot be read is not taken for one that never was. */
static void test_hidden(void **state)
{
	const struct child_how plain = { 0 }, rerun = { .rerun = true };
	const struct child_how older = { .generation = 3 };

	assert_int_equal(started_beside("", 3, plain), -EBADMSG);
	/* a later one may have been started in place of job 7, which was killed (137) */
	assert_int_equal(started_beside("ended", 8, plain), -EBADMSG);
	assert_int_equal(started_beside("ended", 6, plain), 0);
	assert_int_equal(started_beside("ended", 8, older), 0);
	assert_int_equal(started_beside("saved", 8, plain), 0);
	assert_int_equal(started_beside("saved", 8, rerun), 0);
	assert_int_equal(started_beside("lost", 8, plain), 0);
}

static void test_judge_hidden(void **state)
{
	const struct answer answers[] = {
		{ "\"verb\":\"ps\"", jobs_and_unreadable("", 7) }, { NULL },
	};
	struct child child = { .name = "slurm-c-1.x" };
	struct child_how next = { 0 };
	int status;

	daemon_start(answers);
	assert_int_equal(child_judge(&child, EXITED(137), &status, &next), POLICY_UNKNOWN);
	daemon_end();
	/* a command that made no job */
	daemon_start(answers);
	assert_int_equal(child_judge(&child, EXITED(127), &status, &next), POLICY_DONE);
	daemon_end();
}

/* A node of the job is lost, and ckptd knows before Slurm. */
static void test_judge_lost(void **state)
{
	const struct answer answers[] = {
		{ "\"verb\":\"ps\"", jobs("lost") }, { "\"verb\":\"list\"", three }, { NULL },
	};
	const struct answer running[] = {
		{ "\"verb\":\"ps\"", jobs("running") }, { "\"verb\":\"list\"", three }, { NULL },
	};
	struct child child = { .name = "slurm-c-1.x" };
	struct child_how next = { 0 };
	int status;

	daemon_start(answers);
	assert_int_equal(child_judge(&child, EXITED(137), &status, &next), POLICY_SAVED);
	daemon_end();
	daemon_start(running);
	assert_int_equal(child_judge(&child, EXITED(137), &status, &next), POLICY_DONE);
	daemon_end();
}

/* ------------------------------------------------------------------- port */

static char directory[] = "/tmp/test_slurm_port-XXXXXX";

/* Ask @port for a launch of "solver", as a launcher does; true: it was taken. */
static bool port_asked(struct port *port)
{
	char *argv[] = { (char *)"solver", NULL }, *env[] = { NULL }, *bytes, answer;
	const struct request request = {
		.key = "0123", .name = "", .directory = "/", .argv = argv, .env = env,
	};
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	union {
		char bytes[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	const int fds[3] = { 0, 1, 2 };
	struct iovec part;
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);
	bool taken;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(header), fds, sizeof(fds));
	bytes = request_pack(&request, &part.iov_len);
	assert_non_null(bytes);
	part.iov_base = bytes;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/" PORT_SOCKET, directory);
	assert_int_equal(connect(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(sendmsg(sock, &message, MSG_NOSIGNAL), part.iov_len);
	port_take(port);
	taken = read(sock, &answer, 1) == 1;
	free(bytes);
	close(sock);
	return taken;
}

/* Number of names that are given away. */
static size_t port_names(void)
{
	char pattern[64];
	glob_t names;
	size_t n;

	snprintf(pattern, sizeof(pattern), "%s/*.name", directory);
	n = glob(pattern, 0, NULL, &names) ? 0 : names.gl_pathc;
	if (n)
		globfree(&names);
	return n;
}

/* As long as ckptd does not say whether a name is free, a launch of a restored script waits. */
static void test_port_name_waits(void **state)
{
	const struct answer refused[] = { { "\"verb\":\"ps\"", REFUSED }, { NULL } };
	const struct answer none[] = {
		{ "\"verb\":\"ps\"", "{\"ok\": true, \"result\": {\"jobs\": []}}" }, { NULL },
	};
	const char *unreadable = jobs_and_unreadable("", 3);
	const struct answer hidden[] = {
		{ "\"verb\":\"ps\"", unreadable }, { "\"verb\":\"ps\"", unreadable }, { NULL },
	};
	const struct sigaction pipe = { .sa_handler = SIG_DFL };
	struct port port = {
		.directory = directory, .prefix = "slurm-c-1.", .restored = true,
		.pipe = &pipe,
	};
	sigset_t mask;
	char *path = strdup(getenv("PATH"));

	sigemptyset(&mask);
	port.mask = &mask;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(port_open(&port), 0);
	daemon_start(refused);
	assert_false(port_asked(&port));
	daemon_end();
	assert_int_equal(port_names(), 0);
	assert_true(port.asked_again);
	daemon_start(none);
	setenv("PATH", directory, 1);	/* there is no ckptctl */
	assert_true(port_asked(&port));
	setenv("PATH", path, 1);
	daemon_end();
	assert_int_equal(port_names(), 1);
	assert_int_equal(port_runs(&port), 1);
	port_close(&port);
	/* a script that began anew asks for a launch that may be of an earlier run: still known */
	port.first = port.restored = false;
	port.hold[0] = '\0';
	assert_int_equal(port_open(&port), 0);
	daemon_start(hidden);
	assert_true(port_asked(&port));
	daemon_end();
	assert_int_equal(port_runs(&port), 0);
	assert_int_equal(port_names(), 1);
	assert_string_not_equal(port.hold, "");
	port_close(&port);
	assert_int_equal(rmdir(directory), 0);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_doubted),
		cmocka_unit_test(test_asked_again),
		cmocka_unit_test(test_generations_unknown),
		cmocka_unit_test(test_save_waits),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_knows),
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_judge_refused),
		cmocka_unit_test(test_judge_told),
		cmocka_unit_test(test_judge_unanswered),
		cmocka_unit_test(test_judge_other_job),
		cmocka_unit_test(test_judge_lost),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_judge_hidden),
		cmocka_unit_test(test_port_name_waits),
	};

	/* libslurm waits a minute for a file that is not there */
	setenv("SLURM_CONF", "/dev/null", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
