// SPDX-License-Identifier: GPL-2.0-only
/*
 * Process 1 of a test VM: runs the commands that scripts/vm sends.
 *
 * There is one virtio-serial port per concurrent command, named agent.0,
 * agent.1, …, and one child of process 1 per port. Process 1 itself only
 * reaps orphans and starts a port's child again if a test killed it.
 *
 * A frame is a header (magic, session, type, length; little-endian) and its
 * payload. The host picks a new random session for every command and holds the
 * port exclusively; frames of another session are debris of a host that went
 * away, and both sides look for the next magic after garbage.
 *
 *   host:  R request (see struct request), I stdin data (empty: end),
 *          K signal to the command's process group, P power off
 *   guest: O stdout, E stderr, A one I frame consumed, X exit status
 *
 * A command is over when its own process is: children that it leaves behind
 * keep running, and lose their stdout and stderr if those were ours. The agent
 * must not log to the console: that is the kernel's, and is searched for splats.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAGIC		0x31416b43	/* "CkA1" */
#define PAYLOAD_MAX	(1 << 20)
#define CHUNK		(30 * 1024)
#define PORTS_MAX	16

enum { FLAG_STDIN = 1, FLAG_PTY = 2, FLAG_MERGE = 4 };

struct frame {
	uint32_t magic;
	uint32_t session;
	uint32_t type;
	uint32_t len;
};

/* followed by cwd, argv[argc], env[envc], each ending in a zero byte */
struct request {
	uint32_t flags;
	uint16_t rows, cols;
	uint32_t argc, envc;
};

struct command {
	pid_t pid;		/* 0: none is running */
	int pidfd;
	int in, out, err;	/* our ends; -1 when closed; a pty is in == out */
	size_t pending, done;	/* stdin data that the command has not taken yet */
	char data[CHUNK];
};

