/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One dump under way; between dump*.c only.
 *
 *	dump.c		the order of things
 *	dump_externals.c	ends outside the tree that the caller named
 *	dump_policy.c	what of ours stands in the way (terminals, pipes, kinds)
 *	dump_probe.c	what only the node can tell (where paths lead, bytes in terminals)
 *	dump_links.c	files whose opened name is gone, and that have another one
 *	dump_mounts.c	mounts that only the tree has
 *	dump_files.c	inodes: what to do with each, descriptors
 *	dump_content.c	contents of inodes and of /dev/shm
 *	dump_exclude_shm.c	what of /dev/shm goes with memory left out
 *	dump_track.c	identity and durability of files that stay where they are
 *	dump_pages.c	memory: which pages, and how they are read
 *	dump_store.c	memory: where a page is stored
 *	dump_records.c	our own records
 */
#ifndef STILLPOINT_DUMP_RUN_H
#define STILLPOINT_DUMP_RUN_H

#include "base/error.h"
#include "image/writer.h"
#include "engine/dump/capture.h"
#include "engine/dump/content.h"
#include "engine/dump/dump.h"
#include "engine/core/file_identity.h"

#include <limits.h>

struct stat;
struct file_handle;

#define DUMP_SYNC_MAX	32

/* What dump_probe() found out about a file. */
struct dump_place {
	bool link;		/* it has another name than the one it was opened by */
	bool handle;		/* as far as we know it, only a handle leads there */
	char *gone;		/* the name it was opened by: to look beside after the thaw; malloc */
};

enum dump_when {
	DUMP_NEVER,
	DUMP_IN_PAUSE,		/* the tree could change it: while it stands still */
	DUMP_AFTER,		/* nobody of the tree changes it */
};

/* One inode that the tree has open or mapped; several files may be of it. */
struct dump_inode {
	struct state_file *file;	/* the one we get a descriptor of */
	bool writes;		/* the tree can write it */
	bool maps_write;	/* … through a shared mapping */
	bool appends;		/* every writing description is O_APPEND */
	bool open;		/* by some descriptor */
	bool exec;		/* mapped executable */
	bool deleted;		/* a description of it has no name any more, */
	bool named;		/* … one has */
	bool track;
	enum dump_when content;
	enum engine_blob_kind blob_kind;
	bool synced;		/* what was written is on storage, without an error */
	bool tail_hashed;
	uint32_t tail_len;
	uint8_t tail_hash[32];
	uint8_t externals_hash[2][32];	/* of a carried file that is only appended to, in the pause */
	uint8_t build_id[FILE_BUILD_ID_MAX];
	unsigned int build_id_len;
	int fd;			/* the job's description; -1: none needed, or not to be had */
};

/* Looking at the node. */
struct dump_probe {
	struct dump *d;
	pid_t pid;		/* whose root was asked for last */
	char root[PATH_MAX];
};

