/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libckptctl: checkpoint and restart jobs by asking ckptd.
 *
 *	struct ckpt *c = NULL;
 *	int64_t generation;
 *	int err = ckpt_connect(NULL, &c);
 *
 *	if (!err)
 *		err = ckpt_job_checkpoint(c, 7, 0, &generation);
 *	if (err)
 *		fprintf(stderr, "%s\n", ckpt_error_text(c));
 *	ckpt_disconnect(c);
 *
 * Every function that can fail returns a negative errno and writes its ret_
 * arguments only on success.  -EOPNOTSUPP comes with refusals, and -EBUSY may: they name
 * the obstacles, pid by pid.  Calls block until the daemon has answered.
 * A struct ckpt is one connection: one thread at a time, one call at a time.
 * Strings returned are UTF-8 and valid until the next call on the connection.
 *
 * The library prints nothing, keeps no state of its own but for the table of
 * ckpt_exclude(), and changes no signal disposition.
 */
#ifndef CKPTCTL_H
#define CKPTCTL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CKPT_SOCKET_DEFAULT	"/run/stillpoint/ckptd.sock"

struct ckpt;

/* ------------------------------------------------------------ connection */

/**
 * ckpt_connect() - connect to the daemon of this node
 * @path: its socket; NULL: the environment's CKPTD_SOCKET, or CKPT_SOCKET_DEFAULT
 *
 * Return: 0; -ENOENT or -ECONNREFUSED: no daemon runs; -EAGAIN: the daemon has accepted no
 * connection for 30 seconds, so it may be stopped; other negative errno.
 */
int ckpt_connect(const char *path, struct ckpt **ret_ckpt);
void ckpt_disconnect(struct ckpt *ckpt);	/* NULL is fine */

/**
 * ckpt_set_progress() - set a function that is told the progress of long calls
 * @fn: called from inside the calls, in the caller's thread; NULL: none
 *
 * @total is 0 where it is not known.  @phase is one word.
 */
typedef void (*ckpt_progress_fn)(const char *phase, uint64_t done,
				 uint64_t total, void *arg);
void ckpt_set_progress(struct ckpt *ckpt, ckpt_progress_fn fn, void *arg);

/* ------------------------------------------------------------------ jobs */

#define CKPT_RUN_HOST_NS	(1U << 0)	/* no PID and IPC namespace of its own */
#define CKPT_RUN_TTY		(1U << 1)	/* on a terminal of its own */

/**
 * struct ckpt_run - a job to be started
 * @size: sizeof(struct ckpt_run)
 * @flags: CKPT_RUN_*
 * @argv: command, NULL-terminated; found by PATH of @envp
 * @envp: environment, NULL-terminated; NULL: the caller's
 * @cwd: NULL: the caller's
 * @name: NULL: the command's
 * @in, @out, @err: files for standard input, output and error, absolute paths, opened as
 *	the caller; NULL: /dev/null for input, the job's log for output; @err may be
 *	the same as @out
 */
struct ckpt_run {
	size_t size;
	uint32_t flags;
	uint32_t reserved;
	const char *const *argv;
	const char *const *envp;
	const char *cwd;
	const char *name;
	const char *in;
	const char *out;
	const char *err;
};

/* Start a job as the calling user. */
int ckpt_job_run(struct ckpt *ckpt, const struct ckpt_run *run, int64_t *ret_job);

#define CKPT_CHECKPOINT_KILL	(1U << 0)	/* end the job once the image is complete */
#define CKPT_CHECKPOINT_DRY_RUN	(1U << 1)	/* only say whether it could be done */
#define CKPT_CHECKPOINT_IN_PLACE (1U << 2)	/* stop and copy: frozen until all is read */

/* Take a checkpoint; the job runs on unless told otherwise. */
int ckpt_job_checkpoint(struct ckpt *ckpt, int64_t job, uint32_t flags,
			int64_t *ret_generation);

#define CKPT_AUTO_OFF		(1U << 0)	/* no more automatic checkpoints */

/**
 * struct ckpt_auto - checkpoints that the daemon takes by itself
 * @size: sizeof(struct ckpt_auto)
 * @flags: CKPT_AUTO_*
 * @every_ms: time between two checkpoints; 0: chosen from their cost and the rate of failures
 * @mtbf_ms: mean time between failures of the job; @node_mtbf_ms: of one of its nodes; both 0:
 *	as the daemon is configured
 */
