/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a phase of I/O was slower than phases like it, and why. Pure: no I/O, no clock.
 *
 * Phases of one *group* are compared: of one user's program, at one scale (ranks), of one kind
 * (reading, writing, both). Among these, the ones that moved half to twice as many bytes are *like*
 * the phase that is judged. Each becomes a performance vector: between the lowest and the highest
 * bytes a second of all of them lie ANOMALY_BINS intervals, and the vector has for each interval
 * the share of the phase's seconds that were in it or in a lower one. So phases of any length
 * can be compared, and neighbouring intervals are nearly equal ones.
 *
 * The vectors are clustered (dbscan.h). The largest cluster is what is usual. A phase is abnormal
 * if it is slower than that, and alone; or in a smaller cluster whose phases came one after the
 * other, without usual ones in between: an episode. A smaller cluster among usual phases is a habit
 * of the program, and usual.
 */
#ifndef STILLPOINT_ANOMALY_H
#define STILLPOINT_ANOMALY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANOMALY_BINS	20
#define ANOMALY_NEEDED	8	/* others like a phase, before clusters are looked for */
#define ANOMALY_FEW	3	/* others like a phase: fewer tell nothing */
#define ANOMALY_MAX	128	/* others like a phase: the newest ones are compared */
#define ANOMALY_RATES	64	/* of a phase */

enum anomaly_kind { ANOMALY_READ, ANOMALY_WRITE, ANOMALY_MIXED };

struct anomaly_phase {
	int64_t job;			/* key of the job's rows (io_store.h) */
	int64_t began, seconds;
	enum anomaly_kind kind;
	uint64_t bytes[2], operations[2];	/* read, written */
	/* bytes of its seconds, ascending; of a longer phase as many, evenly taken */
	unsigned int nr;
	float rates[ANOMALY_RATES];
};

/* A tenth of the other kind is a log, or a table that is looked at. */
enum anomaly_kind anomaly_kind_of(uint64_t read_bytes, uint64_t write_bytes);
/* The kind's word in answers: "read", "write", "mixed". */
const char *anomaly_kind_name(enum anomaly_kind kind);

enum anomaly_verdict { ANOMALY_UNKNOWN, ANOMALY_USUAL, ANOMALY_ABNORMAL };

struct anomaly_judgement {
	enum anomaly_verdict verdict;
	bool few;		/* insufficient history: by median and median deviation alone */
	unsigned int compared;	/* others like the phase */
	double rate, usual;	/* bytes a second; @usual 0: unknown */
	double operation, usual_operation;	/* bytes of an operation */
};

/*
 * anomaly_judge() - compare phase @which with the others of its group
 * @phases: @n of one group, oldest first
 *
 * Less than ANOMALY_NEEDED like it: it is abnormal below 70 % of the median rate and further from
 * it than three times the usual spread. Less than ANOMALY_FEW: ANOMALY_UNKNOWN.
 * Return: 0 or -ENOMEM.
 */
int anomaly_judge(const struct anomaly_phase *phases, size_t n, size_t which,
		  struct anomaly_judgement *ret_judgement);

/* ---------------------------------------------------------------- causes */

/* A job that used the same node in the seconds of a phase. */
struct anomaly_neighbour {
	int64_t number;
	bool same_user;
	double rate;		/* bytes a second */
	double meta;		/* open, close, rename, unlink and fsync, a second */
	bool many_to_one;	/* its processes write one file (N-1) */
};

enum anomaly_cause {
	ANOMALY_NO_CAUSE,	/* it is not abnormal */
	ANOMALY_NEIGHBOUR,	/* interference by a job */
	ANOMALY_CROWD,		/* likely interference: many jobs */
	ANOMALY_OPERATIONS,	/* configuration: smaller operations than usual */
	ANOMALY_DEVICE,		/* a device of this node is known as degraded */
	ANOMALY_UNTOLD,		/* configuration, or a degraded node or device */
	ANOMALY_CHECKPOINT,	/* a checkpoint of the job itself */
	/* said by whoever knows the phases of all nodes of the job (io_merge.c) */
	ANOMALY_NODE,		/* other nodes of the job were as fast as usual */
	ANOMALY_ALL_NODES,	/* all were slow: configuration, or storage that they share */
	ANOMALY_CAUSES
};

#define ANOMALY_ACTIVE		1048576.0	/* bytes a second of a neighbour that counts */
#define ANOMALY_META		100.0		/* such operations a second are many */
#define ANOMALY_MANY_JOBS	3		/* active ones */

/*
 * anomaly_cause_of() - why an abnormal phase was slow
 * @neighbours: @n of them
 * @degraded: a device of the node is degraded (device_health.h)
 * @ret_by: index of the neighbour, for ANOMALY_NEIGHBOUR
 *
 * A neighbour is the cause if it writes one file from many processes, or moved at least half as
 * much as the phase lost, or did ANOMALY_META operations on files' names a second. Of several the
 * one with most bytes.
 */
enum anomaly_cause anomaly_cause_of(const struct anomaly_judgement *judgement,
				    const struct anomaly_neighbour *neighbours, size_t n,
				    bool degraded, size_t *ret_by);

/*
 * anomaly_is_checkpoint() - whether checkpoints of the job explain half of the time that it lost
 * @seconds: of the phase
 * @under: seconds of these in which ckptd took a checkpoint: the job was stopped then, or its
 *	images were written beside its own I/O
 */
bool anomaly_is_checkpoint(const struct anomaly_judgement *judgement, double seconds,
			   double under);

/* The cause's word in answers, as "interference"; "" for ANOMALY_NO_CAUSE. */
const char *anomaly_cause_name(enum anomaly_cause cause);

#endif /* STILLPOINT_ANOMALY_H */
