/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A part of a report: what one node has recorded of a job's I/O, as nodes tell each other, and as
 * a worker tells its ckptd. Pure: no I/O, no clock.
 *
 * A part is bounded, whatever the job did: it has the files with most bytes one by one, and of all
 * other files sums. In JSON, numbers are integers from 0 on:
 *
 *	{"seconds": how long the job was watched, "active": seconds with I/O,
 *	 "peak": [R, W]: bytes of the best second, "processes": [R, W]: how many read, wrote files,
 *	 "lost": [NAMES, FILES], "ops": [[COUNT, ERRORS, BYTES, NS], ...]: one for each enum io_op,
 *	 "hists": [[N, ...], ...]: the buckets of each enum io_hist, without zeros at the end,
 *	 "files": [{"ino", "dev", "flags", "opens", "name", "partial", "place",
 *		"read": [COUNT, BYTES, SEQUENTIAL], "write": the same}, ...],
 *	 "rest": {"files": N, "read": [FILES, BYTES, SHARED_FILES, SHARED_BYTES, SMALL_FILES,
 *		OPERATIONS, SEQUENTIAL], "write": the same},
 *	 "phases": [[BEGAN, SECONDS, READ_BYTES, WRITE_BYTES], ...], oldest first,
 *	 "spans": [{"began", "source", "why", "ended", "names_lost", "files_lost", "missed",
 *		"files_full"}, ...],
 *	 "judged": as io_judged.h, "left_out": older phases of the job that are not among them}
 *
 * Without "name" or "place" a file's is not known.
 */
#ifndef STILLPOINT_IO_PART_H
#define STILLPOINT_IO_PART_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/iotrace/io_judged.h"
#include "supervisor/iotrace/io_place.h"
#include "supervisor/iotrace/portrait.h"

#define IO_PART_FILES	128
#define IO_PART_PHASES	100	/* the newest ones */
#define IO_PART_SPANS	50	/* the newest ones */

struct io_part_file {
	struct io_file_key key;		/* its job is not set */
	struct io_file file;		/* counts, flags, opens; no processes */
	const char *name;		/* NULL: not known */
	bool partial;			/* the name is the last part of the path only */
	const char *place;		/* NULL: not known */
};

struct io_part_phase {
	int64_t began, seconds;		/* by the node's clock */
	uint64_t bytes[2];		/* read, written */
};

struct io_part {
	uint64_t seconds, active_s;
	uint64_t peak[2];
	uint64_t processes[2];
	struct io_counts counts;
	struct io_part_file files[IO_PART_FILES];
	unsigned int nr_files;
	uint64_t rest_files;
	struct portrait_side rest[2];	/* of files that are not in @files; no processes */
	struct io_part_phase phases[IO_PART_PHASES];
	unsigned int nr_phases;
	struct io_judged judged[IO_JUDGED_MAX];
	unsigned int nr_judged;
	bool unjudged;			/* the node told no verdicts: as io_judged.h */
	uint64_t left_out;
	json_t *spans;			/* as above */
	json_t *texts;			/* has the names and places */
};

/* Add a file; those with most bytes come first. The texts are copied. */
void io_part_add_file(struct io_part *part, const struct io_part_file *file);
/* A new object; NULL: no memory. */
json_t *io_part_encode(const struct io_part *part);
/*
 * io_part_decode() - make a part from JSON that anybody may have made
 * @ret_part: must be empty; holds references to texts of @json. To be freed with io_part_done()
 *
 * -EBADMSG: a field is missing, of another type, out of bounds, or there are too many of it.
 */
int io_part_decode(const json_t *json, struct io_part *ret_part);
void io_part_done(struct io_part *part);	/* frees what the part owns */

#endif /* STILLPOINT_IO_PART_H */
