/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The seconds of a job's I/O, one after the other, and the phases in them. Reads the record, and
 * writes phases into it for the collector.
 */
#ifndef STILLPOINT_IO_SERIES_H
#define STILLPOINT_IO_SERIES_H

#include "supervisor/iotrace/io_store_phases.h"

#define IO_SERIES_DAY	86400	/* as long as seconds are kept */

struct io_series {
	int64_t first;		/* second of seconds[0] */
	size_t n;		/* 0: there are none */
	struct io_store_sample *seconds;
	struct io_phase *phases;
	int nr_phases;
};

/*
 * io_series_read() - read the seconds from @since on, of a day at most, and find the phases
 * @ret_series: must be freed with io_series_free(), after errors, too
 *
 * 0, -EIO or -ENOMEM.
 */
int io_series_read(struct io_store *store, int64_t job, int64_t since,
		   struct io_series *ret_series);
void io_series_free(struct io_series *series);
/* Phase @i of the series; its job is not set. */
void io_series_phase(const struct io_series *series, int i, struct anomaly_phase *ret_phase);

#define IO_SERIES_CONTEXT	7200	/* seconds that are looked at again */
#define IO_SERIES_CUT	3600	/* seconds after which a phase that goes on is stored in parts */

/*
 * io_series_note() - store phases of @job that are over, in a transaction of the caller
 * @since: seconds before are stored, or are not to be
 * @now: the second that goes on
 * @last: the job ends: what goes on is over
 *
 * Return: @since for the next call.
 */
int64_t io_series_note(struct io_store *store, int64_t job, int64_t since, int64_t now, bool last);

#endif /* STILLPOINT_IO_SERIES_H */
