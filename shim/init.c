// SPDX-License-Identifier: GPL-2.0-only
/*
 * The init of a job: pid 1 of its PID namespace (or, with host_ns, a subreaper
 * in the host's).
 *
 * Init makes the namespaces' /proc and /dev/shm, starts or restores the job, reports
 * the outcome, gives up its rights and then only reaps.  The end of its members
 * (the main process, or all ranks) is the job's end: the status is made durable
 * first, then every process that is left is killed (in the host's namespace, every
 * one that may be).  Until the job runs, init dies with the shim, so that nothing
 * half started is left; from then on it does not depend on the shim.  The kernel
 * sends the parent-death signal only if the shim itself might: once the shim has
 * become the job's owner, init finds out by a failing send that the shim is gone.
 */
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libckptctl/wire.h"
#include "shim/confine.h"
#include "shim/labels.h"
#include "shim/members.h"
#include "shim/pages.h"
#include "shim/restore.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "engine/core/write_log.h"

#define TELL_END_MS	5000	/* for a slow shim; it can read the status file instead */
#define REST_MS		5000	/* for what is left in the host's namespace */
#define REST_LOOK_MS	50

/* ------------------------------------------------------------ namespaces */

static json_t *shim_init_failed(int err, const char *what)
{
	return outcome_error(err, "%s: %s", what, strerror(-err));
}

static json_t *make_mounts(void)
{
	if (unshare(CLONE_NEWNS))
		return shim_init_failed(-errno, "a new mount namespace");
	/* Later mounts of the host appear here; mounts made here do not appear there. */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		return shim_init_failed(-errno, "mount propagation");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return shim_init_failed(-errno, "mounting /proc");
	if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"))
		return shim_init_failed(-errno, "mounting /dev/shm");
	/* The message queues of the job's IPC namespace, only where the host has mqueue. */
	if (mount("mqueue", "/dev/mqueue", "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  NULL) && errno != ENOENT && errno != ENODEV)
		return shim_init_failed(-errno, "mounting /dev/mqueue");
	return NULL;
}

/*
 * Have the module note from now on which files the job changes. Without a module there will be
 * no checkpoint; a later one begins the log then, and says since when it goes.
 */
static void begin_write_log(const struct shim *shim)
{
	int err = write_log_begin(getpid(), shim->spec.writes_tag);

	if (err && err != -ENOENT && err != -ENXIO && err != -ENODEV && err != -EOPNOTSUPP)
		log_warning(&shim->log, "job %lld: the files that it closes will not be known at "
			    "a checkpoint: %s", (long long)shim->spec.job, strerror(-err));
}

/* --------------------------------------------------------------- restore */

static int send_json(int sock, json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);
	int err = text ? wire_send(sock, text, strlen(text), NULL, 0) : -ENOMEM;

	free(text);
	json_decref(json);
	return err;
}

static void kill_rest(const struct shim *shim);

/* Only before the job runs; the PID namespace ends with init. */
_Noreturn static void give_up(const struct shim_init *init)
{
	if (init->shim->spec.host_ns)
		kill_rest(init->shim);
	_exit(1);
}

static void shim_init_progress(const struct engine_progress *p, void *arg)
{
	const struct shim_init *init = arg;

	/* A progress message that finds no room in the socket is no loss. */
	if (send_json(init->launch,
		      json_pack("{s:{s:s, s:I, s:I}}", "progress", "phase", p->phase,
				"done", (json_int_t)p->done,
				"total", (json_int_t)p->total)) == -EPIPE)
		give_up(init);
}

/* Say that the processes are ready, and wait for ckptd's word. */
static int shim_init_held(const struct engine_hold *hold, void *arg)
{
	const struct shim_init *init = arg;
	ssize_t n;
	char word;

	if (send_json(init->launch, json_pack("{s:{s:s}}", "progress", "phase",
					      hold->looks ? SPEC_LOOKS : SPEC_HELD)))
		return -EPIPE;
	do {
		n = recv(init->launch, &word, 1, 0);
	} while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -ECANCELED;
}

static json_t *shim_init_restore(const struct shim_init *init, pid_t *ret_main)
{
	return restore_images(init->shim, shim_init_progress,
			      init->shim->spec.hold ? shim_init_held : NULL, (void *)init,
			      ret_main);
}

/* ------------------------------------------------------------------- end */

static void write_status(const struct shim *shim, const struct members *members)
{
	char text[192], rank[32] = "", when[48] = "", told[32] = "";
	int n;

	if (members->ranks && members->failed_index >= 0)
		snprintf(rank, sizeof(rank), ", \"rank\": %u",
			 shim->spec.ranks.rank[members->failed_index]);
	if (members->failed)
		snprintf(when, sizeof(when), ", \"failed_ns\": %lld",
			 (long long)members->failed_ns);
	if (members_were_told(members, clock_monotonic_ms()))
		snprintf(told, sizeof(told), ", \"told\": %d", SIGTERM);
	n = snprintf(text, sizeof(text), "{\"status\": %d, \"time\": %lld%s%s%s}\n",
		     members->status, (long long)time(NULL), rank, when, told);
	if (pwrite(shim->exit_file, text, (size_t)n, 0) == n)
		fsync(shim->exit_file);
}

/* Send SIGKILL to all children and list their pids in @pids, as far as there is room. */
static void kill_children(char *pids, size_t size)
{
	char path[64], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, pids, size - 1);
	if (fd >= 0)
		close(fd);
	pids[n > 0 ? n : 0] = '\0';
	for (at = pids; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
		long pid = strtol(at, NULL, 10);

		if (pid > 0)
			kill((pid_t)pid, SIGKILL);
	}
}

