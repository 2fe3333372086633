/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write logs: which names of files the processes of a PID namespace changed
 * (ckpt_writes.h). A log hangs on its namespace, not on a context.
 */
#ifndef _CKPT_WRITES_H
#define _CKPT_WRITES_H

#include <linux/ckpt.h>

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
struct ckpt_write_log;

/*
 * writes_log.c: a log and its names. ckpt_write_log_*() take the log's lock, and may sleep.
 * @path ends with a NUL.
 */
/* The log of the innermost PID namespace of the caller that has one, with a reference; or NULL. */
struct ckpt_write_log *ckpt_write_log_get(void);
void ckpt_write_log_put(struct ckpt_write_log *log);
/* Note that @add happened to the name, and that @drop is true of it no more. */
void ckpt_write_log_note(struct ckpt_write_log *log, dev_t dev, const char *path, u32 add,
			 u32 drop, u32 writes);
/* Note that a name is gone, if the log has it. */
void ckpt_write_log_gone(struct ckpt_write_log *log, dev_t dev, const char *path);
/* A directory was renamed: note what the log has below it under the new path, too. */
void ckpt_write_log_moved(struct ckpt_write_log *log, dev_t dev, const char *from,
			  const char *to);
/* Forget all names, and note nothing more of what the caller's process does. */
void ckpt_write_log_clear(struct ckpt_write_log *log);
bool ckpt_write_log_is_quiet(const struct ckpt_write_log *log);
/* A name could not be noted. */
void ckpt_write_log_overflow(struct ckpt_write_log *log);
struct pid;
struct pid_namespace;
/* Begin the log of the PID namespace whose init is @init, if there is none; -ENOSPC, -ENOMEM. */
int ckpt_write_logs_add(struct pid *init);
/* CKPT_IOC_WRITES_READ for the namespace. */
int ckpt_write_logs_read(struct pid_namespace *ns, struct ckpt_writes_read *arg);
/* Drop logs whose namespace has ended, or all; return the number of those that are left. */
unsigned int ckpt_write_logs_sweep(bool all);

/* writes.c: write the path of @dentry, or of @name in the directory, to @buf of PATH_MAX bytes. */
char *ckpt_writes_path(struct dentry *dentry, const struct qstr *name, char *buf);

#endif /* _CKPT_WRITES_H */
