// SPDX-License-Identifier: GPL-2.0-only
/*
 * The node's key, the secret, and the keys derived from them.
 *
 * Neither key is used on an image directly: each use has its own key, made by keyed
 * BLAKE2b of a label (and, except for the key ids, the image's random id), so that data
 * authenticated or encrypted for one image or one use is worthless for another.
 * The labels are part of the format and never change their meaning.
 *
 * All keys, also those of chunks, live in pages of their own (sodium_malloc()): locked where
 * RLIMIT_MEMLOCK allows it, kept out of core dumps, and wiped when freed.  Nothing here
 * may print a key or put it in an error.  secret.c gets the secret.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "image/key.h"

struct image_key {
	uint8_t bytes[IMAGE_KEY_BYTES];
	uint8_t secret[IMAGE_KEY_BYTES];
	bool has_secret;
	char where[200];		/* the place of the secret, for messages */
	char jobs[PATH_MAX];		/* the directory of jobs' keys; "": none */
	bool jobs_only, own;
	bool copies;			/* own: copies are made for @site */
	uint8_t site[IMAGE_KEY_BYTES];
};

int image_key_from_bytes(const uint8_t bytes[IMAGE_KEY_BYTES],
			 struct image_key **ret_key)
{
	struct image_key *key;

	if (sodium_init() < 0)
		return -ENOSYS;
	key = sodium_malloc(sizeof(*key));
	if (!key)
		return -ENOMEM;
	memset(key, 0, sizeof(*key));
	memcpy(key->bytes, bytes, sizeof(key->bytes));
	*ret_key = key;
	return 0;
}

void image_key_destroy(struct image_key *key)
{
	sodium_free(key);		/* wipes the memory, too */
}

void image_key_secret_from_bytes(struct image_key *key, const uint8_t bytes[IMAGE_KEY_BYTES],
				 const char *where)
{
	memcpy(key->secret, bytes, sizeof(key->secret));
	key->has_secret = true;
	image_key_set_where(key, where);
}

void image_key_set_where(struct image_key *key, const char *where)
{
	snprintf(key->where, sizeof(key->where), "%s", where);
}

bool image_key_has_secret(const struct image_key *key)
{
	return key->has_secret;
}

const char *image_key_where(const struct image_key *key)
{
	return key->where;
}

const char *image_key_jobs(const struct image_key *key)
{
	return key->jobs[0] ? key->jobs : NULL;
}

int image_key_set_jobs(struct image_key *key, const char *dir, bool only)
{
	if (strlen(dir) >= sizeof(key->jobs))
		return -ENAMETOOLONG;
	strcpy(key->jobs, dir);
	key->jobs_only = only;
	return 0;
}

int image_key_own(const struct image_key *key, const uint8_t bytes[IMAGE_KEY_BYTES],
		  const uint8_t *public, struct image_key **ret_own)
{
	struct image_key *own;
	int err = image_key_from_bytes(key->bytes, &own);

	if (err)
		return err;
	image_key_secret_from_bytes(own, bytes, "the key of the job");
	own->own = true;
	own->copies = public;
	if (public)
		memcpy(own->site, public, sizeof(own->site));
	*ret_own = own;
	return 0;
}

bool image_key_is_own(const struct image_key *key)
{
	return key->own;
}

bool image_key_jobs_only(const struct image_key *key)
{
	return key->jobs_only;
}

bool image_key_copy_for(const struct image_key *key, uint8_t ret_public[IMAGE_KEY_BYTES],
			uint8_t ret_sealed[IMAGE_KEY_BYTES + 48])
{
	if (!key->copies || crypto_box_seal(ret_sealed, key->secret, sizeof(key->secret),
					    key->site))
		return false;
	memcpy(ret_public, key->site, sizeof(key->site));
	return true;
}

static int check_key_file(int fd, const char *path, struct ckpt_error *error)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(error, -errno, "%s: %m", path);
	if (!S_ISREG(st.st_mode))
		return error_set(error, -EPERM,
				       "%s: not a regular file", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return error_set(error, -EPERM,
				       "%s: belongs to uid %u, must be root's",
				       path, (unsigned int)st.st_uid);
	if (st.st_mode & 077)
		return error_set(error, -EPERM,
				       "%s: mode %04o lets others in, must be 0600",
				       path, (unsigned int)st.st_mode & 07777);
	if (st.st_size != IMAGE_KEY_BYTES)
		return error_set(error, -EINVAL,
				       "%s: %lld bytes long, a key has %d", path,
				       (long long)st.st_size, IMAGE_KEY_BYTES);
	return 0;
}

int image_key_read(const char *path, uint8_t ret_bytes[IMAGE_KEY_BYTES],
		   struct ckpt_error *error)
{
	_cleanup_fd_ int fd = -1;
	ssize_t n;
	int err;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return error_set(error, -errno, "%s: %m", path);
	err = check_key_file(fd, path, error);
	if (err)
		return err;
	n = pread(fd, ret_bytes, IMAGE_KEY_BYTES, 0);
	if (n == IMAGE_KEY_BYTES)
		return 0;
	err = n < 0 ? -errno : -EIO;
	return error_set(error, err, "%s: cannot read it: %s", path, strerror(-err));
}

int image_key_load(const char *path, struct image_key **ret_key,
		   struct ckpt_error *error)
{
	uint8_t bytes[IMAGE_KEY_BYTES];
	int err = image_key_read(path, bytes, error);

	if (err)
		return err;
	err = image_key_from_bytes(bytes, ret_key);
	explicit_bzero(bytes, sizeof(bytes));
	if (err)
		return error_set(error, err, "%s: %s", path, strerror(-err));
	return 0;
}

