/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Capabilities that are held but not in effect, for the few calls that need them.
 *
 * Who raises them lowers them again before it does anything else.
 */
#ifndef STILLPOINT_RIGHTS_H
#define STILLPOINT_RIGHTS_H

#include <linux/capability.h>
#include <stdint.h>

/* To open what the tree had open and its owner can open no more, and give files away. */
#define RIGHTS_FILES	(1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_DAC_READ_SEARCH | \
			 1ULL << CAP_CHOWN)

/* To give a pipe the size that it had, however many its owner has. */
#define RIGHTS_PIPES	(1ULL << CAP_SYS_RESOURCE)

/* What this process may put into effect; 0 if it cannot be told. */
uint64_t rights_permitted(void);
/* Permitted and in effect; what is inheritable goes away. */
int rights_set(uint64_t permitted, uint64_t effective);
/* Put all of @caps into effect; -EPERM if one is not permitted. */
int rights_raise(uint64_t caps, uint64_t *ret_before);
void rights_lower(uint64_t before);

#endif /* STILLPOINT_RIGHTS_H */
