// SPDX-License-Identifier: GPL-2.0-only
/*
 * The key that encrypts: where it is from, what is refused, and that it is nowhere in
 * memory that a core dump would have.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/keyctl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/error.h"
#include "tests/unit/image_fixture.h"

static void from_a_file(void **state)
{
	struct scratch *s = *state;
	const char *path = scratch_path(s, "secret");
	struct ckpt_error error;
	uint8_t none[16], id[16];

	image_key_secret_id(s->key, none);
	assert_int_equal(image_key_secret(s->key, path, &error), -ENOENT);
	assert_non_null(strstr(error.text, path));
	assert_string_equal(image_key_where(s->key), error.text);
	assert_int_equal(image_key_create(path, &error), 0);
	assert_int_equal(chmod(path, 0604), 0);
	assert_int_equal(image_key_secret(s->key, path, &error), -EPERM);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(truncate(path, 31), 0);
	assert_int_equal(image_key_secret(s->key, path, &error), -EINVAL);
	if (!geteuid()) {
		assert_int_equal(chown(path, 4711, 0), 0);
		assert_int_equal(image_key_secret(s->key, path, &error), -EPERM);
	}
	assert_false(image_key_has_secret(s->key));
	image_key_secret_id(s->key, id);
	assert_memory_equal(id, none, 16);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(image_key_create(path, &error), 0);
	assert_int_equal(image_key_secret(s->key, path, &error), 0);
	assert_true(image_key_has_secret(s->key));
	assert_string_equal(image_key_where(s->key), path);
	image_key_secret_id(s->key, id);
	assert_memory_not_equal(id, none, 16);
}

static void names_of_sources(void **state)
{
	(void)state;
	assert_true(image_key_source_ok("/etc/stillpoint/encryption.key"));
	assert_true(image_key_source_ok("keyring:stillpoint:images"));
	assert_false(image_key_source_ok("encryption.key"));
	assert_false(image_key_source_ok("keyring:"));
	assert_false(image_key_source_ok("keyring:two words"));
	assert_false(image_key_source_ok(""));
}

static long add(const char *type, const char *name, const uint8_t *bytes, size_t len)
{
	return syscall(SYS_add_key, type, name, bytes, len, KEY_SPEC_USER_KEYRING);
}

static void from_the_keyring(void **state)
{
	struct scratch *s = *state;
	uint8_t bytes[33] = { 1, 2, 3 }, id[16], again[16];
	struct ckpt_error error;
	char name[64], source[80];
	long key;

	snprintf(name, sizeof(name), "stillpoint-test:%d", (int)getpid());
	snprintf(source, sizeof(source), "keyring:%s", name);
	key = add("user", name, bytes, 32);
	if (key < 0)
		skip();		/* a container's filter */
	assert_int_equal(image_key_secret(s->key, source, &error), 0);
	assert_string_equal(image_key_where(s->key), source);
	image_key_secret_id(s->key, id);
	image_key_secret_from_bytes(s->key, bytes, "the same");
	image_key_secret_id(s->key, again);
	assert_memory_equal(id, again, 16);
	/* one byte too many */
	assert_true(add("user", name, bytes, 33) >= 0);
	assert_int_equal(image_key_secret(s->key, source, &error), -EINVAL);
	assert_non_null(strstr(error.text, "33 bytes"));
	syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING);
	assert_int_equal(image_key_secret(s->key, source, &error), -ENOKEY);
	assert_non_null(strstr(error.text, name));
	/* one for the kernel alone */
	key = add("logon", name, bytes, 32);
	assert_true(key >= 0);
	assert_int_equal(image_key_secret(s->key, source, &error), -ENOKEY);
	assert_non_null(strstr(error.text, "logon"));
	syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING);
}

