/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The page that a rank shares with the shim that started it: orders one way, how far the
 * rank is the other way. A file that the shim makes before the rank starts, named by CKPT_STATUS
 * in the rank's environment and the same path on every node, so that a restart maps
 * the new shim's page where the old one was. It has to be on a tmpfs: who writes to a page of a
 * disk's file may have to wait for the disk.
 *
 * One writer per field, no locks. @order is the shim's: it writes its fields, then raises
 * @serial with release order and wakes its futex. @answer is the rank's, with @change as futex.
 * Between checkpoints the rank writes nothing here: it updates @answer when @serial moves.
 *
 * When is a rank caught up? A reader has to look in this order (acquire), again from the
 * start if anything is not as wanted:
 *   1. @state is STATUS_QUIESCED and @seen is the @serial that told the targets
 *   2. @stragglers is 0, then @in_collective is 0
 *   3. no comms[i].seq is less than targets[i].seq, no met[i] less than met_targets[i]
 *   4. the seqs and met[] once more: if one grew, tell it as a new target and start again
 * The rank writes in the opposite order: @in_collective up, then the seq, then it begins; so
 * a reader that finds 2 and 3 sees every collective that was begun before. (While there are
 * stragglers a seq may be one too high, of a thread that is about to be held. A target that
 * comes of it does no harm.)
 *
 * A communicator is in comms[] from when it is named, so of all its members, those that have begun
 * nothing on it included; or, when a call on it is held, at the latest then. The reader keeps
 * targets of identities that a rank does not list yet, and tells them when it does.
 *
 * Ranks that have no communicator of their own yet (MPI_Comm_create_group, leaders of
 * MPI_Intercomm_create) are counted by pairs: met[i] of rank k and met[k] of rank i are the
 * same once both have caught up. So met_targets[i] of k is met[k] of i. A table of targets that
 * is shared by nodes can have such a count under STATUS_PAIR().
 *
 * Counters of messages are totals since the job began, by rank in MPI_COMM_WORLD; @sent is
 * complete when @state is STATUS_DRAINING, @received grows until all that was sent has come.
 */
#ifndef MPI_GLUE_STATUS_PAGE_H
#define MPI_GLUE_STATUS_PAGE_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define STATUS_MAGIC	0x70536c6c69745373ull
#define STATUS_VERSION	2u
/* An identity that no communicator has, of what ranks @a and @b did together. */
#define STATUS_PAIR(a, b) \
	(1ull << 62 | (uint64_t)((a) < (b) ? (a) : (b)) << 31 | (uint64_t)((a) < (b) ? (b) : (a)))
/*
 * An identity that no communicator has: how often ranks that are held before a collective were let
 * begin it, because somebody else was behind and waited for a message that may come after it.
 */
#define STATUS_STALLS	(1ull << 61)
#define STATUS_PAIR_RANK_MASK ((1ull << 31) - 1)
#define STATUS_NONE	UINT32_MAX	/* no peer, or any */

/* The shim's orders, in the order they follow each other; RUN is possible from each. */
enum status_intent {
	STATUS_RUN,
	STATUS_QUIESCE,		/* say how far collectives are; begin none beyond its target */
	STATUS_DRAIN,		/* start no send; take what is under way */
	STATUS_CUT,		/* leave the lower half alone until RUN */
};

enum status_state {
	STATUS_BEFORE,		/* MPI_Init has not returned */
	STATUS_RUNNING,
	STATUS_QUIESCED,	/* comms[] holds; collectives ask the targets first */
	STATUS_DRAINING,	/* no send starts, sent[] is complete; receives what comes */
	STATUS_SILENT,		/* CUT: no thread has anything of the lower half in hand */
	STATUS_REBUILDING,	/* a restart: new lower half */
	STATUS_REFUSED,		/* @text says why; collectives and sends are not held */
	STATUS_BROKEN,		/* the restart failed; @text */
	STATUS_ENDED,		/* MPI_Finalize was called */
};

/* How a rank that runs on after CUT has to treat its lower half: it changed if @run did. */
enum status_restart {
	STATUS_FORGET,		/* restored without it */
	STATUS_UNLOAD,		/* still there, and to be replaced: tests, migration of one rank */
};

