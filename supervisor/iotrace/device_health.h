/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a device got slow: decided from the rates at which generations were written to it, as
 * every generation is a probe of known size. Decisions only: no disk, no clock.
 *
 * A probe is compared with earlier ones of its series and of like size. A series is what makes
 * probes comparable: the dumps of one job, or all copies to one level.
 */
#ifndef STILLPOINT_DEVICE_HEALTH_H
#define STILLPOINT_DEVICE_HEALTH_H

#include <stddef.h>
#include <stdint.h>

#define DEVICE_NEEDED	8	/* earlier ones of the series, before a probe is judged */
#define DEVICE_IN_A_ROW	3	/* slow ones make a device degraded, usual ones healthy again */
#define DEVICE_BYTES	(4u << 20)	/* fewer measure no device */

enum device_speed { DEVICE_UNJUDGED, DEVICE_USUAL, DEVICE_SLOW };

enum device_state {
	DEVICE_UNKNOWN,		/* too little history */
	DEVICE_HEALTHY,
	DEVICE_SLOW_TOO,	/* slow, and so are the other nodes' at the same generations */
	DEVICE_DEGRADED,	/* slow, and no other node was */
	DEVICE_STATES
};

struct device_probe {
	int64_t series, job, generation;
	double bytes, seconds;
	enum device_speed speed;
	double usual;		/* bytes a second, of the series then; 0: not judged */
	unsigned int peers;	/* other nodes that wrote the same generation of the job */
	double peer_rate;	/* their median in bytes a second */
};

static inline double device_probe_rate(const struct device_probe *probe)
{
	return probe->seconds > 0 ? probe->bytes / probe->seconds : 0;
}

/*
 * device_health_judge() - compare a probe with the earlier ones of its device
 * @earlier: @n of them, oldest first, each judged in its time
 * @state: of the device until now: to be usual again, a degraded one must be a little faster
 *
 * Sets @now->speed and @now->usual. Slow ones never become what is usual: a device that stays slow
 * stays known as slow.
 */
void device_health_judge(const struct device_probe *earlier, size_t n, enum device_state state,
			 struct device_probe *now);

/*
 * device_health_in_a_row() - how many of the newest judged probes, one after the other, have @speed
 *
 * A row of slow ones ends where other series showed that the device was well, as below: the slow
 * ones before that say nothing of the device any more.
 */
size_t device_health_in_a_row(const struct device_probe *probes, size_t n, enum device_speed speed);

/*
 * device_health_state() - what the judged probes of a device say of it
 * @probes: @n of them, oldest first
 * @before: the state before the newest one
 *
 * Three slow ones in a row make it degraded, unless other nodes were as slow at one of them. Three
 * usual ones in a row make it healthy, as do three of other series that cannot be judged yet, of
 * like size to the slow one and as fast as what was usual for the fastest series of such a size.
 */
enum device_state device_health_state(const struct device_probe *probes, size_t n,
				      enum device_state before);

/* The median of @n rates, at least one, which are sorted. */
double device_health_median(double *rates, size_t n);

/* The state's word in answers and metrics: "unknown", "healthy", "slow", "degraded". */
const char *device_state_name(enum device_state state);

#endif /* STILLPOINT_DEVICE_HEALTH_H */
