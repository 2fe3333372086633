/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files of an image on this node: check that they have not changed, and open each
 * open file description again, once.
 *
 * Runs in the builder with the owner's rights: a file that the owner may not open is not opened,
 * except the very inodes that the tree had open.  The descriptors are the builder's; the kernel
 * gives the files behind them to the tree.  Until the commit, existing files are changed only in
 * ways that reopen_undo() can take back, and their contents are put back last of all.
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
	bool beside, followed;	/* another image's tree was restored before, or is restored next */
	const char *shm_dir;	/* NULL: /dev/shm */
	const struct engine_external *externals;
	unsigned int nr_externals;
	engine_note_fn note;	/* told of names that are given back; or NULL */
	engine_given_fn tell_given;	/* if @given asks; gets @note_arg, too */
	void *note_arg;
	const struct engine_given *given;	/* NULL: no other node is asked */
	const struct sock_links *links;	/* sock_link.h; NULL: no other node has a part */
	struct kdev *dev;		/* NULL: nobody counts who has a queue open */
	const struct write_since *since;	/* write_journal.h; NULL: nobody asks for it */
};

struct reopen_put;		/* a content to put back */
struct reopen_found;		/* where the inode of a file is: reopen_find.h */
struct reopen_rename;		/* a name that was given back: reopen_names.c */
struct reopen_closed;		/* a closed file as one of the tree's: reopen_closed.c */
struct reopen_sock;		/* a socket: reopen_sock.h */
struct kdev;
struct stat;
struct reopen_ipc;		/* a System V object: reopen_ipc.h */
struct reopen_tty;		/* the former settings of a caller's terminal */

/* A file or directory that was created. */
struct reopen_new {
	char *path;
	mode_t mode;		/* if @later: set at the end */
	bool later;
};

struct reopen {
	const struct state *state;
	struct image_reader *reader;
	const struct reopen_options *options;
	struct ckpt_error *error;
	int *fds;		/* by file: its description; -1: none */
	int *bases;		/* by first file of an inode without a name: its base; -1: none */
	unsigned int *first;	/* by file: first file of the same inode */
	int (*pipes)[2];	/* by pipe: both ends; -1: none */
	struct reopen_sock *socks;	/* by socket: reopen_sock.h */
	struct reopen_ipc *ipcs;	/* by object; NULL: nothing yet, as the next */
	struct reopen_mqueue *mqueues;
	int *masters;		/* by file: master of a pty of the tree; -1: none */
	struct reopen_put *puts;	/* found by reopen_check() and reopen_all() */
	unsigned int nr_puts;
	struct reopen_new *created;	/* reopen_undo() removes them again */
	unsigned int nr_created;
	struct reopen_found *found;	/* by file */
	struct reopen_rename *renames;
	int *rename_dirs;	/* directories of these, each once */
	unsigned int nr_renames, nr_rename_dirs;
	struct reopen_closed *closed;	/* by closed name: what to cut; NULL: nothing yet */
	struct reopen_tty *ttys;
	unsigned int nr_ttys;
	uint64_t bytes, began_s;	/* contents read from the image; realtime of the begin */
	bool armed;		/* reopen_arm() was called */
};

int reopen_init(struct reopen *r, const struct state *state, struct image_reader *reader,
		const struct reopen_options *options, struct ckpt_error *error);
void reopen_close(struct reopen *r);		/* close all descriptors: the tree has the files */
void reopen_done(struct reopen *r);		/* close and free everything */

/* reopen_check.c: compare the files with the records; collects refusals. */
int reopen_check(struct reopen *r);

/* Open all files, except those of /proc about the tree's own processes. */
int reopen_all(struct reopen *r);
/* Open the files of /proc about the tree's own processes, when these have their memory maps. */
int reopen_late(struct reopen *r);
/* Tie files to each other, when the tree's processes are there and all files are open. */
int reopen_connect(struct reopen *r);
/* After reopen_put_back(): set what the restore itself would have set off. */
int reopen_arm(struct reopen *r);
bool reopen_is_late(const struct reopen *r, const struct state_file *file);
/*
 * Take the locks that descriptions held. @late: those of files that reopen_late() opened, else
 * all others. POSIX locks, which the kernel sets later, are only checked here: if somebody else
 * has such a lock, the restore fails before much is read for nothing.
 */