/* Open the directory of @path, for the fsync that makes a new name in it durable. */
static int open_parent(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	char *slash;
	int fd;

	if (!copy)
		return -ENOMEM;
	slash = strrchr(copy, '/');
	if (!slash)
		fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	else if (slash == copy)
		fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	else {
		*slash = '\0';
		fd = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

static int write_key(int fd, const uint8_t bytes[IMAGE_KEY_BYTES])
{
	ssize_t n = write(fd, bytes, IMAGE_KEY_BYTES);

	if (n < 0)
		return -errno;
	if (n != IMAGE_KEY_BYTES)
		return -ENOSPC;
	return fsync(fd) < 0 ? -errno : 0;
}

/*
 * The key is written under another name and linked into place, so that a crash leaves
 * either no key or a whole one, and two creators do not overwrite each other.
 */
int image_key_write(const char *path, const uint8_t bytes[IMAGE_KEY_BYTES],
		    struct ckpt_error *error)
{
	_cleanup_fd_ int fd = -1;
	_cleanup_fd_ int parent = -1;
	_cleanup_free_ char *tmp = NULL;
	int err = 0;

	parent = open_parent(path);
	if (parent < 0)
		return error_set(error, parent, "%s: %s", path,
				       strerror(-parent));
	if (asprintf(&tmp, "%s.XXXXXX", path) < 0) {
		tmp = NULL;
		return error_set(error, -ENOMEM, "out of memory");
	}
	fd = mkostemp(tmp, O_CLOEXEC);		/* mode 0600 */
	if (fd < 0)
		return error_set(error, -errno, "%s: %m", tmp);
	err = write_key(fd, bytes);
	if (!err && link(tmp, path) < 0)
		err = -errno;
	unlink(tmp);
	if (!err && fsync(parent) < 0)
		err = -errno;
	if (err)
		return error_set(error, err, "%s: %s", path, strerror(-err));
	return 0;
}

int image_key_create(const char *path, struct ckpt_error *error)
{
	uint8_t bytes[IMAGE_KEY_BYTES];
	int err;

	if (sodium_init() < 0)
		return error_set(error, -ENOSYS, "libsodium does not work here");
	randombytes_buf(bytes, sizeof(bytes));
	err = image_key_write(path, bytes, error);
	explicit_bzero(bytes, sizeof(bytes));
	return err;
}

static void key_derive(const uint8_t key[IMAGE_KEY_BYTES], const char *label,
		       const uint8_t *image_id, uint8_t *out, size_t len)
{
	crypto_generichash_state st;

	crypto_generichash_init(&st, key, IMAGE_KEY_BYTES, len);
	crypto_generichash_update(&st, (const uint8_t *)label, strlen(label));
	if (image_id)
		crypto_generichash_update(&st, image_id, 32);
	crypto_generichash_final(&st, out, len);
	explicit_bzero(&st, sizeof(st));
}

void image_key_id(const struct image_key *key, uint8_t ret_id[16])
{
	key_derive(key->bytes, "stillpoint key id v1", NULL, ret_id, 16);
}

void image_key_manifest(const struct image_key *key, const uint8_t image_id[32],
			uint8_t ret_key[IMAGE_SUBKEY_BYTES])
{
	key_derive(key->bytes, "stillpoint manifest v1", image_id, ret_key,
		   IMAGE_SUBKEY_BYTES);
}

void image_key_secret_id(const struct image_key *key, uint8_t ret_id[16])
{
	memset(ret_id, 0, 16);
	if (key->has_secret)
		key_derive(key->secret, "stillpoint secret id v1", NULL, ret_id, 16);
}

void image_key_private(const struct image_key *key, const uint8_t *image_id,
		       uint8_t ret_key[IMAGE_SUBKEY_BYTES])
{
	key_derive(key->secret,
		   image_id ? "stillpoint secret manifest v1" : "stillpoint secret text v1",
		   image_id, ret_key, IMAGE_SUBKEY_BYTES);
}

void image_key_job_mac(const struct image_key *key, const uint8_t image_id[32],
		       uint8_t ret_key[IMAGE_SUBKEY_BYTES])
{
	key_derive(key->secret, "stillpoint secret job v1", image_id, ret_key, IMAGE_SUBKEY_BYTES);
}

int image_key_chunk(const struct image_key *key, const uint8_t image_id[32],
		    const uint8_t *secret_id, struct chunk_keys **ret_keys)
{
	struct chunk_keys *keys = sodium_malloc(sizeof(*keys));
	uint8_t own[16];

	if (!keys)
		return -ENOMEM;
	memset(keys, 0, sizeof(*keys));
	key_derive(key->bytes, "stillpoint chunk v1", image_id, keys->tag, sizeof(keys->tag));
	keys->encrypted = secret_id;
	if (secret_id) {
		image_key_secret_id(key, own);
		keys->blind = !key->has_secret || sodium_memcmp(own, secret_id, sizeof(own));
	}
	if (keys->encrypted && !keys->blind)
		key_derive(key->secret, "stillpoint secret chunk v1", image_id, keys->secret,
			   sizeof(keys->secret));
	*ret_keys = keys;
	return 0;
}

void chunk_keys_destroy(struct chunk_keys *keys)
{
	sodium_free(keys);
}

void image_key_parity(const struct image_key *key, const uint8_t salt[32],
		      uint8_t ret_header[IMAGE_SUBKEY_BYTES],
		      uint8_t ret_frames[IMAGE_SUBKEY_BYTES])
{
	key_derive(key->bytes, "stillpoint parity header v1", salt, ret_header,
		   IMAGE_SUBKEY_BYTES);
	key_derive(key->bytes, "stillpoint parity frames v1", salt, ret_frames,
		   IMAGE_SUBKEY_BYTES);
}
