// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets whose peer is outside of the tree: those that come back as ones whose peer has gone, and
 * the refusal of all others.  Sockets whose peer is in the tree are saved whole (dump_sock.c).
 *
 * The C library and logging libraries keep connections to services of the node open: a
 * thread that has once looked up a user of sssd has one for life.  Their clients connect
 * again when the service goes away, as it does at each of its updates.  So an idle client
 * of such a service is no obstacle: after a restart it reads the end, or gets an error when
 * it writes, and connects again.  A service is known by the name of its socket; no other
 * client is known to bear the loss of its connection.
 *
 * A client is idle if it has nothing unread, the service has read all that it sent, and no
 * thread of the tree waits on it.  A client that is busy is asked again a moment later
 * (capture.c), so the refusals here are FD_SOCKET like the module's, which passes connected
 * unix sockets alone.  Looks in the pause, and changes nothing.
 */
#include "base/error.h"
#include "engine/core/sock_rules.h"
#include "engine/dump/dump_run.h"
#include "engine/dump/dump_sock.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/sockios.h>

/* Places among a thread's registers; see CKPT_NR_REGS. */
#define REG_R10		7
#define REG_AX		10
#define REG_DX		12
#define REG_SI		13
#define REG_DI		14
#define REG_ORIG_AX	15

#define RESTART_FIRST	(-516)	/* the kernel's own error numbers of interrupted calls */
#define RESTART_LAST	(-512)
#define OUTSIDE	"whose peer is outside of the tree; --sockets=close or --sockets=reset would " \
	"save it as a connection that has ended:"
#define POLL_MOST	4096	/* descriptors of a poll(2) that are looked at */

/* Sockets of services whose clients connect again: files, and directories that end with "/". */
static const char *const services[] = {
	"/var/lib/sss/pipes/", "/run/nscd/", "/run/nslcd/", "/run/samba/winbindd/",
	"/run/systemd/userdb/", "/run/systemd/resolve/", "/run/avahi-daemon/", "/run/munge/",
	"/var/lib/gssproxy/", "/run/.heim_org.h5l.kcm-socket",
	"/dev/log", "/run/systemd/journal/dev-log", "/run/systemd/journal/socket",
	"/run/systemd/journal/syslog", "/run/systemd/notify",
};

static bool is_service(const char *name)
{
	if (strncmp(name, "/var/run/", 9) == 0)
		name += 4;
	for (unsigned int i = 0; i < sizeof(services) / sizeof(*services); i++) {
		size_t len = strlen(services[i]);

		if (services[i][len - 1] == '/' ? strncmp(name, services[i], len) == 0 :
						  strcmp(name, services[i]) == 0)
			return !strstr(name, "/../");
	}
	return false;
}

/* ------------------------------------------------------------ who waits on it */

/* Copy from the memory of a frozen process; false if it cannot be read. */
static bool read_memory(pid_t host_pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec to = { buf, len }, from = { (void *)(uintptr_t)addr, len };

	return process_vm_readv(host_pid, &to, 1, &from, 1, 0) == (ssize_t)len;
}

/* Is @fd in a list of poll(2)?  A list that cannot be read may have it. */
static bool dump_sockets_polled(pid_t host_pid, uint64_t addr, uint64_t nr, int fd)
{
	struct pollfd list[64];

	if (nr > POLL_MOST)
		return true;	/* nobody knows */
	while (nr) {
		unsigned int n = nr < 64 ? (unsigned int)nr : 64;

		if (!read_memory(host_pid, addr, list, n * sizeof(*list)))
			return true;
		for (unsigned int i = 0; i < n; i++)
			if (list[i].fd == fd)
				return true;
		addr += n * sizeof(*list);
		nr -= n;
	}
	return false;
}

/* The same in the sets of select(2). */
static bool dump_sockets_selected(pid_t host_pid, const __u64 *regs, int fd)
{
	const int sets[] = { REG_SI, REG_DX, REG_R10 };

	if (fd >= (int)regs[REG_DI])
		return false;
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t addr = regs[sets[i]];
		uint8_t byte;

		if (addr && (!read_memory(host_pid, addr + (unsigned int)fd / 8, &byte, 1) ||
			     byte & 1U << (fd % 8)))
			return true;
	}
	return false;
}

