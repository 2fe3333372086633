// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write logs: one for each PID namespace that has one, and those of namespaces that have
 * ended, by tag.
 *
 * The logs are found by namespace under RCU; a lookup takes a reference, and the reference
 * keeps the log's memory alone. A log keeps its namespace from being freed, so that no other
 * namespace gets the same address. A log ends with the namespace's init: nobody can enter the
 * namespace after that. A log with a tag is kept then, until somebody drops it or there are too
 * many.
 */
#include <linux/dcache.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/pid_namespace.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "context.h"
#include "writes.h"

#define CKPT_WRITE_LOGS_MAX	4096U

/* Lock order: lock, then the lock of a log. Events take a log's lock below locks of directories. */
static struct {
	struct mutex lock;		/* protects additions and removals, and what is below all */
	struct hlist_head all;		/* RCU; namespaces run */
	unsigned int nr;		/* in all */
	struct list_head ended;		/* namespaces have ended; the oldest first */
	unsigned int nr_ended;
	u64 last_ns;
} ckpt_write_logs = {
	.lock = __MUTEX_INITIALIZER(ckpt_write_logs.lock),
	.all = HLIST_HEAD_INIT,
	.ended = LIST_HEAD_INIT(ckpt_write_logs.ended),
};

/* ------------------------------------------------------------ life */

static void ckpt_write_log_free(struct kref *ref)
{
	struct ckpt_write_log *log = container_of(ref, struct ckpt_write_log, ref);
	struct ckpt_write_root *root, *next;

	ckpt_write_log_empty(log);
	list_for_each_entry_safe(root, next, &log->roots, link)
		kfree(root);
	kvfree(log->table);
	put_pid(log->init);
	put_pid(log->quiet);
	put_pid_ns(log->ns);
	kfree_rcu(log, rcu);
}

void ckpt_write_log_put(struct ckpt_write_log *log)
{
	kref_put(&log->ref, ckpt_write_log_free);
}

static struct ckpt_write_log *ckpt_write_log_find(const struct pid_namespace *ns)
{
	struct ckpt_write_log *log;

	hlist_for_each_entry_rcu(log, &ckpt_write_logs.all, node,
				 lockdep_is_held(&ckpt_write_logs.lock))
		if (log->ns == ns && kref_get_unless_zero(&log->ref))
			return log;
	return NULL;
}

struct ckpt_write_log *ckpt_write_log_get(void)
{
	struct ckpt_write_log *log = NULL;
	struct pid_namespace *ns;

	if (!READ_ONCE(ckpt_write_logs.nr))
		return NULL;
	rcu_read_lock();
	for (ns = task_active_pid_ns(current); ns && ns->parent && !log; ns = ns->parent)
		log = ckpt_write_log_find(ns);
	rcu_read_unlock();
	return log;
}

static struct ckpt_write_log *ckpt_write_log_create(struct pid *init, u64 tag)
{
	struct ckpt_write_log *log = kzalloc(sizeof(*log), GFP_KERNEL_ACCOUNT);

	lockdep_assert_held(&ckpt_write_logs.lock);
	if (!log)
		return NULL;
	log->table = kvcalloc(CKPT_WRITE_BUCKETS, sizeof(*log->table), GFP_KERNEL_ACCOUNT);
	if (!log->table) {
		kfree(log);
		return NULL;
	}
	kref_init(&log->ref);
	mutex_init(&log->lock);
	INIT_LIST_HEAD(&log->names);
	INIT_LIST_HEAD(&log->renaming);
	INIT_LIST_HEAD(&log->roots);
	INIT_LIST_HEAD(&log->ended);
	log->init = get_pid(init);
	log->ns = get_pid_ns(ns_of_pid(init));
	log->tag = tag;
	log->reads = 1;
	log->since_ns = max_t(u64, ktime_get_real_ns(), ckpt_write_logs.last_ns + 1);
	ckpt_write_logs.last_ns = log->since_ns;
	get_random_bytes(&log->key, sizeof(log->key));
	return log;
}

/* Has the namespace's last process closed its files? Init may still wait to be reaped. */
static bool ckpt_write_log_ended(const struct ckpt_write_log *log)
{
	struct task_struct *init;
	bool ended;

	rcu_read_lock();
	init = pid_task(log->init, PIDTYPE_TGID);
	ended = !init || (READ_ONCE(init->exit_state) && thread_group_empty(init));
	rcu_read_unlock();
	return ended;
}

static void ckpt_write_logs_drop(struct ckpt_write_log *log)
{
	lockdep_assert_held(&ckpt_write_logs.lock);
	list_del_init(&log->ended);
	ckpt_write_logs.nr_ended--;
	ckpt_write_log_put(log);
}

