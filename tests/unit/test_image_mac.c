// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both ways to compute a tag give the same tag, for every length and for the
 * values that carry furthest; a changed bit anywhere is found by either.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* its inside as well: one-time keys cannot be chosen from outside */
#include "image/mac.c"

#define LONGEST	5000

static void same(const uint8_t *key, const uint8_t *nonce, const uint8_t *data, size_t len)
{
	uint8_t a[MAC_BYTES], b[MAC_BYTES];

	mac_compute(MAC_VECTOR, key, nonce, data, len, a);
	mac_compute(MAC_SCALAR, key, nonce, data, len, b);
	assert_memory_equal(a, b, MAC_BYTES);
	assert_true(mac_verify(MAC_VECTOR, key, nonce, data, len, b));
	assert_true(mac_verify(MAC_SCALAR, key, nonce, data, len, a));
}

static void test_lengths(void **unused)
{
	static uint8_t data[LONGEST];
	uint8_t key[32], nonce[24];

	randombytes_buf(data, sizeof(data));
	for (size_t len = 0; len <= LONGEST; len++) {
		randombytes_buf(key, sizeof(key));
		randombytes_buf(nonce, sizeof(nonce));
		same(key, nonce, data, len);
	}
}

/* Blocks of ones make the largest sums; many keys meet many of their carries. */
static void test_carries(void **unused)
{
	static uint8_t data[4096];
	uint8_t key[32], nonce[24];

	for (unsigned int i = 0; i < 20000; i++) {
		randombytes_buf(key, sizeof(key));
		randombytes_buf(nonce, sizeof(nonce));
		memset(data, i % 3 ? 0xff : 0, sizeof(data));
		if (i % 3 == 2)
			data[randombytes_uniform(64)] ^= (uint8_t)(1 << i % 8);
		same(key, nonce, data, 16 + i % 80);
	}
}

static void test_changed(void **unused)
{
	uint8_t data[100], key[32], nonce[24], tag[MAC_BYTES];

	randombytes_buf(data, sizeof(data));
	randombytes_buf(key, sizeof(key));
	randombytes_buf(nonce, sizeof(nonce));
	mac_compute(MAC_VECTOR, key, nonce, data, sizeof(data), tag);
	for (size_t bit = 0; bit < 8 * sizeof(data); bit++) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(mac_verify(MAC_SCALAR, key, nonce, data, sizeof(data), tag));
		assert_false(mac_verify(MAC_VECTOR, key, nonce, data, sizeof(data), tag));
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < 8 * sizeof(tag); bit++) {
		tag[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(mac_verify(MAC_SCALAR, key, nonce, data, sizeof(data), tag));
		tag[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_false(mac_verify(MAC_SCALAR, key, nonce, data, sizeof(data) - 1, tag));
}

/*
 * The last reduction matters for one sum in 2^128: the sums of RFC 8439, A.3
 * (numbers 7 to 11), which are made for that, and all of their neighbours.
 */
static void test_reduction(void **unused)
{
	static const uint8_t first[] = { 0xff, 0xfb, 0xfa, 0xfc, 0xf0, 0xfd, 0x05, 0x04, 1, 0 };
	static const uint8_t rest[] = { 0xff, 0xfe, 0x00, 0x01 };
	uint8_t key[32] = { 0 }, data[48], a[MAC_BYTES], b[MAC_BYTES];
	struct poly1305 st;

	for (unsigned int i = 0; i < 10 * 4 * 10 * 4 * 6; i++) {
		unsigned int n = i;

		memset(data, rest[n % 4], 16);
		n /= 4;
		memset(data + 16, rest[n % 4], 32);
		n /= 4;
		data[0] = first[n % 10];
		n /= 10;
		data[16] = first[n % 10];
		n /= 10;
		memset(key, 0, sizeof(key));
		key[0] = (uint8_t)(1 << n % 3);
		memset(key + 16, n % 2 ? 0xff : 0, 16);
		for (size_t len = 16; len <= sizeof(data); len += 16) {
			poly_init(&st, key);
			poly_blocks(&st, data, len);
			poly_finish(&st, a);
			crypto_onetimeauth_poly1305(b, data, len, key);
			assert_memory_equal(a, b, MAC_BYTES);
		}
	}
}

static void test_choose(void **unused)
{
	enum mac_way way = mac_choose();

	assert_true(way == MAC_VECTOR || way == MAC_SCALAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_carries),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_reduction),
		cmocka_unit_test(test_choose),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
