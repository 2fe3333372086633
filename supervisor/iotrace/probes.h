/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checkpoints as probes: each one writes a known number of bytes to the image directory, so that
 * a device that got slow shows in the rates of its checkpoints. No I/O of its own.
 */
#ifndef STILLPOINT_PROBES_H
#define STILLPOINT_PROBES_H

#include <stddef.h>
#include <stdint.h>

#define PROBES_NEEDED	5	/* earlier ones of like size, before one is judged */

struct probe {
	int64_t generation;
	double bytes;
	double seconds;
};

enum probe_verdict { PROBE_UNKNOWN, PROBE_USUAL, PROBE_SLOW };

/*
 * probe_judge() - compare a checkpoint with the job's earlier ones on this node
 * @earlier: @n of them; those of half to twice the size count
 * @ret_usual: gets their median rate in bytes a second, unless PROBE_UNKNOWN is returned
 *
 * PROBE_SLOW: below 70 % of the median, and further from it than three times the usual spread.
 */
enum probe_verdict probe_judge(const struct probe *earlier, size_t n, const struct probe *now,
			       double *ret_usual);

#endif /* STILLPOINT_PROBES_H */
