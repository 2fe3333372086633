/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The page that a rank shares with the shim that started it: the shim writes orders, the rank
 * writes how far it is. The page is a file that the shim makes before the rank starts, named by
 * CKPT_STATUS in the rank's environment. Its path is the same on every node, so that a restart
 * maps the new shim's page where the old one was. The file has to be on a tmpfs: a writer to a
 * page of a disk's file may have to wait for the disk.
 *
 * One writer per field, no locks. @order is the shim's: it writes its fields, then raises
 * @serial with release order and wakes its futex. @answer is the rank's, with @change as futex.
 * Between checkpoints the rank updates @answer only when @serial moves.
 *
 * Progress is written at all times, and no checkpoint depends on it: status_progress.h.
 *
 * When has a rank caught up? A reader has to look in this order (acquire), and start again if a
 * condition does not hold:
 *   1. @state is STATUS_QUIESCED and @seen is the @serial that told the targets
 *   2. @stragglers is 0, then @in_collective is 0
 *   3. no comms[i].seq is less than targets[i].seq, no met[i] less than met_targets[i]
 *   4. the seqs and met[] once more: if one grew, publish it as a new target and start again
 * The rank writes in the opposite order: it raises @in_collective, then the seq, then begins; so
 * a reader that finds 2 and 3 sees every collective that was begun before. (While there are
 * stragglers a seq may be one too high, raised by a thread that is about to be held. A target
 * taken from such a seq does no harm.)
 *
 * A communicator is in comms[] of every member from when its identity is agreed, also of members
 * that have begun nothing on it; at the latest when a call on it is held. The reader keeps the
 * targets of identities that a rank does not list yet, and tells them when the rank does.
 *
 * Ranks that have no communicator of their own yet (MPI_Comm_create_group, leaders of
 * MPI_Intercomm_create) are counted by pairs: met[i] of rank k and met[k] of rank i are the
 * same once both have caught up. So met_targets[i] of k is met[k] of i. A table of targets that
 * several nodes share can have such a count under STATUS_PAIR().
 *
 * Counters of messages are totals since the job began, by rank in MPI_COMM_WORLD; @sent is
 * complete when @state is STATUS_DRAINING, @received grows until all that was sent has come.
 */
#ifndef MPI_GLUE_STATUS_PAGE_H
#define MPI_GLUE_STATUS_PAGE_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi-glue/status_progress.h"

#define STATUS_MAGIC	0x70536c6c69745373ull
#define STATUS_VERSION	4u
/* Identity, of no communicator, that counts the meetings of ranks @a and @b. */
#define STATUS_PAIR(a, b) \
	(1ull << 62 | (uint64_t)((a) < (b) ? (a) : (b)) << 31 | (uint64_t)((a) < (b) ? (b) : (a)))
/*
 * Identity, of no communicator, that counts how often ranks held before a collective were allowed
 * to begin it, as another rank was behind and waited for a message that may come after it.
 */
#define STATUS_STALLS	(1ull << 61)
#define STATUS_PAIR_RANK_MASK ((1ull << 31) - 1)
#define STATUS_NONE	UINT32_MAX	/* no peer, or any */

/* The shim's orders, in the order they follow each other; RUN is possible from each. */
enum status_intent {
	STATUS_RUN,
	STATUS_QUIESCE,		/* say how far collectives are; begin none beyond its target */
	STATUS_DRAIN,		/* start no send; receive the messages under way */
	STATUS_CUT,		/* leave the lower half alone until RUN */
};

enum status_state {
	STATUS_BEFORE,		/* MPI_Init has not returned */
	STATUS_RUNNING,
	STATUS_QUIESCED,	/* comms[] holds; collectives ask the targets first */
	STATUS_DRAINING,	/* no send starts, sent[] is complete; messages are received */
	STATUS_SILENT,		/* CUT: no thread holds anything of the lower half */
	STATUS_REBUILDING,	/* a restart: new lower half */
	STATUS_REFUSED,		/* @text says why; collectives and sends are not held */
	STATUS_BROKEN,		/* the restart failed; @text */
	STATUS_ENDED,		/* MPI_Finalize was called */
};

/* How a rank that runs on after CUT treats its lower half, which changed if @run did. */
enum status_restart {
	STATUS_FORGET,		/* the rank was restored without its lower half */
	STATUS_UNLOAD,		/* it is there, to be replaced: tests, migration of one rank */
};

struct status_order {
	uint32_t serial;	/* futex */
	uint32_t intent;
	uint64_t run;
	uint32_t restart;	/* enum status_restart */
	uint32_t pad;
	/*
	 * for the lower half of a restart: strings NAME=VALUE (set it) or NAME (unset it), each
	 * with its 0; an empty string ends them
	 */
	char environment[4096];
};

