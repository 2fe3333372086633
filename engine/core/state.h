/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of one process tree: the content of a record stream, indexed.
 *
 * state_parse() checks a stream (the kernel's, or the kernel's with the engine's
 * own records from an image) and links its records.  Every length, count, reference
 * and NUL is checked here, so that users of the model need not check: a pointer is
 * valid, or NULL where its comment says so; a path has its NUL.  Records are read in
 * place: the buffer must be 8-byte aligned and outlive the model.
 *
 * Users of the model do not change it.  The exceptions are the "user" words, which
 * belong to the holder of the model, the paths that path_map_apply() replaces, and the values in
 * the buffer that asker_lower() lowers.
 */
#ifndef STILLPOINT_STATE_H
#define STILLPOINT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/ckpt.h>
#include "engine/core/engine_records.h"
#include "engine/core/state_sock.h"

struct state_thread {
	const struct ckpt_rec_thread *rec;
	struct state_proc *proc;
	const struct ckpt_rec_xstate *xstate;	/* NULL: none; size bytes follow it */
	const struct ckpt_rec_groups *groups;	/* NULL: none; nr words follow it */
	const struct ckpt_rec_mempolicy *mempolicy;	/* NULL: none */
	const struct ckpt_rec_sigpending **pending;	/* own queue, in order */
	unsigned int nr_pending;
	uint64_t user;
};

struct state_proc {
	const struct ckpt_rec_proc *rec;
	struct state_proc *parent;	/* NULL: a root */
	struct state_proc *child;	/* first child */
	struct state_proc *sibling;	/* next child of the same parent; next root */
	struct state_thread *threads;	/* leader first; a zombie has none */
	unsigned int nr_threads;
	struct state_mm *mm;		/* NULL: zombie */
	struct state_fdtable *fdtable;	/* NULL: zombie */
	struct state_file *cwd;		/* NULL: zombie */
	struct state_file *root;	/* NULL: zombie */
	const struct ckpt_rec_sigactions *sigactions;	/* NULL: zombie */
	const struct ckpt_rec_timer *timers;	/* adjacent in the stream; NULL: none */
	unsigned int nr_timers;
	const struct ckpt_rec_semadj *semadjs;	/* adjacent in the stream; NULL: none */
	unsigned int nr_semadjs;
	const struct ckpt_rec_sigpending **pending;	/* shared queue, in order */
	unsigned int nr_pending;
	uint64_t user;
};

struct state_vma {
	const struct ckpt_rec_vma *rec;
	const struct ckpt_rec_mempolicy *mempolicy;	/* NULL: none */
	const struct ckpt_rec_aio *aio;			/* NULL: none; never of another kind */
	struct state_mm *mm;
	struct state_file *file;	/* NULL: none */
	uint64_t user;
};

struct state_mm {
	const struct ckpt_rec_mm *rec;
	const struct ckpt_rec_pkeys *pkeys;	/* NULL: the program has allocated none */
	struct state_vma *vmas;		/* in address order */
	unsigned int nr_vmas;
	unsigned int nr_aios;		/* of them with struct state_vma.aio */
	struct state_proc *owner;	/* first process that has it */
	struct state_file *exe;		/* NULL: unknown */
	unsigned int nr_users;		/* processes */
	uint64_t user;
};

struct state_fd {
	const struct ckpt_rec_fd *rec;
	struct state_file *file;
};

struct state_fdtable {
	uint32_t files_id;
	struct state_fd *fds;		/* ascending */
	unsigned int nr_fds;
	struct state_proc *owner;	/* first process that has it */
	unsigned int nr_users;
	uint64_t user;
};

struct state_lock {
	const struct ckpt_rec_lock *rec;
	struct state_file *file;
	struct state_fdtable *table;	/* POSIX: the table that owns it and has @file; else NULL */
};

struct state_file {
	const struct ckpt_rec_file *rec;
	const char *path;		/* where to open it; "": it has none */
	const struct engine_rec_file_place *place;	/* or NULL */
	struct state_pipe *pipe;	/* PIPE, FIFO; else NULL */
	const struct ckpt_rec_of_file *own;	/* record of its kind: state_kind.h; or NULL */
	struct state_sock *sock;	/* SOCK; NULL: it comes back without its peer */
	const struct engine_rec_file_track *track;	/* or NULL */
	const struct engine_rec_file_mark *mark;	/* or NULL */
	const struct engine_rec_blob *blob;	/* content of its inode, or NULL */
	const struct engine_rec_external *external;	/* or NULL */
	unsigned int nr_fds;		/* number of descriptors that refer to it */
	bool mapped;			/* the caller has named another path: path_map.h */
	uint64_t user;
};

