// SPDX-License-Identifier: GPL-2.0-only
/*
 * Credentials that unix sockets tell of: SO_PEERCRED, and those of unread messages.
 *
 * The sockets were connected and filled by whoever restores the tree, so they name that process.
 * They are to name processes of the tree, which are there now.  Whoever restores a tree could name
 * itself only; so the user and group must be its own, unless it could take others, and the process
 * one that has entered this context.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/net.h>
#include <linux/pid.h>
#include <linux/skbuff.h>
#include <linux/uidgid.h>

#include <net/af_unix.h>
#include <net/sock.h>

#include "context.h"
#include "restore.h"
#include "thread.h"

static bool ckpt_creds_may(kuid_t uid, kgid_t gid)
{
	const struct cred *cred = current_cred();

	return (uid_eq(uid, cred->uid) || uid_eq(uid, cred->euid) || uid_eq(uid, cred->suid) ||
		capable(CAP_SETUID)) &&
	       (gid_eq(gid, cred->gid) || gid_eq(gid, cred->egid) || gid_eq(gid, cred->sgid) ||
		capable(CAP_SETGID));
}

/* The number of the thread's process, with a reference; NULL: nobody. */
static struct pid *ckpt_creds_pid(struct ckpt_ctx *ctx, pid_t nr)
{
	struct ckpt_thread *thread = ckpt_restore_find(ctx, nr);

	return thread ? get_task_pid(thread->task, PIDTYPE_TGID) : NULL;
}

static int ckpt_creds_set_peer(struct sock *sk, struct pid *pid, kuid_t uid, kgid_t gid)
{
	struct cred *cred = prepare_creds();
	const struct cred *old_cred;
	struct pid *old_pid;

	if (!cred)
		return -ENOMEM;
	cred->uid = cred->euid = cred->suid = cred->fsuid = uid;
	cred->gid = cred->egid = cred->sgid = cred->fsgid = gid;
	spin_lock(&sk->sk_peer_lock);
	old_pid = sk->sk_peer_pid;
	old_cred = sk->sk_peer_cred;
	sk->sk_peer_pid = get_pid(pid);
	sk->sk_peer_cred = cred;
	spin_unlock(&sk->sk_peer_lock);
	put_pid(old_pid);
	put_cred(old_cred);
	return 0;
}

/* Is the message, at @pos, one of those that the record means? */
static bool ckpt_creds_is_meant(const struct ckpt_rec_sock_creds *rec, u64 pos)
{
	return pos >= rec->at && (pos == rec->at || pos < rec->at + rec->len);
}

/* Readers are kept out by the iolock, and nobody but the tree will know the socket. */
static void ckpt_creds_set_unread(struct sock *sk, const struct ckpt_rec_sock_creds *rec,
				  struct pid *pid, kuid_t uid, kgid_t gid)
{
	struct sk_buff *skb;
	u64 pos = 0;

	spin_lock(&sk->sk_receive_queue.lock);
	skb_queue_walk(&sk->sk_receive_queue, skb) {
		if (ckpt_creds_is_meant(rec, pos)) {
			put_pid(UNIXCB(skb).pid);
			UNIXCB(skb).pid = get_pid(pid);
			UNIXCB(skb).uid = uid;
			UNIXCB(skb).gid = gid;
		}
		pos += sk->sk_type == SOCK_STREAM ? skb->len : 1;
	}
	spin_unlock(&sk->sk_receive_queue.lock);
}

static int ckpt_creds_apply(struct sock *sk, const struct ckpt_rec_sock_creds *rec,
			    struct pid *pid, kuid_t uid, kgid_t gid)
{
	if (!(rec->flags & CKPT_CREDS_UNREAD))
		return ckpt_creds_set_peer(sk, pid, uid, gid);
	if (!mutex_trylock(&unix_sk(sk)->iolock))
		return -EBUSY;
	ckpt_creds_set_unread(sk, rec, pid, uid, gid);
	mutex_unlock(&unix_sk(sk)->iolock);
	return 0;
}

int ckpt_restore_sock_creds(struct ckpt_ctx *ctx, const struct ckpt_rec_sock_creds *rec)
{
	kuid_t uid = make_kuid(&init_user_ns, rec->uid);
	kgid_t gid = make_kgid(&init_user_ns, rec->gid);
	struct socket *sock;
	struct sock *sk;
	struct file *file;
	struct pid *pid;
	int err = -ENOTSOCK;

	if (rec->file < 0 || rec->flags & ~(CKPT_CREDS_PEERS | CKPT_CREDS_UNREAD) ||
	    !uid_valid(uid) || !gid_valid(gid))
		return -EINVAL;
	if (!ckpt_creds_may(uid, gid))
		return -EPERM;
	file = fget(rec->file);
	if (!file)
		return -EBADF;
	sock = sock_from_file(file);
	if (sock && sock->sk && sock->sk->sk_family == AF_UNIX) {
		sk = rec->flags & CKPT_CREDS_PEERS ? unix_peer_get(sock->sk) : sock->sk;
		pid = ckpt_creds_pid(ctx, rec->pid);
		err = sk ? ckpt_creds_apply(sk, rec, pid, uid, gid) : -ENOTCONN;
		put_pid(pid);
		if (sk && sk != sock->sk)
			sock_put(sk);
	}
	fput(file);
	return err;
}
