// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets of TCP and UDP: addresses, state, and what nobody has read yet.
 *
 * TCP goes on while the tree is frozen: bytes travel from the queue of one end to that of the
 * other.  But nobody writes and nobody reads, so the bytes that one end has sent and the program
 * at the other has not read are the same at any time of the pause.  They are taken in two rounds:
 * first what each end has sent without an acknowledgement, when sockets are numbered, then what
 * each end has received.  A byte that arrived between the rounds is in both, and its sequence
 * number tells.  No byte can be in neither, and only one socket is locked at a time.
 *
 * Of a connection to the outside the bytes of the first round may be recorded, too: if the other
 * end is another tree's, which is captured in the same moment, they are the other half of what that
 * tree has received, provided that it looks in its queue after this tree has been asked.
 *
 * An end that was closed has no file, but the kernel still sends for it: if its peer is in the
 * tree, it is numbered too, for its bytes alone.  A connection that waits to be accepted has no
 * file either, and belongs to the tree with its listening socket.
 *
 * A socket is locked as a system call locks it, by its owner flag, for which we wait for a bounded
 * time only.  Packets that come meanwhile are put aside by the kernel, and neither lost nor
 * acknowledged.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inetdevice.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/udp.h>

#include <net/addrconf.h>
#include <net/inet6_hashtables.h>
#include <net/inet_connection_sock.h>
#include <net/inet_hashtables.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <net/udp.h>

#include "collect.h"
#include "files_inet.h"
#include "records.h"

/* The list of flow labels moved in 6.12.y. Drop when minimum >= 6.13. */
#ifdef CKPT_HAVE_INET_FL_LIST
#define ckpt_inet_labels(inet, np)	((inet)->ipv6_fl_list)
#else
#define ckpt_inet_labels(inet, np)	((np)->ipv6_fl_list)
#endif

#define CKPT_INET_LOCK_TRIES	100		/* x 100 us */
#define CKPT_INET_PIECE		(1U << 20)	/* bytes of a stream in one record */
#define CKPT_INET_ADDRS_MAX	(2 * sizeof(struct sockaddr_in6))

/* Knowledge of the other end of a connection. */
enum ckpt_inet_peer {
	CKPT_INET_NOBODY,	/* no such socket is in this network namespace */
	CKPT_INET_WAITS,	/* it has closed, and waits for late packets */
	CKPT_INET_HALF,		/* it is in the middle of the handshake */
	CKPT_INET_SOCKET,	/* a socket: obj->sock.peer */
};

static bool ckpt_inet_is_tcp(const struct sock *sk)
{
	return sk->sk_type == SOCK_STREAM && sk->sk_protocol == IPPROTO_TCP;
}

bool ckpt_inet_is_known(const struct sock *sk)
{
	return (sk->sk_family == AF_INET || sk->sk_family == AF_INET6) &&
	       (ckpt_inet_is_tcp(sk) ||
		(sk->sk_type == SOCK_DGRAM && sk->sk_protocol == IPPROTO_UDP));
}

/* ---------------------------------------------------------------- lock */

static bool ckpt_inet_trylock_once(struct sock *sk)
{
	bool taken;

	spin_lock_bh(&sk->sk_lock.slock);
	taken = !sk->sk_lock.owned;
	if (taken) {
		sk->sk_lock.owned = 1;
		mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	return taken;
}

/* release_sock() ends it. False: the socket is refused. */
static bool ckpt_inet_lock(struct ckpt_collect *c, struct ckpt_object *obj)
{
	unsigned int tries;

	for (tries = 0; tries < CKPT_INET_LOCK_TRIES; tries++) {
		if (ckpt_inet_trylock_once(obj->sock.sk))
			return true;
		usleep_range(50, 100);
	}
	ckpt_refuse(c->cap, CKPT_R_TIMEOUT, obj->task, ckpt_sock_object(obj),
		    "a socket is in use by someone outside");
	return false;
}

/* ---------------------------------------------------------------- the other end */

static bool ckpt_inet_is_v6(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr);
}

