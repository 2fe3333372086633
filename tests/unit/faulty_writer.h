/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A writer (image/writer.h) that fails, tears, dies or takes FAULT_SLOW_MS at its n-th
 * operation.
 */
#ifndef STILLPOINT_TESTS_FAULTY_WRITER_H
#define STILLPOINT_TESTS_FAULTY_WRITER_H

#include "base/error.h"
#include "image/writer.h"

enum fault_kind { FAULT_ENOSPC, FAULT_EIO, FAULT_TORN, FAULT_DIE, FAULT_SLOW };

#define FAULT_SLOW_MS	2000
#define FAULT_EXIT	42	/* status of a process that FAULT_DIE ended */

/*
 * @real: what does the work; the faulty one's from now on
 * @left: operations until the fault; < 0: never.  Counts down over all writers that
 *	share it
 * @ops: counts operations
 */
struct image_writer *faulty_writer(struct image_writer *real, enum fault_kind kind,
				   int *left, int *ops);

/* The same as what makes writers (struct level_writers); @arg: a plan, as above. */
struct faulty_plan {
	enum fault_kind kind;
	int left, ops;
};

int faulty_create(const char *dir, struct image_writer **ret_writer, struct ckpt_error *error,
		  void *arg);

#endif /* STILLPOINT_TESTS_FAULTY_WRITER_H */
