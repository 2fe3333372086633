/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages on a shim's socket (SOCK_SEQPACKET, jobs/ID/shim.sock, root only).
 *
 * A connection asks, one message each, and gets one message of the same type
 * back whose value is 0 or a negative errno, until it sends ATTACH; from then
 * on it is somebody's terminal, may only send INPUT, INPUT_END, WINDOW and
 * SIGNAL (none of them answered), and is sent OUTPUT and, at the end, EXITED.  So a
 * connection can be handed to a user by whoever may open it, after ATTACH.
 * A connection that is not attached is sent EXITED, too.
 */
#ifndef STILLPOINT_SHIM_PROTO_H
#define STILLPOINT_SHIM_PROTO_H

#include <stddef.h>
#include <stdint.h>

#define SHIM_DATA_MAX	32768
#define SHIM_FDS_MAX	64

enum shim_msg_type {
	SHIM_STATUS = 1,	/* answer: data struct shim_status */
	SHIM_EXTERNALS = 2,	/* number: from where, first 0; answer: data struct shim_end[], as many
				 * descriptors; value: from where there may be more, 0: nowhere */
	SHIM_DRAIN = 3,		/* read what the job has written; answer: data struct shim_logs */
	SHIM_SIGNAL = 4,	/* number: signal for the main process */
	SHIM_ATTACH = 5,	/* number: bytes of earlier output wanted, per stream; ~0: all */
	SHIM_INPUT = 6,		/* data */
	SHIM_INPUT_END = 7,
	SHIM_WINDOW = 8,	/* number: rows << 16 | columns */
	SHIM_OUTPUT = 9,	/* value: 1 or 2; data */
	SHIM_EXITED = 10,	/* value: as of waitpid(2) */
	SHIM_RANKS = 11,	/* number: first index; answer: data struct shim_rank[], to the end or as fit */
	SHIM_ABORT = 12,	/* number: exit status of the job, whose ranks here are ended; data: text for the user */
	SHIM_RANK_ENDED = 13,	/* of init: number: index, value: as of waitpid(2); to it: all have */
	/*
	 * Fences over nodes (pm.h), between the shim and ckptd, who said FENCES once on
	 * its connection.  Blocks go in pieces; value 1: more follow.  A fence that is
	 * not done is sent again to a ckptd that comes anew.
	 */
	SHIM_FENCES = 14,
	SHIM_FENCE = 15,	/* from the shim; number: which, from 1; data */
	SHIM_FENCE_DONE = 16,	/* to the shim, the same; data of all nodes. From it, to a ckptd
				 * that comes anew and before all else: the last it got */
	/*
	 * Quiesce of MPI ranks, between ckptd, who said WATCH once on its connection, and
	 * the ranks' status pages (pages.h). Orders are not answered: reports follow, each
	 * when it has become true. When the connection ends, the ranks run on.
	 */
	SHIM_WATCH = 17,	/* number: of the first order to come */
	SHIM_ORDER = 18,	/* to the shim; number: ascending; value: enum status_intent */
	SHIM_TARGETS = 19,	/* to the shim, while quiesced; number as above; data struct shim_seq[] */
	SHIM_BEGUN = 20,	/* data struct shim_seq[]: how far ranks here are, if raised */
	SHIM_COUNTS = 21,	/* value 0: sent, 1: received; data struct shim_count[]: all in
				 * each drain, then what has grown */
	SHIM_REACHED = 22,	/* number: order; value: enum status_state that all ranks here have */
	SHIM_CAUGHT_UP = 23,	/* number: of the targets that nobody here is behind of */
	SHIM_STUCK = 24,	/* data struct shim_wait: the lowest rank that is not there */
	SHIM_RANK_FAILED = 25,	/* number: order; value: enum status_state; data struct shim_failure */
	SHIM_PAGES = 26,	/* of init, with the directory of the pages */
	/*
	 * What the MPI ranks are doing. number: first index; ~0: they shall say it anew.
	 * answer: data struct shim_doing[]; -EOPNOTSUPP without pages
	 */
	SHIM_DOING = 28,
	SHIM_EXCLUDE = 29,	/* number: how many of them are known; answer: data struct shim_exclude[] */
	/* To who said FENCES; number: a signal that a terminal has sent, for the other nodes. */
	SHIM_SIGNALLED = 40,
	/*
	 * To the shim of a job's home (ranks on several nodes), which stays until then: all nodes'
	 * ranks have ended, and their output is in the logs; value: the job's status, as of
	 * waitpid(2). Not answered.
	 */
	SHIM_OVER = 41,
};

