// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets: numbers, and of unix sockets who is connected to whom, and what nobody has read yet.
 * Those of TCP and UDP are in files_inet.c.
 *
 * All holders in the tree are frozen.  A holder outside is found by the count of the file and
 * refused; a peer outside may still write to a socket, close, or go on reading its own end, so
 * every look is taken under the socket's locks.  Queues are taken once, when the files are
 * numbered, by references to their messages: a file that travels in a message belongs to the tree
 * as one with a descriptor does, and may be a socket with a queue again.  The data is copied
 * later, without a spinlock.  A reader is kept out meanwhile by the socket's iolock, for which we
 * wait for a bounded time only; nothing is taken out of a queue.
 *
 * A socket whose peer is outside is recorded without its queue: user space decides about it.
 */
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/path.h>
#include <linux/pid.h>
#include <linux/skbuff.h>
#include <linux/socket.h>

#include <net/af_unix.h>
#include <net/scm.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "collect.h"
#include "collect_kind.h"
#include "files_inet.h"
#include "records.h"

#define CKPT_SOCK_LOCK_TRIES	100		/* x 100 us */
#define CKPT_SOCK_JOIN_MAX	(1U << 20)	/* bytes of a stream in one record */

/* The state of a socket, as read under its lock. */
struct ckpt_sock_view {
	struct sock *peer;		/* reference, or NULL */
	struct unix_address *addr;	/* lives as long as the socket; or NULL */
	struct path path;		/* reference, or both NULL */
	u8 state;
	u8 shutdown;
	int err;
	bool urgent;			/* it has an out-of-band byte */
};

u64 ckpt_sock_object(const struct ckpt_object *obj)
{
	return obj->sock.file ? obj->sock.file->id : 0;
}

static bool ckpt_sock_trylock(struct sock *sk)
{
	unsigned int tries;

	for (tries = 0; tries < CKPT_SOCK_LOCK_TRIES; tries++) {
		if (mutex_trylock(&unix_sk(sk)->iolock))
			return true;
		usleep_range(50, 100);
	}
	return false;
}

/* ---------------------------------------------------------------- numbering */

struct ckpt_object *ckpt_sock_get(struct ckpt_collect *c, struct sock *sk,
				  struct task_struct *task)
{
	struct ckpt_object *obj;
	bool is_new;

	obj = ckpt_object_get(c->objs, CKPT_OBJ_SOCK, sk, NULL, &is_new);
	if (obj && is_new) {
		sock_hold(sk);
		obj->sock.sk = sk;
		obj->task = task;
	}
	return obj;
}

static int ckpt_sock_meet(struct ckpt_collect *c, struct ckpt_object *file_obj)
{
	struct socket *sock = sock_from_file(file_obj->file.file);
	struct ckpt_object *obj;

	if (!sock || !sock->sk ||
	    (sock->sk->sk_family != AF_UNIX && !ckpt_inet_is_known(sock->sk)))
		return 0;
	obj = ckpt_sock_get(c, sock->sk, file_obj->task);
	if (!obj)
		return -ENOMEM;
	obj->sock.file = file_obj;
	return 0;
}

bool ckpt_file_is_known_sock(struct ckpt_collect *c, struct file *file)
{
	struct socket *sock = sock_from_file(file);

	return sock && sock->sk && ckpt_object_find(c->objs, CKPT_OBJ_SOCK, sock->sk, NULL);
}

/* Take references to all messages that are in the queue now; the socket's iolock is held. */
static int ckpt_sock_take(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct sk_buff_head *queue = &obj->sock.sk->sk_receive_queue;
	unsigned int room = skb_queue_len_lockless(queue);
	struct sk_buff *skb;

	if (!room)
		return 0;
	if (room > CKPT_SOCK_MSGS_MAX) {
		ckpt_refuse(c->cap, CKPT_R_LIMIT, obj->task, ckpt_sock_object(obj),
			    "a socket with %u unread messages, at most %u can be saved", room,
			    CKPT_SOCK_MSGS_MAX);
		return 0;
	}
	obj->sock.skbs = kvmalloc_array(room, sizeof(struct sk_buff *), GFP_KERNEL_ACCOUNT);
	if (!obj->sock.skbs)
		return -ENOMEM;
	spin_lock(&queue->lock);
	skb_queue_walk(queue, skb) {
		if (obj->sock.nr_skbs == room)
			break;		/* sent since by somebody outside */
		obj->sock.skbs[obj->sock.nr_skbs++] = skb_get(skb);
	}
	spin_unlock(&queue->lock);
	return 0;
}

