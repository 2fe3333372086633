/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names that are nearly right: which of those that exist may have been meant?
 */
#ifndef STILLPOINT_TYPO_H
#define STILLPOINT_TYPO_H

/* Begin with { .wanted = NAME }; @nearest stays NULL if no name is near enough. */
struct typo {
	const char *wanted;
	const char *nearest;	/* of the names tried so far; the caller's memory */
	unsigned int distance;	/* letters to insert, leave out, change or exchange */
};

/* Is @name nearer to what was wanted than all names before? Of equals the first stays. */
void typo_try(struct typo *typo, const char *name);

/* " (did you mean NEAREST?)", or nothing; in @buf, which is returned. */
const char *typo_hint(const struct typo *typo, char *buf, unsigned int size);

#endif
