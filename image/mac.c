// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tag of data that is authenticated and not encrypted: Poly1305 over
 *
 *	data, zeros up to 16 bytes, le64 length of data, le64 0
 *
 * with a one-time key, the first 32 bytes of the XChaCha20 stream of the nonce
 * (RFC 8439 and draft-irtf-cfrg-xchacha).
 *
 * The scalar way is Poly1305 with limbs of 44, 44 and 42 bits, as published by
 * its authors; no branch and no address depends on a secret.  Keys and streams
 * are libsodium's business in either way.  A test holds both against each other.
 */
#include "image/mac.h"

#include <endian.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

#define MASK44		0xfffffffffffULL
#define MASK42		0x3ffffffffffULL
#define BLOCK		16U
#define TRIAL_BYTES	8192U
#define TRIALS		3
#define WORTH		1.5	/* libsodium's, unless ours is clearly faster */

typedef unsigned __int128 u128;

struct poly1305 {
	uint64_t r[3];
	uint64_t h[3];
	uint64_t pad[2];
};

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static void poly_init(struct poly1305 *st, const uint8_t key[32])
{
	uint64_t t0 = load64(key), t1 = load64(key + 8);

	st->r[0] = t0 & 0xffc0fffffffULL;
	st->r[1] = (t0 >> 44 | t1 << 20) & 0xfffffc0ffffULL;
	st->r[2] = t1 >> 24 & 0x00ffffffc0fULL;
	memset(st->h, 0, sizeof(st->h));
	st->pad[0] = load64(key + 16);
	st->pad[1] = load64(key + 24);
}

/* Whole blocks only: len is a multiple of 16. */
static void poly_blocks(struct poly1305 *st, const uint8_t *data, size_t len)
{
	const uint64_t r0 = st->r[0], r1 = st->r[1], r2 = st->r[2];
	const uint64_t s1 = r1 * 20, s2 = r2 * 20;	/* 5 * 4: reduction and limb size */
	uint64_t h0 = st->h[0], h1 = st->h[1], h2 = st->h[2], c;

	for (; len; data += BLOCK, len -= BLOCK) {
		uint64_t t0 = load64(data), t1 = load64(data + 8);
		u128 d0, d1, d2;

		h0 += t0 & MASK44;
		h1 += (t0 >> 44 | t1 << 20) & MASK44;
		h2 += (t1 >> 24 & MASK42) | 1ULL << 40;
		d0 = (u128)h0 * r0 + (u128)h1 * s2 + (u128)h2 * s1;
		d1 = (u128)h0 * r1 + (u128)h1 * r0 + (u128)h2 * s2;
		d2 = (u128)h0 * r2 + (u128)h1 * r1 + (u128)h2 * r0;
		c = (uint64_t)(d0 >> 44);
		h0 = (uint64_t)d0 & MASK44;
		d1 += c;
		c = (uint64_t)(d1 >> 44);
		h1 = (uint64_t)d1 & MASK44;
		d2 += c;
		c = (uint64_t)(d2 >> 42);
		h2 = (uint64_t)d2 & MASK42;
		h0 += c * 5;
		c = h0 >> 44;
		h0 &= MASK44;
		h1 += c;
	}
	st->h[0] = h0;
	st->h[1] = h1;
	st->h[2] = h2;
}

