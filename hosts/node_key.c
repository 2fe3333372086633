// SPDX-License-Identifier: GPL-2.0-only
/*
 * A node's key pair; see node_key.h.
 *
 * libzmq's CURVE uses the keys of libsodium's crypto_box unchanged, so keys are made
 * without libzmq: ckptctl needs only a key pair, and libzmq brings a dozen libraries. The
 * file is one line of text with the secret; the public half is computed from it.
 * Nothing here prints the secret or puts it in an error.
 */
#include "hosts/node_key.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BASE64	sodium_base64_VARIANT_ORIGINAL

void node_key_text(const uint8_t bytes[NODE_KEY_BYTES], char ret_text[NODE_KEY_TEXT])
{
	sodium_bin2base64(ret_text, NODE_KEY_TEXT, bytes, NODE_KEY_BYTES, BASE64);
}

int node_key_parse(const char *text, uint8_t ret_bytes[NODE_KEY_BYTES])
{
	uint8_t bytes[NODE_KEY_BYTES];
	const char *end;
	size_t n;

	if (strlen(text) != NODE_KEY_TEXT - 1 ||
	    sodium_base642bin(bytes, sizeof(bytes), text, NODE_KEY_TEXT - 1, NULL, &n,
			      &end, BASE64) ||
	    n != sizeof(bytes) || *end)
		return -EINVAL;
	memcpy(ret_bytes, bytes, sizeof(bytes));
	sodium_memzero(bytes, sizeof(bytes));
	return 0;
}

void node_key_wipe(struct node_key *key)
{
	sodium_memzero(key, sizeof(*key));
}

static int node_key_check_file(int fd, const char *path, struct ckpt_error *error)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(error, -errno, "%s: %m", path);
	if (!S_ISREG(st.st_mode) || st.st_size > 4096)
		return error_set(error, -EINVAL, "%s: this is no key file", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return error_set(error, -EPERM,
				 "%s: belongs to uid %u, must be root's: make a new one (ckptctl "
				 "keygen --force)",
				 path, (unsigned int)st.st_uid);
	if (st.st_mode & 077)
		return error_set(error, -EPERM,
				 "%s: mode %04o lets others in, must be 0600: make a new one "
				 "(ckptctl keygen --force)",
				 path, (unsigned int)st.st_mode & 07777);
	return 0;
}

int node_key_load(const char *path, struct node_key *ret_key, struct ckpt_error *error)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct node_key key;
	char text[128];
	ssize_t n;
	int err;

	if (fd < 0)
		return error_set(error, -errno, errno == ENOENT ?
				       "%s does not exist: make it with ckptctl keygen" :
				       "%s: %m", path);
	err = node_key_check_file(fd, path, error);
	if (err)
		return err;
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, " \t\r\n")] = '\0';
	err = node_key_parse(text, key.secret);
	sodium_memzero(text, sizeof(text));
	if (err)
		return error_set(error, err,
				 "%s: this is no key of a node: make a new one (ckptctl keygen "
				 "--force)",
				 path);
	crypto_scalarmult_base(key.public, key.secret);
	*ret_key = key;
	node_key_wipe(&key);
	return 0;
}

static int write_key(int fd, const struct node_key *key)
{
	char text[NODE_KEY_TEXT];
	ssize_t n;

	node_key_text(key->secret, text);
	text[NODE_KEY_TEXT - 1] = '\n';
	n = write(fd, text, sizeof(text));
	sodium_memzero(text, sizeof(text));
	if (n != sizeof(text))
		return n < 0 ? -errno : -ENOSPC;
	return fsync(fd) ? -errno : 0;
}

static int sync_parent(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	_cleanup_fd_ int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	return fd < 0 || fsync(fd) ? -errno : 0;
}

int node_key_create(const char *path, bool replace, struct node_key *ret_key,
		    struct ckpt_error *error)
{
	_cleanup_free_ char *tmp = NULL;
	_cleanup_fd_ int fd = -1;
	struct node_key key;
	int err;

	if (sodium_init() < 0)
		return error_set(error, -ENOSYS, "libsodium does not work here");
	if (asprintf(&tmp, "%s.XXXXXX", path) < 0) {
		tmp = NULL;
		return error_set(error, -ENOMEM, "out of memory");
	}
	fd = mkostemp(tmp, O_CLOEXEC);		/* mode 0600 */
	if (fd < 0)
		return error_set(error, -errno, "%s: %m", path);
	crypto_box_keypair(key.public, key.secret);
	err = write_key(fd, &key);
	if (!err && (replace ? rename(tmp, path) : link(tmp, path)))
		err = -errno;
	if (err || !replace)
		unlink(tmp);
	if (!err)
		err = sync_parent(path);
	if (!err)
		*ret_key = key;
	node_key_wipe(&key);
	return err ? error_set(error, err, "%s: %s", path, strerror(-err)) : 0;
}
