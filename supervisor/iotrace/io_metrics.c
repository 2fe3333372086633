// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prometheus' text format; see io_metrics.h.
 *
 * No time stamps, which the textfile collector refuses. A histogram's buckets are the powers of
 * two from 1 us on, as the kernel side counts them.
 */
#include "supervisor/iotrace/io_metrics.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libckptctl/version.h"
#include "supervisor/iotrace/device_health.h"

#define FIRST_BUCKET	11	/* below 2^11 ns */
#define LAST_BUCKET	37	/* below 2^37 ns, two minutes */

static const char *const op_names[IO_OPS] = {
	"read", "write", "read_other", "write_other", "open", "create", "close", "fsync", "rename",
	"unlink",
};

void io_metrics_add(struct io_metrics *m, const struct io_counts *now,
		    const struct io_counts *before)
{
	const __u64 *to = (const __u64 *)now, *from = (const __u64 *)before;
	__u64 *sum = (__u64 *)&m->sum;
	size_t i;

	for (i = 0; i < sizeof(m->sum) / sizeof(*sum); i++)
		sum[i] += to[i] - from[i];
}

static void io_metrics_head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void io_metrics_ops(const struct io_metrics *m, FILE *f)
{
	int i;

	io_metrics_head(f, "ckpt_io_operations_total", "counter",
			"Operations of watched jobs, by kind.");
	for (i = 0; i < IO_OPS; i++)
		fprintf(f, "ckpt_io_operations_total{op=\"%s\"} %llu\n", op_names[i],
			m->sum.op[i].count);
	io_metrics_head(f, "ckpt_io_errors_total", "counter",
			"Operations of watched jobs that failed, by kind.");
	for (i = 0; i < IO_OPS; i++)
		fprintf(f, "ckpt_io_errors_total{op=\"%s\"} %llu\n", op_names[i],
			m->sum.op[i].errors);
	io_metrics_head(f, "ckpt_io_bytes_total", "counter",
			"Bytes that watched jobs read and wrote.");
	for (i = 0; i < IO_OPEN; i++)
		fprintf(f, "ckpt_io_bytes_total{op=\"%s\"} %llu\n", op_names[i],
			m->sum.op[i].bytes);
}

static void io_metrics_histogram(const struct io_metrics *m, FILE *f, int hist, const char *op,
				 uint64_t ns)
{
	static const char name[] = "ckpt_io_request_seconds";
	uint64_t below = 0;
	int k;

	for (k = 0; k < IO_BUCKETS; k++) {
		below += m->sum.hist[hist][k];
		if (k >= FIRST_BUCKET && k <= LAST_BUCKET)
			fprintf(f, "%s_bucket{op=\"%s\",le=\"%.9g\"} %llu\n", name, op,
				(double)(1ull << k) / 1e9, (unsigned long long)below);
	}
	fprintf(f, "%s_bucket{op=\"%s\",le=\"+Inf\"} %llu\n", name, op, (unsigned long long)below);
	fprintf(f, "%s_sum{op=\"%s\"} %.9f\n", name, op, (double)ns / 1e9);
	fprintf(f, "%s_count{op=\"%s\"} %llu\n", name, op, (unsigned long long)below);
}

static uint64_t io_metrics_meta_ns(const struct io_metrics *m)
{
	uint64_t sum = 0;
	int i;

	for (i = IO_OPEN; i < IO_OPS; i++)
		sum += m->sum.op[i].ns;
	return sum;
}

/* One value of each device. */
static void io_metrics_device(const struct io_metrics *m, FILE *f, const char *name,
			      const char *type, const char *help, const char *field)
{
	const json_t *row;
	size_t i;

	io_metrics_head(f, name, type, help);
	json_array_foreach(m->devices, i, row)
		fprintf(f, "%s{level=\"%s\"} %.15g\n", name,
			json_string_value(json_object_get(row, "level")),
			json_number_value(json_object_get(row, field)));
}