struct port {
	int fd;
	bool lost;		/* the host hung up */
	uint32_t session;
	size_t have;
	char buf[sizeof(struct frame) + PAYLOAD_MAX];
	struct command cmd;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * Has the host really gone? Data of the next host can overtake the news that it
 * is there, so a hang-up counts only when it lasts.
 */
static bool port_hung_up(struct port *p)
{
	struct pollfd pfd = { .fd = p->fd, .events = POLLIN };
	int tries;

	for (tries = 0; tries < 10; tries++) {
		pfd.revents = 0;
		poll(&pfd, 1, 0);
		if (!(pfd.revents & POLLHUP))
			return false;
		usleep(10000);
	}
	return true;
}

/* Write all of it, unless the host hangs up. */
static void port_write(struct port *p, const void *data, size_t len)
{
	const char *at = data;

	while (len && !p->lost) {
		ssize_t n = write(p->fd, at, len);

		if (n > 0) {
			at += n;
			len -= (size_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			p->lost = true;
			return;
		}
		struct pollfd pfd = { .fd = p->fd, .events = POLLOUT };

		poll(&pfd, 1, 1000);
		if (pfd.revents & POLLHUP)
			p->lost = port_hung_up(p);
	}
}

static void port_send(struct port *p, char type, const void *data, size_t len)
{
	char out[sizeof(struct frame) + CHUNK];
	struct frame f = { MAGIC, p->session, (uint32_t)type, (uint32_t)len };

	memcpy(out, &f, sizeof(f));
	if (len)
		memcpy(out + sizeof(f), data, len);
	port_write(p, out, sizeof(f) + len);
}

static void command_close(struct command *c)
{
	if (c->in != c->out)
		close_fd(&c->in);
	c->in = -1;
	close_fd(&c->out);
	close_fd(&c->err);
	close_fd(&c->pidfd);
	c->pid = 0;
	c->pending = 0;
}

static void command_kill(struct command *c)
{
	if (!c->pid)
		return;
	kill(-c->pid, SIGKILL);
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	command_close(c);
}

/* One read of a stream of the command; false at its end. */
static bool forward(struct port *p, int *fd, char type)
{
	char buf[CHUNK];
	ssize_t n = read(*fd, buf, sizeof(buf));

	if (n > 0) {
		port_send(p, type, buf, (size_t)n);
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (p->cmd.in == *fd)
		p->cmd.in = -1;
	close_fd(fd);
	return false;
}

static void command_finish(struct port *p)
{
	struct command *c = &p->cmd;
	int status = 0;
	int32_t code;

	waitpid(c->pid, &status, 0);
	/* what it wrote before it ended is in the pipes by now */
	while (c->out >= 0 && !p->lost && forward(p, &c->out, 'O'))
		;
	while (c->err >= 0 && !p->lost && forward(p, &c->err, 'E'))
		;
	code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	port_send(p, 'X', &code, sizeof(code));
	command_close(c);
}

static char *next_string(char **at, char *end)
{
	char *s = *at;
	size_t n = strnlen(s, (size_t)(end - s));

	if (s + n >= end)
		return NULL;
	*at = s + n + 1;
	return s;
}

/* Split the strings of a request; 0 or -1 if they do not add up. */
static int request_parse(const struct request *r, char *at, char *end,
			 char **cwd, char **argv, char **envp)
{
	uint32_t i;

	*cwd = next_string(&at, end);
	if (!*cwd)
		return -1;
	for (i = 0; i < r->argc; i++)
		if (!(argv[i] = next_string(&at, end)))
			return -1;
	for (i = 0; i < r->envc; i++)
		if (!(envp[i] = next_string(&at, end)))
			return -1;
	return 0;
}

static void __attribute__((noreturn))
child(int in, int out, int err, bool pty, const char *cwd, char **argv, char **envp)
{
	sigset_t none;
	int sig;

	setsid();
	if (pty)
		ioctl(in, TIOCSCTTY, 0);
	for (sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	syscall(SYS_close_range, 3, ~0U, 0);
	if (chdir(cwd))
		(void)!chdir("/");
	environ = envp;
	execvp(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static int open_pty(struct command *c, const struct request *r, int *slave)
{
	struct winsize ws = { .ws_row = r->rows, .ws_col = r->cols };
	char name[64];

	c->in = c->out = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (c->out < 0 || grantpt(c->out) || unlockpt(c->out) ||
	    ptsname_r(c->out, name, sizeof(name)))
		return -1;
	*slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*slave < 0)
		return -1;
	return ioctl(*slave, TIOCSWINSZ, &ws);
}

static int open_streams(struct command *c, const struct request *r, int fds[3])
{
	int p[2];

	if (r->flags & FLAG_PTY) {
		if (open_pty(c, r, &fds[0]))
			return -1;
		fds[1] = fds[2] = fds[0];
		return 0;
	}
	if (r->flags & FLAG_STDIN) {
		if (pipe2(p, O_CLOEXEC))
			return -1;
		fds[0] = p[0];
		c->in = p[1];
	} else {
		fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	if (pipe2(p, O_CLOEXEC))
		return -1;
	c->out = p[0];
	fds[1] = fds[2] = p[1];
	if (!(r->flags & FLAG_MERGE)) {
		if (pipe2(p, O_CLOEXEC))
			return -1;
		c->err = p[0];
		fds[2] = p[1];
	}
	return 0;
}

static void command_start(struct port *p, char *payload, size_t len)
{
	struct request r;
	struct command *c = &p->cmd;
	char **argv, **envp, *cwd;
	int fds[3] = { -1, -1, -1 };
	int32_t code = 125;

	if (len < sizeof(r))
		goto refuse;
	memcpy(&r, payload, sizeof(r));
	if (!r.argc || r.argc > len || r.envc > len)
		goto refuse;
	argv = calloc(r.argc + 1, sizeof(*argv));
	envp = calloc(r.envc + 1, sizeof(*envp));
	if (!argv || !envp ||
	    request_parse(&r, payload + sizeof(r), payload + len, &cwd, argv, envp) ||
	    open_streams(c, &r, fds)) {
		command_close(c);
		goto out;
	}
	c->pid = fork();
	if (!c->pid)
		child(fds[0], fds[1], fds[2], r.flags & FLAG_PTY, cwd, argv, envp);
	if (c->pid < 0) {
		command_close(c);
		goto out;
	}
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	fcntl(c->out, F_SETFL, O_NONBLOCK);
	if (c->err >= 0)
		fcntl(c->err, F_SETFL, O_NONBLOCK);
	if (c->in >= 0)
		fcntl(c->in, F_SETFL, O_NONBLOCK);
out:
	free(argv);
	free(envp);
	if (fds[2] != fds[1])
		close_fd(&fds[2]);
	if (fds[1] != fds[0])
		close_fd(&fds[1]);
	close_fd(&fds[0]);
	if (c->pid > 0)
		return;
refuse:
	port_send(p, 'X', &code, sizeof(code));
}

static void stdin_write(struct port *p)
{
	struct command *c = &p->cmd;
	ssize_t n = write(c->in, c->data + c->done, c->pending - c->done);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		/* nobody reads: swallow the rest */
		if (c->in != c->out)
			close_fd(&c->in);
		n = (ssize_t)(c->pending - c->done);
	}
	c->done += (size_t)n;
	if (c->done == c->pending) {
		c->pending = c->done = 0;
		port_send(p, 'A', NULL, 0);
	}
}

static void stdin_frame(struct port *p, const char *data, size_t len)
{
	struct command *c = &p->cmd;

	if (!len && c->in >= 0 && c->in != c->out)
		close_fd(&c->in);
	if (c->in < 0 || !len || len > sizeof(c->data)) {
		port_send(p, 'A', NULL, 0);
		return;
	}
	memcpy(c->data, data, len);
	c->pending = len;
	c->done = 0;
	stdin_write(p);
}

static void handle_frame(struct port *p, const struct frame *f, char *payload)
{
	uint32_t sig = SIGKILL;

	if (f->type == 'R') {
		command_kill(&p->cmd);
		p->session = f->session;
		command_start(p, payload, f->len);
		return;
	}
	if (f->session != p->session && f->type != 'P')
		return;
	switch (f->type) {
	case 'I':
		stdin_frame(p, payload, f->len);
		break;
	case 'K':
		if (f->len == sizeof(sig))
			memcpy(&sig, payload, sizeof(sig));
		if (p->cmd.pid)
			kill(-p->cmd.pid, (int)sig);
		break;
	case 'P':
		sync();
		reboot(RB_POWER_OFF);
		break;
	}
}

/* Handle every whole frame in the buffer, skip what is not a frame. */
static void handle_input(struct port *p)
{
	struct frame f;
	size_t at = 0;

	while (p->have - at >= sizeof(f)) {
		memcpy(&f, p->buf + at, sizeof(f));
		if (f.magic != MAGIC || f.len > PAYLOAD_MAX) {
			at++;
			continue;
		}
		if (p->have - at < sizeof(f) + f.len)
			break;
		handle_frame(p, &f, p->buf + at + sizeof(f));
		at += sizeof(f) + f.len;
	}
	memmove(p->buf, p->buf + at, p->have - at);
	p->have -= at;
}

static void port_read(struct port *p)
{
	ssize_t n = read(p->fd, p->buf + p->have, sizeof(p->buf) - p->have);

	if (n > 0) {
		p->have += (size_t)n;
		handle_input(p);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		p->lost = port_hung_up(p);
	}
}

/* The port says POLLHUP as long as no host is there; SIGIO tells of one. */
static void wait_for_host(struct port *p)
{
	struct timespec second = { .tv_sec = 1 };
	struct pollfd pfd = { .fd = p->fd, .events = POLLIN };
	sigset_t io;

	command_kill(&p->cmd);
	p->have = 0;
	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	for (;;) {
		pfd.revents = 0;
		if (poll(&pfd, 1, 0) >= 0 && !(pfd.revents & POLLHUP))
			break;
		sigtimedwait(&io, NULL, &second);
	}
	p->lost = false;
}

static void __attribute__((noreturn)) port_loop(struct port *p)
{
	struct command *c = &p->cmd;

	for (;;) {
		if (p->lost)
			wait_for_host(p);
		struct pollfd pfd[] = {
			{ .fd = p->fd, .events = POLLIN },
			{ .fd = c->out, .events = POLLIN },
			{ .fd = c->err, .events = POLLIN },
			{ .fd = c->pid ? c->pidfd : -1, .events = POLLIN },
			{ .fd = c->pending ? c->in : -1, .events = POLLOUT },
		};

		if (poll(pfd, 5, -1) < 0)
			continue;
		if (pfd[1].revents && c->out >= 0)
			forward(p, &c->out, 'O');
		if (pfd[2].revents && c->err >= 0)
			forward(p, &c->err, 'E');
		if (pfd[4].revents && c->pending && c->in >= 0)
			stdin_write(p);
		if (pfd[3].revents && c->pid)
			command_finish(p);
		if (pfd[0].revents & POLLIN)
			port_read(p);
		else if (pfd[0].revents & (POLLHUP | POLLERR))
			p->lost = port_hung_up(p);
	}
}

/*
 * Device of the port called agent.N; false if there is none. Opening it only to
 * see whether it is there would throw away what the host has sent already.
 */
static bool port_find(int n, char *dev, size_t size)
{
	const char *class = "/sys/class/virtio-ports";
	char path[512], name[32], want[32];
	bool found = false;
	struct dirent *e;
	DIR *dir = opendir(class);

	snprintf(want, sizeof(want), "agent.%d\n", n);
	while (dir && !found && (e = readdir(dir))) {
		ssize_t len;
		int fd;

		snprintf(path, sizeof(path), "%s/%s/name", class, e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		len = read(fd, name, sizeof(name) - 1);
		close(fd);
		name[len > 0 ? len : 0] = 0;
		found = !strcmp(name, want);
		if (found)
			snprintf(dev, size, "/dev/%.32s", e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	close(fd);
}

static pid_t port_start(int n)
{
	char dev[64];
	struct port *p;
	sigset_t io;
	pid_t pid = fork();

	if (pid)
		return pid;
	p = calloc(1, sizeof(*p));
	if (!p)
		_exit(1);
	p->cmd.in = p->cmd.out = p->cmd.err = p->cmd.pidfd = -1;
	p->lost = true;
	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	sigprocmask(SIG_BLOCK, &io, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (!port_find(n, dev, sizeof(dev)))
		_exit(1);
	p->fd = open(dev, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (p->fd < 0)
		_exit(1);
	fcntl(p->fd, F_SETOWN, getpid());
	fcntl(p->fd, F_SETFL, O_NONBLOCK | O_ASYNC);
	port_loop(p);
}

int main(void)
{
	struct rlimit files = { .rlim_cur = 1024, .rlim_max = 1048576 };
	struct rlimit core = { .rlim_cur = 0, .rlim_max = RLIM_INFINITY };
	pid_t pids[PORTS_MAX];
	char dev[64];
	int n, ports = 0;

	setsid();
	/*
	 * at other addresses the same code is translated again by the emulator: an exec takes
	 * three times as long
	 */
	personality(ADDR_NO_RANDOMIZE);
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_CORE, &core);
	write_file("/proc/sys/kernel/printk", "8");
	write_file("/proc/sys/kernel/core_pattern", "core");
	for (n = 0; n < PORTS_MAX; n++) {
		if (!port_find(n, dev, sizeof(dev)))
			break;
		pids[ports++] = port_start(n);
	}
	if (!ports)
		fprintf(stderr, "agent: no virtio-serial port\n");
	for (;;) {
		pid_t pid = wait(NULL);

		if (pid < 0)
			pause();
		for (n = 0; n < ports; n++)
			if (pids[n] == pid)
				pids[n] = port_start(n);
	}
}