/* Drop the oldest of those that have ended, if they are too many; or all. */
static void ckpt_write_logs_trim(bool all)
{
	struct ckpt_write_log *log, *next;
	size_t bytes = 0;

	list_for_each_entry(log, &ckpt_write_logs.ended, ended)
		bytes += READ_ONCE(log->bytes);
	list_for_each_entry_safe(log, next, &ckpt_write_logs.ended, ended) {
		if (!all && ckpt_write_logs.nr_ended <= CKPT_WRITES_ENDED_MAX &&
		    bytes <= CKPT_WRITES_ENDED_BYTES)
			break;
		bytes -= READ_ONCE(log->bytes);
		ckpt_write_logs_drop(log);
	}
}

static void ckpt_write_logs_put_away(bool all)
{
	struct ckpt_write_log *log;
	struct hlist_node *next;

	lockdep_assert_held(&ckpt_write_logs.lock);
	hlist_for_each_entry_safe(log, next, &ckpt_write_logs.all, node) {
		if (!all && !ckpt_write_log_ended(log))
			continue;
		hlist_del_rcu(&log->node);
		WRITE_ONCE(ckpt_write_logs.nr, ckpt_write_logs.nr - 1);
		if (!log->tag) {
			ckpt_write_log_put(log);
			continue;
		}
		list_add_tail(&log->ended, &ckpt_write_logs.ended);
		ckpt_write_logs.nr_ended++;
	}
	ckpt_write_logs_trim(all);
}

unsigned int ckpt_write_logs_sweep(bool all)
{
	unsigned int left;

	mutex_lock(&ckpt_write_logs.lock);
	ckpt_write_logs_put_away(all);
	left = ckpt_write_logs.nr;
	mutex_unlock(&ckpt_write_logs.lock);
	return left;
}

int ckpt_write_logs_add(struct pid *init, u64 tag, bool lost)
{
	struct ckpt_write_log *log;
	int err = 0;

	mutex_lock(&ckpt_write_logs.lock);
	log = ckpt_write_log_find(ns_of_pid(init));
	if (log) {
		log->tag = log->tag ?: tag;
		if (lost)
			ckpt_write_log_overflow(log);
		ckpt_write_log_put(log);
	} else if (ckpt_write_logs.nr >= CKPT_WRITE_LOGS_MAX) {
		err = -ENOSPC;
	} else {
		log = ckpt_write_log_create(init, tag);
		if (log) {
			hlist_add_head_rcu(&log->node, &ckpt_write_logs.all);
			WRITE_ONCE(ckpt_write_logs.nr, ckpt_write_logs.nr + 1);
		}
		err = log ? 0 : -ENOMEM;
	}
	mutex_unlock(&ckpt_write_logs.lock);
	return err;
}

/* ------------------------------------------------------------ roots of mounts */

/* Does mountinfo tell another root than that of the file system? */
static char *ckpt_write_root_path(const struct path *path, char *buf)
{
	const struct super_block *sb = path->mnt->mnt_sb;
	char *root;

	if (!sb->s_op->show_path)
		return NULL;
	root = ckpt_writes_path(path->mnt->mnt_root, NULL, buf);
	return IS_ERR(root) || root[1] ? root : NULL;
}

static const struct ckpt_write_root *ckpt_write_log_root(const struct ckpt_write_log *log,
							 dev_t dev)
{
	const struct ckpt_write_root *root;

	lockdep_assert_held(&log->lock);
	list_for_each_entry(root, &log->roots, link)
		if (root->dev == dev)
			return root;
	return NULL;
}

static int ckpt_write_log_add_root(struct ckpt_write_log *log, dev_t dev, const char *path)
{
	size_t len = strlen(path);
	struct ckpt_write_root *root = kzalloc(struct_size(root, path, len + 1),
					       GFP_KERNEL_ACCOUNT);

	if (!root)
		return -ENOMEM;
	root->dev = dev;
	root->len = len;
	memcpy(root->path, path, len);
	mutex_lock(&log->lock);
	/* the first mount stays: names may have been read with it */
	if (!ckpt_write_log_root(log, dev)) {
		list_add_tail(&root->link, &log->roots);
		root = NULL;
	}
	mutex_unlock(&log->lock);
	kfree(root);
	return 0;
}