/* The socket whose addresses are those of @sk, exchanged; with a reference of its kind. */
static struct sock *ckpt_inet_lookup(struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct net *net = sock_net(sk);
	struct inet_hashinfo *info = net->ipv4.tcp_death_row.hashinfo;
	struct sock *peer;

	rcu_read_lock();
	if (ckpt_inet_is_v6(sk))
		peer = __inet6_lookup_established(net, info, &sk->sk_v6_rcv_saddr,
						  inet->inet_sport, &sk->sk_v6_daddr,
						  ntohs(inet->inet_dport), 0, 0);
	else
		peer = __inet_lookup_established(net, info, inet->inet_rcv_saddr, inet->inet_sport,
						 inet->inet_daddr, ntohs(inet->inet_dport), 0, 0);
	rcu_read_unlock();
	return peer;
}

/* Find the other end. One that was closed gets a number, for the bytes that it has yet to send. */
static int ckpt_inet_meet_peer(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct sock *peer = ckpt_inet_lookup(obj->sock.sk);
	struct ckpt_object *orphan;

	if (!peer)
		return 0;
	if (!sk_fullsock(peer)) {
		obj->sock.peer_seen = peer->sk_state == TCP_TIME_WAIT ? CKPT_INET_WAITS :
									CKPT_INET_HALF;
		sock_gen_put(peer);
		return 0;
	}
	obj->sock.peer_seen = CKPT_INET_SOCKET;
	obj->sock.peer = peer;
	if (!sock_flag(peer, SOCK_DEAD))
		return 0;
	orphan = ckpt_sock_get(c, peer, obj->task);
	if (!orphan)
		return -ENOMEM;
	orphan->sock.orphan = true;
	return 0;
}

/* Is the other end's address one of this node, where it would have been found? */
static bool ckpt_inet_is_local(struct sock *sk)
{
	if (ckpt_inet_is_v6(sk))
		return ipv6_addr_loopback(&sk->sk_v6_daddr) ||
		       ipv6_chk_addr(sock_net(sk), &sk->sk_v6_daddr, NULL, 0);
	return inet_addr_type(sock_net(sk), inet_sk(sk)->inet_daddr) == RTN_LOCAL;
}

static bool ckpt_inet_has_peer(const struct sock *sk)
{
	return ckpt_inet_is_tcp(sk) &&
	       (1 << sk->sk_state) & ~(TCPF_CLOSE | TCPF_LISTEN | TCPF_SYN_SENT | TCPF_SYN_RECV);
}

/* ---------------------------------------------------------------- first round: what was sent */

/* Append what @skb, of the send queue, has beyond what we have; false: bytes are missing. */
static bool ckpt_inet_take_skb(struct ckpt_object *obj, struct sk_buff *skb, u32 room)
{
	u32 next = obj->sock.sent_seq + obj->sock.sent_len;
	s32 from = (s32)(next - TCP_SKB_CB(skb)->seq);
	u32 len;

	if (from < 0)
		return false;
	if ((u32)from >= skb->len)
		return true;
	len = skb->len - from;
	if (len > room - obj->sock.sent_len ||
	    skb_copy_bits(skb, from, obj->sock.sent + obj->sock.sent_len, len))
		return false;
	obj->sock.sent_len += len;
	return true;
}

static int ckpt_inet_take(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct sock *sk = obj->sock.sk;
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 room = tp->write_seq - tp->snd_una;
	struct sk_buff *skb;
	bool whole = true;

	obj->sock.sent_seq = tp->snd_una;
	if (!room)
		return 0;
	if (room > CKPT_SOCK_QUEUE_MAX) {
		ckpt_refuse(c->cap, CKPT_R_LIMIT, obj->task, ckpt_sock_object(obj),
			    "a socket with %u unsent bytes, at most %u can be saved", room,
			    CKPT_SOCK_QUEUE_MAX);
		return 0;
	}
	obj->sock.sent = kvmalloc(room, GFP_KERNEL_ACCOUNT);
	if (!obj->sock.sent)
		return -ENOMEM;
	for (skb = skb_rb_first(&sk->tcp_rtx_queue); skb && whole; skb = skb_rb_next(skb))
		whole = ckpt_inet_take_skb(obj, skb, room);
	skb_queue_walk(&sk->sk_write_queue, skb) {
		if (whole)
			whole = ckpt_inet_take_skb(obj, skb, room);
	}
	if (!whole)
		ckpt_refuse(c->cap, CKPT_R_FD_SOCKET, obj->task, ckpt_sock_object(obj),
			    "a socket whose queue of sent bytes has a gap");
	return 0;
}

