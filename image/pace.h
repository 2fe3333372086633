/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether compressing pays: decided chunk by chunk from what the last ones took.
 *
 * Encoding runs on several CPUs beside writing, so an image takes as long as the
 * slower of the two.  Compression is chosen unless it makes the whole clearly
 * slower than storing raw; both are tried again now and then.  No clock, no I/O.
 */
#ifndef STILLPOINT_IMAGE_PACE_H
#define STILLPOINT_IMAGE_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct pace_way {
	double ns_per_byte;	/* to encode, of one CPU */
	double ratio;		/* stored / raw */
	unsigned int samples;
};

struct pace {
	struct pace_way packed, plain;
	double write_ns_per_byte;	/* 0: not known yet */
	unsigned int workers;
	unsigned int first_packed;	/* chunks that were chosen without knowing anything */
	unsigned int since_probe;
};

void pace_init(struct pace *p, unsigned int workers);
/* Compress the next chunk? */
bool pace_pack(struct pace *p);
void pace_encoded(struct pace *p, bool packed, uint64_t raw, uint64_t stored, uint64_t ns);
void pace_written(struct pace *p, uint64_t bytes, uint64_t ns);

#endif /* STILLPOINT_IMAGE_PACE_H */