int ckpt_write_logs_root(struct pid *init, const struct path *path)
{
	struct ckpt_write_log *log;
	char *buf, *root;
	int err = 0;

	buf = kmalloc(PATH_MAX, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	root = ckpt_write_root_path(path, buf);
	mutex_lock(&ckpt_write_logs.lock);
	log = root ? ckpt_write_log_find(ns_of_pid(init)) : NULL;
	mutex_unlock(&ckpt_write_logs.lock);
	if (IS_ERR(root))
		err = PTR_ERR(root);
	else if (log)
		err = ckpt_write_log_add_root(log, path->mnt->mnt_sb->s_dev, root);
	if (log)
		ckpt_write_log_put(log);
	kfree(buf);
	return err;
}

/* The path of the name as mountinfo has it. */
static const char *ckpt_write_name_path(const struct ckpt_write_log *log,
					const struct ckpt_write_name *name)
{
	const struct ckpt_write_root *root = ckpt_write_log_root(log, name->dev);

	if (root && !strncmp(name->path, root->path, root->len) && name->path[root->len] == '/')
		return name->path + root->len;
	return name->path;
}

/* ------------------------------------------------------------ reading */

static size_t ckpt_write_log_bytes(const struct ckpt_write_log *log, u64 after)
{
	const struct ckpt_write_name *name;
	size_t bytes = 0;

	if (!after)
		return log->bytes;
	list_for_each_entry_reverse(name, &log->names, link) {
		if (name->seq <= after)
			break;
		bytes += ckpt_write_name_bytes(name->len);
	}
	return bytes;
}

/* Write the names to @at; the bytes that were used. */
static size_t ckpt_write_log_fill(const struct ckpt_write_log *log, char *at,
				  const struct ckpt_writes_read *arg)
{
	bool state = arg->flags & CKPT_WRITES_READ_STATE;
	size_t head = state ? sizeof(struct ckpt_write_state) : sizeof(struct ckpt_write);
	const struct ckpt_write_name *name;
	struct ckpt_write_state *out;
	char *begin = at;
	const char *path;
	u32 len, path_len;

	list_for_each_entry(name, &log->names, link) {
		if (name->seq <= arg->after)
			continue;
		out = (struct ckpt_write_state *)at;
		path = ckpt_write_name_path(log, name);
		path_len = name->len - (path - name->path);
		len = ALIGN(head + path_len, 8);
		memset(at, 0, len);
		out->write = (struct ckpt_write){
			.len = len, .flags = name->flags, .major = MAJOR(name->dev),
			.minor = MINOR(name->dev), .writes = name->writes, .path_len = path_len,
		};
		if (state) {
			out->seq = name->seq;
			out->ino = name->ino;
			out->bytes = name->bytes;
			out->mtime_ns = name->mtime_ns;
		}
		memcpy(at + head, path, path_len);
		at += len;
	}
	return at - begin;
}

/* Copy the log into memory of ours, so that no fault of the caller's holds up an event. */
static int ckpt_write_log_copy(struct ckpt_write_log *log, struct ckpt_writes_read *arg,
			       char **ret_buf)
{
	size_t room = READ_ONCE(log->bytes), want;
	char *buf;

	*ret_buf = NULL;
	for (;;) {
		buf = kvmalloc(max_t(size_t, room, 1), GFP_KERNEL_ACCOUNT);
		if (!buf)
			return -ENOMEM;
		mutex_lock(&log->lock);
		want = ckpt_write_log_bytes(log, arg->after);
		if (want <= room)
			break;
		room = want;
		mutex_unlock(&log->lock);
		kvfree(buf);
	}
	room = arg->len;
	arg->len = ckpt_write_log_fill(log, buf, arg);
	arg->log_flags = log->flags;
	arg->since_ns = log->since_ns;
	arg->seq = log->seq;
	log->read_seq = log->seq;
	log->reads++;
	mutex_unlock(&log->lock);
	*ret_buf = buf;
	return arg->len > room ? -ENOSPC : 0;
}

/* The oldest of those that have ended, with a reference; or NULL. */
static struct ckpt_write_log *ckpt_write_log_tagged(u64 tag)
{
	struct ckpt_write_log *log;

	lockdep_assert_held(&ckpt_write_logs.lock);
	list_for_each_entry(log, &ckpt_write_logs.ended, ended) {
		if (log->tag != tag)
			continue;
		kref_get(&log->ref);
		return log;
	}
	return NULL;
}

int ckpt_write_logs_read(struct pid_namespace *ns, struct ckpt_writes_read *arg)
{
	struct ckpt_write_log *log;
	char *buf;
	int err;

	mutex_lock(&ckpt_write_logs.lock);
	ckpt_write_logs_put_away(false);
	log = ns ? ckpt_write_log_find(ns) : ckpt_write_log_tagged(arg->tag);
	mutex_unlock(&ckpt_write_logs.lock);
	if (!log)
		return -ENODATA;
	err = ckpt_write_log_copy(log, arg, &buf);
	if (!ns)
		arg->log_flags |= CKPT_WRITES_ENDED;
	if (!err && copy_to_user(u64_to_user_ptr(arg->buf), buf, arg->len))
		err = -EFAULT;
	kvfree(buf);
	mutex_lock(&ckpt_write_logs.lock);
	if (!err && !ns && arg->flags & CKPT_WRITES_READ_DROP && !list_empty(&log->ended))
		ckpt_write_logs_drop(log);
	mutex_unlock(&ckpt_write_logs.lock);
	ckpt_write_log_put(log);
	return err;
}