/* Number the connections that wait to be accepted. */
static int ckpt_inet_take_waiting(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct request_sock_queue *queue = &inet_csk(obj->sock.sk)->icsk_accept_queue;
	unsigned int room = READ_ONCE(obj->sock.sk->sk_ack_backlog), nr = 0, i;
	struct ckpt_object *waiting;
	struct request_sock *req;
	struct sock **socks;
	int err = 0;

	if (!room)
		return 0;
	socks = kvmalloc_array(room, sizeof(*socks), GFP_KERNEL_ACCOUNT);
	if (!socks)
		return -ENOMEM;
	spin_lock_bh(&queue->rskq_lock);
	for (req = queue->rskq_accept_head; req && nr < room; req = req->dl_next)
		if (req->sk) {
			sock_hold(req->sk);
			socks[nr++] = req->sk;
		}
	spin_unlock_bh(&queue->rskq_lock);
	for (i = 0; i < nr; i++) {
		waiting = err ? NULL : ckpt_sock_get(c, socks[i], obj->task);
		if (waiting)
			waiting->sock.listener = obj;
		else
			err = -ENOMEM;
		sock_put(socks[i]);
	}
	kvfree(socks);
	return err;
}

int ckpt_inet_queue(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct sock *sk = obj->sock.sk;
	int err = 0;

	if (!ckpt_inet_is_tcp(sk) || !ckpt_inet_lock(c, obj))
		return 0;
	if (sk->sk_state == TCP_LISTEN) {
		err = ckpt_inet_take_waiting(c, obj);
	} else if (ckpt_inet_has_peer(sk)) {
		err = ckpt_inet_take(c, obj);
		if (!err && !obj->sock.orphan)
			err = ckpt_inet_meet_peer(c, obj);
	}
	release_sock(sk);
	return err;
}

/* ---------------------------------------------------------------- addresses */

static u32 ckpt_inet_addr_len(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					   sizeof(struct sockaddr_in);
}

static u32 ckpt_inet_put_v4(void *to, __be32 addr, __be16 port)
{
	struct sockaddr_in *in = to;

	memset(in, 0, sizeof(*in));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = addr;
	in->sin_port = port;
	return sizeof(*in);
}

static u32 ckpt_inet_put_v6(void *to, const struct in6_addr *addr, __be16 port)
{
	struct sockaddr_in6 *in = to;

	memset(in, 0, sizeof(*in));
	in->sin6_family = AF_INET6;
	in->sin6_addr = *addr;
	in->sin6_port = port;
	return sizeof(*in);
}

static u32 ckpt_inet_put_own(void *to, const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (sk->sk_family == AF_INET6)
		return ckpt_inet_put_v6(to, &sk->sk_v6_rcv_saddr, inet->inet_sport);
	return ckpt_inet_put_v4(to, inet->inet_rcv_saddr, inet->inet_sport);
}

static u32 ckpt_inet_put_peer(void *to, const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (sk->sk_family == AF_INET6)
		return ckpt_inet_put_v6(to, &sk->sk_v6_daddr, inet->inet_dport);
	return ckpt_inet_put_v4(to, inet->inet_daddr, inet->inet_dport);
}

