// SPDX-License-Identifier: GPL-2.0-only
/*
 * One chunk: header, payload, tag.
 *
 * The header names the chunk's place (file, sequence number), the keys belong to
 * one image: a chunk that was moved, copied from elsewhere or changed does not
 * authenticate.  Header and payload, contiguous in memory, are one message for
 * SipHash, which needs nothing but 64-bit arithmetic and is fast on every machine
 * (docs/decisions/0016-chunks-tagged-with-siphash.md has the figures).
 *
 * Encrypted, the payload is sealed first: the place is the nonce, which is written
 * once and so never used twice with the image's key.  The tag around it is that of a plain
 * chunk: with the node's key alone one can still tell what is damaged, but not make a seal
 * that opens.
 *
 * The decoder takes nothing from a chunk but lengths, which it bounds, until the
 * tag was checked; zstd sees authenticated bytes only.
 *
 * Must not do I/O nor know where a chunk lies.
 */
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "image/chunk.h"

#define HDR_BYTES	sizeof(struct image_chunk_hdr)
#define BUFFER_ALIGN	4096U
#define BUFFER_BYTES	((CHUNK_BOUND + BUFFER_ALIGN - 1) & ~(size_t)(BUFFER_ALIGN - 1))

struct chunk_encoder {
	ZSTD_CCtx *zstd;
	const struct chunk_keys *keys;
};

struct chunk_decoder {
	ZSTD_DCtx *zstd;
	const struct chunk_keys *keys;
};

_Static_assert(sizeof(struct image_chunk_hdr) == 32, "format");
_Static_assert(crypto_aead_xchacha20poly1305_ietf_ABYTES == IMAGE_SEAL_BYTES,
	       "format");
_Static_assert(crypto_shorthash_siphashx24_BYTES == IMAGE_TAG_BYTES, "format");
_Static_assert(crypto_shorthash_siphashx24_KEYBYTES <= IMAGE_SUBKEY_BYTES, "key");
_Static_assert(crypto_aead_xchacha20poly1305_ietf_KEYBYTES == IMAGE_SUBKEY_BYTES, "key");

int chunk_encoder_create(const struct chunk_keys *keys, int level,
			 struct chunk_encoder **ret_encoder)
{
	struct chunk_encoder *enc = calloc(1, sizeof(*enc));

	if (!enc)
		return -ENOMEM;
	enc->zstd = ZSTD_createCCtx();
	if (!enc->zstd) {
		free(enc);
		return -ENOMEM;
	}
	if (ZSTD_isError(ZSTD_CCtx_setParameter(enc->zstd,
						ZSTD_c_compressionLevel, level))) {
		chunk_encoder_destroy(enc);
		return -EINVAL;
	}
	enc->keys = keys;
	*ret_encoder = enc;
	return 0;
}

void chunk_encoder_destroy(struct chunk_encoder *enc)
{
	if (!enc)
		return;
	ZSTD_freeCCtx(enc->zstd);
	free(enc);
}

static void make_nonce(enum image_file file, uint64_t seq,
		       uint8_t nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES])
{
	uint64_t seq_le = htole64(seq);
	uint32_t file_le = htole32(file);

	memset(nonce, 0, crypto_aead_xchacha20poly1305_ietf_NPUBBYTES);
	memcpy(nonce, &seq_le, sizeof(seq_le));
	memcpy(nonce + 8, &file_le, sizeof(file_le));
}

uint8_t *chunk_buffer(void)
{
	void *p = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* Most buffers use only a few pages: no huge pages. */
	madvise(p, BUFFER_BYTES, MADV_NOHUGEPAGE);
	return p;
}

void chunk_buffer_free(uint8_t *buffer)
{
	if (buffer)
		munmap(buffer, BUFFER_BYTES);
}

/*
 * Compressed if that saves at least 3 %.  zstd gives up early when the room is
 * too small and skips fast over what does not compress, so the attempt on
 * random data costs little more than a copy.  Otherwise it stays where it is.
 */