/* Cause of a thread's wait; 0: the library. 2 is taken (SHIM_WAIT_MUTE). */
enum status_held {
	STATUS_HELD = 1,	/* Stillpoint, for a checkpoint */
	STATUS_GATHERS = 3,	/* members of the communicator that have not come to this call */
};

/* The wait of one thread of the rank: the one that says most (quiesce.c). */
struct status_wait {
	uint32_t writing;	/* odd while this struct is written */
	uint16_t call;		/* row of mpi_calls.def; name in @name */
	uint16_t held;		/* enum status_held */
	uint32_t peer;		/* in MPI_COMM_WORLD, STATUS_NONE */
	int32_t tag;
	uint64_t comm;
	uint64_t seq;
	char name[32];
};

struct status_answer {
	uint32_t change;	/* futex */
	uint32_t seen;		/* @serial that this answers */
	uint32_t state;
	uint32_t stragglers;	/* threads still in a call that they began before the order */
	uint32_t in_collective;	/* threads in a collective that they began after the order */
	uint32_t world_rank;
	uint32_t nr_comms;	/* entries of comms[] in use, from the start; holes have id 0 */
	uint32_t pending;	/* requests and messages that the cut still waits for */
	struct status_wait wait;
	char text[256];
	/*
	 * Why no checkpoint of this job will be taken any more, "CALL: reason", as soon as the rank
	 * knows; empty: checkpoints are possible so far. Written once, its first byte last.
	 */
	char refusal[256];
};

struct status_target {
	uint64_t id;		/* of comms[] at this index */
	uint64_t seq;
};

/*
 * Descriptors of this process that belong to its lower half, then threads (as gettid() returns),
 * so that an image can be taken without them. Written before STATUS_SILENT.
 */
struct status_lower {
	int32_t pid;		/* of the rank's process that called MPI_Init */
	uint32_t nr_fds;
	uint32_t nr_threads;
	int32_t item[];		/* status_lower_max() */
};

/* With TCP a rank may have a connection to each other one, on each of several networks. */
static inline uint32_t status_lower_max(uint32_t nr_ranks)
{
	return 1021 + 4 * nr_ranks;
}

/**
 * struct status_page - the mapping; offsets because its tables vary
 * @magic, @version, @nr_ranks, @max_comms: the shim's, before the rank starts
 */
struct status_page {
	uint64_t magic;
	uint32_t version;
	uint32_t nr_ranks;
	uint32_t max_comms;
	uint32_t pad;
	struct status_order order __attribute__((aligned(64)));
	struct status_answer answer __attribute__((aligned(64)));
	struct status_thread thread[STATUS_THREADS] __attribute__((aligned(64)));
	uint8_t tables[] __attribute__((aligned(64)));
};

static inline struct status_comm *status_comms(struct status_page *page)
{
	return (struct status_comm *)page->tables;
}

static inline struct status_target *status_targets(struct status_page *page)
{
	return (struct status_target *)(status_comms(page) + page->max_comms);
}

/* As comms[], with the same slots, but always up to date. */
static inline struct status_comm *status_shown(struct status_page *page)
{
	return (struct status_comm *)(status_targets(page) + page->max_comms);
}

static inline uint64_t *status_sent(struct status_page *page)
{
	return (uint64_t *)(status_shown(page) + page->max_comms);
}

static inline uint64_t *status_received(struct status_page *page)
{
	return status_sent(page) + page->nr_ranks;
}

/* Meetings begun with each rank; met_targets: as many as that rank is known to have begun. */
static inline uint64_t *status_met(struct status_page *page)
{
	return status_received(page) + page->nr_ranks;
}

static inline uint64_t *status_met_targets(struct status_page *page)
{
	return status_met(page) + page->nr_ranks;
}

/* An identity of a communicator never has these two top bits. */
static inline int status_is_pair(uint64_t id)
{
	return id >> 62 == 1;
}

static inline struct status_lower *status_lower(struct status_page *page)
{
	return (struct status_lower *)(status_met_targets(page) + page->nr_ranks);
}

/* Offset of the rings, the last part of the page: those after the first are rarely touched. */
static inline size_t status_rings_at(uint32_t nr_ranks, uint32_t max_comms)
{
	size_t end = sizeof(struct status_page) +
		     max_comms * (2 * sizeof(struct status_comm) + sizeof(struct status_target)) +
		     nr_ranks * 4 * sizeof(uint64_t) + sizeof(struct status_lower) +
		     status_lower_max(nr_ranks) * sizeof(int32_t);

	return (end + 63) & ~(size_t)63;
}

/* The rings, by index of thread[]; STATUS_RINGS of them. */
static inline struct status_ring *status_rings(struct status_page *page)
{
	return (struct status_ring *)((char *)page +
				      status_rings_at(page->nr_ranks, page->max_comms));
}

static inline size_t status_size(uint32_t nr_ranks, uint32_t max_comms)
{
	return status_rings_at(nr_ranks, max_comms) + STATUS_RINGS * sizeof(struct status_ring);
}

#endif
