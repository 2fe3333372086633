/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handle, for the library's own files.
 */
#ifndef STILLPOINT_LIBCKPTCTL_HANDLE_H
#define STILLPOINT_LIBCKPTCTL_HANDLE_H

#include <jansson.h>

#include "libckptctl/ckptctl.h"
#include "libckptctl/wire.h"

/*
 * Called when the socket is not ready for @events (as of poll(2)); returns 0 when it is, or a
 * negative errno, by which the call fails for good.
 */
typedef int (*handle_wait_fn)(int sock, short events, void *arg);

struct ckpt {
	char *path;
	unsigned int limit_s;	/* that a connection may take */
	int sock;
	int broken;		/* negative errno of the transport: no further call */
	struct wire_in in;
	ckpt_progress_fn progress;
	void *progress_arg;
	handle_wait_fn wait;	/* NULL: the socket blocks */
	void *wait_arg;
	json_t *answer;		/* the last outcome; NULL: none yet */
	char *text;		/* the same as text */
	int answer_fd;		/* that came with the answer; -1: none */
	char error[256];	/* transport failures; outcomes have their own text */
};

/* As ckpt_connect(), but gives up with -EAGAIN if the connection takes @limit_s seconds. */
int handle_connect(const char *path, unsigned int limit_s, struct ckpt **ret_ckpt);

/* As ckpt_call(); takes over the reference to @args (NULL: -ENOMEM). */
int handle_call(struct ckpt *ckpt, const char *verb, json_t *args,
		const int *fds, unsigned int nr_fds);

/* Wait by @fn instead of in the kernel: for ckptctl, which tells its user that it waits. */
void handle_set_wait(struct ckpt *ckpt, handle_wait_fn fn, void *arg);

/* Refuse a call without making it: keep the text as its error and return @err. */
int handle_refuse(struct ckpt *ckpt, int err, const char *text);

#endif /* STILLPOINT_LIBCKPTCTL_HANDLE_H */
