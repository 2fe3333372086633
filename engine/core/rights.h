/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Raising and lowering the effective capabilities of the calling thread.
 *
 * A capability is put into effect only around the few calls that need it.  A caller that
 * raises capabilities lowers them again before it does anything else.
 */
#ifndef STILLPOINT_RIGHTS_H
#define STILLPOINT_RIGHTS_H

#include <linux/capability.h>
#include <stdint.h>

/* To open files that the tree had open and its owner may no longer open; to give files away. */
#define RIGHTS_FILES	(1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_DAC_READ_SEARCH | \
			 1ULL << CAP_CHOWN)

/* To give a pipe the size that it had, even if its owner has too many pipe pages by now. */
#define RIGHTS_PIPES	(1ULL << CAP_SYS_RESOURCE)

/* To give a socket the options that it had: sizes beyond the node's limits, a mark, a priority. */
#define RIGHTS_SOCKETS	(1ULL << CAP_NET_ADMIN)

/* To change the root directory for a moment, in which a socket gets a name that has no file. */
#define RIGHTS_ROOT	(1ULL << CAP_SYS_CHROOT)

/* The permitted capabilities; 0 if they cannot be read. */
uint64_t rights_permitted(void);
/* Set both sets; the inheritable set becomes empty. */
int rights_set(uint64_t permitted, uint64_t effective);
/* Put all of @caps into effect; *ret_before is for rights_lower(). -EPERM: one is not permitted. */
int rights_raise(uint64_t caps, uint64_t *ret_before);
/* Put exactly the capabilities @before into effect. */
void rights_lower(uint64_t before);

#endif /* STILLPOINT_RIGHTS_H */
