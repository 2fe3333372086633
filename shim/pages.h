/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Status pages of the ranks of this node, from the shim's side: orders into them, and
 * what has become of those as messages for ckptd (proto.h, SHIM_ORDER to SHIM_EXCLUDE).
 *
 * The layout, and the order in which a page may be believed, is the glue's
 * (mpi-glue/status_page.h). Init makes the files in the job's own /dev/shm, so they are
 * part of every image and are at their places after a restart; the shim maps them through a
 * descriptor of their directory that init hands over.
 *
 * Everything here is looked at, not waited for: pages_look() compares the pages with what was
 * reported and reports what is new. What ranks write is believed as far as it hurts nobody
 * but their own job.
 */
#ifndef STILLPOINT_SHIM_PAGES_H
#define STILLPOINT_SHIM_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/proto.h"
#include "shim/ranks.h"

#define PAGES_LOOK_NS	200000	/* between two looks while an order is under way */
#define PAGES_LOOK_LATE_NS 20000000	/* ... to run on, for a rank that has not for long: stopped, maybe */

struct pages;

/*
 * pages_make() - in init: the files of a job that starts, as its owner's
 * @ret_dir: the directory's descriptor
 */
int pages_make(const struct ranks *ranks, long long job, uid_t uid, gid_t gid, int *ret_dir);
/*
 * In init, after a restore: -ENOENT if the job had none. Those of ranks that went elsewhere, which
 * are in the image of the node that they were on, are removed.
 */
int pages_find(const struct ranks *ranks, long long job, int *ret_dir);
/* Where a rank finds its page. */
void pages_path(long long job, unsigned int rank, char *buf, size_t size);

/* In the shim. @dir stays the caller's; @ranks must outlive it. -EBADMSG: not ours. */
int pages_open(const struct ranks *ranks, int dir, struct pages **ret_pages);
void pages_close(struct pages *pages);	/* NULL is fine */

/* An order to all ranks here, or targets that they may go on to. -ENOSPC: too many. */
void pages_order(struct pages *pages, uint64_t number, uint32_t intent);
int pages_targets(struct pages *pages, uint64_t number, const struct shim_seq *targets,
		  size_t nr);
/*
 * pages_restart() - the ranks were restored: new lower halves, with this in their environment
 * @envs: by index, arrays of "NAME=VALUE"; -E2BIG if that is longer than a page has room for
 */
int pages_restart(struct pages *pages, const json_t *envs);

/* 0, -EAGAIN: not now, it will be said again; others: nobody listens. */
typedef int (*pages_emit_fn)(const struct shim_msg *msg, const void *data, size_t len,
			     void *arg);
/* Report what is new. True: something is under way, look again soon. */
bool pages_look(struct pages *pages, pages_emit_fn emit, void *arg);
/* Nanoseconds until then. */
long pages_pause(const struct pages *pages);
/* Is any order but STATUS_RUN in force? */
bool pages_held(const struct pages *pages);
/* What silent ranks have that is in no image; how many are written, of those from number @from on. */
size_t pages_exclude(const struct pages *pages, size_t from, struct shim_exclude *out,
		       size_t max);
/* Have the ranks say anew what they are doing. */
void pages_poke(const struct pages *pages);
/* What they said, from @index on; how many are written. */
size_t pages_doing(const struct pages *pages, unsigned int index, struct shim_doing *doing,
		   size_t max);
/* The rank at @index has ended, however. */
void pages_over(struct pages *pages, unsigned int index);
/* In init, whose shim has died: held ranks run on. @dir stays the caller's. */
void pages_release(const struct ranks *ranks, int dir);
/* What each rank is doing, for people: one of this node's ranks, by index. */
void pages_wait(const struct pages *pages, unsigned int index, struct shim_wait *ret_wait);

#endif /* STILLPOINT_SHIM_PAGES_H */