/* Number the connections that wait to be accepted, and the files that travel. */
static int ckpt_sock_number(struct ckpt_collect *c, struct ckpt_object *obj)
{
	bool listens = READ_ONCE(obj->sock.sk->sk_state) == TCP_LISTEN;
	struct ckpt_object *waiting;
	struct scm_fp_list *fp;
	unsigned int i;
	int k, err = 0;

	for (i = 0; i < obj->sock.nr_skbs && !err; i++) {
		struct sk_buff *skb = obj->sock.skbs[i];

		if (listens) {
			waiting = skb->sk ? ckpt_sock_get(c, skb->sk, obj->task) : NULL;
			if (!waiting)
				return -ENOMEM;
			waiting->sock.listener = obj;
			continue;
		}
		fp = UNIXCB(skb).fp;
		for (k = 0; fp && k < fp->count && !err; k++)
			err = ckpt_collect_travelling(c, fp->fp[k], obj->task);
	}
	return err;
}

static int ckpt_sock_queue(struct ckpt_collect *c, struct ckpt_object *obj)
{
	int err;

	if (obj->sock.sk->sk_family != AF_UNIX)
		return ckpt_inet_queue(c, obj);
	if (!ckpt_sock_trylock(obj->sock.sk)) {
		ckpt_refuse(c->cap, CKPT_R_TIMEOUT, obj->task, ckpt_sock_object(obj),
			    "a socket is being read by someone outside");
		return 0;
	}
	err = ckpt_sock_take(c, obj);
	if (!err)
		err = ckpt_sock_number(c, obj);
	mutex_unlock(&unix_sk(obj->sock.sk)->iolock);
	return err;
}

int ckpt_collect_sock_queues(struct ckpt_collect *c)
{
	struct ckpt_object *obj;
	unsigned long id;
	int err = 0;

	/* the walk also visits the sockets that it adds */
	ckpt_for_each_object(obj, id, c->objs, CKPT_OBJ_SOCK) {
		if (ckpt_capture_expired(c->ctx))
			return -ETIMEDOUT;
		if (fatal_signal_pending(current))
			return -EINTR;
		err = ckpt_sock_queue(c, obj);
		if (err)
			break;
	}
	return err;
}

/* ---------------------------------------------------------------- looking */

static void ckpt_sock_look(struct sock *sk, struct ckpt_sock_view *v)
{
	struct unix_sock *u = unix_sk(sk);

	memset(v, 0, sizeof(*v));
	unix_state_lock(sk);
	v->peer = unix_peer(sk);
	if (v->peer)
		sock_hold(v->peer);
	/* pairs with the release in unix_bind(): the path is complete when the name is there */
	v->addr = smp_load_acquire(&u->addr);
	if (v->addr && u->path.dentry) {
		v->path = u->path;
		path_get(&v->path);
	}
	v->state = sk->sk_state;
	v->shutdown = sk->sk_shutdown;
	v->err = sk->sk_err;
#if IS_ENABLED(CONFIG_AF_UNIX_OOB)
	v->urgent = READ_ONCE(u->oob_skb);
#endif
	unix_state_unlock(sk);
}

static void ckpt_sock_unlook(struct ckpt_sock_view *v)
{
	if (v->peer)
		sock_put(v->peer);
	if (v->path.dentry)
		path_put(&v->path);
}

/* Has somebody outside of the tree the socket, too? */
bool ckpt_sock_is_held(const struct ckpt_object *obj)
{
	const struct ckpt_object *file = obj->sock.file;

	return file && file_count(file->file.file) > (long)file->users + 1;
}

/*
 * Why the filter cannot be saved, or NULL. Connections that wait at a listening socket have its
 * filter, too, and nobody could ask them.
 */
const char *ckpt_sock_filter_unfit(struct ckpt_collect *c, const struct ckpt_object *obj)
{
	const struct sk_filter *filter;
	const char *why = NULL;

	rcu_read_lock();
	filter = rcu_dereference(obj->sock.sk->sk_filter);
	if (!filter)
		goto out;
	if (!filter->prog->orig_prog)
		why = "a socket with a filter that is a BPF program (SO_ATTACH_BPF)";
	else if (!(c->tree->flags & CKPT_TARGET_FILTER) || !obj->sock.file ||
		 obj->sock.sk->sk_state == TCP_LISTEN)
		why = "a socket with a filter (SO_ATTACH_FILTER)";
out:
	rcu_read_unlock();
	return why;
}

