/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tag of data that is authenticated and not encrypted.
 *
 * It is what crypto_aead_xchacha20poly1305_ietf gives for an empty message with
 * the data as associated data, bit for bit.  libsodium computes it by vector
 * instructions; where those are slow (an emulated CPU) plain arithmetic is up to
 * ten times as fast, and mac_choose() finds out.
 */
#ifndef STILLPOINT_IMAGE_MAC_H
#define STILLPOINT_IMAGE_MAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAC_BYTES	16

enum mac_way {
	MAC_VECTOR,	/* libsodium's */
	MAC_SCALAR,	/* ours */
};

/* The faster way on this CPU; takes some microseconds. */
enum mac_way mac_choose(void);

void mac_compute(enum mac_way way, const uint8_t key[32], const uint8_t nonce[24],
		 const void *data, size_t len, uint8_t ret_tag[MAC_BYTES]);
/* In constant time. */
bool mac_verify(enum mac_way way, const uint8_t key[32], const uint8_t nonce[24],
		const void *data, size_t len, const uint8_t tag[MAC_BYTES]);

#endif /* STILLPOINT_IMAGE_MAC_H */
