/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one way in which user space fails: a negative errno is returned, and a struct
 * ckpt_error that the caller owns says what failed, where, and what to do next.
 *
 * Functions that fail end a line: return error_set(error, -EIO, "%s: %s", path, cause).
 * Every function here takes a NULL error. Nothing here prints: the caller that handles an
 * error prints the text once. A text fits one line; a longer text is cut off.
 *
 * A refusal is a finding with a reason of linux/ckpt_reasons.def and an object: a
 * descriptor, a mapping, a process. The kernel's refusals and our own look the same.
 */
#ifndef STILLPOINT_ERROR_H
#define STILLPOINT_ERROR_H

#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/**
 * struct error_refusal - one finding that stands in the way
 * @reason: enum ckpt_reason
 * @pid: the process, 0: none
 * @tid: the thread, 0: none
 * @object: number of the descriptor, address of the mapping, …; by @reason
 * @comm: name of the process
 * @detail: names the object for people
 */
struct error_refusal {
	uint32_t reason;
	pid_t pid;
	pid_t tid;
	uint64_t object;
	char comm[16];
	char detail[296];
};

/**
 * struct ckpt_error - why something failed
 * @text: for people: the object, the cause and the next step; "" while nothing failed
 * @err: negative errno that was returned with @text
 * @refusals: @nr_refusals findings, owned; error_done() frees them
 */
struct ckpt_error {
	char text[512];
	int err;
	struct error_refusal *refusals;
	unsigned int nr_refusals;
};

/* Free what @error owns, and empty it. */
void error_done(struct ckpt_error *error);

/**
 * error_set() - describe a failure, in place of what was described before
 * @err: negative errno; its strerror() is not appended
 *
 * @error needs no initial value, unless error_done() is called on it.
 *
 * Return: @err
 */
__attribute__((format(printf, 3, 4)))
int error_set(struct ckpt_error *error, int err, const char *format, ...);

/**
 * error_fail() - describe a failure, unless one is described already
 *
 * The first text stays: it is the cause, and later ones are consequences.
 *
 * Return: @err
 */
__attribute__((format(printf, 3, 4)))
int error_fail(struct ckpt_error *error, int err, const char *format, ...);

/* Add a finding; its detail is formatted. */
__attribute__((format(printf, 3, 4)))
void error_refuse(struct ckpt_error *error, const struct error_refusal *refusal,
		  const char *format, ...);

/**
 * error_refused() - turn findings into a failure
 * @what: object of the operation, "the tree"
 *
 * The text is made of the first finding.
 *
 * Return: -EOPNOTSUPP if there are findings, else 0
 */
int error_refused(struct ckpt_error *error, const char *what);

/* The last 80 bytes of a long @path, for an error text: they name job, generation and node. */
static inline const char *error_path_tail(const char *path)
{
	size_t len = strlen(path);

	return len > 80 ? path + len - 80 : path;
}

#endif /* STILLPOINT_ERROR_H */