/*
 * An end of the job's standard streams that the shim holds: "tty", "stdin",
 * "stdout", "stderr", and of ranks with labels "stdout:RANK", "stderr:RANK".
 */
struct shim_end {
	char name[32];
};

struct shim_msg {
	uint32_t type;
	int32_t value;
	uint64_t number;
};

struct shim_status {
	int32_t main_pid;	/* in the job's PID namespace */
	int32_t ended;		/* 1: value is the status */
	int32_t status;
	uint32_t attached;	/* number of terminals */
	int32_t failed;		/* of ranks, the index of the first that failed; -1: none has */
};

enum shim_rank_state {
	SHIM_RANK_RUNS,
	SHIM_RANK_OVER,		/* status is valid */
};

struct shim_rank {
	uint32_t rank;
	int32_t pid;		/* in the job's PID namespace */
	uint32_t state;
	int32_t status;		/* as of waitpid(2) */
};

/* Collectives on a communicator; id as the ranks have agreed. */
struct shim_seq {
	uint64_t id;
	uint64_t seq;
};

/* Messages between two ranks since the job began, of which one is on another node. */
struct shim_count {
	uint32_t source;
	uint32_t dest;
	uint64_t count;
};

#define SHIM_WAIT_MUTE	2u	/* it has not even seen the order */

struct shim_wait {
	uint32_t rank;
	uint32_t peer;		/* ~0: any, or none */
	uint32_t call;		/* row of mpi_calls.def */
	uint32_t held;		/* by us, not by the library; or SHIM_WAIT_MUTE */
	uint64_t comm;
	uint64_t seq;
	char name[32];		/* of the call; empty: outside MPI */
};

struct shim_doing {
	uint32_t state;		/* enum status_state */
	uint32_t fresh;		/* said since it was asked for last */
	struct shim_wait wait;
};

struct shim_failure {
	uint32_t rank;
	char text[256];		/* a sentence without its rank */
};

#define SHIM_LEAVE_PROCESS	0u	/* whose the following are, up to the next of these */
#define SHIM_LEAVE_FD		1u
#define SHIM_LEAVE_THREAD	2u

/* What no image has of a rank: its lower half (mpi-glue/lower/lower.h). */
struct shim_exclude {
	uint32_t index;
	uint32_t kind;		/* SHIM_LEAVE_* */
	int64_t number;		/* descriptor; process or thread in the job's PID namespace */
};

/* Bytes in the logs of standard output (or the terminal) and error. */
struct shim_logs {
	uint64_t out;
	uint64_t err;
};

/*
 * A new non-blocking connection; negative errno.  Never waits: a shim that has
 * been stopped must not stop us.
 */
int shim_connect(const char *path);

/* 0 or negative errno; -EAGAIN on a non-blocking socket that is full. */
int shim_send(int sock, const struct shim_msg *msg, const void *data, size_t len,
	      const int *fds, unsigned int nr_fds);

/*
 * shim_receive() - one message
 * @data: room for @size bytes; longer ones are -EMSGSIZE
 * @ret_fds: room for SHIM_FDS_MAX; NULL: descriptors are closed
 *
 * Return: bytes of data; -EPIPE at the end; -EPROTO; other negative errno.
 */
int shim_receive(int sock, struct shim_msg *ret_msg, void *data, size_t size,
		 int *ret_fds, unsigned int *ret_nr_fds);

/*
 * Ask and wait for the answer, some seconds at most (-ETIMEDOUT); its value if that is
 * negative. Returns bytes.
 */
int shim_ask(int sock, enum shim_msg_type type, uint64_t number,
	     struct shim_msg *ret_msg, void *data, size_t size, int *ret_fds,
	     unsigned int *ret_nr_fds);

#endif /* STILLPOINT_SHIM_PROTO_H */
