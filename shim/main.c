// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckpt-shim: start or restore one job and stay with it; see shim.h.
 *
 * ckptd starts the shim with descriptors: its specification, a stream to report on
 * and maybe a terminal's connection.  All steps that can fail are done before init
 * is let go, so that a running job has a shim that can be found again.
 */
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "libckptctl/wire.h"
#include "shim/identity.h"
#include "shim/rollback.h"
#include "shim/try.h"
#include "base/outcome.h"

#define LINGER_MS	10000	/* for terminals that do not take the rest of the output */
#define EXIT_FILE_ROOM	4096	/* bytes */
/* Bytes: room for the end of every rank, and more, while the shim does not read. */
#define INIT_SNDBUF	(4 << 20)

struct shim_args {
	int spec;
	int report;
	int attach;
};

static void shim_report(const struct shim *shim, json_t *outcome)
{
	char *text = json_dumps(outcome, JSON_COMPACT);

	/* Ignore errors: a ckptd that is gone finds the outcome out by itself. */
	if (text && shim->report >= 0)
		wire_send(shim->report, text, strlen(text), NULL, 0);
	free(text);
}

static json_t *shim_failed(int err, const char *what)
{
	return outcome_error(err, "%s: %s", what, strerror(-err));
}

/* ---------------------------------------------------------------- launch */

static int open_listener(const char *dir)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "shim.sock" };
	int sock;

	/* Bind by the bare name, which always fits an address. */
	if (chdir(dir))
		return -errno;
	unlink("shim.sock");
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return -errno;
	if (fchmod(sock, 0600) ||
	    bind(sock, (struct sockaddr *)&addr, sizeof(addr)) ||
	    chmod("shim.sock", 0600) || listen(sock, 16)) {
		int err = -errno;

		close(sock);
		return err;
	}
	return sock;
}

