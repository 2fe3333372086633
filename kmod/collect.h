/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collecting the state of a frozen tree into records.
 *
 * Runs with cmd_lock and cap->collecting held and touches no user memory of the
 * caller.  A function that cannot represent something refuses it and goes on, so
 * that all findings come together; it returns an error only when going on makes
 * no sense (-ENOMEM, -EINTR, -ETIMEDOUT).
 */
#ifndef _CKPT_COLLECT_H
#define _CKPT_COLLECT_H

#include <linux/nsproxy.h>
#include <linux/types.h>

#include "capture.h"

struct ckpt_rec_mm;
struct ckpt_rec_proc;
struct ckpt_rec_thread;
struct ckpt_strangers;
struct file;
struct path;
struct pid_namespace;
struct vm_area_struct;

struct ckpt_collect {
	struct ckpt_ctx *ctx;
	struct ckpt_capture *cap;
	struct ckpt_tree *tree;
	struct ckpt_objects *objs;
	struct ckpt_records *recs;
	struct pid_namespace *ns;	/* of the tree's first process that lives */
	struct task_struct *first;	/* a thread of that process */
	struct nsproxy first_ns;	/* its namespaces, to compare with only */
	struct ckpt_strangers *strangers;	/* strangers.c; NULL: nobody has asked yet */
	int error;			/* the first error that a function could not return */
};

/* An excluded process part is looked up by the pid the caller knows. */
pid_t ckpt_collect_host_pid(const struct ckpt_collect *c, struct task_struct *task);
/* Copy the pointers to the namespaces, to compare with; false: the task has none any more. */
bool ckpt_collect_namespaces(struct task_struct *task, struct nsproxy *ret_ns);
/* A live thread of the process, to read its state from, or NULL (zombie). */
struct task_struct *ckpt_proc_alive(const struct ckpt_collect *c,
				    const struct ckpt_proc *proc);

/* proc.c: PROC and all records that follow it. */
int ckpt_collect_proc(struct ckpt_collect *c, struct ckpt_proc *proc);
/* After all processes: refuse directories and umasks shared with a process outside. */
void ckpt_collect_check_fs(struct ckpt_collect *c);
/* After all maps: refuse System V objects that a restart would miss. */
void ckpt_collect_check_ipc(struct ckpt_collect *c);

/*
 * strangers.c: true if a process without a thread in the tree has @what: a map, a descriptor table
 * or an fs_struct.  Without memory the functions set c->error and return false.  They may sleep,
 * but ckpt_collect_find_stranger() does not after ckpt_collect_know_strangers().
 */
bool ckpt_collect_know_strangers(struct ckpt_collect *c);
bool ckpt_collect_find_stranger(struct ckpt_collect *c, const void *what, pid_t *ret_pid);
void ckpt_collect_forget_strangers(struct ckpt_collect *c);

/* task.c: THREAD with XSTATE, GROUPS, MEMPOLICY and SIGPENDING; what makes a thread unfit. */
int ckpt_collect_thread(struct ckpt_collect *c, struct ckpt_proc *proc,
			struct ckpt_member *member);

/* mempolicy.c: MEMPOLICY of a thread, of a mapping, if it has one */
int ckpt_collect_mempolicy(struct ckpt_collect *c, struct task_struct *task, s32 tid);
int ckpt_collect_vma_mempolicy(struct ckpt_collect *c, const struct vm_area_struct *vma, u32 mm_id);

/* arch_x86.c */
int ckpt_arch_collect_regs(struct ckpt_collect *c, struct task_struct *task,
			   struct ckpt_rec_thread *rec);
int ckpt_arch_collect_xstate(struct ckpt_collect *c, struct task_struct *task, s32 tid);
void ckpt_arch_check(struct ckpt_collect *c, struct task_struct *task);

/* signals.c */
int ckpt_collect_sigactions(struct ckpt_collect *c, struct task_struct *task, s32 pid);
/* SIGPENDING of the process (@proc), or with NULL of thread @id. */
int ckpt_collect_sigpending(struct ckpt_collect *c, struct task_struct *task, s32 id,
			    struct ckpt_rec_proc *proc);

/* timers.c */
void ckpt_collect_itimers(struct task_struct *task, struct ckpt_rec_proc *rec);
/* posix_timers.c: TIMER of each */
int ckpt_collect_timers(struct ckpt_collect *c, struct task_struct *task, s32 pid);

