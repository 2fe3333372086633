// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decides whether compressing pays.
 *
 * Two ways to store a chunk, each with a price per byte that is learnt from the
 * chunks stored that way (moving averages: the data change on the way through a
 * process, and so does the load of the machine).
 */
#include "image/pace.h"

#include <string.h>

#define FIRST_PACKED	2	/* a small image is simply compressed */
#define FIRST_PLAIN	2
#define PROBE_EVERY	64	/* chunks between two looks at the way not taken */
#define PROBE_COST	16	/* times as many at most, if it is that much dearer */
#define WORTH		1.25	/* smaller images may take this much longer */
#define SMALLER		0.97	/* of the size: saving less is no gain on any device */
#define WEIGHT		0.25	/* of the newest sample */

void pace_init(struct pace *p, unsigned int workers)
{
	memset(p, 0, sizeof(*p));
	p->workers = workers ? workers : 1;
}

/* Time of the whole for a raw byte: encoding and writing go on side by side. */
static double pace_price(const struct pace *p, const struct pace_way *way)
{
	double encode = way->ns_per_byte / p->workers;
	double write = p->write_ns_per_byte * way->ratio;

	return encode > write ? encode : write;
}

/* Chunks between two probes: a way that costs 20 times as much is not worth one chunk in 60. */
static unsigned int probe_every(double taken, double other)
{
	double dearer = taken > 0 ? other / taken : PROBE_COST;

	if (dearer > PROBE_COST)
		dearer = PROBE_COST;
	return dearer > 1 ? (unsigned int)(PROBE_EVERY * dearer) : PROBE_EVERY;
}

bool pace_pack(struct pace *p)
{
	double packed = pace_price(p, &p->packed), plain = pace_price(p, &p->plain);
	bool pack;

	if (p->first_packed < FIRST_PACKED) {
		p->first_packed++;
		return true;
	}
	/* until the first ones are through */
	if (p->packed.samples < FIRST_PACKED || p->plain.samples < FIRST_PLAIN)
		return false;
	pack = p->packed.ratio < SMALLER * p->plain.ratio &&
	       packed <= WORTH * plain;
	if (++p->since_probe < (pack ? probe_every(packed, plain) : probe_every(plain, packed)))
		return pack;
	p->since_probe = 0;
	return !pack;
}

static double pace_average(double old, double sample, bool first)
{
	return first ? sample : old + WEIGHT * (sample - old);
}

void pace_encoded(struct pace *p, bool packed, uint64_t raw, uint64_t stored, uint64_t ns)
{
	struct pace_way *way = packed ? &p->packed : &p->plain;

	if (!raw)
		return;
	way->ns_per_byte = pace_average(way->ns_per_byte, (double)ns / (double)raw, !way->samples);
	way->ratio = pace_average(way->ratio, (double)stored / (double)raw, !way->samples);
	way->samples++;
}

void pace_written(struct pace *p, uint64_t bytes, uint64_t ns)
{
	if (bytes)
		p->write_ns_per_byte = pace_average(p->write_ns_per_byte,
						    (double)ns / (double)bytes,
						    p->write_ns_per_byte == 0);
}
