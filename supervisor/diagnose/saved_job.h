/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One image, open for a diagnosis: its state, and the status pages of the ranks in it.
 */
#ifndef STILLPOINT_DIAGNOSE_SAVED_JOB_H
#define STILLPOINT_DIAGNOSE_SAVED_JOB_H

#include "supervisor/diagnose/image_memory.h"
#include "supervisor/diagnose/row.h"

struct saved_job {
	struct image_reader *reader;
	uint64_t *stream;
	struct state *state;
	struct image_files *files;
	uint64_t now_ns;	/* their CLOCK_MONOTONIC when the checkpoint was ordered */
	struct reading *page;	/* of the ranks in it, @nr of them */
	unsigned int nr;
	unsigned int nr_ranks;	/* of the whole job, as the pages say */
};

/*
 * saved_job_open() - open the image in @dir
 * @viewer: who asks; 0: root
 *
 * Return: 0, to be closed with saved_job_close(); negative errno and @error. -EOPNOTSUPP: no
 * status page is in the image. -EACCES: a process in the image is not @viewer's alone.
 */
int saved_job_open(const char *dir, const struct image_key *key, uid_t viewer,
		     struct saved_job *ret_state, struct ckpt_error *error);
void saved_job_close(struct saved_job *s);	/* all zero is fine */
/* The page of @rank; NULL. */
const struct reading *saved_job_page(const struct saved_job *s, uint32_t rank);

#endif /* STILLPOINT_DIAGNOSE_SAVED_JOB_H */
