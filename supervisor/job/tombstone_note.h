/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The note of one removal: tombstones in the job's record ("unwanted", tombstone.h). It is made
 * before generations are removed, and taken back when the tombstones turn out to be unnecessary.
 *
 * The caller fills in the first three fields, and calls tombstone_note_done() in the end.
 */
#ifndef STILLPOINT_TOMBSTONE_NOTE_H
#define STILLPOINT_TOMBSTONE_NOTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct ckpt_error;
struct job;

struct tombstone_note {
	const char *level;		/* remove from this level only; NULL, "": from all */
	const json_t *generations;	/* to be removed, ascending */
	bool whole;			/* remove all up to the last, and the job with them */
	bool made;			/* the record has the tombstones */
	json_t *before;			/* the record's tombstones before; NULL: none */
};

/*
 * tombstone_note_make() - add tombstones for the removal to the record, and save it
 *
 * Without them a level whose rule keeps the generation would get it again at once, and a level
 * that cannot remove it now would offer it to the next restart. A removal from L1 alone, or
 * without levels, needs no tombstones. Return: 0 or negative errno, with @error.
 */
int tombstone_note_make(struct tombstone_note *note, struct job *job, struct ckpt_error *error);
/*
 * tombstone_note_end() - keep the tombstones, or take them back, by the outcome of the removal
 *
 * They stay if a level may still have something, which the flusher then removes, and if L1 still
 * has the generations that were removed elsewhere.
 */
void tombstone_note_end(struct tombstone_note *note, struct job *job, const json_t *outcome);
/* Restore the record's tombstones as they were before tombstone_note_make(), and save it. */
void tombstone_note_take_back(struct tombstone_note *note, struct job *job);
void tombstone_note_done(struct tombstone_note *note);

#endif /* STILLPOINT_TOMBSTONE_NOTE_H */
