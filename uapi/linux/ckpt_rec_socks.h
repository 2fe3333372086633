/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Records of sockets; included by linux/ckpt_records.h, which describes the common form of all
 * records.
 *
 * A socket (SOCK) is one that a descriptor of the tree leads to, directly or in a message that
 * nobody has read, or a connection that waits to be accepted by such a socket.  The records
 * SOCK_MSG behind SOCK are what was sent to the socket and not read, in the order of reading.
 * Options that getsockopt(2) tells are not here: user space asks for them in the pause.
 */
#ifndef _UAPI_LINUX_CKPT_REC_SOCKS_H
#define _UAPI_LINUX_CKPT_REC_SOCKS_H

#define CKPT_SOCK_QUEUE_MAX	(16U << 20)	/* unread bytes that are saved of one socket */
#define CKPT_SOCK_MSGS_MAX	65536		/* and messages */

enum ckpt_sock_state {
	CKPT_SOCK_OPEN = 1,		/* neither connected nor listening */
	CKPT_SOCK_LISTENS = 2,
	CKPT_SOCK_CONNECTED = 3,	/* also a datagram socket that has a peer */
};

#define CKPT_SOCK_OUTSIDE	(1U << 0)	/* the peer is outside of the tree */
#define CKPT_SOCK_PEER_GONE	(1U << 1)	/* the peer was closed */
#define CKPT_SOCK_RESET		(1U << 2)	/* … with bytes unread: ECONNRESET is due */
#define CKPT_SOCK_NAMED		(1U << 3)	/* it has a name, which may be empty */
#define CKPT_SOCK_UNLINKED	(1U << 4)	/* the file of its name was removed */
#define CKPT_SOCK_ENDED		(1U << 5)	/* TCP: both directions have ended */

/**
 * struct ckpt_rec_sock - one socket
 * @id: number of the socket
 * @file: file_id; 0: none, it waits to be accepted
 * @peer: number of the socket that it sends to; 0: none, or CKPT_SOCK_OUTSIDE, _PEER_GONE
 * @listener: number of the socket that is to accept it; 0: none
 * @family, @type, @protocol: of socket(2)
 * @state: enum ckpt_sock_state
 * @flags: CKPT_SOCK_* bits
 * @shutdown: 1: it receives no more, 2: it sends no more
 * @backlog: LISTENS: of listen(2); a datagram socket: messages that fit into its queue
 * @peer_pid, @peer_uid, @peer_gid: of SO_PEERCRED; the pid, of the tree's PID namespace, is 0 if
 *	nobody has it
 * @mode, @uid, @gid: of the file of its name
 * @name_len: bytes of its name, without a NUL: sun_path, as it was given to bind(2)
 * @path_len: bytes of the path of the file of its name, with its NUL; 0: none
 * @nr_msgs: SOCK_MSG records that follow
 * @error: ENDED: errno that SO_ERROR would tell; 0: none
 *
 * Then: the name, then the path as in struct ckpt_rec_file, padded.  The name of a socket of
 * AF_INET or AF_INET6 is a struct sockaddr_in or sockaddr_in6, its own address (without NAMED: it
 * has none), and if it is CONNECTED a second one, that of its peer.  @peer is of TCP alone.
 */
struct ckpt_rec_sock {
	struct ckpt_rec_hdr hdr;
	__u32 id;
	__u32 file;
	__u32 peer;
	__u32 listener;
	__u16 family;
	__u16 type;
	__u16 protocol;
	__u16 state;
	__u32 flags;
	__u32 shutdown;
	__u32 backlog;
	__s32 peer_pid;
	__u32 peer_uid;
	__u32 peer_gid;
	__u32 mode;
	__u32 uid;
	__u32 gid;
	__u32 name_len;
	__u32 path_len;
	__u32 nr_msgs;
	__u32 error;
};

#define CKPT_SOCK_MSG_CREDS	(1U << 0)	/* @pid, @uid and @gid were sent with it */

/**
 * struct ckpt_rec_sock_msg - what is unread in a socket, or a part of it
 * @sock: number of the socket; the record follows that
 * @sender: number of the socket that sent it; 0: it was closed, or is outside
 * @flags: CKPT_SOCK_MSG_* bits
 * @pid, @uid, @gid: of the sender; the pid is of the tree's PID namespace, 0: nobody has it
 * @nr_files: number of descriptors that travel with it
 * @name_len: bytes of the sender's name, if @sender is 0 and it had one; UDP: of the addresses of
 *	source and destination
 * @data_len: bytes of data
 *
 * A datagram is one record.  Of a unix stream one record is what one read(2) may return at most;
 * what is unread of TCP includes what the peer has yet to send.
 * Then: nr_files __u32 file_ids, the name, the data, padded.
 */
struct ckpt_rec_sock_msg {
	struct ckpt_rec_hdr hdr;
	__u32 sock;
	__u32 sender;
	__u32 flags;
	__s32 pid;
	__u32 uid;
	__u32 gid;
	__u32 nr_files;
	__u32 name_len;
	__u32 data_len;
	__u32 pad;
};

/**
 * struct ckpt_rec_sock_sent - bytes of TCP for a peer outside that it has not acknowledged
 * @sock: number of the socket; the record follows that and its SOCK_MSGs
 * @read_seq: sequence number of the first byte that the tree has not read
 * @sent_seq: sequence number of the first byte of the data
 * @data_len: bytes of data
 *
 * A socket has one at least, with no data if all is acknowledged.  The data of the next one goes on
 * where that of the first one ends.  Sequence numbers are those of bytes: that of a FIN, sent or
 * read, is left out.
 * Then: the data, padded.
 */
struct ckpt_rec_sock_sent {
	struct ckpt_rec_hdr hdr;
	__u32 sock;
	__u32 read_seq;
	__u32 sent_seq;
	__u32 data_len;
};

#define CKPT_CREDS_PEERS	(1U << 0)	/* of the socket to which @file is connected */
#define CKPT_CREDS_UNREAD	(1U << 1)	/* of what is unread there, not SO_PEERCRED */

/**
 * struct ckpt_rec_sock_creds - restore: what a unix socket tells of a peer or a sender
 * @file: descriptor of the caller
 * @flags: CKPT_CREDS_* bits
 * @pid: of a thread that has entered; any other number becomes 0, nobody
 * @uid, @gid: the caller's, unless it has CAP_SETUID, CAP_SETGID
 * @len: UNREAD: bytes of a stream; else 0, or one message
 * @at: UNREAD: bytes, or messages, that precede these
 */
struct ckpt_rec_sock_creds {
	struct ckpt_rec_hdr hdr;
	__s32 file;
	__u32 flags;
	__s32 pid;
	__u32 uid;
	__u32 gid;
	__u32 len;
	__u64 at;
};

#endif /* _UAPI_LINUX_CKPT_REC_SOCKS_H */