/* Source and destination of a datagram, as addresses of the family of @sk. */
static u32 ckpt_inet_put_datagram(u8 *to, const struct sock *sk, const struct sk_buff *skb)
{
	const struct udphdr *udp = udp_hdr(skb);
	struct in6_addr mapped;
	u32 len;

	if (sk->sk_family == AF_INET) {
		len = ckpt_inet_put_v4(to, ip_hdr(skb)->saddr, udp->source);
		return len + ckpt_inet_put_v4(to + len, ip_hdr(skb)->daddr, udp->dest);
	}
	if (skb->protocol != htons(ETH_P_IP)) {
		len = ckpt_inet_put_v6(to, &ipv6_hdr(skb)->saddr, udp->source);
		return len + ckpt_inet_put_v6(to + len, &ipv6_hdr(skb)->daddr, udp->dest);
	}
	ipv6_addr_set_v4mapped(ip_hdr(skb)->saddr, &mapped);
	len = ckpt_inet_put_v6(to, &mapped, udp->source);
	ipv6_addr_set_v4mapped(ip_hdr(skb)->daddr, &mapped);
	return len + ckpt_inet_put_v6(to + len, &mapped, udp->dest);
}

/* ---------------------------------------------------------------- what is refused */

static const char *ckpt_inet_unfit_ip(struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);
	const struct ipv6_pinfo *np = sk->sk_family == AF_INET6 ? inet6_sk(sk) : NULL;

	if (sk->sk_bound_dev_if)
		return "a socket that is bound to a network device";
	if (rcu_access_pointer(inet->inet_opt) || (np && rcu_access_pointer(np->opt)))
		return "a socket with IP options";
	if (rcu_access_pointer(inet->mc_list) ||
	    (np && (rcu_access_pointer(np->ipv6_mc_list) || np->ipv6_ac_list)))
		return "a socket that has joined a multicast group";
	if (np && rcu_access_pointer(ckpt_inet_labels(inet, np)))
		return "a socket with a flow label";
	return NULL;
}

static bool ckpt_inet_has_keys(const struct sock *sk)
{
#ifdef CONFIG_TCP_MD5SIG
	return rcu_access_pointer(tcp_sk(sk)->md5sig_info);
#else
	return false;
#endif
}

static const char *ckpt_inet_unfit_tcp(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (sk->sk_state == TCP_SYN_SENT || sk->sk_state == TCP_SYN_RECV)
		return "a socket that is being connected";
	if (inet_csk(sk)->icsk_ulp_ops)
		return "a socket with a protocol of its own on top of TCP (TLS in the kernel)";
	if (tp->repair)
		return "a socket that is being repaired";
	if (ckpt_inet_has_keys(sk))
		return "a socket with keys of TCP";
	if (sk->sk_state == TCP_LISTEN)
		return NULL;
	if (tp->urg_data || (ckpt_inet_has_peer(sk) && tp->snd_una != tp->snd_up &&
			     before(tp->snd_una, tp->snd_up)))
		return "a socket with an urgent byte (MSG_OOB)";
	if (tp->fastopen_req)
		return "a socket that is being connected";
	if (sk->sk_state == TCP_CLOSE && sk->sk_socket && sk->sk_socket->state == SS_CONNECTING)
		return "a socket that could not be connected";
	return NULL;
}

static const char *ckpt_inet_unfit(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct sock *sk = obj->sock.sk;
	const char *why;

	if (ckpt_sock_is_held(obj))
		return "a process outside of the tree has the socket, too";
	if (sock_net(sk) != c->first_ns.net_ns)
		return "a socket of another network namespace";
	if (sk->sk_user_data)
		return "a socket that the kernel or a BPF program uses";
	if (!skb_queue_empty_lockless(&sk->sk_error_queue))
		return "a socket with a report of an error that nobody has read";
	why = ckpt_sock_filter_unfit(c, obj);
	/* restored, the filter might drop segments that the connection has had already */
	if (!why && rcu_access_pointer(sk->sk_filter) && ckpt_inet_is_tcp(sk) &&
	    ckpt_inet_has_peer(sk))
		why = "a connection of TCP with a filter (SO_ATTACH_FILTER)";
	if (!why)
		why = ckpt_inet_unfit_ip(sk);
	if (why)
		return why;
	if (ckpt_inet_is_tcp(sk)) {
		why = ckpt_inet_unfit_tcp(sk);
		if (!why && sk->sk_err && (sk->sk_state != TCP_CLOSE ||
					   (sk->sk_err != ECONNRESET && sk->sk_err != EPIPE)))
			why = "a socket with an error that nobody has asked for";
		return why;
	}
	if (sk->sk_err)
		return "a socket with an error that nobody has asked for";
	if (udp_sk(sk)->pending)
		return "a socket with a datagram that is not complete (UDP_CORK)";
	return udp_sk(sk)->encap_type ? "a socket of a tunnel" : NULL;
}