struct ckpt_auto {
	size_t size;
	uint32_t flags;
	uint32_t reserved;
	int64_t every_ms;
	int64_t mtbf_ms;
	int64_t node_mtbf_ms;
};

/* Take automatic checkpoints from now on, also after restarts of the job and of the daemon. */
int ckpt_job_auto(struct ckpt *ckpt, int64_t job, const struct ckpt_auto *how);

#define CKPT_RESTART_ACCEPT_CHANGED (1U << 0)	/* although files were rewritten since */
#define CKPT_RESTART_DRY_RUN	(1U << 1)
#define CKPT_RESTART_NODE_LOST	(1U << 2)	/* a node that ran it is known to be off */

/*
 * Restart a job that does not run; @generation 0: the newest.  A job over several nodes
 * is restarted on the nodes that it was on.
 */
int ckpt_job_restart(struct ckpt *ckpt, int64_t job, int64_t generation,
		     uint32_t flags);

/**
 * struct ckpt_restart_on - how a job is to be restarted
 * @size: sizeof(struct ckpt_restart_on)
 * @flags: CKPT_RESTART_*
 * @generation: 0: the newest
 * @nodes: names, NULL-terminated, this node first; NULL: those that it was on
 * @map: the ranks of each node, "0-3,8", NULL-terminated; NULL: as before if the number of nodes
 *	is the generation's, else even blocks
 * @map_path: pairs of absolute paths, NULL-terminated: what was at the first is now at the second,
 *	a file, or a directory with all below it; NULL: nothing. A caller built before the field was
 *	there has a smaller @size.
 */
struct ckpt_restart_on {
	size_t size;
	uint32_t flags;
	uint32_t reserved;
	int64_t generation;
	const char *const *nodes;
	const char *const *map;
	const char *const *map_path;
};

/* Restart a job that does not run, on other nodes than it was on, or with files elsewhere. */
int ckpt_job_restart_on(struct ckpt *ckpt, int64_t job,
			const struct ckpt_restart_on *restart);

/**
 * ckpt_job_wait() - wait until a job has ended
 * @ret_status: its exit status, 128 + n if signal n ended it
 */
int ckpt_job_wait(struct ckpt *ckpt, int64_t job, int *ret_status);

/* Send a signal to a job's main process. */
int ckpt_job_kill(struct ckpt *ckpt, int64_t job, int signo);

/* Remove even the last generation that a running job could restart from. */
#define CKPT_REMOVE_FORCE	(1U << 0)
#define CKPT_REMOVE_DRY_RUN	(1U << 1)

/* Remove a generation, or with @generation 0 a job that has ended, with all. */
int ckpt_job_remove(struct ckpt *ckpt, int64_t job, int64_t generation,
		    uint32_t flags);

/* Keep a generation until it is unpinned: nothing removes it. @generation 0: the newest. */
int ckpt_job_pin(struct ckpt *ckpt, int64_t job, int64_t generation);
/* Unpin a generation; -ENOENT: it is not pinned. */
int ckpt_job_unpin(struct ckpt *ckpt, int64_t job, int64_t generation);

#define CKPT_PRUNE_DRY_RUN	(1U << 0)

/**
 * struct ckpt_prune - which of a job's generations to keep; 0: no such rule
 * @size: sizeof(struct ckpt_prune)
 * @flags: CKPT_PRUNE_*
 * @keep: number of newest generations that can be restarted from
 * @keep_every: also keep generations whose number is a multiple of it
 * @max_size: bytes; beyond it the oldest go first
 */
struct ckpt_prune {
	size_t size;
	uint32_t flags;
	uint32_t keep;
	uint32_t keep_every;
	uint32_t reserved;
	uint64_t max_size;
};

/*
 * Remove generations that the rules do not keep; never the last one that a job can be restarted
 * from, nor a pinned one. @job 0: all jobs of the caller. @prune NULL: as the daemon is
 * configured. @ret_freed: bytes; may be NULL.
 */
int ckpt_job_prune(struct ckpt *ckpt, int64_t job, const struct ckpt_prune *prune,
		   int64_t *ret_freed);

/* ------------------------------------------------- process trees, images */

/**
 * ckpt_call() - any request the daemon knows, as ckptctl makes them
 * @verb: "ps", "list", "stats", "interval", "dump", ...; see ckptctl(1)
 * @args: a JSON object as text; NULL: {}
 * @fds: descriptors that go with it, which stay the caller's
 *
 * The answer is read with the functions below.
 */
int ckpt_call(struct ckpt *ckpt, const char *verb, const char *args,
	      const int *fds, unsigned int nr_fds);