int reopen_locks(struct reopen *r, bool late);
/* For a dry run: would somebody else's lock stand in the way? Keeps none. */
int reopen_locks_check(struct reopen *r);
/* Describe in @error that @lock could not be taken. */
int reopen_locked(struct ckpt_error *error, int err, const struct state_lock *lock);
/* Set seals and final modes, when the memory maps are there. */
int reopen_seal(struct reopen *r);
/* Last before the commit: output gets its length back, carried files their content. */
int reopen_put_back(struct reopen *r);
/* After the commit: drop what was kept for reopen_undo(), and tell the tree of changed windows. */
void reopen_settle(struct reopen *r);
/* Before the commit: let the write log of the tree's PID namespace know what the tree changed. */
void reopen_closed_log(const struct reopen *r, struct kdev *dev);
/* After a failure: put back what was replaced, remove what was created. */
void reopen_undo(struct reopen *r);

int reopen_fd(const struct reopen *r, const struct state_file *file);	/* NULL: -1 */
/*
 * reopen_path.c: is @fd a directory that its owner may no longer search, and the very one that the
 * tree had? Then the tree may enter it with more rights.
 */
bool reopen_had_closed(const struct state_file *file, int fd);
/* A descriptor of the terminal with that index, which the caller closes, or -1. */
int reopen_tty(const struct reopen *r, int index);

/* ---------------------------------------------------- between its files only */

/* reopen.c */
/* Describe a failure: "cannot @what FILE"; returns @err. */
int reopen_failed(struct reopen *r, const struct state_file *file, int err, const char *what);
/* Note that @path was created, for reopen_undo(). */
int reopen_created(struct reopen *r, const char *path);
/* Give the last created path @mode at the end only: until then it may need more rights. */
void reopen_mode_later(struct reopen *r, mode_t mode);
/* flags of @file that open(2) takes; close-on-exec, never the controlling terminal */
int reopen_flags(const struct state_file *file);
/* one more description of the file that @base leads to */
int reopen_again(int base, int flags);

/*
 * reopen_path.c: open(2) with the owner's rights; -errno.  Root follows only root's symbolic links.
 * The caller gives O_CLOEXEC in @flags.
 */
int reopen_open(const char *path, int flags, mode_t mode);
int reopen_near(const struct state_file *file);	/* the nearest directory of its path */
/* The same without following any symbolic link: for use with raised rights. */
int reopen_strictly(const char *path, int flags);
void reopen_remove(const char *path);	/* a file, or an empty directory */
/* the directory that holds @path, O_PATH, and the last component */
int reopen_parent(const char *path, const char **ret_name);
/* Open @file by its path. */
int reopen_path(const struct state_file *file, int flags, mode_t mode);
/* The same, also for an inode that the tree had and its owner may not open now; never creates. */
int reopen_had(const struct state_file *file, int flags);
/*
 * O_PATH: what is at the path of @file. A directory may have become a symbolic link to where it
 * lies by now, which is followed as reopen_open() does; no other kind may.
 */
int reopen_name(const struct state_file *file);
/* Has @fd the recorded inode, type, owner and mode? */
bool reopen_is_recorded(const struct state_file *file, int fd);

void reopen_check_refuse(struct reopen *r, const struct state_file *file, uint32_t reason,
			 const char *what);

/* reopen_object.c: inodes without a name */
int reopen_object(struct reopen *r, const struct state_file *file);
/* Write the blob to @map, or to @fd if @map is NULL. */
int reopen_blob(struct reopen *r, const struct engine_rec_blob *blob, int fd, void *map);
bool reopen_is_program(const struct reopen *r, uint64_t dev, uint64_t ino);	/* executed? */
int reopen_memory(const char *name);	/* create a file in memory */
int reopen_seal_fd(struct reopen *r, const struct state_file *file, int fd);
int reopen_seal_object(struct reopen *r, const struct state_file *file);

