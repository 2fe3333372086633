/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A node, its partner, and between them a wire that does what it is told: what the tests of
 * a partner's level share.  The partner is a thread (or a process that can be killed), the wire
 * two socket pairs and a thread that knows where frames begin.
 */
#ifndef STILLPOINT_TESTS_PARTNER_RIG_H
#define STILLPOINT_TESTS_PARTNER_RIG_H

#include <pthread.h>

#include "base/error.h"
#include "levels/partner_serve.h"
#include "tests/unit/image_fixture.h"

enum wire_fault {
	WIRE_FINE,
	WIRE_CUT,		/* before the frame */
	WIRE_CUT_INSIDE,	/* half of it still passes */
	WIRE_FLIP_HEADER, WIRE_FLIP_MIDDLE, WIRE_FLIP_TAG,
	WIRE_DROP, WIRE_REPEAT, WIRE_SWAP,	/* with the one before */
	WIRE_STALL,		/* nothing passes from here on, either way */
};

#define UP	0		/* from the node to its partner */
#define DOWN	1

struct rig {
	struct scratch *s;
	struct model m;
	const char *image, *top, *back;
	struct image_key *partner_key;	/* scratch's, but in a test */
	struct partner_ticket ticket;
	struct partner_serve_options serve;
	/* the fault: at which frame of which direction; 0 is hello or back */
	enum wire_fault fault;
	int way, at;
	uint8_t token[32];		/* the partner's */
	bool process;			/* the partner is one */
	/* what it does instead of partner_serve(); or NULL */
	int (*instead)(struct rig *r, int fd, const struct partner_hello *hello);
	/* of the connection that is open */
	struct level *l;
	int wire[2][2];			/* [UP]: node and wire, [DOWN]: wire and partner */
	int frames[2];			/* seen, both ways; hello and back too */
	pthread_t wire_thread, partner_thread;
	pid_t partner_pid;
	int served;			/* what partner_serve() returned */
	struct ckpt_error error, partner_error;
};

void rig_init(struct rig *r, struct scratch *s);
void rig_done(struct rig *r);

/* Connect and open the level; errno.  rig_close() in any case. */
int rig_open(struct rig *r);
void rig_close(struct rig *r);
/* The same and asserts that it works. */
void rig_up(struct rig *r);

/* The image, into the level, as @name. */
void rig_put(struct rig *r, const char *name);
/* @now: in ns; it goes on only by sleeping. */
struct level_clock rig_clock(uint64_t *now);

/* Another connection of the same time, without a wire: its level, or NULL and r->error. */
struct rig *rig_beside(struct rig *r, struct rig *ret_other);

const char *rig_path(const struct rig *r, const char *name);	/* in the owner's directory */
void rig_check(const struct rig *r, const char *dir);
/* Images that can be seen there, and entries in all but the marker. */
int rig_visible(const struct rig *r);
int rig_entries(const struct rig *r);

#endif /* STILLPOINT_TESTS_PARTNER_RIG_H */
