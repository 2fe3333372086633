/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The portrait of a job's I/O: from counters, files and samples to patterns, rates, and what
 * probably holds the job up. No I/O of its own.
 */
#ifndef STILLPOINT_PORTRAIT_H
#define STILLPOINT_PORTRAIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/iotrace/bpf/io_trace.h"

#define PORTRAIT_FILES	20		/* of which the portrait has the names */
#define PORTRAIT_SMALL	65536		/* a file with fewer bytes than this is small */
#define PORTRAIT_MANY	100		/* so many small files are many */

/* How processes share files, reading (0) or writing (1). */
struct portrait_side {
	uint64_t files, bytes;
	uint64_t shared_files, shared_bytes;	/* of files that more than one process used */
	uint64_t small_files;
	uint64_t operations, sequential;
	uint64_t processes;			/* bits, by their numbers modulo 64 */
	uint64_t more;				/* processes that were counted elsewhere */
};

struct portrait {
	struct io_counts counts;
	struct portrait_side side[2];
	uint64_t files;
	json_t *list;		/* of files, at most PORTRAIT_FILES; NULL: none yet */
	/* from samples */
	uint64_t active_s;	/* seconds in which something was read or written */
	uint64_t peak_read, peak_write;	/* bytes of the best second */
};

/* The sum of two numbers, none above INT64_MAX, which it does not pass either. */
static inline uint64_t portrait_plus(uint64_t a, uint64_t b)
{
	return a + b > INT64_MAX ? INT64_MAX : a + b;
}

/* Add a file to one side; nothing if it was not used so. @shared: by more than one process. */
void portrait_add_side(struct portrait_side *side, const struct io_side *file, bool shared);
/* The next file; those with most bytes come first. @name NULL: not known. */
void portrait_add_file(struct portrait *portrait, const struct io_file_key *key,
		       const struct io_file *file, const char *name, bool partial);
/* A sample of @seconds. */
void portrait_add_sample(struct portrait *portrait, unsigned int seconds, uint64_t read_bytes,
			 uint64_t write_bytes);

/* About how many processes the bits are; 64 stands for "64 or more". */
unsigned int portrait_processes(uint64_t bits);
/* "1-1", "N-1", "N-N", "N-M"; "" if there were no files. */
const char *portrait_pattern(const struct portrait_side *side);
bool portrait_many_small(const struct portrait *portrait);
/* The thing that probably holds the job up, with its reason; "" if nothing stands out. */
const char *portrait_bottleneck(const struct portrait *portrait);

/*
 * All of it as JSON. "files" has the number of all files, "list" those with most bytes, and "rest"
 * the number and the bytes of the others.
 *
 * @seconds: how long the job was watched. Frees the list.
 */
json_t *portrait_json(struct portrait *portrait, uint64_t seconds);

#endif /* STILLPOINT_PORTRAIT_H */