static json_t *shim_follow_job(struct shim *shim)
{
	_cleanup_fd_ int dir = open(shim->spec.image_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err = dir < 0 ? -errno : follow_open(&shim->spec, dir, &shim->follow);

	return err ? shim_failed(err, "other nodes' output") : NULL;
}

static json_t *shim_prepare(struct shim *shim)
{
	struct ckpt_error error;
	json_t *outcome;
	int err;

	shim_ranks_limits(shim);
	err = stdio_open(&shim->io, &shim->spec, &shim->log, &error);
	if (err)
		return outcome_error(err, "%s", error.text);
	outcome = shim_follow_job(shim);
	if (outcome)
		return outcome;
	shim->listener = open_listener(shim->spec.state_dir);
	if (shim->listener < 0)
		return shim_failed(shim->listener, shim->spec.state_dir);
	shim->exit_file = open("exit", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC |
			       O_NOFOLLOW, 0600);
	if (shim->exit_file < 0)
		return shim_failed(-errno, "the file for the exit status");
	/* Reserve the room now: images may have filled the file system when the job ends. */
	if (fallocate(shim->exit_file, FALLOC_FL_KEEP_SIZE, 0, EXIT_FILE_ROOM) &&
	    errno != EOPNOTSUPP)
		return shim_failed(-errno, "room for the exit status");
	err = shim_ranks_open(shim);
	if (err)
		return shim_failed(err, "process management");
	if (!shim->spec.host_ns && unshare(CLONE_NEWPID | CLONE_NEWIPC))
		return shim_failed(-errno, "new namespaces");
	return NULL;
}

/*
 * Give later children the shim's own PID namespace again, not init's: the kernel lets no process
 * make threads whose children would go to another namespace.
 */
static int keep_own_pid_ns(const struct shim *shim)
{
	_cleanup_fd_ int own = -1;

	if (shim->spec.host_ns)
		return 0;
	own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	return own < 0 || setns(own, CLONE_NEWPID) ? -errno : 0;
}

static json_t *fork_init(struct shim *shim, int *ret_launch)
{
	const int room = INIT_SNDBUF;
	int launch[2], sock[2], err;
	struct shim_init init;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, launch) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		return shim_failed(-errno, "a pair of sockets");
	/* Where root may not force the size, it gets what every user gets. */
	if (setsockopt(sock[1], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
		setsockopt(sock[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	init = (struct shim_init) { shim, launch[1], sock[1] };
	shim->init = fork();
	if (!shim->init) {
		close(launch[0]);
		close(sock[0]);
		init_run(&init);
	}
	close(launch[1]);
	close(sock[1]);
	if (shim->init < 0)
		return shim_failed(-errno, "the job's first process");
	shim->init_sock = sock[0];
	*ret_launch = launch[0];
	err = keep_own_pid_ns(shim);
	return err ? shim_failed(err, "namespaces") : NULL;
}

/* Init's processes are held: pass ckptd's word on, or that there will be none, or return. */
static void await_word(const struct shim *shim, int launch)
{
	struct pollfd fds[2] = {
		{ .fd = shim->report, .events = POLLIN }, { .fd = launch, .events = POLLIN },
	};
	char word;

	while (poll(fds, 2, -1) < 0) {
		if (errno != EINTR)
			return;
	}
	if (fds[1].revents)
		return;		/* init has died */
	if (recv(shim->report, &word, 1, 0) == 1)
		send(launch, &word, 1, MSG_NOSIGNAL);
	else
		shutdown(launch, SHUT_WR);
}

static bool is_held(const json_t *progress)
{
	const char *phase = json_string_value(json_object_get(progress, "phase"));

	return phase && (!strcmp(phase, SPEC_HELD) || !strcmp(phase, SPEC_LOOKS));
}

/* Read init's frames: pass progress on to ckptd, and return at the outcome. */
static json_t *await_outcome(const struct shim *shim, int launch)
{
	struct wire_in in = { .limit = WIRE_REQUEST_MAX };
	json_t *json = NULL;
	const char *body;
	size_t len;
	int n;

	while (!json) {
		n = wire_next(&in, &body, &len);
		if (n == 0)
			n = wire_receive(&in, launch) > 0 ? 0 : -EPIPE;
		else if (n == 1) {
			json = json_loadb(body, len, JSON_ALLOW_NUL, NULL);
			wire_consume(&in);
			if (json_object_get(json, "progress")) {
				shim_report(shim, json);
				if (is_held(json_object_get(json, "progress")))
					await_word(shim, launch);
				json_decref(json);
				json = NULL;
			}
		}
		if (n < 0)
			break;
	}
	wire_in_done(&in);
	return json ? json
		    : outcome_error(-ECHILD, "the job's first process died before the job ran");
}

/* Let init go. From here on the shim is the job's owner, as process management requires. */
static json_t *shim_let_go(struct shim *shim, int launch)
{
	json_t *go;
	char *text;
	int err;

	err = shim->pm ? shim_drop(&shim->spec) : 0;
	if (err)
		return shim_failed(err, "changing to the job's owner");
	go = shim_ranks_go(shim, &err);
	text = go ? json_dumps(go, JSON_COMPACT) : NULL;
	if (!err)
		err = text ? wire_send(launch, text, strlen(text), NULL, 0) : -ENOMEM;
	free(text);
	json_decref(go);
	return err ? shim_failed(err, "process management") : NULL;
}

static json_t *shim_launch(struct shim *shim)
{
	json_t *outcome = shim_prepare(shim);
	int sock = -1, err;

	if (!outcome)
		outcome = fork_init(shim, &sock);
	if (outcome)
		return outcome;
	err = identity_write(shim->spec.state_dir, getpid(), shim->init);
	if (err)
		return shim_failed(err, shim->spec.state_dir);
	outcome = shim_let_go(shim, sock);
	if (outcome)
		return outcome;
	outcome = await_outcome(shim, sock);
	close(sock);
	if (outcome_is_ok(outcome)) {
		json_t *result = json_object_get(outcome, "result");

		shim->main_pid = (pid_t)json_integer_value(json_object_get(result, "main_pid"));
		json_object_set_new(result, "init_pid", json_integer(shim->init));
		shim_ranks_started(shim, json_object_get(result, "pids"));
	}
	return outcome;
}

/* ------------------------------------------------------------------ stay */

bool shim_is_home(const struct shim *shim)
{
	return shim->spec.ranks.nr_nodes > 1 && !shim->spec.ranks.node;
}

void shim_maybe_leave(struct shim *shim)
{
	if (shim->ended && (shim->over || !shim_is_home(shim)) && stdio_finished(&shim->io) &&
	    clients_served(shim))
		reactor_stop(shim->reactor);
}

static void on_changed(void *arg)
{
	struct shim *shim = arg;

	clients_wake(shim);
	shim_maybe_leave(shim);
}

static void shim_linger(struct shim *shim);

/* The rest of the output is finite: wait on while a terminal still takes some of it. */
static void on_linger(void *arg)
{
	struct shim *shim = arg;

	shim->linger = NULL;
	if (clients_moved(shim))
		shim_linger(shim);
	else
		reactor_stop(shim->reactor);
}

/* Start the linger time, or start it again. */
static void shim_linger(struct shim *shim)
{
	reactor_remove(shim->linger);
	shim->linger = NULL;
	clients_moved(shim);
	reactor_timer(shim->reactor, LINGER_MS, on_linger, shim, &shim->linger);
}

static void job_ended(struct shim *shim, int status)
{
	if (shim->ended)
		return;
	shim->ended = true;
	shim->status = status;
	if (shim->over || !shim_is_home(shim))
		shim_linger(shim);
}

void shim_over(struct shim *shim, int status)
{
	struct reactor_source *timer;

	if (shim->over || !shim_is_home(shim))
		return;
	/* ckptd has seen init's end; this shim may not have yet. */
	shim->over = true;
	job_ended(shim, status);
	shim->status = status;
	follow_finish(shim->follow);
	shim_linger(shim);
	/* By a timer: the caller may be in the middle of serving clients. */
	reactor_timer(shim->reactor, 0, on_changed, shim, &timer);
}

/* At the end of the connection stop watching it: it would be readable for ever. */
void shim_hear(struct shim *shim)
{
	unsigned int nr_fds;
	int n, fds[SHIM_FDS_MAX];
	struct shim_msg msg;

	while ((n = shim_receive(shim->init_sock, &msg, NULL, 0, fds, &nr_fds)) >= 0) {
		if (msg.type == SHIM_PAGES && nr_fds)
			shim_pages_open(shim, fds[0]);
		while (nr_fds)
			close(fds[--nr_fds]);
		if (msg.type == SHIM_EXITED)
			job_ended(shim, msg.value);
		else
			shim_ranks_message(shim, &msg);
	}
	if (n == -EPIPE) {
		reactor_remove(shim->init_source);
		shim->init_source = NULL;
	}
}

static void on_init_message(uint32_t events, void *arg)
{
	shim_hear(arg);
}

/* The status in init's exit file; SIGKILL if the file is empty, as init was killed. */
static int written_status(const struct shim *shim)
{
	char text[EXIT_FILE_ROOM];
	ssize_t n = pread(shim->exit_file, text, sizeof(text), 0);
	json_t *json = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
	int status = SIGKILL;

	if (json)
		json_unpack(json, "{s:i}", "status", &status);
	json_decref(json);
	return status;
}

/* Init's namespace ends with init, and with it every process that could write output. */
static void on_init_end(int status, void *arg)
{
	struct shim *shim = arg;

	/* Init may have sent the status just before it ended. */
	shim_hear(shim);
	job_ended(shim, written_status(shim));
	stdio_finish(&shim->io);
	on_changed(shim);
}

static void shim_on_listener(uint32_t events, void *arg)
{
	struct shim *shim = arg;
	int sock = accept4(shim->listener, NULL, NULL, SOCK_CLOEXEC);

	if (sock >= 0)
		client_add(shim, sock, false);
}

int shim_signal(struct shim *shim, int signo)
{
	struct shim_msg msg = { .type = SHIM_SIGNAL, .number = (uint64_t)signo };

	if (shim->ended)
		return -ESRCH;
	if (signo < 0 || signo >= NSIG)
		return -EINVAL;
	return shim_send(shim->init_sock, &msg, NULL, 0, NULL, 0);
}

int shim_abort(struct shim *shim, int code)
{
	struct shim_msg msg = { .type = SHIM_ABORT, .number = (uint64_t)(code & 0xff) };

	return shim->ended ? -ESRCH : shim_send(shim->init_sock, &msg, NULL, 0, NULL, 0);
}

static bool is_watched(void *arg)
{
	return clients_attached(arg) > 0;
}

static int shim_stay(struct shim *shim)
{
	struct reactor_source *source;
	int err;

	err = fcntl(shim->init_sock, F_SETFL, O_NONBLOCK) ? -errno : 0;
	if (!err)
		err = reactor_fd(shim->reactor, shim->listener, EPOLLIN,
				 shim_on_listener, shim, &source);
	if (!err)
		err = reactor_fd(shim->reactor, shim->init_sock, EPOLLIN,
				 on_init_message, shim, &shim->init_source);
	if (!err)
		err = reactor_child(shim->reactor, shim->init, on_init_end, shim,
				    &source);
	if (!err)
		err = stdio_start(&shim->io, shim->reactor, on_changed, shim);
	if (!err)
		err = follow_start(shim->follow, shim->reactor, is_watched, on_changed, shim);
	return err ? err : reactor_run(shim->reactor);
}

/* ------------------------------------------------------------------ main */

static void quiet_process(const struct shim *shim)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	prctl(PR_SET_NAME, "ckpt-shim");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	/* The shim is small, and its death loses the job's output: kill it last. */
	if (fd < 0)
		return;
	if (write(fd, "-900", 4) < 0)
		log_debug(&shim->log, "oom_score_adj cannot be set");
	close(fd);
}

static int parse_args(int argc, char **argv, struct shim_args *args)
{
	static const struct option longs[] = {
		{ "spec", required_argument, NULL, 's' },
		{ "report", required_argument, NULL, 'r' },
		{ "attach", required_argument, NULL, 'a' },
		{ NULL }
	};
	int c;

	*args = (struct shim_args) { -1, -1, -1 };
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		int fd = optarg ? atoi(optarg) : -1;

		if (c == '?' || fd < 3 || fcntl(fd, F_SETFD, FD_CLOEXEC))
			return -EINVAL;
		*(c == 's' ? &args->spec : c == 'r' ? &args->report :
		  &args->attach) = fd;
	}
	return args->spec < 0 || optind < argc ? -EINVAL : 0;
}

static int shim_run(struct shim *shim)
{
	json_t *outcome = shim_launch(shim);
	int err = outcome_errno(outcome);

	stdio_cut(&shim->io, err);
	if (!err && shim->attach >= 0)
		client_add(shim, shim->attach, true);
	shim->attach = -1;
	if (!err)
		err = shim_drop(&shim->spec);
	if (err)
		log_error(&shim->log, "job %lld did not start: %s",
			  (long long)shim->spec.job, strerror(-err));
	shim_report(shim, outcome);
	json_decref(outcome);
	close(shim->report);
	shim->report = -1;
	return err ? err : shim_stay(shim);
}

int main(int argc, char **argv)
{
	struct shim *shim = calloc(1, sizeof(*shim));
	struct ckpt_error error = {};
	struct shim_args args;
	int err;

	if (!shim || parse_args(argc, argv, &args)) {
		fputs("ckpt-shim: is started by ckptd, see ckpt-shim(8)\n", stderr);
		return 2;
	}
	if (try_run(args.spec, args.report) || rollback_job(args.spec, args.report))
		return 0;
	log_init(&shim->log, "ckpt-shim");
	shim->report = args.report;
	shim->attach = args.attach;
	shim->listener = shim->exit_file = shim->init_sock = shim->failed = -1;
	shim->watch.timer = -1;
	quiet_process(shim);
	err = spec_load(args.spec, &shim->spec, &error);
	if (!err)
		err = reactor_create(&shim->reactor);
	if (err) {
		json_t *outcome = outcome_error(err, "%s", error.text[0] ? error.text :
						"the shim cannot wait for events");

		shim_report(shim, outcome);
		json_decref(outcome);
		return 1;
	}
	err = shim_run(shim);
	shim_ranks_close(shim);
	follow_close(shim->follow);
	reactor_destroy(shim->reactor);
	return err ? 1 : 0;
}
