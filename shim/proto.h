/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages on a shim's socket (SOCK_SEQPACKET, jobs/ID/shim.sock, root only).
 *
 * Each request is one message, and is answered by one message of the same type
 * whose value is 0 or a negative errno.  After ATTACH the connection is a user's
 * terminal: it may only send INPUT, INPUT_END, WINDOW and SIGNAL (none of them
 * answered), and is sent OUTPUT and, at the end, EXITED.  So root can open a
 * connection, send ATTACH and hand it to a user.
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
	/*
	 * number: the place to begin at, first 0; answer: data struct shim_end[], as many
	 * descriptors; value: the place to go on at, 0: that was all
	 */
	SHIM_EXTERNALS = 2,
	SHIM_DRAIN = 3,		/* read the job's output; answer: data struct shim_logs */
	SHIM_SIGNAL = 4,	/* number: signal for the main process */
	SHIM_ATTACH = 5,	/* number: bytes of earlier output wanted, per stream; ~0: all */
	SHIM_INPUT = 6,		/* data */
	SHIM_INPUT_END = 7,
	SHIM_WINDOW = 8,	/* number: rows << 16 | columns */
	SHIM_OUTPUT = 9,	/* value: 1 or 2; data */
	SHIM_EXITED = 10,	/* value: as of waitpid(2) */
	/* number: first index; answer: data struct shim_rank[], to the last, or as many as fit */
	SHIM_RANKS = 11,
	/* End the ranks here. number: exit status of the job; data: text for the user */
	SHIM_ABORT = 12,
	/*
	 * From init: number: index of the rank, value: as of waitpid(2). To init: the shim has
	 * handled the ends of all ranks.
	 */
	SHIM_RANK_ENDED = 13,
	/*
	 * Fences over nodes (pm.h), between the shim and ckptd, which sent FENCES once on
	 * its connection.  Blocks go in pieces; value 1: more follow.  A fence that is
	 * not done is sent again to a new ckptd.
	 */
	SHIM_FENCES = 14,
	SHIM_FENCE = 15,	/* from the shim; number of the fence, from 1; data */
	/*
	 * To the shim: number of the fence; data: the blocks of all nodes. From the shim, to a
	 * new ckptd and before all else: the last answer that it got.
	 */
	SHIM_FENCE_DONE = 16,
	/*
	 * Quiesce of MPI ranks, between ckptd, which sent WATCH once on its connection, and
	 * the ranks' status pages (pages.h). Orders are not answered: reports follow, each
	 * when it has become true. When the connection ends, the ranks run on.
	 */
	SHIM_WATCH = 17,	/* number: of the first order to come */
	SHIM_ORDER = 18,	/* to the shim; number: ascending; value: enum status_intent */
	/* To the shim, while quiesced; number: ascending; data struct shim_seq[] */
	SHIM_TARGETS = 19,
	/* data struct shim_seq[]: the last collectives that ranks here have begun, if raised */
	SHIM_BEGUN = 20,
	/*
	 * value 0: sent, 1: received; data struct shim_count[]: in each drain first all counts,
	 * then those that have grown
	 */
	SHIM_COUNTS = 21,
	/* number: order; value: the enum status_state that all ranks here have reached */
	SHIM_REACHED = 22,
	SHIM_CAUGHT_UP = 23,	/* number: of the targets that all ranks here have reached */
	/* data struct shim_wait: the first rank that has not reached the order's state */
	SHIM_STUCK = 24,
	/* number: order; value: enum status_state; data struct shim_failure */
	SHIM_RANK_FAILED = 25,
	SHIM_PAGES = 26,	/* from init, with a descriptor of the pages' directory */
	/*
	 * Ask what the MPI ranks are doing. number: first index; ~0: have the ranks write it
	 * anew. answer: data struct shim_doing[]; -EOPNOTSUPP without pages
	 */
	SHIM_DOING = 28,
	/*
	 * The progress of one rank, which it writes at all times. number: its index; value of the
	 * answer: how many ranks are here; data: struct shim_progress, then what it announces.
	 * -EOPNOTSUPP without pages, -ENOENT: no rank has that index
	 */
	SHIM_PROGRESS = 42,
	/*
	 * The last calls of one thread of a rank. number: index of the rank, and in its upper half
	 * tid of struct status_thread; answer: data struct status_ring; -ENOENT: it has no ring
	 */
	SHIM_RING = 43,
	/* number: how many entries the client has; answer: data struct shim_exclude[] */
	SHIM_EXCLUDE = 29,
	/*
	 * To the client that sent FENCES; number: a signal that a terminal has sent, for the
	 * other nodes.
	 */
	SHIM_SIGNALLED = 40,
	/*
	 * To the shim of a job's home (ranks on several nodes), which stays until it gets this:
	 * all nodes' ranks have ended, and their output is in the logs; value: the job's status,
	 * as of waitpid(2). Not answered.
	 */
	SHIM_OVER = 41,
	/*
	 * The job stands still, and all its output was read: cut a log. number: its new length
	 * << 1 | 0: standard output, or 1: error. -EINVAL: it is shorter; -EBUSY: not all of it
	 * is written
	 */
	SHIM_CUT = 44,
	/* The ranks were rolled back: serve them anew; with a descriptor of the job's /dev/shm */
	SHIM_RENEW = 45,
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
	int32_t ended;		/* 1: the job has ended, @status is valid */
	int32_t status;
	uint32_t attached;	/* number of terminals */
	int32_t failed;		/* index of the first rank that failed; -1: none has */
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