/* ---------------------------------------------------------------- second round: streams */

/* Copy what is received and not read, from @at on; the length, or with @to NULL only that. */
static int ckpt_inet_received(struct sock *sk, u8 *to)
{
	u32 seq = tcp_sk(sk)->copied_seq;
	struct sk_buff *skb;
	int total = 0;

	skb_queue_walk(&sk->sk_receive_queue, skb) {
		s32 from = (s32)(seq - TCP_SKB_CB(skb)->seq);
		u32 len;

		if (TCP_SKB_CB(skb)->tcp_flags & TCPHDR_SYN)
			from--;
		if (from < 0)
			return -EIO;
		if ((u32)from >= skb->len)
			continue;
		len = skb->len - from;
		if (len > CKPT_SOCK_QUEUE_MAX)
			return -EFBIG;
		if (to && skb_copy_bits(skb, from, to + total, len))
			return -EIO;
		seq += len;
		total += len;
		if (total > CKPT_SOCK_QUEUE_MAX)
			return -EFBIG;
	}
	return total;
}

/* Bytes that the other end has sent, and this has not received, from *ret_from of its bytes on. */
static int ckpt_inet_on_its_way(struct sock *sk, const struct ckpt_object *peer, u32 *ret_from)
{
	s32 from;

	*ret_from = 0;
	if (!peer || !peer->sock.sent_len)
		return 0;
	from = (s32)(tcp_sk(sk)->rcv_nxt - peer->sock.sent_seq);
	if (from < 0)
		return -EIO;
	if ((u32)from >= peer->sock.sent_len)
		return 0;
	*ret_from = from;
	return peer->sock.sent_len - from;
}

static int ckpt_inet_emit_bytes(struct ckpt_collect *c, const struct ckpt_object *obj,
				const u8 *data, u32 len)
{
	struct ckpt_rec_sock_msg *rec;
	u32 done, part;

	for (done = 0; done < len; done += part) {
		part = min_t(u32, len - done, CKPT_INET_PIECE);
		rec = ckpt_records_add(c->recs, CKPT_REC_SOCK_MSG, sizeof(*rec) + part);
		if (!rec)
			return -ENOMEM;
		rec->sock = obj->id;
		rec->data_len = part;
		memcpy(rec + 1, data + done, part);
	}
	return 0;
}

/* Emit the bytes that the peer outside has not acknowledged, as taken in the first round. */
static int ckpt_inet_emit_sent(struct ckpt_collect *c, const struct ckpt_object *obj)
{
	const struct sock *sk = obj->sock.sk;
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ckpt_rec_sock_sent *rec;
	u32 fin = sk->sk_shutdown & SEND_SHUTDOWN ? 1 : 0;	/* has a number of its own */
	u32 seq = obj->sock.sent_seq, done = 0, part;
	/* an end that was read has a number of its own, too */
	u32 ended = sock_flag(sk, SOCK_DONE) && tp->copied_seq == tp->rcv_nxt ? 1 : 0;

	if (fin && seq == tp->write_seq)
		seq--;		/* it is acknowledged, too */
	if (seq + obj->sock.sent_len + fin != tp->write_seq) {
		ckpt_refuse(c->cap, CKPT_R_FD_SOCKET, obj->task, ckpt_sock_object(obj),
			    "a socket whose queue of sent bytes is not complete");
		return 0;
	}
	do {
		part = min_t(u32, obj->sock.sent_len - done, CKPT_INET_PIECE);
		rec = ckpt_records_add(c->recs, CKPT_REC_SOCK_SENT | CKPT_REC_OPTIONAL,
				       sizeof(*rec) + part);
		if (!rec)
			return -ENOMEM;
		rec->sock = obj->id;
		rec->read_seq = tp->copied_seq - ended;
		rec->sent_seq = seq + done;
		rec->data_len = part;
		if (part)
			memcpy(rec + 1, obj->sock.sent + done, part);
		done += part;
	} while (done < obj->sock.sent_len);
	return 0;
}

