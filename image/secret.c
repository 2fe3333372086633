// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gets the secret from a file, or from the kernel's keyring.
 *
 * Only keys of type "user" can be used.  A "logon" key is for the kernel and cannot be read by
 * any program; if there is such a key, the error says so.  A service has a session of its own,
 * from which its user's keyring cannot be reached: for the search the user's keyring is linked
 * into this thread's keyring, which vanishes with the thread.
 *
 * Jobs' keys are read when an image of the job is opened or made (job_key.c): here only their
 * directory is noted.
 *
 * Must not keep the secret anywhere but in the key, and must not print it.
 */
#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "image/key.h"

#define OF_KEYRING	"keyring:"
#define NAME_MAX_BYTES	128

/* The name behind "keyring:"; NULL: @source is no keyring source. */
static const char *keyring_name(const char *source)
{
	return strncmp(source, OF_KEYRING, strlen(OF_KEYRING)) ? NULL :
	       source + strlen(OF_KEYRING);
}

bool image_key_source_ok(const char *text)
{
	const char *name = keyring_name(text), *p;

	if (!name)
		return text[0] == '/';
	for (p = name; *p; p++)
		if (*p <= ' ' || *p > '~')
			return false;
	return p > name && p - name < NAME_MAX_BYTES;
}

static long secret_find(const char *type, const char *name)
{
	long id = syscall(SYS_request_key, type, name, NULL, 0);

	return id < 0 ? -errno : id;
}

static int not_found(const char *name, int err, struct ckpt_error *error)
{
	if (err == -ENOKEY && secret_find("logon", name) >= 0)
		return error_set(error, -ENOKEY,
				 "the key %.60s in the keyring is of type logon, which no program "
				 "can read: add it as one of type user",
				 name);
	if (err == -ENOKEY)
		return error_set(error, err,
				 "no key %.60s in the keyring: keyctl padd user %.60s @u <FILE",
				 name, name);
	return error_set(error, err, "key %.60s in the keyring: %s", name, strerror(-err));
}

static int read_keyring(const char *name, uint8_t ret_bytes[IMAGE_KEY_BYTES],
			struct ckpt_error *error)
{
	long id = secret_find("user", name), n;

	if (id < 0) {
		syscall(SYS_keyctl, KEYCTL_LINK, KEY_SPEC_USER_KEYRING, KEY_SPEC_THREAD_KEYRING);
		id = secret_find("user", name);
	}
	if (id < 0)
		return not_found(name, (int)id, error);
	n = syscall(SYS_keyctl, KEYCTL_READ, id, ret_bytes, IMAGE_KEY_BYTES);
	if (n < 0)
		return not_found(name, -errno, error);
	if (n != IMAGE_KEY_BYTES)
		return error_set(error, -EINVAL,
				 "key %.60s in the keyring: %ld bytes long, a key has %d", name, n,
				 IMAGE_KEY_BYTES);
	return 0;
}

static int secret_read(struct image_key *key, const char *source, struct ckpt_error *error)
{
	const char *name = keyring_name(source);
	uint8_t bytes[IMAGE_KEY_BYTES];
	struct ckpt_error why = {};
	int err = name ? read_keyring(name, bytes, &why) : image_key_read(source, bytes, &why);

	if (err) {
		image_key_set_where(key, why.text);
		error_set(error, err, "%s", why.text);
	} else {
		image_key_secret_from_bytes(key, bytes, source);
	}
	explicit_bzero(bytes, sizeof(bytes));
	return err;
}

/* Name the directory of @source, which is behind its prefix; the secret follows, or nothing. */
static int secret_jobs(struct image_key *key, const char *source, bool only,
		       struct ckpt_error *error)
{
	const char *rest = strchr(source, IMAGE_KEY_JOBS_THEN[0]);
	_cleanup_free_ char *dir = rest ? strndup(source, (size_t)(rest - source)) :
					  strdup(source);
	int err = dir ? image_key_set_jobs(key, dir, only) : -ENOMEM;

	if (err)
		return error_set(error, err, "directory of jobs' keys: %s", strerror(-err));
	return rest ? secret_read(key, rest + 1, error) : 0;
}

int image_key_secret(struct image_key *key, const char *source, struct ckpt_error *error)
{
	if (!strncmp(source, IMAGE_KEY_JOBS, strlen(IMAGE_KEY_JOBS)))
		return secret_jobs(key, source + strlen(IMAGE_KEY_JOBS), false, error);
	if (!strncmp(source, IMAGE_KEY_JOBS_ONLY, strlen(IMAGE_KEY_JOBS_ONLY)))
		return secret_jobs(key, source + strlen(IMAGE_KEY_JOBS_ONLY), true, error);
	return secret_read(key, source, error);
}

int image_key_secret_only(const char *source, struct image_key **ret_key,
			  struct ckpt_error *error)
{
	static const uint8_t none[IMAGE_KEY_BYTES];
	struct image_key *key;
	int err = image_key_from_bytes(none, &key);

	if (err)
		return error_set(error, err, "%s", strerror(-err));
	err = image_key_secret(key, source, error);
	if (err)
		image_key_destroy(key);
	else
		*ret_key = key;
	return err;
}