/* Was the thread frozen in a call that waits on descriptor @fd? */
static bool waits_on(const struct state_thread *thread, int fd)
{
	const struct ckpt_rec_thread *rec = thread->rec;
	pid_t pid = thread->proc->rec->host_pid;
	int64_t result = (int64_t)rec->regs[REG_AX];

	if (rec->restart.kind == CKPT_RESTART_POLL)
		return dump_sockets_polled(pid, rec->restart.a, rec->restart.b, fd);
	if (rec->restart.kind == CKPT_RESTART_NONE && result != -EINTR &&
	    (result < RESTART_FIRST || result > RESTART_LAST))
		return false;	/* the call, if it was in one, has ended */
	switch ((int64_t)rec->regs[REG_ORIG_AX]) {
	case SYS_poll:
	case SYS_ppoll:
		return dump_sockets_polled(pid, rec->regs[REG_DI], rec->regs[REG_SI], fd);
	case SYS_select:
	case SYS_pselect6:
		return dump_sockets_selected(pid, rec->regs, fd);
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_write:
	case SYS_writev:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
		return (int)rec->regs[REG_DI] == fd;
	default:
		return false;
	}
}

static bool table_waits(const struct state *state, const struct state_fdtable *table,
			const struct state_file *file)
{
	for (unsigned int i = 0; i < table->nr_fds; i++) {
		if (table->fds[i].file != file)
			continue;
		for (unsigned int j = 0; j < state->nr_threads; j++)
			if (state->threads[j].proc->fdtable == table &&
			    waits_on(&state->threads[j], table->fds[i].rec->fd))
				return true;
	}
	return false;
}

static bool is_waited_on(const struct state *state, const struct state_file *file)
{
	for (unsigned int i = 0; i < state->nr_fdtables; i++)
		if (table_waits(state, &state->fdtables[i], file))
			return true;
	return false;
}

/* ------------------------------------------------------------ one socket */

/* Why the socket cannot come back without its peer, or NULL; @ret_name: the peer's name. */
static const char *why_not(int fd, struct sockaddr_un *ret_peer)
{
	struct sockaddr_un mine;
	socklen_t len = sizeof(mine), option_len = sizeof(int);
	int type = 0, unread = 1, unsent = 1;

	if (getsockname(fd, (struct sockaddr *)&mine, &len) || mine.sun_family != AF_UNIX)
		return "of a family that is not supported";
	if (len > offsetof(struct sockaddr_un, sun_path))
		return "a server's end, or a client with a name";
	len = sizeof(*ret_peer) - 1;
	if (getpeername(fd, (struct sockaddr *)ret_peer, &len))
		return "not connected";
	memset((char *)ret_peer + len, 0, sizeof(*ret_peer) - len);
	if (!is_service(ret_peer->sun_path))
		return ret_peer->sun_path[0] ? "client of" : "connected to a nameless socket";
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &option_len) ||
	    ioctl(fd, SIOCINQ, &unread) || ioctl(fd, SIOCOUTQ, &unsent))
		return "cannot be asked: client of";
	if (unread)
		return "with an answer that is not read: client of";
	/* a datagram stays with its receiver, whatever becomes of us */
	if (unsent && type != SOCK_DGRAM)
		return "with a question that is not read: client of";
	return NULL;
}

static void dump_sockets_refuse(const struct state *state, const struct state_file *file,
				struct ckpt_error *error, const char *why, const char *name)
{
	struct error_refusal refusal = {
		.reason = CKPT_R_FD_SOCKET, .pid = file->rec->pid, .object = file->rec->id,
	};

	for (unsigned int i = 0; i < state->nr_fds; i++) {
		const struct state_fdtable *table;

		if (state->fds[i].file != file)
			continue;
		table = state_fdtable_find(state, state->fds[i].rec->files_id);
		refusal.object = (uint64_t)state->fds[i].rec->fd;
		if (!table || !table->owner)
			break;
		refusal.pid = table->owner->rec->host_pid;
		memcpy(refusal.comm, table->owner->rec->comm, sizeof(refusal.comm));
		break;
	}
	error_refuse(error, &refusal, "fd %llu: socket %s%s%s",
		     (unsigned long long)refusal.object, why, name[0] ? " " : "", name);
}

/* Does the relative name lead to its file from some directory? */
static bool dump_sockets_is_near(const struct state_sock *sock)
{
	char text[sizeof(((struct sockaddr_un *)0)->sun_path) + 1] = "";
	const char *tail = text;
	size_t len, path_len = strlen(sock->path);

	memcpy(text, sock->name, sock->rec->name_len);
	while (strncmp(tail, "./", 2) == 0)
		tail += 2;
	len = strlen(tail);
	return path_len > len && sock->path[path_len - len - 1] == '/' &&
	       strcmp(sock->path + path_len - len, tail) == 0;
}

