// SPDX-License-Identifier: GPL-2.0-only
/*
 * A write log: the names of files that the processes of one PID namespace changed.
 *
 * The logs are found by namespace under RCU; a lookup takes a reference, and the reference
 * keeps the log's memory alone. A log keeps its namespace from being freed, so that no other
 * namespace gets the same address. A log ends with the namespace's init: nobody can enter the
 * namespace after that.
 *
 * A log never grows beyond CKPT_WRITES_NAMES_MAX names and CKPT_WRITES_BYTES_MAX bytes.
 */
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "context.h"
#include "writes.h"

#define CKPT_WRITE_LOGS_MAX	4096U
#define CKPT_WRITE_BUCKETS	8192U

struct ckpt_write_name {
	struct list_head link;		/* log->names, in the order in which they came */
	struct hlist_node hash;		/* log->table */
	dev_t dev;
	u32 flags;
	u32 writes;
	u32 len;			/* of @path, with its NUL */
	char path[];
};

struct ckpt_write_log {
	struct kref ref;
	struct rcu_head rcu;
	struct hlist_node node;		/* ckpt_write_logs.all */
	struct pid_namespace *ns;
	struct pid *init;
	struct pid *quiet;		/* a process whose changes are not noted; or NULL */
	u64 since_ns;
	siphash_key_t key;		/* users choose the names: nobody may choose buckets */
	struct mutex lock;		/* protects all below */
	struct list_head names;
	struct hlist_head *table;
	unsigned int nr;
	unsigned int nr_gone;		/* of these: CKPT_WRITE_GONE */
	size_t bytes;			/* of struct ckpt_write, if it were read */
	u32 flags;
};

/* Lock order: lock, then the lock of a log. Events take a log's lock below locks of directories. */
static struct {
	struct mutex lock;		/* protects additions to, and removals from all */
	struct hlist_head all;		/* RCU */
	unsigned int nr;
} ckpt_write_logs = {
	.lock = __MUTEX_INITIALIZER(ckpt_write_logs.lock),
	.all = HLIST_HEAD_INIT,
};

/* ------------------------------------------------------------ life */

