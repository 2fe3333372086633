/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Restore of a job's processes on this node from images: all processes, or this node's part of a
 * job over several nodes (parts.h), by the job's record. The processes may have been on other
 * nodes when the generation was taken. The caller decides what becomes of the job afterwards.
 *
 * The options @how are JSON, because they travel between nodes:
 *
 *	{"generation": N, "accept_changed": bool, "any_rights": bool, "files": "keep" |
 *	 "track" | "carry" | "ignore" (optional), "dry_run": bool,
 *	 "asker": who asks, as of op_asker.h, unless "any_rights" says that root does,
 *	 "map_path": as of op_restore() (optional),
 *	 "env": as of shim/ranks.h (optional),
 *	 "hold": bool (optional), "rollback" and "reread": bool (optional),
 *	 "given" and "wanted": [hash, ...] and "ask": bool (optional), as of op_restore(), for a
 *	 part that is restored from one image, and held, "links" and "links_only": the same}
 *
 * With "hold" the processes are held when all is ready: files are put back, and nothing runs yet,
 * until job_restore_answer().
 *
 * With "reread" a rollback writes all memory anew; so it does for a job whose memory is in doubt.
 * With "rollback" the job's running processes are given the generation's state in place, if that
 * is possible: the outcome is that of op_rollback(), or has "unknown" in its result: the tree may
 * be ending, or run as before. Only a job on one node, without ranks, and with namespaces of its
 * own, may be asked for.
 */
#ifndef STILLPOINT_JOB_RESTORE_H
#define STILLPOINT_JOB_RESTORE_H

#include <jansson.h>

#include "supervisor/job/jobs.h"

struct job_restore_ops {
	void (*progress)(json_t *progress, void *arg);	/* or NULL */
	/*
	 * The manifests are those of this job and generation; the shim starts next. Return: NULL,
	 * or an outcome (a new reference) that ends the restore as failed. May be NULL.
	 */
	json_t *(*checked)(void *arg);
	/*
	 * With "hold": the processes are ready; twice, if job_restore_looks() the first time. May
	 * be NULL otherwise.
	 */
	void (*held)(void *arg);
	/* Called once, last; takes over @outcome. Ok: the processes run; job_take() is next. */
	void (*ended)(json_t *outcome, void *arg);
};

/*
 * job_restore_start() - read the manifest in a worker, then have a shim restore
 * @attach: the shim's end of a terminal's connection, taken over; -1: none
 * @confines: as of launch_start(); lives until ops->ended()
 *
 * With dry_run nothing is started: the outcome tells whether the restore would succeed.
 * Return: 0: ops->ended() will be called; negative errno: it will not.
 */
int job_restore_start(struct job *job, const json_t *how, int attach,
		      const struct confines *confines,
		      const struct job_restore_ops *ops, void *arg);

/*
 * job_restore_answer() - end the hold of @job's restore: its processes run, or (@go false) the
 * restore fails, and takes everything back. ops->ended() follows. Nothing, where none is held.
 */
void job_restore_answer(struct job *job, bool go);
/*
 * True if the processes are held before a look at files that other nodes have put back. After the
 * answer they are held once more.
 */
bool job_restore_looks(const struct job *job);
/*
 * True while @job's init must not be killed: it is held, looks at files, or was answered
 * and may still take files back, for a minute at most.
 */
bool job_restore_is_busy(const struct job *job);

/* Add the figures of one op_restore() to @sum; of "total_ns" the longest is kept. */
void job_restore_add_figures(json_t *sum, const json_t *figures);

#endif /* STILLPOINT_JOB_RESTORE_H */
