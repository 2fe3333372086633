/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write logs: which names of files the processes of a PID namespace changed
 * (ckpt_writes.h). A log hangs on its namespace, not on a context.
 */
#ifndef _CKPT_WRITES_H
#define _CKPT_WRITES_H

#include <linux/ckpt.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/siphash.h>
#include <linux/types.h>

struct ckpt_ctx;

int ckpt_writes_init(void);
/* Drop all logs, and wait until no event is handled any more. */
void ckpt_writes_exit(void);

/* The commands; they need no lock of the context. */
int ckpt_writes_start(struct ckpt_ctx *ctx, struct ckpt_writes_start *arg);
int ckpt_writes_read(struct ckpt_ctx *ctx, struct ckpt_writes_read *arg);
int ckpt_writes_add(struct ckpt_ctx *ctx, struct ckpt_writes_add *arg);

/* ---------------------------------------------------- between its files only */

struct dentry;
struct file;
struct inode;
struct path;
struct pid;
struct pid_namespace;

struct ckpt_write_name {
	struct list_head link;		/* log->names, by @seq */
	struct hlist_node hash;		/* log->table */
	dev_t dev;
	u32 flags;
	u32 writes;
	u32 len;			/* of @path, with its NUL */
	u64 seq;
	u64 ino, bytes, mtime_ns;	/* with CKPT_WRITE_STATE */
	char path[];
};

#define CKPT_WRITE_LONGS	32U

/* A file longer than CKPT_WRITES_LONG that was opened or written. */
struct ckpt_write_long {
	dev_t dev;
	u64 ino;
	loff_t size;			/* 0: no such file */
	u64 noted;			/* log->reads when it was last found written in place */
};

/*
 * The directory that is mounted, of a file system whose mountinfo does not tell it (NFS: "/"). The
 * log is read with paths from there on, so that it fits mountinfo.
 */
struct ckpt_write_root {
	struct list_head link;		/* log->roots */
	dev_t dev;
	u32 len;			/* of @path, without its NUL */
	char path[];
};

/* A log; @lock protects what is below it. */
struct ckpt_write_log {
	struct kref ref;
	struct rcu_head rcu;
	struct hlist_node node;		/* ckpt_write_logs.all */
	struct list_head ended;		/* ckpt_write_logs.ended */
	struct pid_namespace *ns;
	struct pid *init;
	struct pid *quiet;		/* a process whose changes are not noted; or NULL */
	u64 since_ns;
	u64 tag;			/* 0: none; ckpt_write_logs.lock */
	siphash_key_t key;		/* users choose the names: nobody may choose buckets */
	struct mutex lock;
	struct list_head names;
	struct list_head renaming;	/* renames of which not all events have come */
	struct list_head roots;
	struct hlist_head *table;
	unsigned int nr;
	unsigned int nr_gone;		/* of these: CKPT_WRITE_GONE */
	unsigned int nr_passed;		/* of these: made by the namespace, after the log began */
	u64 seq;
	u64 read_seq;			/* @seq when the log was last read */
	u64 reads;			/* how often that was, and one */
	struct ckpt_write_long longs[CKPT_WRITE_LONGS];
	unsigned int next_long;
	size_t bytes;			/* of struct ckpt_write_state, if it were read */
	u32 flags;
};

#define CKPT_WRITE_BUCKETS	8192U

static inline size_t ckpt_write_name_bytes(u32 len)
{
	return ALIGN(sizeof(struct ckpt_write_state) + len, 8);
}

/* An event tells this of a name. */
struct ckpt_write_change {
	u32 add;			/* happened to it */
	u32 drop;			/* true of it no more */
	u32 writes;
	bool existed;			/* the name was there before the event */
	const struct inode *before;	/* as this inode, not changed by the event; or NULL */
	const struct inode *made;	/* the event gave the name to this inode; or NULL */
};

/*
 * writes_log.c: the logs. ckpt_write_log_*() take the log's lock, and may sleep.
 */
/* The log of the innermost PID namespace of the caller that has one, with a reference; or NULL. */
struct ckpt_write_log *ckpt_write_log_get(void);
void ckpt_write_log_put(struct ckpt_write_log *log);
/*
 * Begin the log of the PID namespace whose init is @init, if there is none; -ENOSPC, -ENOMEM.
 * @lost: a log that there is lacks names.
 */
int ckpt_write_logs_add(struct pid *init, u64 tag, bool lost);
/* The log of the namespace knows the file system by the mount of @path: see ckpt_write_root. */
int ckpt_write_logs_root(struct pid *init, const struct path *path);
/* CKPT_IOC_WRITES_READ for the namespace, or NULL: for the tag. */
int ckpt_write_logs_read(struct pid_namespace *ns, struct ckpt_writes_read *arg);
/*
 * Put logs whose namespace has ended away, or drop all; return the number of those whose
 * namespace runs.
 */
unsigned int ckpt_write_logs_sweep(bool all);

/* writes_names.c: the names of a log. @path ends with a NUL. */
void ckpt_write_log_note(struct ckpt_write_log *log, dev_t dev, const char *path,
			 const struct ckpt_write_change *change);
/*
 * The name was renamed to. The rename's next events tell whether it had been there: until
 * ckpt_write_log_renamed() the caller's process may call ckpt_write_log_replaced().
 */
void ckpt_write_log_rename(struct ckpt_write_log *log, dev_t dev, const char *path,
			   const struct ckpt_write_change *change);
void ckpt_write_log_replaced(struct ckpt_write_log *log, const struct inode *before);
void ckpt_write_log_renamed(struct ckpt_write_log *log);
/* A directory was renamed: note what the log has below it under the new path, too. */
void ckpt_write_log_moved(struct ckpt_write_log *log, dev_t dev, const char *from,
			  const char *to);
/*
 * Remember the size of a long file after an open or a write by @file. Is that a write which did
 * not make it longer, and not noted since the log was last read? Of a file that is not known, the
 * position before the write tells.
 */
bool ckpt_write_log_rewrites(struct ckpt_write_log *log, const struct file *file, bool opened);
/* Forget all names, and note nothing more of what the caller's process does. */
void ckpt_write_log_clear(struct ckpt_write_log *log);
/*
 * Is nothing noted of what the caller's process does? So it is for the init of a job's namespace,
 * too (a log with a tag): init is the shim's and writes files of ckptd.
 */
bool ckpt_write_log_is_quiet(const struct ckpt_write_log *log);
/* A name could not be noted. */
void ckpt_write_log_overflow(struct ckpt_write_log *log);
/* Free all names of a log that nobody else has. */
void ckpt_write_log_empty(struct ckpt_write_log *log);

/* writes.c: write the path of @dentry, or of @name in the directory, to @buf of PATH_MAX bytes. */
char *ckpt_writes_path(struct dentry *dentry, const struct qstr *name, char *buf);

#endif /* _CKPT_WRITES_H */