struct status_order {
	uint32_t serial;	/* futex */
	uint32_t intent;
	uint64_t run;
	uint32_t restart;	/* enum status_restart */
	uint32_t pad;
	/*
	 * for the lower half of a restart: NAME=VALUE, or NAME of what must not be there, each
	 * with its 0, at the end an empty one
	 */
	char environment[4096];
};

/* Who has it wait. 2 is taken (SHIM_WAIT_MUTE). */
enum status_held {
	STATUS_HELD = 1,	/* we do, for a checkpoint; 0: the library */
	STATUS_GATHERS = 3,	/* members of the communicator that have not come to this call */
};

/* The wait of a thread of the rank; of several the one that says most (quiesce.c). */
struct status_wait {
	uint32_t writing;	/* odd while it is written */
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
	uint32_t in_collective;	/* threads that began one after it */
	uint32_t world_rank;
	uint32_t nr_comms;	/* entries of comms[] in use, from the start; holes have id 0 */
	uint32_t pending;	/* requests and messages that the cut still waits for */
	struct status_wait wait;
	char text[256];
	/*
	 * Why no checkpoint of this job will be taken any more, "CALL: reason", as soon as the rank
	 * knows; empty: nothing speaks against one yet. Written once, its first byte last.
	 */
	char refusal[256];
};

/* A communicator's collectives, or a group's; id as agreed when it was made. */
struct status_comm {
	uint64_t id;
	uint64_t seq;		/* begun here */
	uint64_t members;	/* how many ranks */
};

struct status_target {
	uint64_t id;		/* of comms[] at this index */
	uint64_t seq;
};

/*
 * What of this process belongs to its lower half, for whoever takes an image without it:
 * descriptors, then threads as gettid() has them. Written before STATUS_SILENT.
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
	uint8_t tables[] __attribute__((aligned(64)));
};

static inline struct status_comm *status_comms(struct status_page *page)
{
	return (struct status_comm *)page->tables;
}

/*
 * A slot gets another communicator while it is read: first it is nobody's.  Who reads the
 * identity once more after the rest knows that all of it was of one.
 */
static inline void status_comm_write(struct status_comm *comm, uint64_t id, uint64_t members,
				     uint64_t seq)
{
	if (comm->id != id) {
		__atomic_store_n(&comm->id, 0, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		comm->members = members;
	}
	__atomic_store_n(&comm->seq, seq, __ATOMIC_RELEASE);
	__atomic_store_n(&comm->id, id, __ATOMIC_RELEASE);
}

/* False: it is nobody's, or changes. */
static inline bool status_comm_read(const struct status_comm *comm, struct status_comm *ret_comm)
{
	ret_comm->id = __atomic_load_n(&comm->id, __ATOMIC_ACQUIRE);
	ret_comm->seq = __atomic_load_n(&comm->seq, __ATOMIC_ACQUIRE);
	ret_comm->members = __atomic_load_n(&comm->members, __ATOMIC_ACQUIRE);
	return ret_comm->id && __atomic_load_n(&comm->id, __ATOMIC_ACQUIRE) == ret_comm->id;
}

static inline struct status_target *status_targets(struct status_page *page)
{
	return (struct status_target *)(status_comms(page) + page->max_comms);
}

static inline uint64_t *status_sent(struct status_page *page)
{
	return (uint64_t *)(status_targets(page) + page->max_comms);
}

static inline uint64_t *status_received(struct status_page *page)
{
	return status_sent(page) + page->nr_ranks;
}

/* Meetings begun with each rank, and as many as the reader knows that rank has begun. */
static inline uint64_t *status_met(struct status_page *page)
{
	return status_received(page) + page->nr_ranks;
}

static inline uint64_t *status_met_targets(struct status_page *page)
{
	return status_met(page) + page->nr_ranks;
}

/* Communicators' identities never have these two bits so. */
static inline int status_is_pair(uint64_t id)
{
	return id >> 62 == 1;
}

static inline struct status_lower *status_lower(struct status_page *page)
{
	return (struct status_lower *)(status_met_targets(page) + page->nr_ranks);
}

static inline size_t status_size(uint32_t nr_ranks, uint32_t max_comms)
{
	return sizeof(struct status_page) +
	       max_comms * (sizeof(struct status_comm) + sizeof(struct status_target)) +
	       nr_ranks * 4 * sizeof(uint64_t) + sizeof(struct status_lower) +
	       status_lower_max(nr_ranks) * sizeof(int32_t);
}

#endif