static const char *ckpt_sock_unfit(struct ckpt_collect *c, struct ckpt_object *obj,
				   const struct ckpt_sock_view *v)
{
	struct sock *sk = obj->sock.sk;

	if (ckpt_sock_is_held(obj))
		return "a process outside of the tree has the socket, too";
	if (v->urgent)
		return "a socket with an urgent byte (MSG_OOB)";
	if (sk->sk_user_data)
		return "a socket that the kernel or a BPF program uses";
	if (v->err && v->err != ECONNRESET)
		return "a socket with an error that nobody has asked for";
	return ckpt_sock_filter_unfit(c, obj);
}

/* Peer and state; false: the peer is outside of the tree. */
static bool ckpt_sock_peer(struct ckpt_collect *c, const struct ckpt_sock_view *v,
			   struct ckpt_rec_sock *rec)
{
	const struct ckpt_object *peer;

	rec->state = v->state == TCP_LISTEN ? CKPT_SOCK_LISTENS :
		     v->peer ? CKPT_SOCK_CONNECTED : CKPT_SOCK_OPEN;
	if (!v->peer)
		return true;
	peer = ckpt_object_find(c->objs, CKPT_OBJ_SOCK, v->peer, NULL);
	if (peer) {
		rec->peer = peer->id;
	} else if (sock_flag(v->peer, SOCK_DEAD)) {
		rec->flags |= CKPT_SOCK_PEER_GONE | (v->err ? CKPT_SOCK_RESET : 0);
	} else {
		rec->flags |= CKPT_SOCK_OUTSIDE;
		return false;
	}
	return true;
}

static void ckpt_sock_peercred(struct ckpt_collect *c, struct sock *sk, struct ckpt_rec_sock *rec)
{
	const struct cred *cred;

	rec->peer_uid = (u32)-1;
	rec->peer_gid = (u32)-1;
	spin_lock(&sk->sk_peer_lock);
	cred = sk->sk_peer_cred;
	rec->peer_pid = pid_nr_ns(sk->sk_peer_pid, c->ns);
	if (cred) {
		rec->peer_uid = from_kuid_munged(&init_user_ns, cred->euid);
		rec->peer_gid = from_kgid_munged(&init_user_ns, cred->egid);
	}
	spin_unlock(&sk->sk_peer_lock);
}

static void ckpt_sock_name(const struct ckpt_sock_view *v, struct ckpt_rec_sock *rec)
{
	const struct inode *inode;

	if (!v->addr)
		return;
	rec->flags |= CKPT_SOCK_NAMED;
	if (!v->path.dentry)
		return;
	inode = d_backing_inode(v->path.dentry);
	if (d_unlinked(v->path.dentry))
		rec->flags |= CKPT_SOCK_UNLINKED;
	rec->mode = inode->i_mode;
	rec->uid = from_kuid_munged(&init_user_ns, inode->i_uid);
	rec->gid = from_kgid_munged(&init_user_ns, inode->i_gid);
}

/* Bytes of a name; the kernel counts the family before it and, for a path, the NUL behind it. */
static u32 ckpt_sock_name_len(const struct unix_address *addr)
{
	u32 len;

	if (!addr)
		return 0;
	len = addr->len - offsetof(struct sockaddr_un, sun_path);
	return len && addr->name->sun_path[0] ? strnlen(addr->name->sun_path, len) : len;
}

/* ---------------------------------------------------------------- messages */

static u32 ckpt_sock_left(const struct ckpt_object *obj, const struct sk_buff *skb)
{
	return skb->len - (obj->sock.sk->sk_type == SOCK_STREAM ? UNIXCB(skb).consumed : 0);
}

/* May a read(2) of the stream return bytes of both? */
static bool ckpt_sock_joins(const struct ckpt_object *obj, const struct sk_buff *a,
			    const struct sk_buff *b)
{
	return obj->sock.sk->sk_type == SOCK_STREAM && !UNIXCB(a).fp && !UNIXCB(b).fp &&
	       UNIXCB(a).pid == UNIXCB(b).pid && uid_eq(UNIXCB(a).uid, UNIXCB(b).uid) &&
	       gid_eq(UNIXCB(a).gid, UNIXCB(b).gid);
}

/* Number of messages from @first on that make one record; *ret_len is their length. */
static unsigned int ckpt_sock_group(const struct ckpt_object *obj, unsigned int first, u32 *ret_len)
{
	struct sk_buff **skbs = obj->sock.skbs;
	unsigned int i = first + 1;
	u32 len = ckpt_sock_left(obj, skbs[first]);

	while (i < obj->sock.nr_skbs && ckpt_sock_joins(obj, skbs[first], skbs[i]) &&
	       len < CKPT_SOCK_JOIN_MAX)
		len += ckpt_sock_left(obj, skbs[i++]);
	*ret_len = len;
	return i - first;
}

