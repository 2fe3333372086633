/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Questions that may hang in the kernel: to a device, or under a lock that somebody holds who waits
 * for a server. Each is asked by a child of its own, which keeps no descriptor of its parent's but
 * a pipe for the answer, and a lock of its number while it lives. After the deadline the child is
 * killed and left alone; it ends when the kernel lets it. Until then its lock keeps anybody, also a
 * later process, from asking the same: a question that hangs costs one process.
 *
 * For workers and the collector, as asked_wait() waits.
 */
#ifndef STILLPOINT_ASKED_H
#define STILLPOINT_ASKED_H

#include <stddef.h>
#include <sys/types.h>

#define ASKED_LOCK_FILE	"asked.lock"	/* in the state directory; a byte for each number */
#define ASKED_LUSTRE	(1u << 20)	/* below: NVMe controllers, by their numbers */
#define ASKED_ADAPTERS	(ASKED_LUSTRE + 1)	/* of InfiniBand */
#define ASKED_MAX	64		/* questions at once */
#define ASKED_BYTES	(1u << 20)	/* of an answer */

/*
 * Runs in the child: write the answer to descriptor @fd. 0; else the answer counts as none.
 * Nothing but @arg's memory and files that it opens is there.
 */
typedef int (*asked_fn)(unsigned int number, void *arg, int fd);

struct asked {
	unsigned int number;
	pid_t pid;
	int fd;			/* -1: over */
	/*
	 * 0: @answer is there; -EBUSY: an earlier child still waits; -ETIMEDOUT; -EIO: the child
	 * failed; -EFBIG; other errno: there is no child
	 */
	int err;
	char *answer;		/* with a zero byte behind its @size */
	size_t size;
};

/* Start a child for asked->number. Always followed by asked_wait() and asked_free(). */
void asked_start(struct asked *asked, const char *state_dir, asked_fn fn, void *arg);
/* Wait for the answers of @nr, at most ASKED_MAX, for at most @ms; leave the others alone. */
void asked_wait(struct asked *asked, unsigned int nr, unsigned int ms);
void asked_free(struct asked *asked, unsigned int nr);

#endif /* STILLPOINT_ASKED_H */
