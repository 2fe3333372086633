/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sockets in the model of a tree: a part of state.h.
 *
 * The parser checks each record and appends it; state_socks_link() follows the numbers.  What
 * holds then: the two ends of a connected stream name each other; a socket without a file waits
 * to be accepted by a listening socket; every file that travels in a message is in the model.
 */
#ifndef STILLPOINT_STATE_SOCK_H
#define STILLPOINT_STATE_SOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <linux/ckpt.h>
#include "engine/core/engine_records.h"

struct engine_rec_sock_link;
struct state;
struct state_file;
struct state_parser;
struct state_sock;

/* An unread datagram, or a part of a stream that nobody has read. */
struct state_sock_msg {
	const struct ckpt_rec_sock_msg *rec;
	struct state_sock *sender;	/* or NULL */
	const uint32_t *files;		/* rec->nr_files numbers of files of the model */
	const char *name;		/* of the sender: rec->name_len bytes */
	const void *data;		/* rec->data_len bytes */
};

struct state_sock {
	const struct ckpt_rec_sock *rec;
	const char *name;		/* rec->name_len bytes, without a NUL */
	const char *path;		/* of the file of its name; "": none */
	struct state_file *file;	/* NULL: it waits to be accepted */
	struct state_sock *peer;	/* or NULL */
	struct state_sock *listener;	/* that is to accept it, or NULL */
	struct state_sock_msg *msgs;
	unsigned int nr_msgs;
	const struct engine_rec_sock_options *options;	/* or NULL: all as they are by default */
	const struct ckpt_rec_sock_sent *sent;	/* adjacent in the stream; NULL: none */
	unsigned int nr_sent;
	const struct engine_rec_sock_link *link;	/* its peer is another tree's of the job */
	bool linked;		/* a dump: the same, before there is a record */
	uint32_t cut;		/* enum sock_rule: its peer is outside, and it comes back so */
	uint64_t user;
};

/* Parsers of the records: see struct state_kind_record. */
int state_sock_add(struct state_parser *p, const struct ckpt_rec_hdr *hdr);
int state_sock_add_msg(struct state_parser *p, const struct ckpt_rec_hdr *hdr);
int state_sock_add_options(struct state_parser *p, const struct ckpt_rec_hdr *hdr);
int state_sock_add_end(struct state_parser *p, const struct ckpt_rec_hdr *hdr);
int state_sock_add_sent(struct state_parser *p, const struct ckpt_rec_hdr *hdr);
int state_sock_add_link(struct state_parser *p, const struct ckpt_rec_hdr *hdr);
/* After all records and files: turn numbers into pointers, or reject the stream. */
int state_socks_link(struct state_parser *p);

/* By number; NULL if there is none. */
struct state_sock *state_sock_find(const struct state *state, uint32_t id);
/* Is it a unix socket, and not one of TCP or UDP? */
bool state_sock_is_unix(const struct state_sock *sock);
/* Bytes of an address of TCP or UDP; 0: of no such family. */
socklen_t state_sock_addr_len(int family);
/* TCP, UDP: its own address, and if it is connected the peer's. */
const struct sockaddr *state_sock_own(const struct state_sock *sock);
const struct sockaddr *state_sock_remote(const struct state_sock *sock);
/* Its addresses as text: "10.0.0.1:80 to 10.0.0.2:4711". */
void state_sock_text(const struct state_sock *sock, char *buf, size_t size);
/* Does each read of it return one message? */
bool state_sock_is_datagram(const struct state_sock *sock);
/* Is it to come back as a socket whose peer has gone, as its peer is outside of the tree? */
bool state_sock_is_outside(const struct state_sock *sock);
/* Is its peer outside, so that it comes back with an end that a rule has chosen? */
bool state_sock_is_cut(const struct state_sock *sock);
/* The port of an address of IPv4 or IPv6, in network order. */
uint16_t state_sock_port(const struct sockaddr *addr);
/* TCP: does a socket of the tree listen on its port? Then it was accepted. */
bool state_sock_was_accepted(const struct state *state, const struct state_sock *sock);
/* Is its peer that of another tree of the job, which the image knows by a number? */
bool state_sock_is_link(const struct state_sock *sock);
/* TCP: the bytes that are unread, with those of its SOCK_LINK; copy them all to @buf. */
uint32_t state_sock_unread(const struct state_sock *sock);
void state_sock_copy_unread(const struct state_sock *sock, uint8_t *buf);
/* The bytes of its SOCK_SENTs; copy them from @at on to @buf. */
uint32_t state_sock_sent(const struct state_sock *sock);
void state_sock_copy_sent(const struct state_sock *sock, uint32_t at, uint8_t *buf);
/* Are the names of both the same? */
bool state_sock_same_name(const struct state_sock *a, const struct state_sock *b);

#endif /* STILLPOINT_STATE_SOCK_H */