/* stat(2) of a path that the process @pid sees; false: it cannot be known. */
static bool dump_sockets_stat(pid_t pid, const char *path, struct stat *ret)
{
	char seen[PATH_MAX];

	*ret = (struct stat){ 0 };
	if (snprintf(seen, sizeof(seen), "/proc/%d/root%s", pid, path) >= (int)sizeof(seen))
		return false;
	return !stat(seen, ret) || errno == ENOENT || errno == ENOTDIR;
}

/* Why a restart could not give the socket, whose file is there, its name, or NULL. */
static const char *dump_sockets_name_flaw(const struct state_sock *sock)
{
	char text[sizeof(((struct sockaddr_un *)0)->sun_path) + 1] = "", root[40], to[2] = "";
	struct stat file, name;
	pid_t pid = sock->file->rec->pid;

	memcpy(text, sock->name, sock->rec->name_len);
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	if (readlink(root, to, sizeof(to)) > 0 && memcmp(to, "/", 2))
		return "whose file is in another root directory:";
	if (text[0] != '/' && !dump_sockets_is_near(sock))
		return "whose name is relative, and whose file was moved:";
	if (!dump_sockets_stat(pid, sock->path, &file))
		return NULL;
	if (!S_ISSOCK(file.st_mode))
		return "whose file is hidden by a mount:";
	if (text[0] == '/' && dump_sockets_stat(pid, text, &name) &&
	    (name.st_ino != file.st_ino || name.st_dev != file.st_dev))
		return "whose file was moved away from its name:";
	return NULL;
}

/* ------------------------------------------------------------ TCP and UDP */

static bool dump_sockets_is_udp(const struct state_sock *sock)
{
	return !state_sock_is_unix(sock) && state_sock_is_datagram(sock);
}

/* Does another socket of UDP have the port, so that a datagram could be sent to that? */
static bool dump_sockets_shares(const struct state *state, const struct state_sock *sock)
{
	uint16_t port = state_sock_port(state_sock_own(sock));

	for (unsigned int i = 0; i < state->nr_socks; i++)
		if (&state->socks[i] != sock && dump_sockets_is_udp(&state->socks[i]) &&
		    state_sock_port(state_sock_own(&state->socks[i])) == port)
			return true;
	return false;
}

/*
 * Why the datagrams that nobody has read could not be sent once more, or NULL. Those of strangers
 * are no reason: a restart leaves out what it cannot send, so that nobody else decides whether a
 * job can be saved.
 */
static const char *dump_sockets_datagrams(const struct state *state, const struct state_sock *sock)
{
	if (sock->nr_msgs && dump_sockets_shares(state, sock))
		return "with unread datagrams, and a port that another socket has, too:";
	return NULL;
}

/* The same of any socket of TCP or UDP. A connection needs routes from its own address. */
static const char *dump_sockets_inet_flaw(const struct state *state, const struct state_sock *sock)
{
	if (sock->rec->state == CKPT_SOCK_CONNECTED && sock->rec->flags & CKPT_SOCK_NAMED &&
	    !(sock->rec->flags & (CKPT_SOCK_PEER_GONE | CKPT_SOCK_ENDED)) &&
	    !dump_sock_addr_is_here(state_sock_own(sock)))
		return "that is connected from an address which this node has not:";
	return state_sock_is_datagram(sock) ? dump_sockets_datagrams(state, sock) : NULL;
}

/* Why a socket that is to be saved whole could not be made again, or NULL. */
static const char *dump_sockets_flaw(const struct state *state, const struct state_sock *sock)
{
	bool named = sock->rec->flags & CKPT_SOCK_NAMED;
	const struct state_sock *peer = sock->peer;
	const char *why = NULL;

	for (unsigned int i = 0; i < state->nr_socks; i++)
		if (state->socks[i].listener == sock && state_sock_is_outside(&state->socks[i]) &&
		    !state_sock_is_cut(&state->socks[i]))
			return "that a client outside waits to be accepted by:";
	if (!state_sock_is_unix(sock))
		return dump_sockets_inet_flaw(state, sock);
	if (sock->path[0] && !(sock->rec->flags & CKPT_SOCK_UNLINKED) && sock->file)
		why = dump_sockets_name_flaw(sock);
	if (why)
		return why;
	if (!state_sock_is_datagram(sock))
		return NULL;
	if (peer && !(peer->rec->flags & CKPT_SOCK_NAMED) && (peer->peer != sock || named))
		return "that sends to a nameless socket, which does not answer to it:";
	for (unsigned int i = 0; !named && i < sock->nr_msgs; i++)
		if (!sock->msgs[i].sender && !(sock->rec->flags & CKPT_SOCK_PEER_GONE))
			return "with a message from a former peer:";
	return NULL;
}

