/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dump of one process tree into one image directory.
 *
 * freeze → snapshot → records, pipes, contents that must be read in place → thaw →
 * pages, file contents → sync of the job's files → commit.  On any failure the
 * tree runs on (or stays stopped as it was) and no image appears under dir.
 */
#ifndef STILLPOINT_DUMP_H
#define STILLPOINT_DUMP_H

#include "base/error.h"
#include "engine/core/asker.h"
#include "engine/core/engine.h"

struct image_key;
struct sock_link;
struct state_mm;

#define DUMP_FILES_MAX	(1ULL << 30)	/* default of files_max */
#define DUMP_FILES_TOLD	16		/* files that struct dump_files_told names */

/* How a restart finds a file that stays where it is and that the tree may write. */
enum dump_fate {
	DUMP_FATE_GROWS,	/* only appended to, as it seems: the restart cuts it */
	DUMP_FATE_COPIED,	/* its content is in the image, read in the pause */
	DUMP_FATE_CLONED,	/* its content is in the image, read from a clone after the thaw */
	DUMP_FATE_WATCHED,	/* its content is not kept: any change refuses the restart */
	DUMP_FATE__COUNT
};

/**
 * struct dump_files_told - what became of the files that the tree may write
 * @nr, @bytes: by fate
 * @closed_asked: files that the tree has changed and closed were asked for
 * @closed_known: they are among these
 * @closed_lost: the log of these was full, some are missing
 * @closed_since: seconds of CLOCK_REALTIME at which that log began; 0: with the tree
 * @told: the first @nr_told files that are kept or watched; of a long path the end
 */
struct dump_files_told {
	unsigned int nr[DUMP_FATE__COUNT];
	uint64_t bytes[DUMP_FATE__COUNT];
	bool closed_asked, closed_known, closed_lost;
	uint64_t closed_since;
	unsigned int nr_told;
	struct dump_file_told {
		enum dump_fate fate;
		bool once;	/* closed, and written once: mostly output */
		uint64_t size;
		char path[160];
	} told[DUMP_FILES_TOLD];
};

#define DUMP_SCRUB_TOLD		16	/* pages that struct dump_scrub_told names */

/**
 * struct dump_scrub_told - what the comparison of unwritten pages with the base found
 * @pages: that were compared
 * @wrong: of these, that differ
 * @ns: time of comparing, without that of reading the job's pages
 * @told: the first @nr_told pages that differ; pid and command: of the first process that has the
 *	page; start, end, mapping: of the mapping
 */
struct dump_scrub_told {
	uint64_t pages, wrong, ns;
	unsigned int nr_told;
	struct dump_scrub_page {
		uint64_t addr, start, end;
		int32_t pid;
		char command[16];
		char mapping[80];
	} told[DUMP_SCRUB_TOLD];
};