struct state_pipe {
	const struct ckpt_rec_pipe *rec;
	const void *data;		/* rec->data_len bytes */
	uint64_t user;
};

/* A name that the tree had changed, and had not open. */
struct state_closed {
	const struct engine_rec_closed *rec;
	const char *path;
	const char *target;			/* of a symbolic link; or NULL */
};

struct state {
	const struct ckpt_rec_system *system;
	const struct ckpt_cpu *cpu;		/* NULL: the module did not record it */
	const struct engine_rec_tree *tree;	/* NULL: the kernel's stream */
	const int32_t *root_pids;		/* tree->nr_roots, or NULL */
	struct state_proc *roots;		/* linked by sibling */
	struct state_proc *procs;		/* in stream order */
	unsigned int nr_procs;
	struct state_thread *threads;		/* process by process */
	unsigned int nr_threads;
	struct state_mm *mms;			/* ascending mm_id */
	unsigned int nr_mms;
	struct state_vma *vmas;			/* map by map, in address order */
	unsigned int nr_vmas;
	struct state_fdtable *fdtables;		/* ascending files_id */
	unsigned int nr_fdtables;
	struct state_fd *fds;			/* table by table */
	unsigned int nr_fds;
	struct state_file *files;		/* ascending file_id */
	unsigned int nr_files;
	struct state_lock *locks;		/* in stream order */
	unsigned int nr_locks;
	struct state_pipe *pipes;		/* ascending object */
	unsigned int nr_pipes;
	struct state_sock *socks;		/* ascending id */
	unsigned int nr_socks;
	struct state_sock_msg *sock_msgs;	/* socket by socket, as the stream has them */
	unsigned int nr_sock_msgs;
	const struct ckpt_rec_refusal **refusals;
	unsigned int nr_refusals;
	const struct engine_rec_blob **blobs;	/* in stream order, SHM_DIR ones too */
	unsigned int nr_blobs;
	const struct engine_rec_tty **ttys;
	unsigned int nr_ttys;
	const struct engine_rec_tty_data **tty_data;
	unsigned int nr_tty_data;
	const struct engine_rec_external **externals;
	unsigned int nr_externals;
	const struct engine_rec_fown **fowns;	/* in stream order */
	unsigned int nr_fowns;
	const struct engine_rec_ipc **ipcs;	/* in stream order */
	unsigned int nr_ipcs;
	const struct engine_rec_mqueue **mqueues;	/* in stream order */
	unsigned int nr_mqueues;
	struct state_closed *closed;		/* in stream order */
	unsigned int nr_closed;
	const struct engine_rec_writes *writes;	/* NULL: no log of closed files was asked */
	struct state_index *index;		/* private to state.c */
};

/* Where and why a stream was rejected. */
struct state_error {
	size_t offset;
	char text[160];
};

/**
 * state_parse() - check a record stream and build the model
 * @buf: the stream, 8-byte aligned; outlives the model
 * @error: filled on failure, may be NULL
 *
 * Return: 0; -EBADMSG for a stream that is not well formed or contradicts
 * itself; -EPROTONOSUPPORT for a record type or version not known and not
 * optional; -ENOMEM.  A stream of refusals only is well formed.
 */
int state_parse(const void *buf, size_t len, struct state **ret_state,
		struct state_error *error);
struct state *state_free(struct state *state);	/* returns NULL */

/* By number; NULL if there is none. */
struct state_proc *state_proc_find(const struct state *state, pid_t pid);
struct state_thread *state_thread_find(const struct state *state, pid_t tid);
struct state_mm *state_mm_find(const struct state *state, uint32_t mm_id);
struct state_fdtable *state_fdtable_find(const struct state *state, uint32_t files_id);
struct state_file *state_file_find(const struct state *state, uint32_t file_id);
struct state_pipe *state_pipe_find(const struct state *state, uint64_t object);

/* Paths of a blob record (checked by the parser); NULL if it has none. */
const char *state_blob_path(const struct engine_rec_blob *rec);
const char *state_blob_target(const struct engine_rec_blob *rec);

/* Has the file's inode no name? A .nfs… name, which NFS removes at the close, does not count. */
bool state_file_deleted(const struct state_file *file);
/* Is @name, of a directory entry, a .nfs… name that NFS made for a removed open file? */
bool state_name_silly(const char *name);
/* Does the file's file system lie in the node's memory (tmpfs, ramfs, hugetlbfs)? */
bool state_file_in_memory(const struct state_file *file);
/* The file's handle, place->handle_len bytes; NULL: it has none. */
const void *state_file_handle(const struct state_file *file);

/* Walk the tree parents first: NULL gives the first root, then the next. */
struct state_proc *state_proc_next(const struct state *state, const struct state_proc *proc);

#endif /* STILLPOINT_STATE_H */
