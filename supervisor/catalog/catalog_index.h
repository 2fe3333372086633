/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An index of what the manifests say, so that a list of thousands of generations does not read
 * thousands of manifests: STATE_DIR/index.db, a SQLite file of this node alone.
 *
 * It is never the truth.  A row is used only while the files that it was read from are the
 * same to stat(2) (catalog_index_stamp()), and with the same key; all else is read from the
 * manifests.  A file that is gone, damaged, locked, or of a newer version costs time and one
 * line in the log.
 *
 * A handle belongs to the process that opened it: workers open it, ckptd itself does not.
 */
#ifndef STILLPOINT_CATALOG_INDEX_H
#define STILLPOINT_CATALOG_INDEX_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/catalog/catalog.h"

#define CATALOG_INDEX_FILE	"index.db"

struct catalog_index;

/*
 * catalog_index_open() - open, or make
 * @problem: of @size bytes; what is to be logged; "" if nothing
 *
 * NULL: to be done without, as @problem says.  One that is damaged, old, or of another image
 * directory or key is made anew; one of a newer version, or of somebody else, is left alone.
 */
struct catalog_index *catalog_index_open(const char *path, const struct catalog *catalog,
					 char *problem, size_t size);
/*
 * What was put is kept, or not: @problem says why not. One that turned out to be damaged is
 * removed. NULL is fine.
 */
void catalog_index_close(struct catalog_index *index, char *problem, size_t size);
/* Forget it: it will be made anew. 0, also if there is none. */
int catalog_index_remove(const char *path);

/*
 * catalog_index_stamp() - of the files that a generation is described by: manifest, or
 *	parts.json and the manifest of each node
 *
 * Inode, size, time of modification and of change: whatever writes to one of them, replaces,
 * adds or removes one changes it.  0: there is no such generation.
 */
uint64_t catalog_index_stamp(const struct catalog *catalog, int64_t job, int64_t generation);

/* All functions take NULL for an index, and do nothing. */

/* As it was put with that stamp and label; a new reference, NULL: it is not there. */
json_t *catalog_index_get(struct catalog_index *index, int64_t job, int64_t generation,
			  const char *label, uint64_t stamp);
void catalog_index_put(struct catalog_index *index, int64_t job, int64_t generation,
		       const char *label, uint64_t stamp, const json_t *row);
/* Forget what is not among @generations (ascending) of @job. Number forgotten. */
unsigned int catalog_index_trim(struct catalog_index *index, int64_t job,
				const json_t *generations);
/* Rows of @job (0: all); for tests and fsck. */
int64_t catalog_index_count(struct catalog_index *index, int64_t job);

#endif /* STILLPOINT_CATALOG_INDEX_H */