struct dump_options {
	const pid_t *roots;
	unsigned int nr_roots;
	bool descendants;	/* the roots' descendants, not the roots themselves */
	/*
	 * The dump is for this user: it is refused if the tree has a process that he could not
	 * trace, and the image is his.  NULL: root asks, who may take anything.
	 */
	const struct asker *owner;
	const char *dir;	/* image directory; must not exist or be empty; parent must exist */
	const struct image_key *key;	/* with a secret: the image is encrypted */
	uint64_t generation;	/* recorded; 0 for a plain dump */
	const char *job;	/* recorded name or NULL */
	uint64_t writes_tag;	/* of the tree's write log; 0: write_log_tag() of @job */
	bool kill;		/* keep the tree frozen until commit, then SIGKILL it */
	bool stop_and_copy;	/* no snapshot: the tree is frozen until all is read */
	/*
	 * An incremental dump: pages that were not written since the image @base was taken
	 * are stored as references to it.  A base that cannot be used is no error: then all
	 * pages are stored.
	 */
	const char *base;	/* NULL: store all */
	unsigned int chain_max;	/* most earlier images whose pages this one may need */
	bool track;		/* track writes from now on: an incremental dump may follow */
	/*
	 * A context of /dev/ckpt without a command yet, which is to keep the snapshots, if they are
	 * tracked, after their pages were read (CKPT_IOC_L0_KEEP); 0: they are dropped then.
	 */
	int holder;
	uint64_t holder_max;	/* bytes that they may hold alone */
	/* Can a rollback use that map's snapshot? @image_ns: when it was taken; NULL: it can */
	bool (*holder_wants)(const struct state_mm *mm, uint64_t image_ns);
	bool verify_base;	/* compare the unwritten pages with @base; fail if one differs */
	/*
	 * Compare one in so many stretches of unwritten pages with @base, and tell which differ;
	 * 0: none, 1: all.  Which stretches is decided by @generation.
	 */
	unsigned int scrub_every;
	bool dry_run;		/* check only: refusals as for a real dump, nothing written */
	unsigned int freeze_timeout_ms;	/* 0: 10000 */
	unsigned int max_pause_ms;	/* 0: 60000 */
	uint64_t hold_max;	/* bytes held in memory in the pause; 0: a share of what is free */
	uint64_t memory;	/* for writing the image: as in struct image_options */
	enum engine_files files;
	uint64_t files_max;	/* ENGINE_FILES_KEEP: bytes kept at most; 0: DUMP_FILES_MAX */
	/*
	 * How many nodes have trees of the job, which may share files; 0: one.  With several,
	 * flushed() must return only when it was called on all of them, and captured() as well.
	 */
	unsigned int nr_nodes;
	/* The job's private /dev/shm, as the caller sees it; it is carried whole.  NULL: none */
	const char *shm_dir;
	const char *sockets;	/* rules for ends outside: sock_rules.h; NULL: all are refused */
	const struct engine_external *externals;
	unsigned int nr_externals;
	/*
	 * Excluded memory, descriptors and threads: the image does not hold them and a
	 * restore does not bring them back.  Pids and tids are as the caller sees them.
	 * Things of any kind can be excluded, also when other processes share them.
	 */
	const struct ckpt_exclude *excludes;
	unsigned int nr_excludes;
	/*
	 * Processes that must live, as pids of the tree's own PID namespace; 0: ignored.  If one
	 * has ended, the dump fails with -ECHILD.
	 */
	const pid_t *living;
	unsigned int nr_living;
	engine_progress_fn progress;
	void *progress_arg;
	/*
	 * Called in the pause, when the tree is frozen and nothing of it has been read.
	 * The function may take out what the tree wrote to an external; those bytes are
	 * then in no image.  A negative errno ends the dump.  NULL: no call.
	 */
	int (*frozen)(void *arg);
	/*
	 * Called, with the same argument, when the kernel holds the roots: are they still the
	 * processes that the caller means? -ESTALE with a text: no.  NULL: no call.
	 */
	int (*targeted)(void *arg, struct ckpt_error *error);
	void *frozen_arg;
	/*
	 * For a caller that dumps several trees together.  flushed() is called with several nodes,
	 * when the tree is frozen and other nodes can see what it wrote to shared files; captured()
	 * when this tree is captured and could run on; stored() when the image is complete and in
	 * its place.  Each may wait; a negative errno undoes everything.  NULL: no call.
	 */
	int (*flushed)(void *arg);
	/*
	 * Called, with several nodes, when the tree is frozen: says which of the tree's connections
	 * to the outside lead to other nodes of the job, when all nodes have told theirs.  Fills in
	 * sock_link.link and .role.  NULL: none does.
	 */
	int (*links)(void *arg, struct sock_link *links, unsigned int nr);
	int (*captured)(void *arg);
	int (*stored)(void *arg);
	/* Called before the image is made durable; a negative errno ends the dump.  Or NULL. */
	int (*commits)(void *arg);
	void *hold_arg;
	/*
	 * Text kept in the manifest under "note", for the caller of a later restore.
	 * It is read at the commit: frozen() may still write it.  NULL: none.
	 */
	const char *note;
	/*
	 * Text kept under "record": all that is needed to restart the job where nothing but the
	 * image is left.  NULL: none.
	 */
	const char *record;
};

struct dump_stats {
	uint64_t freeze_ns;	/* from telling the first thread until the last one parked */
	uint64_t collect_ns;
	uint64_t clone_ns;
	uint64_t thaw_ns;	/* how long the thaw took; 0: the tree was to end */
	uint64_t pause_ns;	/* from the first thread parked until the thaw: what the job sees */
	uint64_t pages_ns;	/* reading and writing memory, most of it after the thaw */
	uint64_t contents_ns;	/* the same of contents of files */
	uint64_t sync_ns;	/* making durable what the tree itself wrote */
	uint64_t commit_ns;	/* making the image whole and durable */
	uint64_t total_ns;
	uint64_t bytes_mapped;	/* of all pages found */
	uint64_t bytes_raw;	/* of pages and contents stored as data, before compression */
	uint64_t bytes_stored;	/* in the image */
	uint64_t bytes_held;	/* most bytes held in memory at a time, until the thaw */
	uint64_t pages_data;
	uint64_t pages_zero;
	uint64_t pages_shared;	/* shared with another process, and still so after a restore */
	uint64_t pages_same;	/* equal to data that was stored for other pages */
	uint64_t pages_base;	/* as in the base */
	uint64_t pages_excluded;	/* excluded by the tree itself (ckpt_exclude()) */
	uint64_t pages_untouched;	/* of private anonymous mappings, pages never touched */
	uint64_t pages_file;		/* of private file mappings, pages that only the file has */
	unsigned int nr_procs;
	unsigned int nr_threads;
	uint64_t base;		/* generation of the base, if @incremental */
	bool incremental;
	bool l0;		/* the holder keeps snapshots */
	struct dump_files_told files;
	struct dump_scrub_told scrub;
	char why_full[160];	/* why the image is full though a base was wanted; "": none was */
};

/* 0; -EOPNOTSUPP or -EBUSY with refusals; other negative errno. */
int dump_tree(const struct dump_options *options, struct dump_stats *ret_stats,
	      struct ckpt_error *error);

#endif /* STILLPOINT_DUMP_H */
