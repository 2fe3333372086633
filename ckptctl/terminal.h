/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Being attached to a job: prints its output, passes input and signals on to it.
 */
#ifndef STILLPOINT_TERMINAL_H
#define STILLPOINT_TERMINAL_H

#include <stdbool.h>

#define TERMINAL_DETACH_KEY	0x1d	/* Ctrl-] */

#define TERMINAL_RAW	(1U << 0)	/* both the job and this process have a terminal */
#define TERMINAL_INPUT	(1U << 1)	/* pass standard input on to the job */
#define TERMINAL_SIGNALS (1U << 2)	/* hand signals on to the job */
#define TERMINAL_END_LINE (1U << 3)	/* end an unfinished line on standard error */
#define TERMINAL_READER	(1U << 4)	/* detach when standard output has no reader */
#define TERMINAL_KEY	(1U << 5)	/* our input is a terminal: look for the detach key */

/*
 * Hold signals back until terminal_run() hands them on: what is sent while a job
 * is being started is meant for it.
 */
void terminal_hold_signals(void);
/* There is no job for them any more: they end us. */
void terminal_free_signals(void);

/* Do we ignore @sig? Then it is not handed on either. */
bool terminal_ignores(int sig);

struct terminal_end {
	int status;	/* of the job, as of waitpid(2) */
	int lost;	/* 0, or why not all of its output could be written here: negative errno */
	bool asked;	/* a signal that ends programs was handed on to the job */
};

/*
 * terminal_run() - until the job ends or the user detaches
 * @sock: from ckptd (shim/proto.h); taken over
 * @ret_end: the status is there if the job has ended
 *
 * Input that cannot be read ends there for the job.
 *
 * Return: 1: the job has ended; 0: detached; -EPIPE: the job's shim went away;
 * other negative errno.
 */
int terminal_run(int sock, unsigned int flags, struct terminal_end *ret_end);

/* Our input is a terminal whose settings we may change: we are not in the background. */
bool terminal_has_key(void);

/* rows << 16 | columns of our terminal; 0: none. */
unsigned int terminal_window(void);

#endif /* STILLPOINT_TERMINAL_H */