static void io_metrics_devices(const struct io_metrics *m, FILE *f)
{
	const json_t *row;
	size_t i;
	int k;

	io_metrics_head(f, "ckpt_device_state", "gauge",
			"1 for the state of the device that a level is on.");
	json_array_foreach(m->devices, i, row) {
		const char *state = json_string_value(json_object_get(row, "state"));

		for (k = 0; k < DEVICE_STATES; k++) {
			const char *one = device_state_name((enum device_state)k);

			fprintf(f, "ckpt_device_state{level=\"%s\",state=\"%s\"} %d\n",
				json_string_value(json_object_get(row, "level")), one,
				!strcmp(state, one));
		}
	}
	io_metrics_device(m, f, "ckpt_device_probes_total", "counter",
			  "Generations whose writing to the level was measured.", "probes");
	io_metrics_device(m, f, "ckpt_device_last_probe_timestamp_seconds", "gauge",
			  "When the last of them was written.", "time");
	io_metrics_device(m, f, "ckpt_device_write_bytes_per_second", "gauge",
			  "The rate at which it was written.", "rate");
	io_metrics_device(m, f, "ckpt_device_usual_bytes_per_second", "gauge",
			  "The usual rate then; 0: too little history.", "usual");
	io_metrics_device(m, f, "ckpt_device_slow_in_row", "gauge",
			  "Slow ones, one after the other, up to the last.", "in_row");
}

int io_metrics_print(const struct io_metrics *m, FILE *f)
{
	io_metrics_head(f, "ckpt_build_info", "gauge", "The version of ckptd.");
	fprintf(f, "ckpt_build_info{version=\"%s\"} 1\n", CKPT_VERSION);
	io_metrics_head(f, "ckpt_io_jobs", "gauge", "Jobs whose I/O is watched.");
	fprintf(f, "ckpt_io_jobs %u\n", m->jobs);
	io_metrics_head(f, "ckpt_scrape_collector_success", "gauge",
			"Whether the collector could record its last second.");
	fprintf(f, "ckpt_scrape_collector_success{collector=\"io\"} %d\n", !m->failing);
	io_metrics_ops(m, f);
	io_metrics_head(f, "ckpt_io_request_seconds", "histogram",
			"How long operations of watched jobs took.");
	io_metrics_histogram(m, f, IO_READ_NS, "read", m->sum.op[IO_READ].ns);
	io_metrics_histogram(m, f, IO_WRITE_NS, "write", m->sum.op[IO_WRITE].ns);
	io_metrics_histogram(m, f, IO_META_NS, "metadata", io_metrics_meta_ns(m));
	io_metrics_head(f, "ckpt_io_rows_total", "counter",
			"Rows that all these operations have become in the record.");
	fprintf(f, "ckpt_io_rows_total %llu\n", (unsigned long long)m->rows);
	io_metrics_head(f, "ckpt_io_lost_total", "counter",
			"Names of files, operations on single files, and operations that were not "
			"noted.");
	fprintf(f, "ckpt_io_lost_total{kind=\"name\"} %llu\n", m->sum.names_lost);
	fprintf(f, "ckpt_io_lost_total{kind=\"file\"} %llu\n", m->sum.files_lost);
	fprintf(f, "ckpt_io_lost_total{kind=\"operation\"} %llu\n", (unsigned long long)m->missed);
	io_metrics_devices(m, f);
	source_metrics_print(m->sources, f);
	return ferror(f) ? -EIO : 0;
}

int io_metrics_write(const struct io_metrics *m, const char *path)
{
	char other[PATH_MAX];
	FILE *f;
	int err;

	snprintf(other, sizeof(other), "%s.%d", path, (int)getpid());
	f = fopen(other, "we");
	if (!f)
		return -errno;
	err = io_metrics_print(m, f);
	if (!err && fchmod(fileno(f), 0644))
		err = -errno;
	if (fclose(f) && !err)
		err = -errno;
	if (!err && rename(other, path))
		err = -errno;
	if (err)
		unlink(other);
	return err;
}
