/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An index of the manifests' contents, so that a list of thousands of generations does not
 * read thousands of manifests: STATE_DIR/index.db, a SQLite file of this node alone.
 *
 * The index is never the truth. A row is used only while stat(2) shows that its source
 * files are unchanged (catalog_index_stamp()), and with the same key; all else is read from
 * the manifests. An index that is gone, damaged, locked, or of a newer version costs time
 * and one line in the log.
 *
 * A handle belongs to the process that opened it: workers open the index, ckptd itself does
 * not.
 */
#ifndef STILLPOINT_CATALOG_INDEX_H
#define STILLPOINT_CATALOG_INDEX_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/catalog/catalog.h"

#define CATALOG_INDEX_FILE	"index.db"

struct catalog_index;

/*
 * catalog_index_open() - open the index, or make it
 * @problem: of @size bytes; gets the text to log; "" if there is none
 *
 * NULL: do without an index, as @problem explains. A damaged or old index, or one of
 * another image directory or key, is made anew; an index of a newer version, or a foreign
 * file, is left alone.
 */
struct catalog_index *catalog_index_open(const char *path, const struct catalog *catalog,
					 char *problem, size_t size);
/*
 * Commit and close. If the rows could not be kept, @problem tells why. An index that turned
 * out to be damaged is removed. NULL is fine.
 */
void catalog_index_close(struct catalog_index *index, char *problem, size_t size);
/* Remove the index; it will be made anew. 0, also if there is none. */
int catalog_index_remove(const char *path);

/*
 * catalog_index_stamp() - a stamp of the files that describe a generation: its manifest, or
 *	parts.json and the manifest of each node
 *
 * It covers inode, size, and the times of modification and change, so any write,
 * replacement, addition or removal changes it. 0: there is no such generation.
 */
uint64_t catalog_index_stamp(const struct catalog *catalog, int64_t job, int64_t generation);

/* The same of the job's record. A row of generation 0 is about the record. */
uint64_t catalog_index_job_stamp(const struct catalog *catalog, int64_t job);

/* All functions take NULL for an index, and do nothing. */

/* The row that was put with that stamp and label; a new reference; NULL: there is none. */
json_t *catalog_index_get(struct catalog_index *index, int64_t job, int64_t generation,
			  const char *label, uint64_t stamp);
void catalog_index_put(struct catalog_index *index, int64_t job, int64_t generation,
		       const char *label, uint64_t stamp, const json_t *row);
/*
 * Forget rows of generations of @job that are not in @generations (ascending). Return: how many
 * were forgotten.
 */
unsigned int catalog_index_trim(struct catalog_index *index, int64_t job,
				const json_t *generations);
/* Number of rows of @job's generations (0: of all jobs); for tests and fsck. */
int64_t catalog_index_count(struct catalog_index *index, int64_t job);

#endif /* STILLPOINT_CATALOG_INDEX_H */