static int ckpt_sock_emit_files(struct ckpt_collect *c, struct scm_fp_list *fp, u32 *ids)
{
	int i;

	for (i = 0; fp && i < fp->count; i++) {
		struct ckpt_object *file =
			ckpt_object_find(c->objs, CKPT_OBJ_FILE, fp->fp[i], NULL);

		if (!file)
			return -ENOENT;
		ids[i] = file->id;
	}
	return 0;
}

/* Emit @nr messages from @first on, of @len bytes together, as one record. */
static int ckpt_sock_emit_msg(struct ckpt_collect *c, struct ckpt_object *obj, unsigned int first,
			      unsigned int nr, u32 len)
{
	struct sk_buff *skb = obj->sock.skbs[first];
	struct scm_fp_list *fp = UNIXCB(skb).fp;
	const struct unix_address *addr = NULL;
	struct ckpt_object *sender = NULL;
	struct ckpt_rec_sock_msg *rec;
	u32 nr_files = fp ? fp->count : 0, name_len;
	char *to;
	unsigned int i;

	if (skb->sk)
		sender = ckpt_object_find(c->objs, CKPT_OBJ_SOCK, skb->sk, NULL);
	if (skb->sk && !sender)
		/* pairs with the release in unix_bind(), as above */
		addr = smp_load_acquire(&unix_sk(skb->sk)->addr);
	name_len = ckpt_sock_name_len(addr);
	rec = ckpt_records_add(c->recs, CKPT_REC_SOCK_MSG,
			       sizeof(*rec) + nr_files * sizeof(u32) + name_len + len);
	if (!rec)
		return -ENOMEM;
	rec->sock = obj->id;
	rec->sender = sender ? sender->id : 0;
	if (UNIXCB(skb).pid) {
		rec->flags |= CKPT_SOCK_MSG_CREDS;
		rec->pid = pid_nr_ns(UNIXCB(skb).pid, c->ns);
		rec->uid = from_kuid_munged(&init_user_ns, UNIXCB(skb).uid);
		rec->gid = from_kgid_munged(&init_user_ns, UNIXCB(skb).gid);
	}
	rec->nr_files = nr_files;
	rec->name_len = name_len;
	rec->data_len = len;
	if (ckpt_sock_emit_files(c, fp, (u32 *)(rec + 1)))
		ckpt_refuse(c->cap, CKPT_R_FD_SOCKET, obj->task, ckpt_sock_object(obj),
			    "a socket is being read by someone outside");
	to = (char *)(rec + 1) + nr_files * sizeof(u32);
	if (name_len)
		memcpy(to, addr->name->sun_path, name_len);
	to += name_len;
	for (i = first; i < first + nr; i++) {
		u32 left = ckpt_sock_left(obj, obj->sock.skbs[i]);

		skb = obj->sock.skbs[i];
		if (skb_copy_bits(skb, skb->len - left, to, left))
			return -EIO;
		to += left;
	}
	return 0;
}

static u32 ckpt_sock_nr_msgs(const struct ckpt_object *obj)
{
	unsigned int i;
	u32 nr = 0, len;

	for (i = 0; i < obj->sock.nr_skbs; nr++)
		i += ckpt_sock_group(obj, i, &len);
	return nr;
}

static int ckpt_sock_emit_msgs(struct ckpt_collect *c, struct ckpt_object *obj)
{
	unsigned int i, nr;
	int err = 0;
	u32 len;

	for (i = 0; i < obj->sock.nr_skbs && !err; i += nr) {
		nr = ckpt_sock_group(obj, i, &len);
		err = ckpt_sock_emit_msg(c, obj, i, nr, len);
		if (!err && ckpt_capture_expired(c->ctx))
			err = -ETIMEDOUT;
	}
	return err;
}

/* ---------------------------------------------------------------- records */

/* Is the queue too long to be saved? Then the socket is refused. */
static bool ckpt_sock_too_long(struct ckpt_collect *c, struct ckpt_object *obj)
{
	u64 bytes = 0;
	unsigned int i;

	for (i = 0; i < obj->sock.nr_skbs; i++)
		bytes += ckpt_sock_left(obj, obj->sock.skbs[i]);
	if (bytes <= CKPT_SOCK_QUEUE_MAX)
		return false;
	ckpt_refuse(c->cap, CKPT_R_LIMIT, obj->task, ckpt_sock_object(obj),
		    "a socket with %llu unread bytes, at most %u can be saved", bytes,
		    CKPT_SOCK_QUEUE_MAX);
	return true;
}