/* -------------------------------------------------------- the last answer */

/* The whole answer as JSON: {"ok": …, "result": …} or {"ok": …, "error": …}. */
const char *ckpt_answer(const struct ckpt *ckpt);
/* A number or string of the result by name; -ENOENT. */
int ckpt_answer_int(const struct ckpt *ckpt, const char *name, int64_t *ret_number);
int ckpt_answer_string(const struct ckpt *ckpt, const char *name,
		       const char **ret_string);
/* A descriptor that came with the answer (attach); the caller owns it now; -ENOENT. */
int ckpt_answer_fd(struct ckpt *ckpt);

/*
 * The error of the last call, for people; "" if it succeeded.
 * NULL, as after a failed ckpt_connect(), is fine.
 */
const char *ckpt_error_text(const struct ckpt *ckpt);

/**
 * struct ckpt_refusal - one obstacle
 * @size: sizeof(struct ckpt_refusal), set by the caller
 * @code: enum ckpt_reason of <linux/ckpt.h>
 * @name: "FD_SOCKET"; @text and @advice for people; @detail: the object
 * @pid, @tid: 0: none
 * @object: address, descriptor or identifier; 0: none
 */
struct ckpt_refusal {
	size_t size;
	uint32_t code;
	int32_t pid;
	int32_t tid;
	uint32_t reserved;
	uint64_t object;
	const char *name;
	const char *text;
	const char *advice;
	const char *comm;
	const char *detail;
};

unsigned int ckpt_refusal_count(const struct ckpt *ckpt);
/* The @i-th refusal; -ENOENT if there are not so many. */
int ckpt_refusal_get(const struct ckpt *ckpt, unsigned int i,
		    struct ckpt_refusal *ret_refusal);

/* ---------------------------------------------------- memory of a program */

/**
 * ckpt_exclude() - do not save the contents of this memory
 * @addr, @len: a range of the calling process; the whole pages inside it are excluded
 *
 * For programs that want smaller images; no program needs it.  No daemon is asked or has to run.
 * A checkpoint does not save the contents; after a restart the pages are zeros, or, in a private
 * mapping of a file, the file's contents.  The running program keeps its contents.  Shared memory
 * and shared mappings of files are saved all the same.
 *
 * The addresses are excluded, until ckpt_include() or until they are unmapped: data that malloc(3)
 * puts there next is lost as well, so include memory again before it is freed.  A child of fork(2)
 * inherits the exclusion, an executed program does not.  The kernel's core dumps exclude the
 * memory, too (MADV_DONTDUMP).  May be called from several threads, but by only one at a time for
 * one address.
 *
 * Return: 0, also if the range has no whole page; -EINVAL: no range; -ENOMEM: a part is not mapped
 * (nothing is excluded then); -ENOSPC: the process has excluded some four thousand ranges already.
 */
int ckpt_exclude(void *addr, size_t len);

/**
 * ckpt_include() - save the contents of this memory again
 * @addr, @len: a range; every page with a byte in it is included
 *
 * Return: 0, also for memory that was not excluded; -EINVAL; -ENOSPC: no room to note the rest of
 * a range that stays excluded: all of that range is saved.
 */
int ckpt_include(void *addr, size_t len);

/* ------------------------------------------------------------- replicas */

/**
 * ckpt_section_begin() - this program can run in replicas that are compared (ckptctl vote)
 *
 * Call it once, before the first section. Return: 0 or -ENOMEM.
 */
int ckpt_section_begin(void);
/**
 * ckpt_section_end() - the end of a section, at which replicas have the same memory
 *
 * While a vote wants it, the call waits here until all replicas have come. Otherwise it costs two
 * accesses to memory. Call it where all replicas come equally often, from the thread that has
 * called ckpt_section_begin(). Return: 0; -EINVAL: that was not called.
 */
int ckpt_section_end(void);

/**
 * ckpt_discard() - drop contents of memory that are not needed any more
 * @addr, @len: private memory; the whole pages inside it are dropped
 *
 * The pages are given back at once and are zeros when they are touched next; until then
 * they cost no image anything.  For buffers between two uses.
 *
 * Return: 0; -EINVAL; -ENOMEM: a part of the range is not mapped.
 */
int ckpt_discard(void *addr, size_t len);

/* "0.1.0", of the library in use. */
const char *ckpt_library_version(void);

#ifdef __cplusplus
}
#endif

#endif /* CKPTCTL_H */