/*
 * In the host's PID namespace only init kills the processes that are left. It may not kill those
 * that have become another user's, and those that wait for a disk do not die; neither holds up
 * the job's end.
 */
static void kill_rest(const struct shim *shim)
{
	int64_t until = clock_monotonic_ms() + REST_MS;
	int pause = 1;
	char pids[4096];
	pid_t pid;

	while (clock_monotonic_ms() < until) {
		kill_children(pids, sizeof(pids));
		while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
			pause = 1;
		if (pid < 0 && errno == ECHILD)
			return;
		poll(NULL, 0, pause);
		pause = pause * 2 < REST_LOOK_MS ? pause * 2 : REST_LOOK_MS;
	}
	log_warning(&shim->log, "job %lld has ended, but processes of it do not, and are left: %s",
		    (long long)shim->spec.job, pids);
}

_Noreturn static void shim_init_end(const struct shim_init *init, const struct members *members)
{
	struct shim_msg msg = { .type = SHIM_EXITED, .value = members->status };
	struct pollfd room = { .fd = init->sock, .events = POLLOUT };

	write_status(init->shim, members);
	if (init->shim->spec.host_ns)
		kill_rest(init->shim);
	if (shim_send(init->sock, &msg, NULL, 0, NULL, 0) == -EAGAIN &&
	    poll(&room, 1, TELL_END_MS) > 0)
		shim_send(init->sock, &msg, NULL, 0, NULL, 0);
	_exit(0);
}

/*
 * Read the signals that were sent to init itself. A batch system sends them to each process that it
 * finds, so SIGTERM for init means the job. None comes from processes of the job's namespace.
 */
static void shim_init_signals(const struct shim_init *init, struct members *members, int signals)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) > 0) {
		if (!info.ssi_pid || init->shim->spec.host_ns)
			members_note(members, (int)info.ssi_signo);
	}
}

static void shim_init_reap(const struct shim_init *init, struct members *members, int signals)
{
	struct shim_msg msg = { .type = SHIM_RANK_ENDED };
	int status, index;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		index = members_ended(members, pid, status);
		if (index < 0 || !members->ranks)
			continue;
		msg.number = (uint64_t)index;
		msg.value = status;
		shim_send(init->sock, &msg, NULL, 0, NULL, 0);
	}
	if (!members_over(members, clock_monotonic_ms()))
		return;
	shim_init_signals(init, members, signals);
	shim_init_end(init, members);
}

/* -EPIPE: the shim is gone. */
static int shim_init_serve(const struct shim_init *init, struct members *members)
{
	struct shim_msg msg;
	int n = shim_receive(init->sock, &msg, NULL, 0, NULL, NULL);

	if (n < 0)
		return n == -EAGAIN ? 0 : n;
	if (msg.type == SHIM_SIGNAL && msg.number < NSIG) {
		members_note(members, (int)msg.number);
		members_signal(members, (int)msg.number);
	} else if (msg.type == SHIM_ABORT) {
		members_abort(members, (int)msg.number);
	} else if (msg.type == SHIM_RANK_ENDED) {
		members_agreed(members);
	}
	return 0;
}

/* The shim has died, and nobody else can end an order: let held ranks run on. */
static void release_ranks(const struct shim_spec *spec)
{
	int dir;

	if (!spec_has_pages(spec) || pages_find(&spec->ranks, spec->pages, &dir))
		return;
	pages_release(&spec->ranks, dir);
	close(dir);
}