/* Text that a rule is compared with: "10.0.0.1:443". */
static void dump_sockets_peer(const struct state_sock *sock, char *buf, size_t size)
{
	const char *to;

	state_sock_text(sock, buf, size);
	to = strstr(buf, " to ");
	if (to)
		memmove(buf, to + 4, strlen(to + 4) + 1);
}

/* Let a rule decide about a socket whose peer is outside. */
static void dump_sockets_cut(struct capture *cap, struct state_sock *sock)
{
	char peer[128];

	dump_sockets_peer(sock, peer, sizeof(peer));
	sock->cut = sock_rules_decide(cap->sockets, peer);
}

static int dump_sockets_look(struct capture *cap, const struct state_file *file,
			     struct ckpt_error *error)
{
	__u32 id = file->rec->id;
	__s32 got = -1;
	struct ckpt_file_get get = { .nr = 1, .ids = (uintptr_t)&id, .fds = (uintptr_t)&got };
	int ret = kdev_file_get(cap->dev, &get);
	_cleanup_fd_ int fd = ret ? -1 : got;
	struct sockaddr_un peer = { 0 };
	const char *why;

	if (ret)
		return capture_failed(cap, ret, "cannot get at a file of the tree", error);
	why = why_not(fd, &peer);
	if (!why && is_waited_on(cap->state, file))
		why = "that a thread waits on: client of";
	/* a rule names a unix socket by the file or the abstract name of the peer */
	if (why && file->sock)
		file->sock->cut = sock_rules_decide(cap->sockets, peer.sun_path);
	if (why && (!file->sock || !file->sock->cut))
		dump_sockets_refuse(cap->state, file, error, why, peer.sun_path);
	return 0;
}

/* A socket of TCP whose peer is outside: a rule decides, or it is refused. */
static void dump_sockets_outside(struct capture *cap, const struct state_file *file,
				 struct ckpt_error *error)
{
	char text[128];

	dump_sockets_cut(cap, file->sock);
	if (state_sock_is_cut(file->sock))
		return;
	state_sock_text(file->sock, text, sizeof(text));
	dump_sockets_refuse(cap->state, file, error, OUTSIDE, text);
}

static bool dump_sockets_is_stranger(const struct state_file *file)
{
	return file->rec->kind == CKPT_FILE_SOCK && file->sock &&
	       !state_sock_is_unix(file->sock) && state_sock_is_outside(file->sock);
}

int dump_sockets_check_rest(struct capture *cap, struct ckpt_error *error)
{
	for (unsigned int i = 0; i < cap->state->nr_files; i++)
		if (dump_sockets_is_stranger(&cap->state->files[i]) &&
		    !cap->state->files[i].sock->linked)
			dump_sockets_outside(cap, &cap->state->files[i], error);
	return error_refused(error, "dump");
}

void dump_sockets_refuse_link(struct capture *cap, const struct state_sock *sock, const char *flaw,
			      struct ckpt_error *error)
{
	char text[128], why[128];

	state_sock_text(sock, text, sizeof(text));
	snprintf(why, sizeof(why), "to another node of the job, which %s:", flaw);
	dump_sockets_refuse(cap->state, sock->file, error, why, text);
}

int dump_sockets_check(struct capture *cap, struct ckpt_error *error)
{
	const struct state *state = cap->state;
	int ret = 0;

	/* a connection that waits to be accepted has no file */
	for (unsigned int i = 0; i < state->nr_socks; i++)
		if (!state->socks[i].file && !state_sock_is_unix(&state->socks[i]) &&
		    state_sock_is_outside(&state->socks[i]))
			dump_sockets_cut(cap, &state->socks[i]);
	for (unsigned int i = 0; !ret && i < state->nr_files; i++) {
		const struct state_file *file = &state->files[i];
		bool is_unix = !file->sock || state_sock_is_unix(file->sock);
		const char *why;
		char text[128];

		if (file->rec->kind != CKPT_FILE_SOCK)
			continue;
		if (dump_sockets_is_stranger(file)) {
			if (!cap->links)
				dump_sockets_outside(cap, file, error);
			continue;
		}
		if (!file->sock || state_sock_is_outside(file->sock)) {
			ret = dump_sockets_look(cap, file, error);
			continue;
		}
		why = dump_sockets_flaw(state, file->sock);
		if (!why)
			continue;
		if (!is_unix)
			state_sock_text(file->sock, text, sizeof(text));
		dump_sockets_refuse(state, file, error, why, is_unix ? file->sock->path : text);
	}
	return ret ? ret : error_refused(error, "dump");
}
