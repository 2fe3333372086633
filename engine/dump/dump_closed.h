/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that the tree has changed and closed: the steps of a dump, in their order. Between
 * dump*.c only.
 *
 * Without a write log each of them does nothing; the figures say that these files are not known.
 */
#ifndef STILLPOINT_DUMP_CLOSED_H
#define STILLPOINT_DUMP_CLOSED_H

struct dump;
struct write_log;

/* Before the freeze: let the write log know all file systems that the tree sees. */
void dump_closed_prepare(struct dump *d);
/* In the pause: look up all names of the write log; before dump_in_place_plan(). */
int dump_closed_find(struct dump *d);
/* Decide which of these are kept, of what dump_in_place_plan() left of files_max. */
int dump_closed_plan(struct dump *d);
/* In the pause: clone, read, or hash them. */
int dump_closed_take(struct dump *d);
void dump_closed_foresee(struct dump *d);	/* as dump_in_place_foresee() */
/* After the thaw: read the clones, add the records. */
int dump_closed_records(struct dump *d);
void dump_closed_done(struct dump *d);

/* dump_writes.c: read the write log, and note what is known of it; -errno: there is none. */
int dump_writes_read(struct dump *d, struct write_log *ret_log);
/* Say in the image how far the log was read. */
int dump_writes_record(struct dump *d);

#endif /* STILLPOINT_DUMP_CLOSED_H */