static u32 ckpt_inet_pieces(u32 len)
{
	return DIV_ROUND_UP(len, CKPT_INET_PIECE);
}

/* The bytes that were sent to the socket and not read, in one buffer; *ret_len is their number. */
static int ckpt_inet_gather(struct ckpt_collect *c, struct ckpt_object *obj,
			    const struct ckpt_object *peer, u8 **ret, u32 *ret_len)
{
	struct sock *sk = obj->sock.sk;
	int got = ckpt_inet_received(sk, NULL), more;
	u32 from;
	u8 *buf;

	*ret = NULL;
	*ret_len = 0;
	more = ckpt_inet_on_its_way(sk, peer, &from);
	if (got == -EIO || more == -EIO) {
		ckpt_refuse(c->cap, CKPT_R_FD_SOCKET, obj->task, ckpt_sock_object(obj),
			    "a socket whose queues do not fit together");
		return 0;
	}
	if (got < 0 || got + more > CKPT_SOCK_QUEUE_MAX) {
		ckpt_refuse(c->cap, CKPT_R_LIMIT, obj->task, ckpt_sock_object(obj),
			    "a socket with more than %u unread bytes", CKPT_SOCK_QUEUE_MAX);
		return 0;
	}
	if (got + more == 0)
		return 0;
	buf = kvmalloc(got + more, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	if (ckpt_inet_received(sk, buf) != got) {
		kvfree(buf);
		return -EIO;
	}
	if (more)
		memcpy(buf + got, peer->sock.sent + from, more);
	*ret = buf;
	*ret_len = got + more;
	return 0;
}

/* ---------------------------------------------------------------- datagrams */

/* Take references to all unread datagrams; a reader empties the first queue, then the second. */
static int ckpt_inet_take_datagrams(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct sk_buff_head *queues[] = { &udp_sk(obj->sock.sk)->reader_queue,
					  &obj->sock.sk->sk_receive_queue };
	unsigned int room, i;
	struct sk_buff *skb;

	room = skb_queue_len_lockless(queues[0]) + skb_queue_len_lockless(queues[1]);
	if (!room)
		return 0;
	if (room > CKPT_SOCK_MSGS_MAX) {
		ckpt_refuse(c->cap, CKPT_R_LIMIT, obj->task, ckpt_sock_object(obj),
			    "a socket with %u unread messages, at most %u can be saved", room,
			    CKPT_SOCK_MSGS_MAX);
		return 0;
	}
	obj->sock.skbs = kvmalloc_array(room, sizeof(*obj->sock.skbs), GFP_KERNEL_ACCOUNT);
	if (!obj->sock.skbs)
		return -ENOMEM;
	spin_lock_bh(&queues[0]->lock);
	spin_lock(&queues[1]->lock);
	for (i = 0; i < ARRAY_SIZE(queues); i++)
		skb_queue_walk(queues[i], skb) {
			if (obj->sock.nr_skbs == room)
				break;		/* it came since; after a restart it is lost */
			obj->sock.skbs[obj->sock.nr_skbs++] = skb_get(skb);
		}
	spin_unlock(&queues[1]->lock);
	spin_unlock_bh(&queues[0]->lock);
	return 0;
}

static int ckpt_inet_emit_datagram(struct ckpt_collect *c, struct ckpt_object *obj,
				   struct sk_buff *skb)
{
	u32 addrs = 2 * ckpt_inet_addr_len(obj->sock.sk);
	struct ckpt_rec_sock_msg *rec;

	if (skb_is_gso(skb))
		ckpt_refuse(c->cap, CKPT_R_FD_SOCKET, obj->task, ckpt_sock_object(obj),
			    "a socket with joined datagrams (UDP_GRO)");
	rec = ckpt_records_add(c->recs, CKPT_REC_SOCK_MSG, sizeof(*rec) + addrs + skb->len);
	if (!rec)
		return -ENOMEM;
	rec->sock = obj->id;
	rec->name_len = ckpt_inet_put_datagram((u8 *)(rec + 1), obj->sock.sk, skb);
	rec->data_len = skb->len;
	return skb_copy_bits(skb, 0, (u8 *)(rec + 1) + addrs, skb->len);
}

/* ---------------------------------------------------------------- records */

/* Fill in state and peer of a TCP socket. */
static const char *ckpt_inet_tcp_state(struct ckpt_collect *c, struct ckpt_object *obj,
				       struct ckpt_rec_sock *rec, struct ckpt_object **ret_peer)
{
	struct sock *sk = obj->sock.sk;
	struct ckpt_object *peer = NULL;

	*ret_peer = NULL;
	rec->state = sk->sk_state == TCP_LISTEN ? CKPT_SOCK_LISTENS : CKPT_SOCK_OPEN;
	if (sk->sk_state == TCP_CLOSE &&
	    (obj->sock.listener || (sk->sk_socket && sk->sk_socket->state == SS_CONNECTED))) {
		rec->state = CKPT_SOCK_CONNECTED;
		rec->flags |= CKPT_SOCK_PEER_GONE | CKPT_SOCK_ENDED;
		rec->flags |= sock_flag(sk, SOCK_DONE) && !sk->sk_err ? 0 : CKPT_SOCK_RESET;
		rec->error = sk->sk_err;
	}
	if (!ckpt_inet_has_peer(sk))
		return NULL;
	rec->state = CKPT_SOCK_CONNECTED;
	if (obj->sock.peer)
		peer = ckpt_object_find(c->objs, CKPT_OBJ_SOCK, obj->sock.peer, NULL);
	*ret_peer = peer;
	if (obj->sock.peer_seen == CKPT_INET_HALF)
		return "a socket that is being connected";
	if (peer == obj)
		return "a socket that is connected to itself";
	if (peer && !peer->sock.orphan)
		rec->peer = peer->id;
	else if (peer || (sock_flag(sk, SOCK_DONE) && !obj->sock.peer && ckpt_inet_is_local(sk)))
		rec->flags |= CKPT_SOCK_PEER_GONE;
	else
		rec->flags |= CKPT_SOCK_OUTSIDE;
	return NULL;
}

static void ckpt_inet_fill(struct ckpt_object *obj, struct ckpt_rec_sock *rec)
{
	struct sock *sk = obj->sock.sk;

	rec->id = obj->id;
	rec->file = ckpt_sock_object(obj);
	rec->listener = obj->sock.listener ? obj->sock.listener->id : 0;
	rec->family = sk->sk_family;
	rec->type = sk->sk_type;
	rec->protocol = sk->sk_protocol;
	/* the end of what was received is not an option of this socket, but the peer's doing */
	rec->shutdown = sk->sk_shutdown & (sock_flag(sk, SOCK_DONE) ? SEND_SHUTDOWN :
								      SHUTDOWN_MASK);
	rec->backlog = READ_ONCE(sk->sk_max_ack_backlog);
	rec->peer_uid = (u32)-1;
	rec->peer_gid = (u32)-1;
	if (inet_sk(sk)->inet_sport && (inet_sk(sk)->inet_num || rec->flags & CKPT_SOCK_ENDED))
		rec->flags |= CKPT_SOCK_NAMED;
}

static int ckpt_inet_emit_rec(struct ckpt_collect *c, const struct ckpt_object *obj,
			      const struct ckpt_rec_sock *head)
{
	u8 addrs[CKPT_INET_ADDRS_MAX];
	struct ckpt_rec_sock *rec;
	u32 len;

	len = ckpt_inet_put_own(addrs, obj->sock.sk);
	if (head->state == CKPT_SOCK_CONNECTED)
		len += ckpt_inet_put_peer(addrs + len, obj->sock.sk);
	rec = ckpt_records_add(c->recs, CKPT_REC_SOCK, sizeof(*rec) + len);
	if (!rec)
		return -ENOMEM;
	memcpy((u8 *)rec + sizeof(rec->hdr), (const u8 *)head + sizeof(head->hdr),
	       sizeof(*rec) - sizeof(rec->hdr));
	rec->name_len = len;
	memcpy(rec + 1, addrs, len);
	return 0;
}

static int ckpt_inet_emit_tcp(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct ckpt_rec_sock head = {};
	struct ckpt_object *peer;
	const char *why = ckpt_inet_unfit(c, obj), *state;
	u32 len = 0;
	u8 *data = NULL;
	int err = 0;

	state = ckpt_inet_tcp_state(c, obj, &head, &peer);
	if (why || state) {
		ckpt_refuse(c->cap, CKPT_R_FD_SOCKET, obj->task, ckpt_sock_object(obj), "%s",
			    why ? why : state);
		return 0;
	}
	ckpt_inet_fill(obj, &head);
	obj->sock.connected = head.peer;
	if (head.state == CKPT_SOCK_CONNECTED)
		err = ckpt_inet_gather(c, obj, peer, &data, &len);
	head.nr_msgs = ckpt_inet_pieces(len);
	if (!err)
		err = ckpt_inet_emit_rec(c, obj, &head);
	if (!err && len)
		err = ckpt_inet_emit_bytes(c, obj, data, len);
	if (!err && head.flags & CKPT_SOCK_OUTSIDE && c->tree->flags & CKPT_TARGET_SENT)
		err = ckpt_inet_emit_sent(c, obj);
	kvfree(data);
	return err;
}

static int ckpt_inet_emit_udp(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct ckpt_rec_sock head = {};
	const char *why = ckpt_inet_unfit(c, obj);
	unsigned int i;
	u64 bytes = 0;
	int err;

	if (why) {
		ckpt_refuse(c->cap, CKPT_R_FD_SOCKET, obj->task, ckpt_sock_object(obj), "%s", why);
		return 0;
	}
	head.state = obj->sock.sk->sk_state == TCP_ESTABLISHED ? CKPT_SOCK_CONNECTED :
								 CKPT_SOCK_OPEN;
	ckpt_inet_fill(obj, &head);
	err = ckpt_inet_take_datagrams(c, obj);
	for (i = 0; i < obj->sock.nr_skbs; i++)
		bytes += obj->sock.skbs[i]->len;
	if (bytes > CKPT_SOCK_QUEUE_MAX) {
		ckpt_refuse(c->cap, CKPT_R_LIMIT, obj->task, ckpt_sock_object(obj),
			    "a socket with more than %u unread bytes", CKPT_SOCK_QUEUE_MAX);
		return 0;
	}
	head.nr_msgs = obj->sock.nr_skbs;
	if (!err)
		err = ckpt_inet_emit_rec(c, obj, &head);
	for (i = 0; i < obj->sock.nr_skbs && !err; i++)
		err = ckpt_inet_emit_datagram(c, obj, obj->sock.skbs[i]);
	return err;
}

int ckpt_inet_collect(struct ckpt_collect *c, struct ckpt_object *obj)
{
	int err;

	if (obj->sock.orphan || !ckpt_inet_lock(c, obj))
		return 0;
	err = ckpt_inet_is_tcp(obj->sock.sk) ? ckpt_inet_emit_tcp(c, obj) :
					       ckpt_inet_emit_udp(c, obj);
	release_sock(obj->sock.sk);
	return err;
}

void ckpt_inet_check_pairs(struct ckpt_collect *c)
{
	struct ckpt_object *obj, *peer;
	unsigned long id;

	ckpt_for_each_object(obj, id, c->objs, CKPT_OBJ_SOCK) {
		if (obj->sock.sk->sk_family == AF_UNIX || !obj->sock.connected)
			continue;
		peer = ckpt_object_find(c->objs, CKPT_OBJ_SOCK, obj->sock.peer, NULL);
		if (!peer || !peer->sock.connected)
			ckpt_refuse(c->cap, CKPT_R_FD_SOCKET, obj->task, ckpt_sock_object(obj),
				    "a connection of which only one end could be saved");
	}
}
