// SPDX-License-Identifier: GPL-2.0-only
/*
 * Short texts beside the images that only the secret can read: nonce and ciphertext
 * (XChaCha20-Poly1305, the purpose as associated data), as base64.
 *
 * Nonces are 24 random bytes: no number of texts that anybody will ever write makes a
 * nonce likely to come twice.
 */
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "image/format.h"
#include "image/key.h"

#define BASE64	sodium_base64_VARIANT_ORIGINAL
#define EXTRA	(IMAGE_NONCE_BYTES + IMAGE_SEAL_BYTES)

int image_key_seal(const struct image_key *key, const char *purpose, const char *text,
		   char **ret_sealed)
{
	const size_t len = strlen(text), room = sodium_base64_ENCODED_LEN(len + EXTRA, BASE64);
	_cleanup_free_ uint8_t *bytes = malloc(len + EXTRA);
	uint8_t subkey[IMAGE_SUBKEY_BYTES];
	char *sealed;

	if (!image_key_has_secret(key))
		return -ENOKEY;
	sealed = malloc(room);
	if (!bytes || !sealed) {
		free(sealed);
		return -ENOMEM;
	}
	randombytes_buf(bytes, IMAGE_NONCE_BYTES);
	image_key_private(key, NULL, subkey);
	crypto_aead_xchacha20poly1305_ietf_encrypt(
		bytes + IMAGE_NONCE_BYTES, NULL, (const uint8_t *)text, len,
		(const uint8_t *)purpose, strlen(purpose), NULL, bytes, subkey);
	explicit_bzero(subkey, sizeof(subkey));
	sodium_bin2base64(sealed, room, bytes, len + EXTRA, BASE64);
	*ret_sealed = sealed;
	return 0;
}

int image_key_unseal(const struct image_key *key, const char *purpose, const char *sealed,
		     char **ret_text)
{
	const size_t max = strlen(sealed) / 4 * 3;
	_cleanup_free_ uint8_t *bytes = malloc(max + 1);
	_cleanup_free_ uint8_t *text = malloc(max + 1);
	uint8_t subkey[IMAGE_SUBKEY_BYTES];
	size_t len;
	int err;

	if (!image_key_has_secret(key))
		return -ENOKEY;
	if (!bytes || !text)
		return -ENOMEM;
	if (sodium_base642bin(bytes, max, sealed, strlen(sealed), NULL, &len, NULL, BASE64) ||
	    len < EXTRA)
		return -EBADMSG;
	image_key_private(key, NULL, subkey);
	err = crypto_aead_xchacha20poly1305_ietf_decrypt(
		text, NULL, NULL, bytes + IMAGE_NONCE_BYTES, len - IMAGE_NONCE_BYTES,
		(const uint8_t *)purpose, strlen(purpose), bytes, subkey);
	explicit_bzero(subkey, sizeof(subkey));
	if (err)
		return -EBADMSG;
	text[len - EXTRA] = '\0';
	*ret_text = (char *)take_ptr(text);
	return 0;
}
