/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Status pages of the ranks of this node, from the shim's side: writes ckptd's orders into
 * them, and turns the ranks' answers into messages for ckptd (proto.h, SHIM_ORDER to
 * SHIM_EXCLUDE).
 *
 * mpi-glue/status_page.h defines the layout, and the memory order of reads and writes. Init
 * makes the files in the job's own /dev/shm, so they are part of every image and are at their
 * places after a restart; the shim maps them through a descriptor of their directory that
 * init hands over.
 *
 * Nothing here waits: pages_look() compares the pages with the reported state and reports
 * every change. The shim believes what ranks write only as far as a lie can hurt nobody but
 * their own job.
 */
#ifndef STILLPOINT_SHIM_PAGES_H
#define STILLPOINT_SHIM_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/proto.h"
#include "shim/ranks.h"

#define PAGES_LOOK_NS	200000	/* between two looks while an order is under way */
/* The same, once ranks have long not followed an order to run on; one may be stopped. */
#define PAGES_LOOK_LATE_NS 20000000

struct pages;

/*
 * pages_make() - in init: make the files of a job that starts, owned by the job's owner
 * @ret_dir: the directory's descriptor
 */
int pages_make(const struct ranks *ranks, long long job, uid_t uid, gid_t gid, int *ret_dir);
/*
 * In init, after a restore: open the directory; -ENOENT if the job had no pages. The image of a
 * node holds the pages of all its ranks: pages of ranks that now run elsewhere are removed.
 */
int pages_find(const struct ranks *ranks, long long job, int *ret_dir);
/* In the shim: the same directory in the job's /dev/shm, @shm. A descriptor, or negative errno. */
int pages_find_in(int shm, long long job);
/* Where a rank finds its page. */
void pages_path(long long job, unsigned int rank, char *buf, size_t size);

/* In the shim. @dir stays the caller's; @ranks must outlive the pages. -EBADMSG: wrong files. */
int pages_open(const struct ranks *ranks, int dir, struct pages **ret_pages);
void pages_close(struct pages *pages);	/* NULL is fine */

/* Give all ranks here an order, or targets up to which they go on. -ENOSPC: too many. */
void pages_order(struct pages *pages, uint64_t number, uint32_t intent);
int pages_targets(struct pages *pages, uint64_t number, const struct shim_seq *targets,
		  size_t nr);
/*
 * pages_restart() - have restored ranks load new lower halves, with @envs in their environment
 * @envs: by index, arrays of "NAME=VALUE"; -E2BIG if one does not fit into a page
 */
int pages_restart(struct pages *pages, const json_t *envs);

/* Send a report. 0; -EAGAIN: not now, report it again later; other errors: nobody listens. */
typedef int (*pages_emit_fn)(const struct shim_msg *msg, const void *data, size_t len,
			     void *arg);
/* Report every change. True: an order is under way, look again after pages_pause(). */
bool pages_look(struct pages *pages, pages_emit_fn emit, void *arg);
/* Nanoseconds until the next look. */
long pages_pause(const struct pages *pages);
/* Is any order but STATUS_RUN in force? */
bool pages_held(const struct pages *pages);
/* List what images exclude of silent ranks, from entry @from on. Return the number written. */
size_t pages_exclude(const struct pages *pages, size_t from, struct shim_exclude *out,
		       size_t max);
/* Have the ranks write anew what they are doing. */
void pages_poke(const struct pages *pages);
/* Read what the ranks from @index on wrote. Return the number of entries. */
size_t pages_doing(const struct pages *pages, unsigned int index, struct shim_doing *doing,
		   size_t max);
/*
 * Read the progress of the rank at @index: struct shim_progress and what follows it, once.
 * Return the number of bytes; @buf has room for SHIM_DATA_MAX.
 */
size_t pages_progress(const struct pages *pages, unsigned int index, void *buf);
/* The ring of the rank's thread @tid, which goes on writing it; NULL: it has none. */
struct status_ring;
const struct status_ring *pages_ring(const struct pages *pages, unsigned int index, uint32_t tid);
/* Note that the rank at @index has ended, for whatever reason. */
void pages_over(struct pages *pages, unsigned int index);
/* In init, after the shim has died: let held ranks run on. @dir stays the caller's. */
void pages_release(const struct ranks *ranks, int dir);
/* Describe for people what the rank at @index is doing. */
void pages_wait(const struct pages *pages, unsigned int index, struct shim_wait *ret_wait);

#endif /* STILLPOINT_SHIM_PAGES_H */