static void texts(void **state)
{
	struct scratch *s = *state;
	_cleanup_free_ char *sealed = NULL, *again = NULL, *text = NULL;
	char *none = NULL;

	assert_int_equal(image_key_seal(s->key, "job 1", "PASSWORD=x", &sealed), -ENOKEY);
	scratch_secret(s);
	assert_int_equal(image_key_seal(s->key, "job 1", "PASSWORD=x", &sealed), 0);
	assert_int_equal(image_key_seal(s->key, "job 1", "PASSWORD=x", &again), 0);
	assert_string_not_equal(sealed, again);
	assert_null(strstr(sealed, "PASSWORD"));
	assert_int_equal(image_key_unseal(s->key, "job 1", sealed, &text), 0);
	assert_string_equal(text, "PASSWORD=x");
	assert_int_equal(image_key_unseal(s->key, "job 2", sealed, &none), -EBADMSG);
	assert_int_equal(image_key_unseal(s->key, "job 1", "", &none), -EBADMSG);
	assert_int_equal(image_key_unseal(s->key, "job 1", "AAAA", &none), -EBADMSG);
	sealed[40] = sealed[40] == 'A' ? 'B' : 'A';
	assert_int_equal(image_key_unseal(s->key, "job 1", sealed, &none), -EBADMSG);
	assert_null(none);
}

/* ------------------------------------------------------------ core dumps */

#define SCAN_MAX	(64UL << 20)	/* of one mapping: a sanitizer's shadow is larger */

/* Is @needle in memory that a core dump of this process has? */
static bool in_core(const uint8_t *needle, size_t len, unsigned int *ret_scanned)
{
	_cleanup_fd_ int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	FILE *maps = fopen("/proc/self/smaps", "r");
	uintptr_t start = 0, end = 0;
	bool found = false;
	char line[512], rights[8];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		uintptr_t from, to;
		size_t n, i;
		uint8_t *buf;
		ssize_t got;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &from, &to, rights) == 3) {
			start = from;
			end = to;
			continue;
		}
		if (strncmp(line, "VmFlags:", 8) || strstr(line, " dd") || !strstr(line, " rd") ||
		    !strstr(line, " wr") || end - start > SCAN_MAX)
			continue;
		n = end - start;
		/* not to be found in the copies of itself */
		buf = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(buf, MAP_FAILED);
		got = pread(mem, buf, n, (off_t)start);
		(*ret_scanned)++;
		for (i = 0; got > 0 && i + len <= (size_t)got; i++)
			found |= buf[i] == needle[0] && !sodium_memcmp(buf + i, needle, len);
		explicit_bzero(buf, n);
		munmap(buf, n);
	}
	fclose(maps);
	return found;
}

/* While an image is written and read; with several threads that encode. */
static void not_in_a_core(void **state)
{
	struct scratch *s = *state;
	struct image_options options = { .generation = 1, .job = "job", .encrypt = true };
	const char *path = scratch_path(s, "secret"), *dir = scratch_path(s, "image");
	uint8_t *secret = sodium_malloc(32), id[32], page[PAGE];
	struct image_reader *r, *clone;
	unsigned int scanned = 0;
	struct ckpt_error error;
	struct chunk_keys *keys;
	struct image_writer *w;
	uint8_t control[32];
	struct image *img;
	int i, fd;

	assert_int_equal(image_key_create(path, &error), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, secret, 32), 32);
	close(fd);
	assert_int_equal(image_key_secret(s->key, path, &error), 0);
	assert_int_equal(image_writer_create(dir, &w, &error), 0);
	assert_int_equal(image_create(w, s->key, &options, &img, &error), 0);
	for (i = 0; i < 2000; i++) {
		fill_page(page, (uint64_t)i + 1);
		assert_int_equal(image_pages_add(img, 1, (uint64_t)i * PAGE, 1, page), 0);
	}
	image_get_id(img, id);
	image_key_secret_id(s->key, control);
	assert_int_equal(image_key_chunk(s->key, id, control, &keys), 0);
	assert_false(in_core(secret, 32, &scanned));
	assert_false(in_core(keys->secret, 32, &scanned));
	assert_int_equal(image_set(img, "k", "v"), 0);
	assert_int_equal(image_commit(img, &error), 0);
	image_destroy(img);
	assert_int_equal(image_open(dir, s->key, NULL, &r, &error), 0);
	assert_int_equal(image_clone(r, &clone), 0);
	assert_int_equal(image_pages_read(clone, 1, 0, 1, page), 0);
	assert_false(in_core(secret, 32, &scanned));
	assert_false(in_core(keys->secret, 32, &scanned));
	image_close(clone);
	image_close(r);
	/* what is there is found: this search can fail */
	randombytes_buf(control, sizeof(control));
	assert_true(in_core(control, sizeof(control), &scanned));
	assert_true(scanned > 10);
	chunk_keys_destroy(keys);
	sodium_free(secret);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(from_a_file),
		T(names_of_sources),
		T(from_the_keyring),
		T(texts),
		T(not_in_a_core),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