struct dump {
	const struct dump_options *options;
	struct ckpt_error *error;
	struct dump_stats stats;
	struct capture cap;
	struct image *img;
	struct content *image;		/* contents into img */
	struct content *hold;		/* contents held until the thaw; NULL: no pause to keep short */
	uint64_t hold_limit;		/* bytes, of memory and of contents together */
	bool frozen_to_end;		/* kill, stop and copy: the tree stands still until the commit */
	struct dump_place *places;	/* one per file of the state */
	unsigned int nr_places;
	struct dump_inode *inodes;	/* state_file.user: index + 1, 0 for none */
	unsigned int nr_inodes;
	uint64_t *left_out;		/* inodes of shm_dir, sorted; malloc */
	unsigned int nr_left_out;
	int sync_fds[DUMP_SYNC_MAX];	/* one per file system the tree works on */
	uint64_t sync_devs[DUMP_SYNC_MAX];
	bool sync_flushed[DUMP_SYNC_MAX];	/* the disk's cache, since the syncfs */
	unsigned int nr_sync;
	struct dump_end *ends;		/* by inode */
	unsigned int nr_ends;
	uint64_t last_blob;		/* ids given out */
	char *records;			/* our own, collected; malloc */
	size_t records_len;
	size_t records_room;
	uint64_t frozen_at;		/* s of CLOCK_REALTIME */
	uint64_t bytes_expected;
	uint64_t bytes_mapped;
	uint64_t found_anon, found_file;	/* of private mappings, pages that there were */
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

/* Records of our own, zeroed, in the collection; NULL without memory. */
void *dump_record_add(struct dump *d, uint16_t type, size_t size, const void *tail,
		      size_t tail_len);
int dump_record_tree(struct dump *d);
int dump_records_externals(struct dump *d);

int dump_externals_open(struct dump *d);
void dump_externals_done(struct dump *d);
/* Is this file one of the ends that the caller named?  Its name, or NULL. */
const char *dump_external_name(const struct dump *d, const struct state_file *file);
bool dump_external_tty(const struct dump *d, int index);	/* is one the pty of this index? */
/* Add the finding, named by a process and a descriptor that lead to the file. */
void dump_refuse(struct dump *d, const struct state_file *file, uint32_t reason,
		 const char *what);
bool dump_own_pty(const struct dump *d, uint64_t index);	/* has the tree its master? */
int dump_policy_check(struct dump *d);

int dump_tty_probe(struct dump *d, const struct state_file *file);	/* in the pause */
int dump_records_ttys(struct dump *d);		/* in the pause */

/* A descriptor of a file of the tree, the caller's to close; -errno. In the pause. */
int dump_file_fd(struct dump *d, const struct state_file *file);
int dump_probe(struct dump *d);			/* in the pause */
void dump_probe_done(struct dump *d);
/* The file's path from our root. */
int dump_probe_path(struct dump_probe *p, const struct state_file *file, char *buf, size_t size);
int dump_probe_link(struct dump_probe *p, const struct state_file *file);
int dump_probe_links(struct dump *d);		/* what of it can wait */
int dump_place_add(struct dump *d, const struct state_file *file, uint32_t flags,
		   const char *path, const struct file_handle *handle);
/* Is it what is there under that name? */
bool dump_is_at(const struct ckpt_rec_file *rec, int dir, const char *name);
/* of a root: mounts that it sees and we do not are in the way */
void dump_probe_mounts(struct dump *d, const struct ckpt_rec_proc *rec);
bool dump_deleted(const struct dump *d, const struct state_file *file);

int dump_files_plan(struct dump *d);
int dump_files_get(struct dump *d);		/* in the pause */
void dump_files_put(struct dump *d);
/*
 * A description of our own of the inode; O_RDONLY. -errno.  With its owner's rights where
 * ours do not do: on NFS root may be nobody.
 */
int dump_reopen(const struct dump_inode *inode);
/* Has it another size or time of modification than it had at the freeze? */
bool dump_changed_since(int fd, const struct ckpt_rec_file *rec);

int dump_hold_empty(struct dump *d);		/* into the image with it */
/* when: DUMP_IN_PAUSE or DUMP_AFTER: the inodes that are due then. */
int dump_contents(struct dump *d, enum dump_when when);
int dump_contents_mark(struct dump *d);		/* in the pause: what is only appended to */
int dump_shm_dir(struct dump *d);		/* in the pause */
int dump_exclude_shm_find(struct dump *d);		/* before it */
bool dump_is_left_out(const struct dump *d, const struct stat *st);
void dump_exclude_shm_done(struct dump *d);

int dump_track_tails(struct dump *d);		/* in the pause: files that the tree writes */
int dump_track_records(struct dump *d);
void dump_sync_prepare(struct dump *d);		/* in the pause */
int dump_sync(struct dump *d);
void dump_sync_done(struct dump *d);

int dump_pages_live(struct dump *d);		/* in the pause: what the snapshot lacks */
int dump_pages(struct dump *d);
/* image_reread_fn of a struct dump */
int dump_pages_again(void *arg, uint64_t mm_id, uint64_t addr, uint64_t nr_pages, void *buf);

#endif /* STILLPOINT_DUMP_RUN_H */