_Noreturn static void shim_init_loop(const struct shim_init *init, struct members *members)
{
	struct pollfd fds[2] = {
		{ .fd = init->sock, .events = POLLIN },
		{ .events = POLLIN },
	};
	sigset_t set;

	/* Block all signals: of those that are sent to init only SIGTERM has a meaning. */
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fds[1].fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* A stopped shim must not block init. */
	fcntl(init->sock, F_SETFL, O_NONBLOCK);
	for (;;) {
		shim_init_reap(init, members, fds[1].fd);
		if (poll(fds, 2, members_timeout(members, clock_monotonic_ms())) < 0)
			continue;
		shim_init_signals(init, members, fds[1].fd);
		if (fds[0].revents && shim_init_serve(init, members)) {
			fds[0].fd = -1;
			members_agreed(members);
			release_ranks(&init->shim->spec);
		}
	}
}

/* Close descriptors that only the start needed: a pipe held open here would never end. */
static void forget_job_ends(const struct shim *shim)
{
	const struct shim_stdio *io = &shim->io;
	const int fds[] = {
		io->master, io->slave, io->in_write, io->job_ends[0],
		io->job_ends[1], io->job_ends[2], io->stream[0].fd,
		io->stream[1].fd, io->stream[0].log, io->stream[1].log,
		shim->listener, shim->report, shim->attach, io->cuts_dir,
	};
	size_t i;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	for (i = 0; i < io->nr_cuts; i++)
		close(io->cuts[i].log);
	labels_forget(shim->io.labels);
	if (shim->pm)
		((struct pm_base *)shim->pm)->ops->forget(shim->pm);
}

/* Wait until the shim has recorded init's identity; nothing happens before that. */
static json_t *await_go(const struct shim_init *init)
{
	struct wire_in in = { .limit = SHIM_GO_MAX };
	json_t *go = NULL;
	const char *body;
	size_t len;
	int n;

	while ((n = wire_next(&in, &body, &len)) == 0) {
		if (wire_receive(&in, init->launch) <= 0)
			break;
	}
	if (n == 1)
		go = json_loadb(body, len, 0, NULL);
	wire_in_done(&in);
	return go;
}

/* Hand the ranks' status pages to the shim: made for a new job, found in a restored one. */
static json_t *share_pages(const struct shim_init *init)
{
	const struct shim_spec *spec = &init->shim->spec;
	const struct shim_msg msg = { .type = SHIM_PAGES };
	int dir = -1, err;

	if (!spec_has_pages(spec))
		return NULL;
	err = spec->restore ? pages_find(&spec->ranks, spec->pages, &dir) :
	      pages_make(&spec->ranks, spec->pages, spec->uid, spec->gid, &dir);
	if (!err) {
		err = shim_send(init->sock, &msg, NULL, 0, &dir, 1);
		close(dir);
	}
	return err ? shim_init_failed(err, "status pages of the ranks") : NULL;
}

static json_t *bring_up(const struct shim_init *init, const json_t *go,
			struct members *ret_members)
{
	json_t *outcome = init->shim->spec.restore ? NULL : share_pages(init);
	pid_t main_pid = 0;

	if (outcome)
		return outcome;
	if (!init->shim->spec.restore) {
		int err = confine_self((void *)&init->shim->spec);

		if (err)
			return shim_init_failed(err, "the session keyring and capabilities");
		restore_spread(init->shim);
		return members_start(init->shim, json_object_get(go, "env"), init->launch,
				     ret_members);
	}
	outcome = shim_init_restore(init, &main_pid);
	if (outcome_is_ok(outcome)) {
		json_t *failure = share_pages(init);

		if (failure) {
			json_decref(outcome);
			return failure;
		}
	}
	if (outcome_is_ok(outcome) && main_pid &&
	    members_adopt(init->shim, main_pid, ret_members)) {
		json_decref(outcome);
		outcome = outcome_error(-ENOMEM, "out of memory");
	}
	return outcome;
}

_Noreturn void init_run(const struct shim_init *init)
{
	const struct shim *shim = init->shim;
	struct members members = { 0 };
	json_t *outcome = NULL, *go, *result;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "ckpt-init");
	go = await_go(init);
	if (!go)
		_exit(1);
	if (shim->spec.host_ns)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	else
		outcome = make_mounts();
	if (!outcome && !shim->spec.host_ns)
		begin_write_log(shim);
	if (!outcome)
		outcome = bring_up(init, go, &members);
	if (!outcome_is_ok(outcome) || !members.nr) {
		send_json(init->launch, outcome);
		_exit(outcome_is_ok(outcome) ? 0 : 1);
	}
	prctl(PR_SET_PDEATHSIG, 0);
	forget_job_ends(shim);
	result = json_object_get(outcome, "result");
	json_object_set_new(result, "main_pid", json_integer(members.pid[0]));
	if (members.ranks)
		json_object_set_new(result, "pids", members_pids(&members));
	if (send_json(init->launch, outcome))
		give_up(init);
	close(init->launch);
	json_decref(go);
	if (shim_drop(&shim->spec))
		_exit(1);
	shim_init_loop(init, &members);
}