static void ckpt_write_log_free(struct kref *ref)
{
	struct ckpt_write_log *log = container_of(ref, struct ckpt_write_log, ref);
	struct ckpt_write_name *name, *next;

	list_for_each_entry_safe(name, next, &log->names, link)
		kfree(name);
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

static struct ckpt_write_log *ckpt_write_log_create(struct pid *init)
{
	struct ckpt_write_log *log = kzalloc(sizeof(*log), GFP_KERNEL_ACCOUNT);

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
	log->init = get_pid(init);
	log->ns = get_pid_ns(ns_of_pid(init));
	log->since_ns = ktime_get_real_ns();
	get_random_bytes(&log->key, sizeof(log->key));
	return log;
}

static bool ckpt_write_log_ended(const struct ckpt_write_log *log)
{
	bool ended;

	rcu_read_lock();
	ended = !pid_task(log->init, PIDTYPE_TGID);
	rcu_read_unlock();
	return ended;
}

unsigned int ckpt_write_logs_sweep(bool all)
{
	struct ckpt_write_log *log;
	struct hlist_node *next;
	unsigned int left;

	mutex_lock(&ckpt_write_logs.lock);
	hlist_for_each_entry_safe(log, next, &ckpt_write_logs.all, node) {
		if (!all && !ckpt_write_log_ended(log))
			continue;
		hlist_del_rcu(&log->node);
		WRITE_ONCE(ckpt_write_logs.nr, ckpt_write_logs.nr - 1);
		ckpt_write_log_put(log);
	}
	left = ckpt_write_logs.nr;
	mutex_unlock(&ckpt_write_logs.lock);
	return left;
}

int ckpt_write_logs_add(struct pid *init)
{
	struct ckpt_write_log *log;
	int err = 0;

	mutex_lock(&ckpt_write_logs.lock);
	log = ckpt_write_log_find(ns_of_pid(init));
	if (log) {
		ckpt_write_log_put(log);
	} else if (ckpt_write_logs.nr >= CKPT_WRITE_LOGS_MAX) {
		err = -ENOSPC;
	} else {
		log = ckpt_write_log_create(init);
		if (log) {
			hlist_add_head_rcu(&log->node, &ckpt_write_logs.all);
			WRITE_ONCE(ckpt_write_logs.nr, ckpt_write_logs.nr + 1);
		}
		err = log ? 0 : -ENOMEM;
	}
	mutex_unlock(&ckpt_write_logs.lock);
	return err;
}

/* ------------------------------------------------------------ names */

static size_t ckpt_write_name_bytes(u32 len)
{
	return ALIGN(sizeof(struct ckpt_write) + len, 8);
}

static struct hlist_head *ckpt_write_log_bucket(const struct ckpt_write_log *log, const char *path)
{
	return &log->table[siphash(path, strlen(path), &log->key) % CKPT_WRITE_BUCKETS];
}

static struct ckpt_write_name *ckpt_write_log_look(const struct ckpt_write_log *log, dev_t dev,
						   const char *path)
{
	struct ckpt_write_name *name;

	lockdep_assert_held(&log->lock);
	hlist_for_each_entry(name, ckpt_write_log_bucket(log, path), hash)
		if (name->dev == dev && !strcmp(name->path, path))
			return name;
	return NULL;
}

static void ckpt_write_log_forget(struct ckpt_write_log *log, struct ckpt_write_name *name)
{
	log->nr--;
	log->bytes -= ckpt_write_name_bytes(name->len);
	list_del(&name->link);
	hlist_del(&name->hash);
	kfree(name);
}

/* Make room: names that are gone tell least. */
static void ckpt_write_log_purge(struct ckpt_write_log *log)
{
	struct ckpt_write_name *name, *next;

	if (!log->nr_gone)
		return;
	list_for_each_entry_safe(name, next, &log->names, link)
		if (name->flags & CKPT_WRITE_GONE)
			ckpt_write_log_forget(log, name);
	log->nr_gone = 0;
	log->flags |= CKPT_WRITES_FORGOT;
}

static bool ckpt_write_log_is_full(const struct ckpt_write_log *log, u32 len)
{
	return log->nr >= CKPT_WRITES_NAMES_MAX ||
	       log->bytes + ckpt_write_name_bytes(len) > CKPT_WRITES_BYTES_MAX;
}

/* @purge: gone names may be dropped; nobody walks the list */
static struct ckpt_write_name *ckpt_write_log_new(struct ckpt_write_log *log, dev_t dev,
						  const char *path, bool purge)
{
	u32 len = strlen(path) + 1;
	struct ckpt_write_name *name;

	if (purge && ckpt_write_log_is_full(log, len))
		ckpt_write_log_purge(log);
	/* a directory's lock may be held, so nothing may wait for the file system's */
	name = ckpt_write_log_is_full(log, len) ? NULL :
	       kmalloc(struct_size(name, path, len), GFP_NOFS | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!name) {
		log->flags |= CKPT_WRITES_OVERFLOW;
		return NULL;
	}
	name->dev = dev;
	name->flags = 0;
	name->writes = 0;
	name->len = len;
	memcpy(name->path, path, len);
	list_add_tail(&name->link, &log->names);
	hlist_add_head(&name->hash, ckpt_write_log_bucket(log, path));
	log->nr++;
	log->bytes += ckpt_write_name_bytes(len);
	return name;
}

static void ckpt_write_name_set(struct ckpt_write_log *log, struct ckpt_write_name *name,
				u32 flags)
{
	log->nr_gone += !!(flags & CKPT_WRITE_GONE) - !!(name->flags & CKPT_WRITE_GONE);
	name->flags = flags;
}

void ckpt_write_log_note(struct ckpt_write_log *log, dev_t dev, const char *path, u32 add,
			 u32 drop, u32 writes)
{
	struct ckpt_write_name *name;
	u32 flags;

	mutex_lock(&log->lock);
	name = ckpt_write_log_look(log, dev, path);
	if (!name)
		name = ckpt_write_log_new(log, dev, path, true);
	if (name) {
		flags = name->flags;
		/* once closed otherwise, never only appended to */
		if (flags & CKPT_WRITE_CLOSED && !(flags & CKPT_WRITE_APPENDS))
			drop |= CKPT_WRITE_APPENDS;
		ckpt_write_name_set(log, name, (flags | add) & ~drop);
		name->writes = min_t(u64, (u64)name->writes + writes, U32_MAX);
	}
	mutex_unlock(&log->lock);
}

void ckpt_write_log_gone(struct ckpt_write_log *log, dev_t dev, const char *path)
{
	struct ckpt_write_name *name;

	mutex_lock(&log->lock);
	name = ckpt_write_log_look(log, dev, path);
	if (name)
		ckpt_write_name_set(log, name, name->flags | CKPT_WRITE_GONE);
	mutex_unlock(&log->lock);
}

static void ckpt_write_log_move_name(struct ckpt_write_log *log, struct ckpt_write_name *name,
				     const char *rest, const char *to)
{
	char *path = kasprintf(GFP_NOFS, "%s%s", to, rest);
	struct ckpt_write_name *moved = NULL;

	if (path && strlen(path) < PATH_MAX) {
		moved = ckpt_write_log_look(log, name->dev, path);
		if (!moved)
			moved = ckpt_write_log_new(log, name->dev, path, false);
	} else {
		log->flags |= CKPT_WRITES_OVERFLOW;
	}
	if (moved) {
		ckpt_write_name_set(log, moved, name->flags);
		moved->writes = name->writes;
	}
	kfree(path);
}

void ckpt_write_log_moved(struct ckpt_write_log *log, dev_t dev, const char *from, const char *to)
{
	struct ckpt_write_name *name;
	size_t len = strlen(from);
	unsigned int nr;

	mutex_lock(&log->lock);
	nr = log->nr;		/* new names come behind these */
	list_for_each_entry(name, &log->names, link) {
		if (!nr--)
			break;
		cond_resched();
		if (name->dev != dev || strncmp(name->path, from, len) || name->path[len] != '/')
			continue;
		ckpt_write_log_move_name(log, name, name->path + len, to);
		ckpt_write_name_set(log, name, name->flags | CKPT_WRITE_GONE);
	}
	mutex_unlock(&log->lock);
}

void ckpt_write_log_clear(struct ckpt_write_log *log)
{
	struct ckpt_write_name *name, *next;

	mutex_lock(&log->lock);
	list_for_each_entry_safe(name, next, &log->names, link)
		ckpt_write_log_forget(log, name);
	log->nr_gone = 0;
	put_pid(log->quiet);
	WRITE_ONCE(log->quiet, get_pid(task_tgid(current)));
	mutex_unlock(&log->lock);
}

bool ckpt_write_log_is_quiet(const struct ckpt_write_log *log)
{
	return READ_ONCE(log->quiet) == task_tgid(current);
}

void ckpt_write_log_overflow(struct ckpt_write_log *log)
{
	mutex_lock(&log->lock);
	log->flags |= CKPT_WRITES_OVERFLOW;
	mutex_unlock(&log->lock);
}

/* ------------------------------------------------------------ reading */

static void ckpt_write_log_fill(const struct ckpt_write_log *log, char *at)
{
	const struct ckpt_write_name *name;
	struct ckpt_write *out;

	list_for_each_entry(name, &log->names, link) {
		out = (struct ckpt_write *)at;
		out->len = ckpt_write_name_bytes(name->len);
		memset(at, 0, out->len);
		out->len = ckpt_write_name_bytes(name->len);
		out->flags = name->flags;
		out->major = MAJOR(name->dev);
		out->minor = MINOR(name->dev);
		out->writes = name->writes;
		out->path_len = name->len;
		memcpy(out + 1, name->path, name->len);
		at += out->len;
	}
}

/* Copy the log into memory of ours, so that no fault of the caller's holds up an event. */
static int ckpt_write_log_copy(struct ckpt_write_log *log, struct ckpt_writes_read *arg,
			       char **ret_buf)
{
	size_t room = READ_ONCE(log->bytes);
	char *buf;

	*ret_buf = NULL;
	for (;;) {
		buf = kvmalloc(max_t(size_t, room, 1), GFP_KERNEL_ACCOUNT);
		if (!buf)
			return -ENOMEM;
		mutex_lock(&log->lock);
		if (log->bytes <= room)
			break;
		room = log->bytes;
		mutex_unlock(&log->lock);
		kvfree(buf);
	}
	ckpt_write_log_fill(log, buf);
	arg->log_flags = log->flags;
	arg->since_ns = log->since_ns;
	room = arg->len;
	arg->len = log->bytes;
	mutex_unlock(&log->lock);
	*ret_buf = buf;
	return arg->len > room ? -ENOSPC : 0;
}

int ckpt_write_logs_read(struct pid_namespace *ns, struct ckpt_writes_read *arg)
{
	struct ckpt_write_log *log;
	char *buf;
	int err;

	rcu_read_lock();
	log = ckpt_write_log_find(ns);
	rcu_read_unlock();
	if (!log)
		return -ENODATA;
	err = ckpt_write_log_copy(log, arg, &buf);
	if (!err && copy_to_user(u64_to_user_ptr(arg->buf), buf, arg->len))
		err = -EFAULT;
	kvfree(buf);
	ckpt_write_log_put(log);
	return err;
}