/* The number of a collective on a communicator; the ranks have agreed on @id. */
struct shim_seq {
	uint64_t id;
	uint64_t seq;
};

/* Number of messages since the job began between two ranks, one of them on another node. */
struct shim_count {
	uint32_t source;
	uint32_t dest;
	uint64_t count;
};

#define SHIM_WAIT_MUTE	2u	/* the rank has not even seen the order */

/* The call, and the peer in it, that a rank waits for. */
struct shim_wait {
	uint32_t rank;
	uint32_t peer;		/* ~0: any, or none */
	uint32_t call;		/* row of mpi_calls.def */
	uint32_t held;		/* held by the glue, not by the library; or SHIM_WAIT_MUTE */
	uint64_t comm;
	uint64_t seq;
	char name[32];		/* of the call; empty: outside MPI */
};

struct shim_doing {
	uint32_t state;		/* enum status_state */
	uint32_t fresh;		/* written since ranks were asked last */
	struct shim_wait wait;
};

/* Followed by nr_threads struct status_thread and nr_comms struct status_comm (status_page.h). */
struct shim_progress {
	uint32_t rank;
	uint32_t state;		/* enum status_state */
	uint32_t intent;	/* enum status_intent of the last order */
	uint32_t mpi;		/* enum ranks_mpi: whose calls are numbered */
	uint32_t nr_threads;	/* 0: its process has ended, or MPI_Init has not returned */
	uint32_t nr_comms;
};

struct shim_failure {
	uint32_t rank;
	char text[256];		/* a sentence that does not name the rank */
};

#define SHIM_LEAVE_PROCESS	0u	/* owner of the entries up to the next process */
#define SHIM_LEAVE_FD		1u
#define SHIM_LEAVE_THREAD	2u

/* An object of a rank's lower half (mpi-glue/lower/lower.h), which images exclude. */
struct shim_exclude {
	uint32_t index;
	uint32_t kind;		/* SHIM_LEAVE_* */
	int64_t number;		/* descriptor; or pid or tid in the job's PID namespace */
};

/* Bytes in the logs of standard output (or the terminal) and error. */
struct shim_logs {
	uint64_t out;
	uint64_t err;
};

/*
 * Return a new non-blocking connection, or a negative errno.  Never waits: a stopped
 * shim must not block its caller.
 */
int shim_connect(const char *path);

/* 0 or negative errno; -EAGAIN on a non-blocking socket that is full. */
int shim_send(int sock, const struct shim_msg *msg, const void *data, size_t len,
	      const int *fds, unsigned int nr_fds);

/*
 * shim_receive() - one message
 * @data: room for @size bytes; longer messages are -EMSGSIZE
 * @ret_fds: room for SHIM_FDS_MAX; NULL: descriptors are closed
 *
 * Return: bytes of data; -EPIPE at the end; -EPROTO; other negative errno.
 */
int shim_receive(int sock, struct shim_msg *ret_msg, void *data, size_t size,
		 int *ret_fds, unsigned int *ret_nr_fds);

/*
 * Ask and wait for the answer, 10 s at most (-ETIMEDOUT). Return the answer's bytes of data,
 * or its value if that is negative.
 */
int shim_ask(int sock, enum shim_msg_type type, uint64_t number,
	     struct shim_msg *ret_msg, void *data, size_t size, int *ret_fds,
	     unsigned int *ret_nr_fds);
/* As shim_ask(), with a descriptor; the answer has no data. 0 or negative errno. */
int shim_ask_with(int sock, enum shim_msg_type type, int fd);

#endif /* STILLPOINT_SHIM_PROTO_H */
