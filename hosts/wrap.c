// SPDX-License-Identifier: GPL-2.0-only
/*
 * A key on its way between two nodes; see wrap.h.
 *
 *	wrap := base64 of  nonce (24 random bytes)  crypto_box of  key  digest
 *
 * crypto_box() has no associated data: the digest, of purpose, sender and receiver, is in the
 * box. Both ends have the same shared key, so without sender and receiver in the digest a wrap
 * would open in the other direction, too.  libzmq uses the same key pairs, with nonces of fixed
 * prefixes: none of its boxes passes for a wrap.
 */
#include "hosts/wrap.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#define BASE64	sodium_base64_VARIANT_ORIGINAL
#define LABEL	"stillpoint wrap v1"

struct wrap_plain {
	uint8_t key[WRAP_KEY_BYTES];
	uint8_t digest[32];
};

struct wrap_bytes {
	uint8_t nonce[crypto_box_NONCEBYTES];
	uint8_t box[sizeof(struct wrap_plain) + crypto_box_MACBYTES];
};

_Static_assert(sodium_base64_ENCODED_LEN(sizeof(struct wrap_bytes), BASE64) == WRAP_TEXT,
	       "the text of a wrap");

static void wrap_digest(const char *purpose, const uint8_t from[NODE_KEY_BYTES],
			const uint8_t to[NODE_KEY_BYTES], uint8_t ret_digest[32])
{
	crypto_generichash_state state;

	crypto_generichash_init(&state, NULL, 0, 32);
	crypto_generichash_update(&state, (const uint8_t *)LABEL, sizeof(LABEL));
	crypto_generichash_update(&state, from, NODE_KEY_BYTES);
	crypto_generichash_update(&state, to, NODE_KEY_BYTES);
	crypto_generichash_update(&state, (const uint8_t *)purpose, strlen(purpose));
	crypto_generichash_final(&state, ret_digest, 32);
}

int wrap_make(const uint8_t key[WRAP_KEY_BYTES], const char *purpose, const struct node_key *from,
	      const uint8_t to[NODE_KEY_BYTES], char ret_text[WRAP_TEXT])
{
	struct wrap_plain plain;
	struct wrap_bytes wrap;
	int err;

	if (sodium_init() < 0)
		return -ENOSYS;
	memcpy(plain.key, key, sizeof(plain.key));
	wrap_digest(purpose, from->public, to, plain.digest);
	randombytes_buf(wrap.nonce, sizeof(wrap.nonce));
	err = crypto_box_easy(wrap.box, (const uint8_t *)&plain, sizeof(plain), wrap.nonce, to,
			      from->secret);
	sodium_memzero(&plain, sizeof(plain));
	if (err)
		return -EINVAL;
	sodium_bin2base64(ret_text, WRAP_TEXT, (const uint8_t *)&wrap, sizeof(wrap), BASE64);
	return 0;
}

int wrap_open(const char *text, const char *purpose, const uint8_t from[NODE_KEY_BYTES],
	      const struct node_key *to, uint8_t ret_key[WRAP_KEY_BYTES])
{
	struct wrap_plain plain;
	struct wrap_bytes wrap;
	uint8_t digest[32];
	const char *end;
	size_t len;
	int err = 0;

	if (sodium_init() < 0)
		return -ENOSYS;
	if (strlen(text) != WRAP_TEXT - 1 ||
	    sodium_base642bin((uint8_t *)&wrap, sizeof(wrap), text, WRAP_TEXT - 1, NULL, &len,
			      &end, BASE64) ||
	    len != sizeof(wrap) || *end)
		return -EINVAL;
	wrap_digest(purpose, from, to->public, digest);
	if (crypto_box_open_easy((uint8_t *)&plain, wrap.box, sizeof(wrap.box), wrap.nonce, from,
				 to->secret) ||
	    sodium_memcmp(plain.digest, digest, sizeof(digest)))
		err = -EBADMSG;
	else
		memcpy(ret_key, plain.key, sizeof(plain.key));
	sodium_memzero(&plain, sizeof(plain));
	return err;
}