/* Emit the socket, then its queue, unless it listens: then the queue holds its connections. */
static int ckpt_sock_emit(struct ckpt_collect *c, struct ckpt_object *obj,
			  const struct ckpt_sock_view *v, char *buf)
{
	u32 name_len = ckpt_sock_name_len(v->addr), path_len = 0;
	struct ckpt_rec_sock *rec, head = {};
	bool inside = ckpt_sock_peer(c, v, &head);
	const char *path = NULL, *why = inside ? ckpt_sock_unfit(c, obj, v) : NULL;

	if (why)
		ckpt_refuse(c->cap, CKPT_R_FD_SOCKET, obj->task, ckpt_sock_object(obj), "%s", why);
	if (v->path.dentry && obj->sock.file) {
		path = ckpt_collect_path_text(obj->sock.file, &v->path, buf, PATH_MAX);
		path_len = IS_ERR(path) ? 0 : strlen(path) + 1;
	}
	rec = ckpt_records_add(c->recs, CKPT_REC_SOCK | (inside ? 0 : CKPT_REC_OPTIONAL),
			       sizeof(*rec) + name_len + path_len);
	if (!rec)
		return -ENOMEM;
	head.hdr = rec->hdr;
	*rec = head;
	rec->id = obj->id;
	rec->file = ckpt_sock_object(obj);
	rec->listener = obj->sock.listener ? obj->sock.listener->id : 0;
	rec->family = obj->sock.sk->sk_family;
	rec->type = obj->sock.sk->sk_type;
	rec->protocol = obj->sock.sk->sk_protocol;
	rec->shutdown = v->shutdown;
	rec->backlog = READ_ONCE(obj->sock.sk->sk_max_ack_backlog);
	ckpt_sock_peercred(c, obj->sock.sk, rec);
	ckpt_sock_name(v, rec);
	rec->name_len = name_len;
	rec->path_len = path_len;
	if (name_len)
		memcpy(rec + 1, v->addr->name->sun_path, name_len);
	if (path_len)
		memcpy((char *)(rec + 1) + name_len, path, path_len);
	if (!inside || v->state == TCP_LISTEN || ckpt_sock_too_long(c, obj))
		return 0;
	rec->nr_msgs = ckpt_sock_nr_msgs(obj);
	return ckpt_sock_emit_msgs(c, obj);
}

static int ckpt_sock_collect(struct ckpt_collect *c, struct ckpt_object *obj, char *buf)
{
	struct ckpt_sock_view view;
	int err;

	if (obj->sock.sk->sk_family != AF_UNIX)
		return ckpt_inet_collect(c, obj);
	if (!ckpt_sock_trylock(obj->sock.sk)) {
		ckpt_refuse(c->cap, CKPT_R_TIMEOUT, obj->task, ckpt_sock_object(obj),
			    "a socket is being read by someone outside");
		return 0;
	}
	ckpt_sock_look(obj->sock.sk, &view);
	err = ckpt_sock_emit(c, obj, &view, buf);
	ckpt_sock_unlook(&view);
	mutex_unlock(&unix_sk(obj->sock.sk)->iolock);
	return err;
}

static int ckpt_sock_finish(struct ckpt_collect *c)
{
	struct ckpt_object *obj;
	unsigned long id;
	int err = 0;
	char *buf;

	buf = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	ckpt_for_each_object(obj, id, c->objs, CKPT_OBJ_SOCK) {
		if (ckpt_capture_expired(c->ctx))
			err = -ETIMEDOUT;
		else if (fatal_signal_pending(current))
			err = -EINTR;
		else
			err = ckpt_sock_collect(c, obj, buf);
		if (err)
			break;
	}
	kfree(buf);
	if (!err)
		ckpt_inet_check_pairs(c);
	return err;
}

const struct ckpt_collect_kind ckpt_kind_socket = {
	.kinds = { CKPT_FILE_SOCK },
	.meet = ckpt_sock_meet,
	.finish = ckpt_sock_finish,
};

void ckpt_sock_put(struct ckpt_object *obj)
{
	while (obj->sock.nr_skbs)
		consume_skb(obj->sock.skbs[--obj->sock.nr_skbs]);
	kvfree(obj->sock.skbs);
	obj->sock.skbs = NULL;
	kvfree(obj->sock.sent);
	obj->sock.sent = NULL;
	if (obj->sock.peer)
		sock_put(obj->sock.peer);
	obj->sock.peer = NULL;
	if (obj->sock.sk)
		sock_put(obj->sock.sk);
	obj->sock.sk = NULL;
}