static int pack_payload(struct chunk_encoder *enc, const uint8_t *raw, uint32_t raw_len,
			uint8_t *out, uint32_t *ret_stored, bool *ret_packed)
{
	size_t room = (size_t)raw_len * 97 / 100;
	size_t n = ZSTD_compress2(enc->zstd, out, room, raw, raw_len);

	*ret_packed = !ZSTD_isError(n);
	if (*ret_packed) {
		*ret_stored = (uint32_t)n;
		return 0;
	}
	if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
		return -ENOMEM;
	return ZSTD_getErrorCode(n) == ZSTD_error_dstSize_tooSmall ? 0 : -EIO;
}

/* Seal the payload in place, with IMAGE_SEAL_BYTES behind it. */
static void chunk_seal(const struct chunk_encoder *enc, enum image_file file, uint64_t seq,
		       uint8_t *chunk, uint32_t len)
{
	uint8_t nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES];
	uint8_t *payload = chunk + HDR_BYTES;

	make_nonce(file, seq, nonce);
	crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
		payload, payload + len, NULL, payload, len,
		chunk, HDR_BYTES, NULL, nonce, enc->keys->secret);
}

int chunk_encode(struct chunk_encoder *enc, enum image_file file, uint64_t seq,
		 bool pack, uint8_t *raw, uint32_t raw_len, uint8_t *out,
		 uint8_t **ret_chunk, size_t *ret_len)
{
	struct image_chunk_hdr hdr = {};
	const uint32_t sealing = enc->keys->encrypted ? IMAGE_SEAL_BYTES : 0;
	uint32_t len = raw_len, stored;
	bool packed = false;
	uint8_t *chunk;
	int err;

	if (!raw_len || raw_len > IMAGE_CHUNK_MAX)
		return -EINVAL;
	err = pack ? pack_payload(enc, chunk_payload(raw), raw_len, chunk_payload(out),
				  &len, &packed) : 0;
	if (err)
		return err;
	chunk = packed ? out : raw;
	stored = len + sealing;
	hdr.magic = htole32(IMAGE_MAGIC_CHUNK);
	hdr.file = htole16(file);
	hdr.codec = packed ? IMAGE_CODEC_ZSTD : IMAGE_CODEC_RAW;
	hdr.seq = htole64(seq);
	hdr.raw_len = htole32(raw_len);
	hdr.stored_len = htole32(stored);
	memcpy(chunk, &hdr, HDR_BYTES);
	if (sealing)
		chunk_seal(enc, file, seq, chunk, len);
	crypto_shorthash_siphashx24(chunk + HDR_BYTES + stored, chunk, HDR_BYTES + stored,
				    enc->keys->tag);
	*ret_chunk = chunk;
	*ret_len = HDR_BYTES + stored + IMAGE_TAG_BYTES;
	return 0;
}

int chunk_decoder_create(const struct chunk_keys *keys, struct chunk_decoder **ret_decoder)
{
	struct chunk_decoder *dec = calloc(1, sizeof(*dec));

	if (!dec)
		return -ENOMEM;
	dec->zstd = ZSTD_createDCtx();
	if (!dec->zstd) {
		free(dec);
		return -ENOMEM;
	}
	dec->keys = keys;
	*ret_decoder = dec;
	return 0;
}

void chunk_decoder_destroy(struct chunk_decoder *dec)
{
	if (!dec)
		return;
	ZSTD_freeDCtx(dec->zstd);
	free(dec);
}

int chunk_decoder_clone(const struct chunk_decoder *dec, struct chunk_decoder **ret_decoder)
{
	return chunk_decoder_create(dec->keys, ret_decoder);
}

static int chunk_bad(const char **ret_why, const char *why)
{
	*ret_why = why;
	return -EBADMSG;
}

