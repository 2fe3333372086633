/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The filter of samples: threads that stay where they are, in groups by that place.
 *
 * A place is canonical: the call and the communicator for a thread inside MPI, which may spin
 * there; else the function; else the exact program counter. A thread is steady if its place was
 * the same in all samples. Most steady threads wait at a few places; a small group is suspect.
 * Pure: no I/O, no clock.
 */
#ifndef STILLPOINT_DIAGNOSE_FILTER_H
#define STILLPOINT_DIAGNOSE_FILTER_H

#include <stddef.h>
#include <stdint.h>

struct filter_group {
	uint64_t place;
	uint64_t nr;		/* threads there */
	size_t first;		/* index of the first of them */
};

/*
 * filter_samples() - how many samples are needed of @n threads, so that less than one thread is
 * expected to look steady that loops over @k places: the least s > 1 + ln n / ln k, at least 2.
 */
unsigned int filter_samples(uint64_t n, uint64_t k);

/*
 * filter_group() - group the steady threads
 * @places: [@n][@s]; 0: not known in that sample, and the thread is not steady
 * @ret_groups: the smallest first, then by place; the caller frees
 *
 * Return: number of groups; -ENOMEM
 */
long filter_group(const uint64_t *places, size_t n, unsigned int s,
		  struct filter_group **ret_groups);

#endif /* STILLPOINT_DIAGNOSE_FILTER_H */
