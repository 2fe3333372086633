/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One dump under way; between dump*.c only.
 *
 *	dump.c		the sequence of a dump
 *	dump_externals.c	externals: files of the tree that the caller named
 *	dump_policy.c	our own refusals (terminals, pipes, kinds of files)
 *	dump_probe.c	facts that only the node can tell (where paths lead, bytes in terminals)
 *	dump_links.c	files whose opened name is gone, and that have another one
 *	dump_mounts.c	mounts that only the tree has
 *	dump_sock*.c	sockets: peers outside (sockets), on other nodes (links); options
 *	dump_sysv.c	which System V objects are the tree's; dump_ipc.c: their records
 *	dump_tty.c	terminals: settings and unread bytes
 *	dump_files.c	inodes: what to do with each, descriptors
 *	dump_in_place.c	files that the tree can write in place: kept, or watched
 *	dump_shared.c	files that the nodes of a job may share
 *	file_hashes.c	hashes of kept files' pages, to share them with the base
 *	dump_closed.c	files that the tree has changed and closed: the same
 *	dump_prepare.c	files' data made ready before the freeze
 *	dump_content.c	contents of inodes and of /dev/shm
 *	dump_exclude.c	memory that a process excluded by its own table
 *	dump_exclude_shm.c	files of /dev/shm that only excluded memory maps
 *	dump_track.c	identity and durability of files that stay where they are
 *	dump_mark.c	marks of inodes, by which a restart finds them again
 *	dump_pages.c	memory: which pages, and how they are read
 *	dump_store.c	memory: where a page is stored; dump_scrub.c: is it as it was?
 *	dump_records.c	our own records
 */
#ifndef STILLPOINT_DUMP_RUN_H
#define STILLPOINT_DUMP_RUN_H

#include "base/error.h"
#include "image/writer.h"
#include "engine/dump/capture.h"
#include "engine/dump/content.h"
#include "engine/dump/dump.h"
#include "engine/dump/file_hashes.h"
#include "engine/core/file_identity.h"

#include <limits.h>

struct stat;
struct file_handle;

#define DUMP_SYNC_MAX	32

/* Findings of dump_probe() about a file. */
struct dump_place {
	bool link;		/* it has another name than the one it was opened by */
	bool handle;		/* no name of it is known, only a handle leads to it */
	char *gone;		/* the name it was opened by: search beside it later; malloc */
};

/* When the content of an inode is read. */
enum dump_when {
	DUMP_NEVER,
	DUMP_IN_PAUSE,		/* while the tree stands still, as it could change the content */
	DUMP_AFTER,		/* after the thaw: the tree does not change the content */
};

/* One inode that the tree has open or mapped; several files may be of it. */
struct dump_inode {
	struct state_file *file;	/* the file whose descriptor is in @fd */
	const struct asker *owner;	/* of struct dump_options: dump_reopen() opens it as his */
	bool writes;		/* the tree can write it */
	bool maps_write;	/* … through a shared mapping */
	bool appends;		/* every writing description is O_APPEND */
	bool at_end;		/* … or stands at the end of the file */
	bool rewritten;		/* the write log says: bytes that it had were written */
	bool logged;		/* the write log has a name of it */
	bool again;		/* … which was closed after writing, and opened again */
	bool kept;		/* the tree can write in place; the image has the content */
	bool watched;		/* the tree can write in place, and the content is not kept */
	uint64_t watched_size, watched_mtime_ns;
	bool open;		/* some descriptor of the tree leads to it */
	bool exec;		/* mapped executable */
	bool deleted;		/* one description of it has no name any more */
	bool named;		/* one description of it has a name */
	bool track;		/* it stays where it is and gets a FILE_TRACK record */
	enum dump_when content;
	enum engine_blob_kind blob_kind;
	bool synced;		/* its data is on storage, without an error */
	bool tail_seen;
	bool tail_hashed;
	uint32_t tail_len;
	uint8_t tail_hash[32];
	/* carried and only appended to: hashes of its first and last bytes, in the pause */
	uint8_t ends_hash[2][32];
	uint8_t build_id[FILE_BUILD_ID_MAX];
	unsigned int build_id_len;
	int fd;			/* for dump_reopen() only; -1: none */
	struct file_hashes *hashes;	/* of a kept file; or NULL */
	int clone;		/* shares the blocks of a kept file as of the freeze; -1: none */
};

