// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys of jobs that this node has; see job_key.h.
 *
 * Owns the directory's names. A file that is there and cannot be used is an error, never the same
 * as none: else damage would let plain images in.
 *
 * Must not print a key or put it in an error.
 */
#include "image/job_key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BASE64		sodium_base64_VARIANT_ORIGINAL
#define PUBLIC_TEXT	45	/* base64 of 32 bytes, with the NUL */

_Static_assert(crypto_box_PUBLICKEYBYTES == IMAGE_KEY_BYTES, "base64 of a public key");
_Static_assert(sizeof(((struct image_recovery *)0)->sealed) ==
	       IMAGE_KEY_BYTES + crypto_box_SEALBYTES, "format");

int64_t job_key_number(const char *label)
{
	char *end;
	long long number;

	if (*label < '1' || *label > '9')
		return 0;
	errno = 0;
	number = strtoll(label, &end, 10);
	return errno || (*end && *end != '-') ? 0 : number;
}

static int job_key_path(const char *dir, int64_t job, char ret_path[PATH_MAX])
{
	int n = snprintf(ret_path, PATH_MAX, "%s/%lld", dir, (long long)job);

	return job < 1 ? -EINVAL : n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int job_key_read(const char *dir, int64_t job, uint8_t ret_bytes[IMAGE_KEY_BYTES],
		 struct ckpt_error *error)
{
	char path[PATH_MAX];
	int err = job_key_path(dir, job, path);

	return err ? error_set(error, err, "%s", strerror(-err)) :
		     image_key_read(path, ret_bytes, error);
}

/* Make the directory if it is missing; durable, as its keys are to be. */
static int job_key_directory(const char *dir, struct ckpt_error *error)
{
	_cleanup_fd_ int parent = -1;
	char path[PATH_MAX];

	if (mkdir(dir, 0700))
		return errno == EEXIST ? 0 : error_set(error, -errno, "%.200s: %m", dir);
	if (snprintf(path, sizeof(path), "%s/..", dir) < (int)sizeof(path))
		parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return parent < 0 || fsync(parent) ? error_set(error, -errno, "%.200s: %m", path) : 0;
}

static int job_key_write(const char *dir, int64_t job, const uint8_t bytes[IMAGE_KEY_BYTES],
			 struct ckpt_error *error)
{
	char path[PATH_MAX];
	int err = job_key_path(dir, job, path);

	if (err)
		return error_set(error, err, "%s", strerror(-err));
	err = job_key_directory(dir, error);
	return err ? err : image_key_write(path, bytes, error);
}

int job_key_make(const char *dir, int64_t job, struct ckpt_error *error)
{
	uint8_t bytes[IMAGE_KEY_BYTES];
	int err;

	if (sodium_init() < 0)
		return error_set(error, -ENOSYS, "libsodium does not work here");
	randombytes_buf(bytes, sizeof(bytes));
	err = job_key_write(dir, job, bytes, error);
	explicit_bzero(bytes, sizeof(bytes));
	return err;
}

int job_key_put(const char *dir, int64_t job, const uint8_t bytes[IMAGE_KEY_BYTES],
		struct ckpt_error *error)
{
	uint8_t there[IMAGE_KEY_BYTES];
	int err = job_key_write(dir, job, bytes, error);

	if (err != -EEXIST)
		return err;
	err = job_key_read(dir, job, there, error);
	if (!err && sodium_memcmp(there, bytes, sizeof(there)))
		err = error_set(error, -EEXIST,
				"job %lld has another key here, which stays: %.200s/%lld",
				(long long)job, dir, (long long)job);
	explicit_bzero(there, sizeof(there));
	return err;
}

int job_key_id(const uint8_t bytes[IMAGE_KEY_BYTES], uint8_t ret_id[IMAGE_KEY_ID_BYTES])
{
	struct image_key *key;
	int err = image_key_from_bytes(bytes, &key);

	if (err)
		return err;
	image_key_secret_from_bytes(key, bytes, "");
	image_key_secret_id(key, ret_id);
	image_key_destroy(key);
	return 0;
}

int job_key_remove(const char *dir, int64_t job)
{
	char path[PATH_MAX];
	int err = job_key_path(dir, job, path);

	return err ? err : unlink(path) ? -errno : 0;
}

int job_key_set_recovery(const char *dir, const char *public, struct ckpt_error *error)
{
	_cleanup_fd_ int fd = -1;
	char path[PATH_MAX], tmp[PATH_MAX];
	size_t len = public ? strlen(public) : 0;
	int err;

	if (snprintf(path, sizeof(path), "%s/" JOB_KEY_RECOVERY, dir) >= (int)sizeof(path) ||
	    snprintf(tmp, sizeof(tmp), "%s.new", path) >= (int)sizeof(tmp))
		return error_set(error, -ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
	if (!public)
		return unlink(path) && errno != ENOENT ? error_set(error, -errno, "%s: %m", path) :
							 0;
	err = job_key_directory(dir, error);
	if (err)
		return err;
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || write(fd, public, len) != (ssize_t)len || fsync(fd) || rename(tmp, path))
		return error_set(error, -errno, "%.200s: %m", path);
	return 0;
}

/* Read the site's public key. 0; 1: there is none; negative errno. */
static int recovery_read(const char *dir, uint8_t ret_public[IMAGE_KEY_BYTES],
			 struct ckpt_error *error)
{
	_cleanup_fd_ int fd = -1;
	char path[PATH_MAX], text[PUBLIC_TEXT + 1];
	const char *end;
	size_t len;
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/" JOB_KEY_RECOVERY, dir) >= (int)sizeof(path))
		return error_set(error, -ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? 1 : error_set(error, -errno, "%.200s: %m", path);
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	if (n != PUBLIC_TEXT - 1 ||
	    sodium_base642bin(ret_public, IMAGE_KEY_BYTES, text, (size_t)n, NULL, &len, &end,
			      BASE64) || len != IMAGE_KEY_BYTES || *end)
		return error_set(error, -EINVAL, "%.200s: no public key", path);
	return 0;
}

int job_key_recover(const struct image_recovery *copy, const uint8_t secret[IMAGE_KEY_BYTES],
		    uint8_t ret_bytes[IMAGE_KEY_BYTES])
{
	uint8_t public[IMAGE_KEY_BYTES];

	if (sodium_init() < 0)
		return -ENOSYS;
	crypto_scalarmult_base(public, secret);
	if (memcmp(public, copy->public, sizeof(public)))
		return -EKEYREJECTED;
	return crypto_box_seal_open(ret_bytes, copy->sealed, sizeof(copy->sealed), public,
				    secret) ? -EBADMSG : 0;
}

int image_key_of_job(const struct image_key *key, const char *label, struct image_key **ret_own,
		     struct ckpt_error *error)
{
	const char *dir = image_key_jobs(key);
	const int64_t job = job_key_number(label);
	uint8_t bytes[IMAGE_KEY_BYTES], public[IMAGE_KEY_BYTES];
	int err, none;

	*ret_own = NULL;
	if (!dir || !job)
		return 0;
	err = job_key_read(dir, job, bytes, error);
	if (err)
		return err == -ENOENT ? 0 : err;
	none = recovery_read(dir, public, error);
	err = none < 0 ? none : image_key_own(key, bytes, none ? NULL : public, ret_own);
	explicit_bzero(bytes, sizeof(bytes));
	return err;
}

bool image_key_recovery(const struct image_key *key, struct image_recovery *ret_copy)
{
	return image_key_copy_for(key, ret_copy->public, ret_copy->sealed);
}