/* Carry through, subtract 2^130 - 5 if that leaves something, add the pad. */
static void poly_finish(struct poly1305 *st, uint8_t tag[MAC_BYTES])
{
	uint64_t h0 = st->h[0], h1 = st->h[1], h2 = st->h[2];
	uint64_t g0, g1, g2, keep, lo, hi;

	for (int i = 0; i < 2; i++) {
		h2 += h1 >> 44;
		h1 &= MASK44;
		h0 += (h2 >> 42) * 5;
		h2 &= MASK42;
		h1 += h0 >> 44;
		h0 &= MASK44;
	}
	g0 = h0 + 5;
	g1 = h1 + (g0 >> 44);
	g0 &= MASK44;
	g2 = h2 + (g1 >> 44) - (1ULL << 42);
	g1 &= MASK44;
	keep = (g2 >> 63) - 1;		/* all ones if h >= 2^130 - 5 */
	h0 = (h0 & ~keep) | (g0 & keep);
	h1 = (h1 & ~keep) | (g1 & keep);
	h2 = (h2 & ~keep) | (g2 & keep);
	lo = h0 | h1 << 44;
	hi = h1 >> 20 | h2 << 24;
	lo += st->pad[0];
	hi += st->pad[1] + (lo < st->pad[0]);
	lo = htole64(lo);
	hi = htole64(hi);
	memcpy(tag, &lo, sizeof(lo));
	memcpy(tag + 8, &hi, sizeof(hi));
}

/* The one-time key of a nonce. */
static void one_time_key(const uint8_t key[32], const uint8_t nonce[24], uint8_t ret_key[32])
{
	uint8_t subkey[32], subnonce[12] = { 0 };

	crypto_core_hchacha20(subkey, nonce, key, NULL);
	memcpy(subnonce + 4, nonce + 16, 8);
	crypto_stream_chacha20_ietf(ret_key, 32, subnonce, subkey);
	explicit_bzero(subkey, sizeof(subkey));
}

static void compute_scalar(const uint8_t key[32], const uint8_t nonce[24],
			   const uint8_t *data, size_t len, uint8_t tag[MAC_BYTES])
{
	size_t whole = len & ~(size_t)(BLOCK - 1);
	uint8_t last[BLOCK] = { 0 }, once[32];
	uint64_t lengths[2] = { htole64(len), 0 };
	struct poly1305 st;

	one_time_key(key, nonce, once);
	poly_init(&st, once);
	poly_blocks(&st, data, whole);
	if (len > whole) {
		memcpy(last, data + whole, len - whole);
		poly_blocks(&st, last, BLOCK);
	}
	poly_blocks(&st, (const uint8_t *)lengths, BLOCK);
	poly_finish(&st, tag);
	explicit_bzero(&st, sizeof(st));
	explicit_bzero(once, sizeof(once));
}

void mac_compute(enum mac_way way, const uint8_t key[32], const uint8_t nonce[24],
		 const void *data, size_t len, uint8_t ret_tag[MAC_BYTES])
{
	if (way == MAC_SCALAR)
		compute_scalar(key, nonce, data, len, ret_tag);
	else
		crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
			ret_tag, ret_tag, NULL, NULL, 0, data, len, NULL, nonce, key);
}

bool mac_verify(enum mac_way way, const uint8_t key[32], const uint8_t nonce[24],
		const void *data, size_t len, const uint8_t tag[MAC_BYTES])
{
	uint8_t good[MAC_BYTES];

	mac_compute(way, key, nonce, data, len, good);
	return sodium_memcmp(good, tag, MAC_BYTES) == 0;
}

static uint64_t time_of(enum mac_way way, const uint8_t *data)
{
	static const uint8_t key[32], nonce[24];
	uint64_t best = UINT64_MAX;
	struct timespec a, b;
	uint8_t tag[MAC_BYTES];

	for (int i = 0; i < TRIALS; i++) {
		uint64_t ns;

		clock_gettime(CLOCK_MONOTONIC, &a);
		mac_compute(way, key, nonce, data, TRIAL_BYTES, tag);
		clock_gettime(CLOCK_MONOTONIC, &b);
		ns = (uint64_t)(b.tv_sec - a.tv_sec) * 1000000000ULL +
		     (uint64_t)(b.tv_nsec - a.tv_nsec);
		if (ns < best)
			best = ns;
	}
	return best;
}

enum mac_way mac_choose(void)
{
	uint8_t data[TRIAL_BYTES] = { 0 };

	return (double)time_of(MAC_VECTOR, data) > WORTH * (double)time_of(MAC_SCALAR, data) ?
	       MAC_SCALAR : MAC_VECTOR;
}