/* State of the look-ups on this node: the root of the process that was asked last. */
struct dump_probe {
	struct dump *d;
	pid_t pid;		/* the process */
	char root[PATH_MAX];	/* its root; "": our own */
};

struct dump {
	const struct dump_options *options;
	struct ckpt_error *error;
	struct dump_stats stats;
	struct capture cap;
	struct image *img;
	struct content *image;		/* sink that writes to @img */
	struct content *hold;		/* sink that holds until the thaw; NULL: @frozen_to_end */
	uint64_t hold_limit;		/* bytes, of memory and of contents together */
	bool frozen_to_end;		/* kill, stop and copy: no thaw until all is read */
	struct dump_place *places;	/* one per file of the state */
	unsigned int nr_places;
	struct dump_inode *inodes;	/* state_file.user: index + 1, 0 for none */
	unsigned int nr_inodes;
	uint64_t *excluded_inos;		/* excluded inodes of shm_dir, sorted; malloc */
	unsigned int nr_excluded_inos;
	int sync_fds[DUMP_SYNC_MAX];	/* one per file system that the tree works on */
	uint64_t sync_devs[DUMP_SYNC_MAX];
	bool sync_flushed[DUMP_SYNC_MAX];	/* its disk's cache was flushed since the syncfs */
	unsigned int nr_sync;
	struct dump_closed *closed;	/* names of the write log: dump_closed.c */
	unsigned int nr_closed;
	unsigned int nr_absent;		/* names of the log that were gone */
	uint64_t writes_ns, writes_seq;	/* of the write log: engine_rec_writes */
	int closed_root;		/* root of the tree's first process; -1: no log is asked */
	uint64_t files_room;		/* what is left of files_max */
	struct dump_external *externals;		/* the externals, sorted by inode */
	unsigned int nr_externals;
	bool hashing;			/* an image before or after this one shares file pages */
	struct file_hashes *hashes;
	uint64_t last_blob;		/* highest blob id given out */
	char *records;			/* our own records, collected; malloc */
	size_t records_len;
	size_t records_room;
	uint64_t frozen_at;		/* seconds of CLOCK_REALTIME */
	uint64_t bytes_expected;
	uint64_t bytes_mapped;
	uint64_t found_anon, found_file;	/* pages found in private mappings */
};

static inline struct dump_place *dump_place(const struct dump *d, const struct state_file *file)
{
	return &d->places[file - d->cap.state->files];
}

static inline struct dump_inode *dump_inode(struct dump *d, const struct state_file *file)
{
	return file->user ? &d->inodes[file->user - 1] : NULL;
}

/* dump_tree() on another kernel: what tests call. */
int dump_tree_on(kdev_open_fn open, const struct dump_options *options,
		 struct dump_stats *ret_stats, struct ckpt_error *error);

void dump_progress(struct dump *d, const char *phase);
int dump_image_failed(struct dump *d, int err);	/* text from the image; returns err */

/*
 * Add a record of our own to the collection: @size bytes, zeroed, then @tail.
 * Return: the record, valid until the next one is added; NULL without memory
 */
void *dump_record_add(struct dump *d, uint16_t type, size_t size, const void *tail,
		      size_t tail_len);
int dump_record_tree(struct dump *d);
int dump_records_externals(struct dump *d);
int dump_records_check(const struct dump *d);	/* could a restart read all of them? */
int dump_externals_open(struct dump *d);
void dump_externals_done(struct dump *d);
/* The name of the external that this file is, or NULL. */
const char *dump_external_name(const struct dump *d, const struct state_file *file);
bool dump_external_tty(const struct dump *d, int index);	/* is the pty an external? */
/* Add a refusal about the file; it names a process and a descriptor that lead to the file. */
void dump_refuse(struct dump *d, const struct state_file *file, uint32_t reason,
		 const char *what);
/* Refuse a file that is to be opened by name and cannot be. */
void dump_check_path(struct dump *d, const struct state_file *file);
bool dump_own_pty(const struct dump *d, uint64_t index);	/* has the tree the pty's master? */
int dump_policy_check(struct dump *d);