int chunk_parse(const struct chunk_decoder *dec, const struct image_chunk_hdr *hdr,
		enum image_file file, uint64_t seq, uint32_t *ret_raw_len,
		uint32_t *ret_stored_len, const char **ret_why)
{
	const uint32_t sealing = dec->keys->encrypted ? IMAGE_SEAL_BYTES : 0;
	uint32_t raw_len = le32toh(hdr->raw_len);
	uint32_t stored = le32toh(hdr->stored_len);

	if (le32toh(hdr->magic) != IMAGE_MAGIC_CHUNK)
		return chunk_bad(ret_why, "no chunk here (damaged)");
	if (le16toh(hdr->file) != file)
		return chunk_bad(ret_why, "chunk of another file");
	if (le64toh(hdr->seq) != seq)
		return chunk_bad(ret_why, "chunk of another place (moved or damaged)");
	if (!raw_len || raw_len > IMAGE_CHUNK_MAX || stored <= sealing ||
	    stored > raw_len + sealing)
		return chunk_bad(ret_why, "impossible chunk length (damaged)");
	if (hdr->codec > IMAGE_CODEC_ZSTD || hdr->pad8 || hdr->pad)
		return chunk_bad(ret_why, "unknown chunk encoding (damaged)");
	if (hdr->codec == IMAGE_CODEC_RAW && stored != raw_len + sealing)
		return chunk_bad(ret_why, "impossible chunk length (damaged)");
	*ret_raw_len = raw_len;
	*ret_stored_len = stored;
	return 0;
}

static int chunk_authenticate(const struct chunk_decoder *dec, const uint8_t *chunk,
			      uint32_t stored)
{
	uint8_t tag[IMAGE_TAG_BYTES];

	crypto_shorthash_siphashx24(tag, chunk, HDR_BYTES + stored, dec->keys->tag);
	return sodium_memcmp(tag, chunk + HDR_BYTES + stored, sizeof(tag));
}

/* The opposite of chunk_seal(). */
static int chunk_unseal(const struct chunk_decoder *dec, enum image_file file, uint64_t seq,
			uint8_t *chunk, uint32_t len)
{
	uint8_t nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES];
	uint8_t *payload = chunk + HDR_BYTES;

	make_nonce(file, seq, nonce);
	return crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
		payload, NULL, payload, len, payload + len,
		chunk, HDR_BYTES, nonce, dec->keys->secret);
}

int chunk_decode(struct chunk_decoder *dec, enum image_file file, uint64_t seq,
		 uint8_t *chunk, size_t len, void *room, const uint8_t **ret_raw,
		 uint32_t *ret_raw_len, const char **ret_why)
{
	uint8_t *payload = chunk + HDR_BYTES;
	struct image_chunk_hdr hdr;
	uint32_t raw_len, stored;
	size_t n;
	int err;

	if (len < HDR_BYTES)
		return chunk_bad(ret_why, "truncated chunk");
	memcpy(&hdr, chunk, HDR_BYTES);
	err = chunk_parse(dec, &hdr, file, seq, &raw_len, &stored, ret_why);
	if (err)
		return err;
	if (len != HDR_BYTES + stored + IMAGE_TAG_BYTES)
		return chunk_bad(ret_why, "chunk of another length (damaged)");
	if (chunk_authenticate(dec, chunk, stored))
		return chunk_bad(ret_why, "authentication failed: changed after it was written, or "
					  "from another image");
	*ret_raw_len = raw_len;
	*ret_raw = room;
	if (!room)
		return 0;
	if (dec->keys->encrypted) {
		stored -= IMAGE_SEAL_BYTES;
		if (dec->keys->blind || chunk_unseal(dec, file, seq, chunk, stored))
			return chunk_bad(ret_why, "cannot be decrypted: forged by somebody who has "
						  "the node's key");
	}
	if (hdr.codec == IMAGE_CODEC_RAW) {
		*ret_raw = payload;
		return 0;
	}
	n = ZSTD_decompressDCtx(dec->zstd, room, raw_len, payload, stored);
	if (ZSTD_isError(n) || n != raw_len)
		return chunk_bad(ret_why, "cannot be decompressed");
	return 0;
}
