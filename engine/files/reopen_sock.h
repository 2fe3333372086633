/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sockets of an image on this node. All but the first functions are between reopen_sock.c,
 * reopen_sock_fill.c, reopen_sock_name.c and reopen_inet*.c only.
 *
 * reopen_sock.c makes them, with their names and connected to each other, before any file is
 * opened.  reopen_sock_fill.c puts in, when all files are open, what nobody had read, and leaves
 * each as it was.  reopen_sock_name.c has the names.
 */
#ifndef STILLPOINT_REOPEN_SOCK_H
#define STILLPOINT_REOPEN_SOCK_H

#include "engine/files/reopen.h"

#include <sys/un.h>

struct reopen_sock {
	int fd;			/* until reopen_sock() hands it out; -1: none, or handed out */
	int end;		/* of one whose peer has gone: the peer, for now; -1: none */
	int place;		/* O_PATH: the file of its name; -1: none */
	bool paired;		/* it was made with its peer */
	bool roomy;		/* its buffers are larger for now: the next three are theirs */
	int sndbuf, rcvbuf, locks;
};

/*
 * reopen_sock.c, reopen_sock_fill.c: sockets. reopen_socks() makes them, before any file is
 * opened; reopen_sock() hands one out; reopen_socks_connect() puts in what nobody had read, when
 * all files are open.
 */
int reopen_socks_init(struct reopen *r);
int reopen_socks(struct reopen *r);
int reopen_sock(struct reopen *r, const struct state_file *file);
int reopen_socks_connect(struct reopen *r);
void reopen_socks_close(struct reopen *r);

static inline struct reopen_sock *reopen_sock_of(const struct reopen *r,
						 const struct state_sock *sock)
{
	return &r->socks[sock - r->state->socks];
}

/* The descriptor of a socket that has a file. */
static inline int reopen_sock_fd(const struct reopen *r, const struct state_sock *sock)
{
	int fd = reopen_sock_of(r, sock)->fd;

	return fd >= 0 ? fd : reopen_fd(r, sock->file);
}

/* Is it made here? Others come back as sockets whose peer has gone. */
bool reopen_sock_is_whole(const struct state_sock *sock);
/* The listening socket of the tree that has the name of @sock, or NULL. */
const struct state_sock *reopen_sock_listener(const struct reopen *r,
					      const struct state_sock *sock);
/* A new socket of the type, close-on-exec and non-blocking; -errno. */
int reopen_sock_new(const struct state_sock *sock);
/* Describe a failure: "cannot @what the socket NAME"; returns @err. */
int reopen_sock_failed(struct reopen *r, const struct state_sock *sock, int err, const char *what);
/* The same for an option, as sock_options_set() tells it; @bad: NULL: it is not known which. */
int reopen_sock_not_set(struct reopen *r, const struct state_sock *sock, int err,
			const struct engine_sock_option *bad);

/* The name of @sock for people. */
void reopen_sock_name_text(const struct state_sock *sock, char *buf, size_t size);

/* reopen_sock_fill.c */
/* Make room in the buffers of @fd, a socket of the tree; undone when it is finished. */
void reopen_sock_widen(struct reopen_sock *made, int fd);
/* Send to a stream what it had not read, by its peer @fd; -errno, not described. */
int reopen_sock_stream(struct reopen *r, const struct state_sock *sock, int fd);

/* reopen_sock_name.c */
/* Give @fd the name of @sock; *ret_place gets its file, -1 for an abstract name. */
int reopen_sock_bind(struct reopen *r, const struct state_sock *sock, int fd, int *ret_place);
/* Go to the directory @dir, also one that the owner of the socket may not search. */
int reopen_sock_go(int dir);
/* The current directory, also one that the owner may not search, as O_PATH; -errno. */
int reopen_sock_here(void);
/*
 * Bind @fd to @len bytes of @name, which a stranger may have chosen, and if that makes a file,
 * remove it again. What exists stays, and is not touched unless a socket of this user left it
 * behind.
 */
int reopen_sock_bind_bare(int fd, const char *name, uint32_t len);
/* The address of a socket that is bound: by @place, or if that is -1 by its abstract name. */
socklen_t reopen_sock_address(const struct state_sock *sock, int place, struct sockaddr_un *ret);
/* connect(2), also to a socket that its owner may not write to any more. */
int reopen_sock_connect(int fd, const struct sockaddr_un *addr, socklen_t len);
/* Give the file of the name its owner and mode, and close @place. */
int reopen_sock_own_name(struct reopen *r, const struct state_sock *sock, int *place);

/* reopen_sock_gone.c */
/*
 * Give @fd the name of @sock, whose file was removed, and touch no file that has the name now.
 * -errno, not described; with *ret_lost the root directory is another now, and nothing can go on.
 */
int reopen_sock_bind_gone(const struct state_sock *sock, int fd, int *ret_place, bool *ret_lost);

#endif /* STILLPOINT_REOPEN_SOCK_H */