/* reopen_huge.c: files of huge pages, to which pwrite(2) cannot write; @fd is O_RDWR */
bool reopen_is_huge(int fd);
ssize_t reopen_pwrite(int fd, const void *buf, size_t len, uint64_t at);	/* as pwrite(2) */
int reopen_pwrite_all(int fd, const void *buf, size_t len, uint64_t at);	/* 0 or -errno */
/* Fail if the file was one of huge pages and @fd is not. */
int reopen_check_huge(struct reopen *r, const struct state_file *file, int fd);

/* reopen_carried.c: contents that the image carries for paths */
int reopen_shm_dir(struct reopen *r);
int reopen_carried(struct reopen *r);
/* Make the missing directories of the file's path; only their owner gets rights on them. */
int reopen_directories(struct reopen *r, const struct state_file *file);

/*
 * reopen_same.c: is @fd a file with the content of @blob?  1, 0, -errno.
 * @time_tells: equal size and time of modification are proof enough
 */
int reopen_same_content(struct reopen *r, int fd, const struct engine_rec_blob *blob,
			bool time_tells);

/* reopen_gone.c: directories, devices and FIFOs without a name */
int reopen_gone(struct reopen *r, const struct state_file *file, int flags);
int reopen_gone_directory(struct reopen *r, const struct state_file *file, int flags);
int reopen_gone_fifo(struct reopen *r, const struct state_file *file, int flags);
int reopen_gone_seal(struct reopen *r);
/* reopen_put.c: contents of existing files, to be put back last */
int reopen_put_cut(struct reopen *r, const struct state_file *file, uint64_t len);
int reopen_put_content(struct reopen *r, const char *path, int fd, bool raised,
		       const struct engine_rec_blob *blob);	/* takes over @fd */
int reopen_put_closed(struct reopen *r, const struct state_file *file, int fd,
		      const struct engine_rec_blob *blob);
void reopen_put_undo(struct reopen *r);
void reopen_put_done(struct reopen *r);
/* Write the content of a new file at once; @more: mode bits beyond the recorded ones, for now */
int reopen_write_content(struct reopen *r, int fd, const struct engine_rec_blob *blob, mode_t more);

/*
 * reopen_closed.c: names that the tree had changed and had not open.
 *
 * reopen_closed_check() collects refusals, and notes files to be cut. reopen_closed_put() gives
 * names their files back; reopen_undo() takes that back. reopen_closed_log() tells the write log
 * of the caller's PID namespace of the names, before the tree runs.
 */
int reopen_closed_check(struct reopen *r);
int reopen_closed_put(struct reopen *r);
void reopen_closed_done(struct reopen *r);
/*
 * Move @st, which has the name, aside. If that is a later name of a file that the tree has open,
 * there is no newer content to be had by it: the name goes after the commit.
 */
int reopen_closed_aside(struct reopen *r, int dir, const char *name, const struct stat *st);

/*
 * reopen_since.c: names that the tree first changed after the dump.
 *
 * reopen_since_check() refuses files that are not what they were, and tells what is not known.
 * reopen_since_put() frees names that nothing had; reopen_undo() takes that back.
 */
int reopen_since_check(struct reopen *r);
int reopen_since_put(struct reopen *r);

/* reopen_pipe.c: pipes, terminals, externals */
int reopen_pipes(struct reopen *r);
int reopen_pipe(struct reopen *r, const struct state_file *file);
int reopen_ptys(struct reopen *r);
/* reopen_pty.c: write unread bytes to a new pty, before it gets the settings @tty; -errno */
int reopen_pty_data(const struct reopen *r, int master, const struct engine_rec_tty *tty);
int reopen_pty(struct reopen *r, const struct state_file *file);
int reopen_external(struct reopen *r, const struct state_file *file);
void reopen_ttys_undo(struct reopen *r);	/* resets the caller's terminals */
/* After the commit: SIGWINCH to the foreground of each terminal whose size has changed. */
void reopen_ttys_settle(const struct reopen *r);

#endif /* STILLPOINT_REOPEN_H */
