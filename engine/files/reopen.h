/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files of an image on this node: are they what they were, and open them
 * again, each open file description once.
 *
 * Runs in the builder with the owner's rights: what the owner may not open, the
 * image cannot open, but for the very inodes that it had open.  Descriptors are the
 * builder's; the kernel gives the files behind them to the tree.  Until the tree is committed nothing that is there is
 * changed in a way that reopen_undo() cannot take back, and contents of what is
 * there are put back last of all.
 */
#ifndef STILLPOINT_REOPEN_H
#define STILLPOINT_REOPEN_H

#include "base/error.h"
#include "image/reader.h"
#include "engine/core/engine.h"
#include "engine/core/state.h"

/* As of struct restore_options (restore.h). */
struct reopen_options {
	enum engine_files files;
	bool accept_changed;
	bool beside;		/* beside a tree that has entries of /dev/shm already */
	const char *shm_dir;	/* NULL: /dev/shm */
	const struct engine_external *externals;
	unsigned int nr_externals;
};

struct reopen_put;		/* contents to put back */
struct reopen_tty;		/* a caller's terminal, as it was */

struct reopen_new {
	char *path;
	mode_t mode;		/* to be given in the end, if later */
	bool later;
};

struct reopen {
	const struct state *state;
	struct image_reader *reader;
	const struct reopen_options *options;
	struct ckpt_error *error;
	int *fds;		/* by file; -1 */
	int *bases;		/* by file: of the first file of an unnamed inode; -1 */
	unsigned int *first;	/* by file: first file of the same inode */
	int (*pipes)[2];	/* by pipe: both ends; -1 */
	int *masters;		/* by file: a pty of the tree; -1 */
	struct reopen_put *puts;	/* found by reopen_check() and reopen_all() */
	unsigned int nr_puts;
	struct reopen_new *created;	/* to be removed again */
	unsigned int nr_created;
	struct reopen_tty *ttys;
	unsigned int nr_ttys;
	uint64_t bytes;		/* contents read from the image */
};

int reopen_init(struct reopen *r, const struct state *state, struct image_reader *reader,
		const struct reopen_options *options, struct ckpt_error *error);
void reopen_close(struct reopen *r);		/* all descriptors that the tree has now, */
void reopen_done(struct reopen *r);		/* and everything */

/* reopen_check.c: compare with what was recorded; collects refusals. */
int reopen_check(struct reopen *r);

/* Open everything, but what /proc says of the tree's own processes, */
int reopen_all(struct reopen *r);
/* which is opened when their memory maps are theirs. */
int reopen_late(struct reopen *r);
bool reopen_is_late(const struct reopen *r, const struct state_file *file);
/*
 * The locks that descriptions held; @late: of those that reopen_late() opened, else of all others. Others' are
 * looked for, too, where a process had the lock, before much is read for nothing.
 */
int reopen_locks(struct reopen *r, bool late);
/* That @lock could not be had, as the error's text. */
int reopen_locked(struct ckpt_error *error, int err, const struct state_lock *lock);
/* When the memory maps are there: seals, modes. */
int reopen_seal(struct reopen *r);
/* Last before the commit: output gets its length back, carried files their content. */
int reopen_put_back(struct reopen *r);
/* After the commit: what was kept for reopen_undo() goes, and the tree is told of other windows. */
void reopen_settle(struct reopen *r);
/* After a failure: put back what was replaced, remove what was created. */
void reopen_undo(struct reopen *r);

int reopen_fd(const struct reopen *r, const struct state_file *file);	/* NULL: -1 */
/*
 * reopen_path.c: is @fd, a directory that its owner may not search, the very one that the tree had?
 * Then it may be entered with more rights.
 */
bool reopen_had_closed(const struct state_file *file, int fd);
/* A descriptor of the terminal with that index, the caller's to close, or -1. */
int reopen_tty(const struct reopen *r, int index);

/* ---------------------------------------------------- between its files only */

/* reopen.c */
int reopen_failed(struct reopen *r, const struct state_file *file, int err, const char *what);
int reopen_created(struct reopen *r, const char *path);
/* The last of those gets this mode when all has been opened and made: it may allow less than that needs. */
void reopen_mode_later(struct reopen *r, mode_t mode);
/* flags of @file that open(2) takes; close-on-exec, never the controlling terminal */
int reopen_flags(const struct state_file *file);
/* one more description of what @base is */
int reopen_again(int base, int flags);

