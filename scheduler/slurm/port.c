// SPDX-License-Identifier: GPL-2.0-only
/*
 * Launches for a script that is a job; see port.h.
 *
 * A launch is named as step.h says: as long as the script began anew in this run, a launch of an
 * earlier run is found again. A restored script knows the names of the launches it waits for; a
 * new one gets a number that no job of ckptd has. So a launch that the script asks for again,
 * because it was restored from before that launch, is done again, as everything behind that
 * checkpoint is.
 *
 * Descriptors of a launch stay open here until it is over, for a second try of its restart.
 */
#include "scheduler/slurm/port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "scheduler/slurm/find.h"
#include "scheduler/slurm/launcher.h"
#include "scheduler/slurm/request.h"
#include "scheduler/slurm/say.h"

#define TAKE_S		10	/* for a launcher to send its request */
#define END_TRIES	100	/* a tenth of a second apart */

struct port_launch {
	struct request request;
	char **env;		/* of the launch; texts of request and of ours */
	int fds[3];
	int launcher;		/* pidfd; -1: unknown */
	bool ended_by_us;	/* its launcher is gone */
	struct child_how next;	/* to be tried at next_ms */
	int64_t next_ms;	/* 0: nothing is to be tried */
	struct child child;
};

/* ------------------------------------------------------------------ files */

static void port_path(const struct port *port, const char *key, const char *what,
		      char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s.%s", port->directory, key, what);
}

/* Write a state file, in one moment for whoever looks. */
static int port_write(const struct port *port, const char *key, const char *what, const char *line)
{
	char path[PATH_MAX], new[PATH_MAX];
	FILE *file;
	int err = 0;

	port_path(port, key, what, path);
	port_path(port, key, "new", new);
	file = fopen(new, "we");
	if (!file)
		return -errno;
	if (fprintf(file, "%s\n", line) < 0)
		err = -EIO;
	if (fclose(file) || err || rename(new, path))
		err = err ?: -errno;
	return err;
}

static void port_remove(const struct port *port, const char *key, const char *what)
{
	char path[PATH_MAX];

	port_path(port, key, what, path);
	unlink(path);
}

static bool port_is_state(const char *file)
{
	static const char *const ends[] = { PORT_RUNS, PORT_ENDED, "name", "new", "slot" };
	const char *dot = strrchr(file, '.');
	size_t i;

	for (i = 0; dot && i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (!strcmp(dot + 1, ends[i]))
			return true;
	}
	return !strcmp(file, PORT_SOCKET);
}

/* Remove the state files of an earlier run, and the socket. "slot" is of the srun front. */
static void port_sweep(const struct port *port)
{
	DIR *dir = opendir(port->directory);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (port_is_state(entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

/* ----------------------------------------------------------------- socket */

int port_open(struct port *port)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int err;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/" PORT_SOCKET, port->directory);
	port->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (port->fd < 0)
		return -errno;
	unlink(addr.sun_path);
	if (!bind(port->fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(port->fd, 64))
		return 0;
	err = -errno;
	close(port->fd);
	port->fd = -1;
	return err;
}

void port_shut(struct port *port)
{
	if (port->fd >= 0)
		close(port->fd);
	port->fd = -1;
}

/* Take the descriptors that came with the first bytes into @fds. */
static int port_take_fds(struct msghdr *message, int fds[3])
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);

	if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len !=
	    CMSG_LEN(3 * sizeof(int)))
		return -EPROTO;
	memcpy(fds, CMSG_DATA(header), 3 * sizeof(int));
	return 0;
}

