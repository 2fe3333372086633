/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handle, for the library's own files.
 */
#ifndef STILLPOINT_LIBCKPTCTL_HANDLE_H
#define STILLPOINT_LIBCKPTCTL_HANDLE_H

#include <jansson.h>

#include "libckptctl/ckptctl.h"
#include "libckptctl/wire.h"

struct ckpt {
	int sock;
	int broken;		/* negative errno of the transport: no further call */
	struct wire_in in;
	ckpt_progress_fn progress;
	void *progress_arg;
	json_t *answer;		/* the last outcome; NULL: none yet */
	char *text;		/* the same as text */
	int answer_fd;		/* that came with it; -1: none */
	char error[256];	/* transport failures; outcomes have their own text */
};

/* As ckpt_call(); takes over the reference to @args (NULL: -ENOMEM). */
int handle_call(struct ckpt *ckpt, const char *verb, json_t *args,
		const int *fds, unsigned int nr_fds);

#endif /* STILLPOINT_LIBCKPTCTL_HANDLE_H */