/*
 * reopen_path.c: open(2) with the owner's rights; -errno.  Root follows no symbolic links but root's.
 * Close-on-exec is the caller's to ask for.
 */
int reopen_open(const char *path, int flags, mode_t mode);
int reopen_strictly(const char *path, int flags);	/* no symbolic link at all: for more rights */
void reopen_remove(const char *path);	/* a file, or an empty directory */
/* the directory that holds @path, O_PATH, and the last component */
int reopen_parent(const char *path, const char **ret_name);
/* @file by its path */
int reopen_path(const struct state_file *file, int flags, mode_t mode);
/* … or what the tree had open and its owner can open no more; nothing is created */
int reopen_had(const struct state_file *file, int flags);
bool reopen_is_recorded(const struct state_file *file, int fd);	/* inode, type, owner, mode */

/* reopen_object.c: what has no name */
int reopen_object(struct reopen *r, const struct state_file *file);
int reopen_blob(struct reopen *r, const struct engine_rec_blob *blob, int fd, void *map);
bool reopen_is_program(const struct reopen *r, uint64_t dev, uint64_t ino);	/* executed? */
int reopen_memory(const char *name);	/* a file in memory */
int reopen_seal_fd(struct reopen *r, const struct state_file *file, int fd);
int reopen_seal_object(struct reopen *r, const struct state_file *file);

/* reopen_huge.c: files of huge pages, which pwrite(2) does not write to; fd is O_RDWR */
bool reopen_is_huge(int fd);
ssize_t reopen_pwrite(int fd, const void *buf, size_t len, uint64_t at);	/* as pwrite(2) */
int reopen_pwrite_all(int fd, const void *buf, size_t len, uint64_t at);	/* 0 or -errno */
/* fails if the file was one and @fd is none */
int reopen_check_huge(struct reopen *r, const struct state_file *file, int fd);

/* reopen_carried.c: contents that the image carries for paths */
int reopen_shm_dir(struct reopen *r);
int reopen_carried(struct reopen *r);

/*
 * reopen_same.c: is @fd a file with the content of @blob?  1, 0, -errno.
 * @time_tells: where size and time are the same, the content is
 */
int reopen_same_content(struct reopen *r, int fd, const struct engine_rec_blob *blob,
			bool time_tells);

/* reopen_gone.c: directories, devices and FIFOs without a name */
int reopen_gone(struct reopen *r, const struct state_file *file, int flags);
int reopen_gone_directory(struct reopen *r, const struct state_file *file, int flags);
int reopen_gone_fifo(struct reopen *r, const struct state_file *file, int flags);
int reopen_gone_seal(struct reopen *r);

/* reopen_put.c: contents of what is there, to be put back last */
int reopen_put_cut(struct reopen *r, const struct state_file *file, uint64_t len);
int reopen_put_content(struct reopen *r, const char *path, int fd, bool raised,
		       const struct engine_rec_blob *blob);	/* takes over @fd */
void reopen_put_undo(struct reopen *r);
void reopen_put_done(struct reopen *r);
/* and at once, of what is new; @more: rights beyond those recorded, for now */
int reopen_write_content(struct reopen *r, int fd, const struct engine_rec_blob *blob, mode_t more);

/* reopen_pipe.c: pipes, terminals, ends outside the tree */
int reopen_pipes(struct reopen *r);
int reopen_pipe(struct reopen *r, const struct state_file *file);
int reopen_ptys(struct reopen *r);
/* reopen_pty.c: what the ends of a new one, of which @tty is to be set, had not read; -errno */
int reopen_pty_data(const struct reopen *r, int master, const struct engine_rec_tty *tty);
int reopen_pty(struct reopen *r, const struct state_file *file);
int reopen_external(struct reopen *r, const struct state_file *file);
void reopen_ttys_undo(struct reopen *r);	/* the caller's terminals are as they were */
/* After the commit: who is in the foreground of one of another size is told. */
void reopen_ttys_settle(const struct reopen *r);

#endif /* STILLPOINT_REOPEN_H */
