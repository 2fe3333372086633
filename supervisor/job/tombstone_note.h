/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The note of a removal in its job's record ("unwanted", tombstone.h): made before something
 * goes, and taken back when it turns out that nobody has to know.
 */
#ifndef STILLPOINT_TOMBSTONE_NOTE_H
#define STILLPOINT_TOMBSTONE_NOTE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct job;

struct tombstone_note {
	const char *level;		/* from this one only; NULL, "": from all */
	const json_t *generations;	/* ascending */
	bool whole;			/* all up to the last, and the job with them */
	bool made;
	json_t *before;			/* what was unwanted then; NULL: nothing */
};

/*
 * tombstone_note_make() - by its rule a level would have it again at once, and one that cannot
 * remove it now would offer it to the next restart
 *
 * Of what goes from L1 alone, and without levels, there is none. 0 or negative errno, with @why.
 */
int tombstone_note_make(struct tombstone_note *note, struct job *job, char *why, size_t size);
/*
 * tombstone_note_end() - the removal has ended like that
 *
 * The note stays where something may be left, which the promoter then goes on with, and where
 * L1 still has what was removed.
 */
void tombstone_note_end(struct tombstone_note *note, struct job *job, const json_t *outcome);
void tombstone_note_take_back(struct tombstone_note *note, struct job *job);
void tombstone_note_done(struct tombstone_note *note);

#endif /* STILLPOINT_TOMBSTONE_NOTE_H */