/* mm.c, vma.c: MM and its VMAs */
/* The map of @task; NULL: the task has none any more. */
struct ckpt_object *ckpt_collect_mm_object(struct ckpt_collect *c, struct task_struct *task);
int ckpt_collect_mm(struct ckpt_collect *c, struct ckpt_object *obj);
int ckpt_collect_vmas(struct ckpt_collect *c, struct ckpt_object *obj,
		      struct mm_struct *mm, u32 *ret_nr);

/* files.c: descriptor tables, then FILE and PIPE records of all files that were met */
int ckpt_collect_files_object(struct ckpt_collect *c, struct task_struct *task);
int ckpt_collect_fds(struct ckpt_collect *c, struct ckpt_object *obj);
int ckpt_collect_files(struct ckpt_collect *c);
/* Number a file that travels in a message: it counts as open. */
int ckpt_collect_travelling(struct ckpt_collect *c, struct file *file, struct task_struct *task);
/* The path as the processes that have @file_obj see it; in @buf, or an error pointer. */
char *ckpt_collect_path_text(struct ckpt_object *file_obj, const struct path *path, char *buf,
			     size_t size);
/* 1 if @table has a descriptor of @file that is not left out, 0 if not, or -errno. */
int ckpt_collect_table_has(struct ckpt_collect *c, u32 table, const struct file *file);
/* Numbers for a file that is only mapped or executed, and for a directory; 0 on error. */
u32 ckpt_collect_mapped_file(struct ckpt_collect *c, struct task_struct *task,
			     struct file *file, u32 flags);
u32 ckpt_collect_path(struct ckpt_collect *c, struct task_struct *task,
		      const struct path *path);

/* files_kind.c: the kind of a file, and its unsupported state */
u32 ckpt_file_kind(struct file *file, u64 *ret_object);
u32 ckpt_file_tty_flags(struct file *file, u32 kind);	/* CKPT_FILE_TTY_* */
/* The end of a pseudoterminal that @file is open on; NULL: none, or it is /dev/tty. */
struct tty_struct *ckpt_file_pty(struct file *file);
void ckpt_file_check(struct ckpt_collect *c, struct ckpt_object *obj, u32 kind);
/* Does a rollback take the file away, without a look at it? */
bool ckpt_file_is_taken_away(const struct ckpt_collect *c, struct file *file);

/*
 * files_event.c: true if nobody but descriptors of the tree has the open file; otherwise the file
 * is refused for @reason.
 */
bool ckpt_file_is_own(struct ckpt_collect *c, struct ckpt_object *obj, enum ckpt_reason reason);

/*
 * sysv.c: System V objects.
 */
bool ckpt_sysv_is_known(void);		/* false: this kernel's structures are not known */
bool ckpt_collects_sysv(const struct ckpt_collect *c);	/* CKPT_TARGET_SYSV */
bool ckpt_file_is_sysv(const struct file *file);	/* of a segment, also of huge pages */
/* SEMADJ of the process of which @task is a thread; refuses lists that cannot be made again. */
int ckpt_collect_semadj(struct ckpt_collect *c, struct task_struct *task, s32 pid);

/* mqueue.c: POSIX message queues */
bool ckpt_mqueue_is_known(void);	/* false: this kernel's structures are not known */
bool ckpt_collects_mqueue(const struct ckpt_collect *c);	/* CKPT_TARGET_MQUEUE */
bool ckpt_file_is_mqueue(const struct file *file);

/* files_lock.c: LOCK records of an open file */
int ckpt_collect_locks(struct ckpt_collect *c, struct ckpt_object *obj);
/* Has the description a lock or a lease? Those of processes (POSIX) do not count. */
bool ckpt_file_has_locks(struct file *file);

/* files_shared.c: refuse a file without a name that is mapped outside the tree. */
void ckpt_file_check_mappers(struct ckpt_collect *c, struct ckpt_object *obj);

/* files_pipe.c */
bool ckpt_file_is_unseen_fifo(struct file *file);

/* files_socket.c */
/* After all descriptor tables: number what is in the queues of the sockets. */
int ckpt_collect_sock_queues(struct ckpt_collect *c);
/* Is it a socket of which there will be a record? */
bool ckpt_file_is_known_sock(struct ckpt_collect *c, struct file *file);

#endif /* _CKPT_COLLECT_H */
