/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sockets of TCP and UDP of an image on this node: between reopen_inet.c, which makes them,
 * reopen_inet_fill.c, which puts in what nobody had read, and reopen_sock*.c, which ask both.
 */
#ifndef STILLPOINT_REOPEN_INET_H
#define STILLPOINT_REOPEN_INET_H

#include "engine/files/reopen_sock.h"

/* reopen_inet.c */
/* Make all: first connections, then what listens, or is bound. */
int reopen_inets(struct reopen *r);
/*
 * Bind @fd to an address, also while another connection that has ended still holds the port.
 * -errno, not described.
 */
int reopen_inet_bind(int fd, const struct sockaddr *addr, socklen_t len);
/* connect(2), and wait for it a bounded time; -errno, not described. */
int reopen_inet_connect(int fd, const struct sockaddr *addr, socklen_t len);
/* A new socket of the kind of @sock, close-on-exec and non-blocking; -errno. */
int reopen_inet_new(const struct state_sock *sock);
/* The same with the options that have to be set before bind(2), and SO_REUSEADDR. */
int reopen_inet_start(const struct state_sock *sock);

/* reopen_inet_fill.c: the steps of reopen_socks_connect() */
/* Connect, for @sock to wait in the queue of its listening socket, with what was sent to it. */
int reopen_inet_wait(struct reopen *r, const struct state_sock *sock);
/* Send the datagram @msg to @sock again. */
int reopen_inet_datagram(struct reopen *r, const struct state_sock *sock,
			 const struct state_sock_msg *msg);
/* UDP: give it its peer. */
int reopen_inet_aim(struct reopen *r, const struct state_sock *sock);
/* End the connection to the peer that was made for now, as it had ended. */
int reopen_inet_part(struct reopen *r, const struct state_sock *sock);
/* Take back what was set for the time of making it. */
int reopen_inet_settle(struct reopen *r, const struct state_sock *sock, int fd);

#endif /* STILLPOINT_REOPEN_INET_H */
