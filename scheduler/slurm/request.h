/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request of a launcher in a script's job to ckpt-slurm-run in the batch step, as bytes.
 *
 *	u32 length of the rest, u32 magic, i32 signal, u32 words, u32 variables,
 *	key, name, directory, words, variables: texts that end with a zero byte
 *
 * The descriptors 0, 1 and 2 of a launch travel beside the first byte (SCM_RIGHTS). Both ends are
 * processes of one user on one machine, so numbers are in the machine's order.
 */
#ifndef STILLPOINT_SLURM_REQUEST_H
#define STILLPOINT_SLURM_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#define REQUEST_MAX	(8U << 20)	/* bytes; Linux gives a program less */
#define REQUEST_KEY_MAX	32		/* with the zero byte */
#define REQUEST_NAME_MAX 128

/**
 * struct request - what a launcher asks for
 * @signal: signal for the launch @key; 0: launch the command
 * @key: of the launcher, unlike that of any other; digits and letters
 * @name: the launch's name, empty: it has none yet
 * @directory: working directory
 * @argv: the command, ends with NULL
 * @env: the launcher's environment, ends with NULL
 * @storage: holds the texts of a request that was read; free() it with argv and env
 */
struct request {
	int signal;
	const char *key;
	const char *name;
	const char *directory;
	char **argv;
	char **env;
	char *storage;
};

/*
 * request_pack() - make the bytes of @request, the length first
 * @ret_size: of all of it
 *
 * Return: the bytes, to be freed; NULL if there are too many, or no memory.
 */
char *request_pack(const struct request *request, size_t *ret_size);

/*
 * request_unpack() - read a request
 * @bytes: what follows the length; becomes @ret->storage, and is freed by a failure
 * @size: of @bytes
 *
 * Return: 0, or a negative errno: -EPROTO if these bytes are no request.
 */
int request_unpack(char *bytes, size_t size, struct request *ret);

/* Free what request_unpack() made. */
void request_free(struct request *request);

#endif /* STILLPOINT_SLURM_REQUEST_H */
