// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write log of the tree's PID namespace, as a dump reads it: is it complete, and how far was
 * it read? What is in the log after that, the tree did after the dump; a restart can tell.
 *
 * The names in the log are dump_closed.c's.
 */
#include "base/error.h"
#include "engine/dump/dump_closed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/core/write_log.h"
#include "engine/dump/dump_run.h"

#define LATE_S	5U	/* a log that began so much later than the tree lacks names */

/* When the namespace's init was started, seconds of CLOCK_REALTIME; 0: unknown. */
static uint64_t writes_tree_began(const struct dump *d)
{
	unsigned long long ticks = 0;
	struct timespec now, up;
	char path[40], line[1024];
	const char *rest = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", d->options->roots[0]);
	file = fopen(path, "re");
	if (file && fgets(line, sizeof(line), file))
		rest = strrchr(line, ')');	/* the name may hold anything */
	if (file)
		fclose(file);
	if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
			    "%*d %*d %*d %*d %*d %llu", &ticks) != 1)
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	return (uint64_t)(now.tv_sec - up.tv_sec) + ticks / (uint64_t)sysconf(_SC_CLK_TCK);
}

int dump_writes_read(struct dump *d, struct write_log *ret_log)
{
	struct dump_files_told *told = &d->stats.files;
	int ret = write_log_read(d->cap.dev, d->options->roots[0], 0, ret_log);

	told->closed_asked = true;
	told->closed_known = !ret;
	if (ret)
		return ret;
	told->closed_lost = ret_log->flags & CKPT_WRITES_OVERFLOW || ret_log->unplaced;
	if (ret_log->since_ns / 1000000000 > writes_tree_began(d) + LATE_S)
		told->closed_since = ret_log->since_ns / 1000000000;
	d->writes_ns = ret_log->since_ns;
	d->writes_seq = ret_log->seq;
	return 0;
}

int dump_writes_record(struct dump *d)
{
	const struct dump_files_told *told = &d->stats.files;
	struct engine_rec_writes *rec;

	if (!told->closed_asked)
		return 0;
	rec = dump_record_add(d, ENGINE_REC_WRITES | CKPT_REC_OPTIONAL, sizeof(*rec), NULL, 0);
	if (!rec)
		return error_fail(d->error, -ENOMEM, "out of memory");
	if (told->closed_known)
		rec->flags = ENGINE_WRITES_KNOWN;
	if (told->closed_known && !told->closed_lost && !told->closed_since)
		rec->flags |= ENGINE_WRITES_COMPLETE;
	rec->nr_nodes = d->options->nr_nodes;
	rec->log_ns = d->writes_ns;
	rec->seq = d->writes_seq;
	return 0;
}