/* Receive all @size bytes; 0 or a negative errno. */
static int port_receive_rest(int sock, char *bytes, size_t size)
{
	while (size) {
		ssize_t n = recv(sock, bytes, size, 0);

		if (n <= 0)
			return n ? -errno : -EPROTO;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Receive a request with its three descriptors, which are the caller's then. */
static int port_receive(int sock, struct request *ret, int ret_fds[3])
{
	union {
		char bytes[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} control;
	uint32_t length;
	struct iovec first = { .iov_base = &length, .iov_len = sizeof(length) };
	struct msghdr message = { .msg_iov = &first, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int err = 0, i;
	char *bytes;

	if (recvmsg(sock, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL) != sizeof(length))
		return -EPROTO;
	if (port_take_fds(&message, ret_fds))
		return -EPROTO;
	bytes = length <= REQUEST_MAX ? malloc(length + 1) : NULL;
	if (!bytes)
		err = -ENOMEM;
	if (!err)
		err = port_receive_rest(sock, bytes, length);
	if (err)
		free(bytes);
	else
		err = request_unpack(bytes, length, ret);
	for (i = 0; err && i < 3; i++)
		close(ret_fds[i]);
	return err;
}

/* ---------------------------------------------------------------- launches */

static void port_launch_free(struct port_launch *launch)
{
	int i;

	for (i = 0; i < 3; i++)
		close(launch->fds[i]);
	if (launch->launcher >= 0)
		close(launch->launcher);
	free(launch->env);
	request_free(&launch->request);
	free(launch);
}

static void port_drop(struct port *port, size_t index)
{
	port_launch_free(port->launches[index]);
	port->launches[index] = port->launches[--port->nr_launches];
}

static struct port_launch *port_find(const struct port *port, const char *key)
{
	size_t i;

	for (i = 0; i < port->nr_launches; i++) {
		if (!strcmp(port->launches[i]->request.key, key))
			return port->launches[i];
	}
	return NULL;
}

/* The numbers of @command that launches of this run have: each name is a file. */
static int port_claims(const struct port *port, uint32_t command, struct step_claims *ret)
{
	DIR *dir = opendir(port->directory);
	struct dirent *entry;
	int err = dir ? 0 : -errno;

	while (!err && (entry = readdir(dir))) {
		char *dot = strrchr(entry->d_name, '.');
		struct step_key key;
		uint32_t number;

		if (!dot || strcmp(dot, ".name"))
			continue;
		*dot = '\0';
		if (step_parse(entry->d_name, &key, &number) && key.command == command)
			err = step_claim(ret, number);
	}
	if (dir)
		closedir(dir);
	return err;
}

static const char *port_variable(const struct request *request, const char *name)
{
	size_t len = strlen(name), i;

	for (i = 0; request->env[i]; i++) {
		if (!strncmp(request->env[i], name, len) && request->env[i][len] == '=')
			return request->env[i] + len + 1;
	}
	return NULL;
}

/* Name a launch that was never there, and keep the name; -EAGAIN: ckptd does not say. */
static int port_name(const struct port *port, const struct request *request, const int fds[3],
		     char step[REQUEST_NAME_MAX])
{
	struct step_key key = step_key(request->directory, request->argv,
				       port_variable(request, STEP_LINE), fds, getpid());
	struct step_claims claims = { 0 };
	uint32_t number;
	int err = port_claims(port, key.command, &claims);

	if (!err)
		err = find_name(port->prefix, &key, &claims, port->restored ? FIND_NEW :
				port->first ? FIND_NONE : FIND_ALL, false, step, &number);
	free(claims.numbers);
	if (!err)
		err = port_write(port, step, "name", step);
	return err == -EHOSTDOWN ? -EAGAIN : err;
}

/* Is it of Slurm, of the fronts or of this port, and so not the launcher's to say? */
static bool port_variable_is_ours(const char *variable)
{
	return !strncmp(variable, "SLURM", 5) ||
	       !strncmp(variable, LAUNCHER_VARIABLE "=", strlen(LAUNCHER_VARIABLE) + 1) ||
	       !strncmp(variable, STEP_LINE "=", strlen(STEP_LINE) + 1) ||
	       !strncmp(variable, "STILLPOINT_CKPT=", 16) ||
	       !strncmp(variable, "STILLPOINT_JOB=", 15);
}

/* The launcher's environment, with what Slurm has set for this run of the script. */
static char **port_environment(char *const *theirs)
{
	size_t size = 1, n = 0, i;
	char **env;

	for (i = 0; theirs[i]; i++)
		size++;
	for (i = 0; environ[i]; i++)
		size++;
	env = calloc(size, sizeof(*env));
	for (i = 0; env && theirs[i]; i++) {
		if (!port_variable_is_ours(theirs[i]))
			env[n++] = theirs[i];
	}
	for (i = 0; env && environ[i]; i++) {
		if (!strncmp(environ[i], "SLURM", 5))
			env[n++] = environ[i];
	}
	return env;
}

/* @next: a restart to try, of child_judge(); NULL: none */
static int port_start(struct port *port, struct port_launch *launch, bool anew,
		      const struct child_how *next)
{
	struct child_how how = next ? *next : (struct child_how) { .anew = anew };

	how.argv = launch->request.argv;
	how.env = launch->env;
	how.directory = launch->request.directory;
	how.fds = launch->fds;
	how.mask = port->mask;
	how.pipe = port->pipe;
	return child_start(&launch->child, &how);
}

/* The batch job is to be held; the launch stays known, and is named by its launcher again. */
static void port_hold(struct port *port, const struct port_launch *launch, const char *why)
{
	snprintf(port->hold, sizeof(port->hold), "%.120s %s", launch->child.name, why);
}

/* Take over request and descriptors of a launch; 0 or a negative errno. */
static int port_begin(struct port *port, struct request *request, const int fds[3], int launcher)
{
	bool named = *request->name;
	struct port_launch *launch = calloc(1, sizeof(*launch));
	struct port_launch **grown = realloc(port->launches, (port->nr_launches + 1) *
					     sizeof(struct port_launch *));
	char step[REQUEST_NAME_MAX];
	bool made = false;
	int err = 0;

	port->launches = grown ?: port->launches;
	if (!launch || !grown) {
		free(launch);
		return -ENOMEM;
	}
	snprintf(step, sizeof(step), "%s", request->name);
	if (!named) {
		err = port_name(port, request, fds, step);
		made = !err;
	}
	launch->env = port_environment(request->env);
	launch->request = *request;
	*request = (struct request) { 0 };
	memcpy(launch->fds, fds, sizeof(launch->fds));
	launch->launcher = launcher;
	launch->child.requeues = port->requeues;
	snprintf(launch->child.name, sizeof(launch->child.name), "%s%s", port->prefix, step);
	port->launches[port->nr_launches++] = launch;
	if (!err)
		err = launch->env ? 0 : -ENOMEM;
	if (!err)
		err = port_write(port, launch->request.key, PORT_RUNS, step);
	if (!err)
		err = port_start(port, launch, !named && (port->first || port->restored), NULL);
	/* The launch stays known, and is named by its launcher in the next run. */
	if (err == -EBADMSG) {
		port_hold(port, launch, CHILD_HIDDEN);
		return 0;
	}
	if (err == -ENOTUNIQ) {
		port->doubt = true;
		snprintf(port->hold, sizeof(port->hold), "%.60s: " FIND_DOUBT,
			 launch->request.argv[0]);
		return 0;
	}
	if (err) {
		port_remove(port, launch->request.key, PORT_RUNS);
		/* The launcher asks again, and the launch must not count twice then. */
		if (made)
			port_remove(port, step, "name");
		port_drop(port, port->nr_launches - 1);
	}
	return err;
}

/* -------------------------------------------------------------- requests */

static bool port_request_is_good(const struct request *request)
{
	static const char good[] = "0123456789abcdef-";

	return *request->key && strspn(request->key, good) == strlen(request->key) &&
	       strspn(request->name, good) == strlen(request->name) &&
	       (request->signal ? request->signal > 0 && request->signal < NSIG :
				  request->argv[0] != NULL);
}

static int port_launcher(int sock)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return -1;
	return (int)syscall(SYS_pidfd_open, peer.pid, 0);
}

/* Act on @request, and take it over; true: the launcher is told that it was taken. */
static bool port_act(struct port *port, int sock, struct request *request, const int fds[3])
{
	struct port_launch *launch = port_find(port, request->key);
	int err = -EINVAL, launcher, i;

	if (port_request_is_good(request) && !request->signal && !launch) {
		launcher = port_launcher(sock);
		err = port_begin(port, request, fds, launcher);
		if (!err) {
			port->asked_again = false;
			return true;
		}
		/* The launcher asks again in a moment: that is said once. */
		if (err != -EAGAIN || !port->asked_again)
			say_line("a launch of the script cannot be started%s: %s",
				 err == -EAGAIN ? " yet" : "",
				 err == -EAGAIN || err == -EHOSTDOWN ?
				 "ckptd of this node does not answer" : strerror(-err));
		port->asked_again = err == -EAGAIN;
		return false;
	}
	if (launch && request->signal > 0 && launch->child.pid)
		err = kill(launch->child.pid, request->signal) ? -errno : 0;
	for (i = 0; i < 3; i++)
		close(fds[i]);
	request_free(request);
	return !err || launch;
}

void port_take(struct port *port)
{
	const struct timeval limit = { .tv_sec = TAKE_S };
	struct request request;
	int sock, fds[3];

	if (port->fd < 0)
		return;
	sock = accept4(port->fd, NULL, NULL, SOCK_CLOEXEC);
	if (sock < 0)
		return;
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!port_receive(sock, &request, fds) && port_act(port, sock, &request, fds))
		send(sock, "y", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(sock);
}

/* -------------------------------------------------------------------- end */

/* Tell the launcher the exit status, and forget the launch. */
static void port_over(struct port *port, size_t index, int status)
{
	struct port_launch *launch = port->launches[index];
	char line[16];

	snprintf(line, sizeof(line), "%d", status);
	if (port_write(port, launch->request.key, PORT_ENDED, line))
		say_line("%s: the launch has ended with %d, and its launcher cannot be told: %s",
			 port->directory, status, strerror(errno));
	port_remove(port, launch->request.key, PORT_RUNS);
	port_drop(port, index);
}

static void port_judge(struct port *port, size_t index, int wait_status)
{
	struct port_launch *launch = port->launches[index];
	struct child_how next = { 0 };
	int status;

	switch (child_judge(&launch->child, wait_status, &status, &next)) {
	case POLICY_DONE:
		port_over(port, index, status);
		break;
	case POLICY_SAVED:
		port->saved = true;
		break;
	case POLICY_AGAIN:
	case POLICY_OLDER:
		say_line("%s does not go on from generation %lld: trying %lld", launch->child.name,
			 (long long)launch->child.generation, (long long)next.generation);
		launch->next = next;
		launch->next_ms = clock_monotonic_ms() + next.pause_ms;
		break;
	case POLICY_HOLD:
		port_hold(port, launch, "cannot go on");
		break;
	case POLICY_UNKNOWN:
		port_hold(port, launch, "may be saved, and ckptd does not answer");
		break;
	}
}

bool port_ended(struct port *port, pid_t pid, int wait_status)
{
	size_t i;

	for (i = 0; i < port->nr_launches; i++) {
		if (port->launches[i]->child.pid == pid) {
			port_judge(port, i, wait_status);
			return true;
		}
	}
	return false;
}

void port_watch(struct port *port)
{
	size_t i;

	for (i = 0; i < port->nr_launches; i++) {
		struct port_launch *launch = port->launches[i];
		struct pollfd gone = { .fd = launch->launcher, .events = POLLIN };

		if (launch->launcher >= 0 && !launch->ended_by_us && poll(&gone, 1, 0) == 1) {
			launch->ended_by_us = true;
			launch->next_ms = 0;
			if (launch->child.pid)
				kill(launch->child.pid, SIGTERM);
		}
		if (!launch->next_ms || clock_monotonic_ms() < launch->next_ms)
			continue;
		launch->next_ms = 0;
		if (port_start(port, launch, false, &launch->next))
			port_hold(port, launch, "cannot be tried again");
	}
}

int64_t port_cost_ms(const struct port *port)
{
	int64_t cost = 0;
	size_t i;

	for (i = 0; i < port->nr_launches; i++) {
		const struct child *child = &port->launches[i]->child;
		struct saver_job job;

		if (child->pid && !saver_find(child->name, &job) && job.newest)
			cost += saver_cost_ms(job.job);
	}
	return cost;
}

size_t port_runs(const struct port *port)
{
	size_t n = 0, i;

	for (i = 0; i < port->nr_launches; i++)
		n += port->launches[i]->child.pid != 0;
	return n;
}

/* ----------------------------------------------------------------- saving */

int port_save(struct port *port, char *why, unsigned int size)
{
	int err = 0;
	size_t i;

	for (i = 0; !err && i < port->nr_launches; i++) {
		if (port->launches[i]->child.pid)
			err = child_save(&port->launches[i]->child, why, size);
	}
	return err;
}

void port_forget(struct port *port)
{
	size_t i = 0;

	while (i < port->nr_launches) {
		if (port->launches[i]->child.pid) {
			i++;
			continue;
		}
		port_remove(port, port->launches[i]->request.key, PORT_RUNS);
		port_drop(port, i);
	}
	port->saved = false;
}

/* The script is over, and with it what it has left behind: as Slurm ends a step. */
static void port_end(struct port *port)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	size_t i;
	int n;

	for (i = 0; i < port->nr_launches; i++) {
		pid_t pid = port->launches[i]->child.pid;

		if (!pid)
			continue;
		kill(pid, SIGTERM);
		for (n = 0; n < END_TRIES && !waitpid(pid, NULL, WNOHANG); n++)
			nanosleep(&pause, NULL);
	}
}

void port_close(struct port *port)
{
	port_shut(port);
	port_end(port);
	while (port->nr_launches)
		port_drop(port, port->nr_launches - 1);
	free(port->launches);
	port->launches = NULL;
	port_sweep(port);
}
