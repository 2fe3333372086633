// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets: of unix, TCP and UDP.
 *
 * The kernel module tells who is connected to whom, the names, and what nobody has read (SOCK,
 * SOCK_MSG: engine/core/state_sock.c); engine/dump/dump_sock.c asks for options in the pause.
 * engine/dump/dump_sockets.c decides about those with an end outside, before the policy is asked.
 * engine/files/reopen_sock*.c and reopen_inet*.c make them again.
 */
#include "engine/core/sock_link.h"
#include "engine/core/sock_rules.h"
#include "engine/core/state_sock.h"
#include "engine/dump/dump_run.h"
#include "engine/dump/dump_sock.h"
#include "engine/files/reopen_sock.h"
#include "engine/kinds/kinds.h"
#include "engine/restore/restore_records.h"

#include <sys/socket.h>
#include <unistd.h>

#define CREDS_MOST	(1U << 20)	/* bytes of records in one call */

static uint64_t socket_marks(const struct state *state, const struct ckpt_rec_hdr *hdr)
{
	const struct state_sock *sock;

	/* the number of the socket is the first field of each record */
	sock = state_sock_find(state, ((const struct ckpt_rec_sock *)hdr)->id);
	return sock ? sock->user : 0;
}

static void socket_policy(struct dump *d, const struct state_file *file)
{
	(void)d;
	(void)file;	/* dump_sockets_check() has passed it, or there is no dump */
}

/* ---------------------------------------------------------------- credentials */

static int socket_call(struct restore_records *s)
{
	return s->len ? restore_records_call(s, s->files->state->threads[0].rec->tid,
					     "credentials of sockets") : 0;
}

/*
 * Add a record of who is the peer of the socket behind @fd, or the sender of what is unread there.
 * Another user's credentials only root can give back.
 */
static int socket_creds(struct restore_records *s, int fd, const struct ckpt_rec_sock_creds *creds)
{
	struct ckpt_rec_sock_creds *rec;

	if (fd < 0 || (geteuid() != 0 && (creds->uid != geteuid() || creds->gid != getegid())))
		return 0;
	rec = restore_records_append(s, sizeof(*rec));
	if (!rec)
		return restore_records_no_memory(s);
	*rec = *creds;
	rec->hdr = (struct ckpt_rec_hdr){ CKPT_REC_SOCK_CREDS, 1, sizeof(*rec) };
	rec->file = fd;
	return s->len < CREDS_MOST ? 0 : socket_call(s);
}

static int socket_creds_unread(struct restore_records *s, const struct state_sock *sock, int fd,
			       uint32_t flags)
{
	uint64_t at = 0;
	int ret = 0;

	for (unsigned int i = 0; !ret && i < sock->nr_msgs; i++) {
		const struct ckpt_rec_sock_msg *msg = sock->msgs[i].rec;
		bool stream = sock->rec->type == SOCK_STREAM;
		struct ckpt_rec_sock_creds creds = {
			.flags = flags | CKPT_CREDS_UNREAD, .pid = msg->pid, .uid = msg->uid,
			.gid = msg->gid, .len = stream ? msg->data_len : 0, .at = at,
		};

		at += stream ? msg->data_len : 1;
		if (msg->flags & CKPT_SOCK_MSG_CREDS)
			ret = socket_creds(s, fd, &creds);
	}
	return ret;
}

/* A connection that waits to be accepted is found by its client. */
static int socket_apply_one(struct restore_records *s, const struct state_sock *sock)
{
	const struct ckpt_rec_sock *rec = sock->rec;
	const struct state_sock *holder = sock->file ? sock : sock->peer;
	struct ckpt_rec_sock_creds creds = {
		.flags = sock->file ? 0 : CKPT_CREDS_PEERS,
		.pid = rec->peer_pid, .uid = rec->peer_uid, .gid = rec->peer_gid,
	};
	int fd, ret = 0;

	if (!holder || !holder->file || holder->file->external || state_sock_is_outside(sock))
		return 0;
	fd = reopen_fd(s->files, holder->file);
	if (rec->peer_uid != (uint32_t)-1)
		ret = socket_creds(s, fd, &creds);
	return ret ? ret : socket_creds_unread(s, sock, fd, creds.flags);
}

static int socket_apply(struct restore_records *s)
{
	const struct state *state = s->files->state;
	int ret = 0;

	if (!(s->dev->info.features & CKPT_FEAT_SOCK_CREDS) || !state->nr_threads)
		return 0;
	for (unsigned int i = 0; !ret && i < state->nr_socks; i++)
		ret = socket_apply_one(s, &state->socks[i]);
	return ret ? ret : socket_call(s);
}

const struct state_kind state_kind_socket = {
	.name = "socket",
	.records = {
		{ CKPT_REC_SOCK, sizeof(struct ckpt_rec_sock), STATE_OWNER_OBJECT,
		  state_sock_add },
		{ CKPT_REC_SOCK_MSG, sizeof(struct ckpt_rec_sock_msg), STATE_OWNER_OBJECT,
		  state_sock_add_msg },
		{ CKPT_REC_SOCK_SENT, sizeof(struct ckpt_rec_sock_sent), STATE_OWNER_OBJECT,
		  state_sock_add_sent },
		{ ENGINE_REC_SOCK_OPTIONS, sizeof(struct engine_rec_sock_options),
		  STATE_OWNER_OBJECT, state_sock_add_options },
		{ ENGINE_REC_SOCK_END, sizeof(struct engine_rec_sock_end), STATE_OWNER_OBJECT,
		  state_sock_add_end },
		{ ENGINE_REC_SOCK_LINK, sizeof(struct engine_rec_sock_link), STATE_OWNER_OBJECT,
		  state_sock_add_link },
	},
	.files = { CKPT_FILE_SOCK },
	.marks = socket_marks,
	.policy = socket_policy,
	.dump = dump_records_socks,
	.prepare = reopen_socks,
	.open = reopen_sock,
	.connect = reopen_socks_connect,
	.apply = socket_apply,
};
