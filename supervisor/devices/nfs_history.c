// SPDX-License-Identifier: GPL-2.0-only
/*
 * The history of an NFS mount that holds a level; see nfs_history.h.
 *
 * Decides nothing: whether the level's device is degraded follows from the rates of generations.
 * This says where the time went: in the server and the network (rtt), or before them (queue).
 */
#include "supervisor/devices/nfs_history.h"

#include <stdlib.h>

#include "supervisor/devices/counters.h"

#define FEW	3	/* earlier ones; fewer tell nothing */

struct nfs_sample nfs_sample_of(const struct nfs_mount *mount)
{
	const struct nfs_op *op = nfs_mount_op(mount, "WRITE");
	struct nfs_sample s = { .age_s = mount->age_s, .bytes = mount->written_bytes };

	if (op) {
		s.writes = op->count;
		s.transmissions = op->transmissions;
		s.timeouts = op->timeouts;
		s.queue_ms = op->queue_ms;
		s.rtt_ms = op->rtt_ms;
		s.execute_ms = op->execute_ms;
	}
	return s;
}

static struct nfs_sample nfs_sample_since(const struct nfs_sample *now,
					  const struct nfs_sample *before)
{
	struct nfs_sample d = *now;

	/* mounted anew */
	if (now->age_s < before->age_s || now->writes < before->writes)
		return d;
	d.writes -= before->writes;
	d.bytes = counter_since(now->bytes, before->bytes);
	d.transmissions = counter_since(now->transmissions, before->transmissions);
	d.timeouts = counter_since(now->timeouts, before->timeouts);
	d.queue_ms = counter_since(now->queue_ms, before->queue_ms);
	d.rtt_ms = counter_since(now->rtt_ms, before->rtt_ms);
	d.execute_ms = counter_since(now->execute_ms, before->execute_ms);
	return d;
}

static int nfs_by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double nfs_median(double *values, size_t n)
{
	if (n < FEW)
		return 0;
	qsort(values, n, sizeof(*values), nfs_by_size);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

json_t *nfs_history_json(const struct nfs_sample *samples, size_t n)
{
	double *rtt = n > 1 ? calloc(n, sizeof(*rtt)) : NULL;
	double *queue = n > 1 ? calloc(n, sizeof(*queue)) : NULL;
	struct nfs_sample d;
	json_t *row = NULL;
	size_t i, nr = 0;

	for (i = 1; rtt && queue && i + 1 < n; i++) {
		d = nfs_sample_since(&samples[i], &samples[i - 1]);
		if (!d.writes)
			continue;
		rtt[nr] = counter_per(d.rtt_ms, d.writes);
		queue[nr++] = counter_per(d.queue_ms, d.writes);
	}
	if (rtt && queue) {
		d = nfs_sample_since(&samples[n - 1], &samples[n - 2]);
		row = json_pack(
			"{s:I, s:I, s:f, s:f, s:f, s:I, s:I, s:f, s:f, s:I}", "writes",
			(json_int_t)counter_bounded(d.writes), "bytes",
			(json_int_t)counter_bounded(d.bytes), "write_ms",
			counter_per(d.rtt_ms, d.writes), "queue_ms",
			counter_per(d.queue_ms, d.writes), "execute_ms",
			counter_per(d.execute_ms, d.writes), "retransmissions",
			(json_int_t)counter_bounded(d.transmissions > d.writes ?
						    d.transmissions - d.writes : 0), "timeouts",
			(json_int_t)counter_bounded(d.timeouts), "usual_write_ms",
			nfs_median(rtt, nr), "usual_queue_ms", nfs_median(queue, nr), "samples",
			(json_int_t)n);
	}
	free(rtt);
	free(queue);
	return row;
}