int dump_tty_probe(struct dump *d, const struct state_file *file);	/* in the pause */
int dump_records_ttys(struct dump *d);		/* in the pause */

/* A descriptor of a file of the tree, the caller's to close; -errno. In the pause. */
int dump_file_fd(struct dump *d, const struct state_file *file);
int dump_probe(struct dump *d);			/* in the pause */
void dump_probe_done(struct dump *d);
/* Write the file's path, as seen from our root, to @buf. */
int dump_probe_path(struct dump_probe *p, const struct state_file *file, char *buf, size_t size);
/* In the pause: how to find a file whose opened name is gone. */
int dump_probe_link(struct dump_probe *p, const struct state_file *file);
int dump_probe_links(struct dump *d);		/* after the thaw: the searches that could wait */
/* Add a FILE_PLACE record; @path or @handle may be NULL. */
int dump_place_add(struct dump *d, const struct state_file *file, uint32_t flags,
		   const char *path, const struct file_handle *handle);
/* Is @st of the inode of @rec? Does @name in @dir lead to that inode? */
bool dump_is_same(const struct ckpt_rec_file *rec, const struct stat *st);
bool dump_is_at(const struct ckpt_rec_file *rec, int dir, const char *name);
/* Refuse a tree whose root process sees mounts that we do not see. */
void dump_probe_mounts(struct dump *d, const struct ckpt_rec_proc *rec);
/* Record the tree's System V objects; refuse those that others have, too. In the pause. */
int dump_sysv_check(struct dump *d);
/* Has the file's inode no name, as far as state and probe tell? */
bool dump_deleted(const struct dump *d, const struct state_file *file);

int dump_files_plan(struct dump *d);
int dump_files_get(struct dump *d);		/* in the pause */
/* Before the freeze: write back what the pause would have to, and read what it will copy. */
void dump_prepare_files(struct dump *d);
void dump_files_put(struct dump *d);
/*
 * Open a description of our own of the inode, O_RDONLY; the caller closes it. -errno.
 * If our rights do not suffice (on NFS root may be nobody), those of the user for whom the dump is
 * are used, with all his groups; if root asks, those of the file's owner.
 */
int dump_reopen(const struct dump_inode *inode);
/* @open_it as user @uid of @gid, with the groups of @owner, or, if NULL, ours; -EACCES: cannot */
int dump_open_as(uid_t uid, gid_t gid, const struct asker *owner, int (*open_it)(void *arg),
		 void *arg);
/* Does @fd have another size or time of modification than @rec? */
bool dump_changed_since(int fd, const struct ckpt_rec_file *rec);

int dump_hold_empty(struct dump *d);		/* move all held contents to the image */
/* Dump the contents that are due: DUMP_IN_PAUSE or DUMP_AFTER. */
int dump_contents(struct dump *d, enum dump_when when);
/* Copy the first @size bytes of @fd, the file @name, into a blob; 0: there are only holes. */
int dump_content_blob(struct dump *d, int fd, const char *name, uint64_t size,
		      enum dump_when when, uint64_t *ret_blob);
int dump_contents_mark(struct dump *d);		/* in the pause: files only appended to */
int dump_shm_dir(struct dump *d);		/* in the pause */
int dump_exclude_shm_find(struct dump *d);	/* before the freeze */
bool dump_is_excluded(const struct dump *d, const struct stat *st);
void dump_exclude_shm_done(struct dump *d);

/* Hash the tail of a kept file, whose content as of the freeze is in @fd. */
void dump_track_content(const struct dump *d, struct dump_inode *inode, int fd);
int dump_track_tails(struct dump *d);		/* in the pause: files that the tree writes */
int dump_track_records(struct dump *d);
int dump_marks(struct dump *d);			/* after the thaw: files that are tracked */
void dump_sync_prepare(struct dump *d);		/* in the pause */
int dump_sync(struct dump *d);
void dump_sync_done(struct dump *d);

int dump_pages_live(struct dump *d);		/* in the pause: pages that the snapshot lacks */
int dump_pages(struct dump *d);
/* image_reread_fn of a struct dump */
int dump_pages_again(void *arg, uint64_t mm_id, uint64_t addr, uint64_t nr_pages, void *buf);

#endif /* STILLPOINT_DUMP_RUN_H */
