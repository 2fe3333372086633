// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing a file of parity.
 *
 * Owns a writer, as arrival.c does and with the same order: the file synced, the
 * directory synced, everything read back and authenticated, one rename.  The header is
 * known before the first frame, so the file is written once from its beginning to its
 * end, in pieces of a frame.
 */
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/error.h"
#include "image/place.h"
#include "levels/parity.h"

static int parity_out_failed(const struct parity_out *o, int err, struct ckpt_error *error)
{
	return error_set(error, err, "%.180s/" IMAGE_NAME_PARITY ": %s", o->dir,
			       strerror(-err));
}

static uint32_t header_len(const struct parity_set *set)
{
	size_t len = sizeof(struct parity_file_hdr) +
		     set->k * sizeof(struct parity_file_member) + IMAGE_DIGEST_BYTES;

	return (uint32_t)((len + PARITY_FRAME_HDR - 1) & ~(size_t)(PARITY_FRAME_HDR - 1));
}

static void put_member(const struct parity_member *m, uint8_t *to)
{
	struct parity_file_member rec = {};
	unsigned int i;

	memcpy(rec.node, m->node, sizeof(rec.node));
	memcpy(rec.id, m->id, sizeof(rec.id));
	rec.part = htole32((uint32_t)m->part);
	for (i = 0; i < LAYOUT_FILES; i++)
		rec.len[i] = htole64(m->layout.len[i]);
	memcpy(to, &rec, sizeof(rec));
}

static int write_header(struct parity_out *o, const struct parity_set *set,
			unsigned int index, const struct image_key *key)
{
	uint32_t len = header_len(set);
	_cleanup_free_ uint8_t *buf = aligned_alloc(PARITY_FRAME_HDR, len);
	uint8_t subkey[IMAGE_SUBKEY_BYTES];
	struct parity_file_hdr hdr = {
		.magic = PARITY_MAGIC,
		.version = htole16(PARITY_VERSION),
		.version_reader = htole16(PARITY_VERSION),
		.hdr_len = htole32(len),
		.generation = htole64(set->generation),
		.len = htole64(set->len),
		.unit = htole32(set->unit),
		.k = htole16((uint16_t)set->k),
		.m = htole16((uint16_t)set->m),
		.index = htole32(index),
	};
	unsigned int i;

	if (!buf)
		return -ENOMEM;
	memset(buf, 0, len);
	image_key_id(key, hdr.key_id);
	randombytes_buf(hdr.salt, sizeof(hdr.salt));
	memcpy(hdr.job, set->job, sizeof(hdr.job));
	memcpy(buf, &hdr, sizeof(hdr));
	for (i = 0; i < set->k; i++)
		put_member(&set->members[i],
			   buf + sizeof(hdr) + i * sizeof(struct parity_file_member));
	image_key_parity(key, hdr.salt, subkey, o->key);
	crypto_generichash(buf + len - IMAGE_DIGEST_BYTES, IMAGE_DIGEST_BYTES, buf,
			   len - IMAGE_DIGEST_BYTES, subkey, sizeof(subkey));
	explicit_bzero(subkey, sizeof(subkey));
	return o->writer->ops->append(o->file, buf, len);
}

int parity_begin(struct parity_out *o, const char *dir, const struct parity_set *set,
		 unsigned int index, const struct image_key *key,
		 const struct level_writers *writers, struct ckpt_error *error)
{
	int err;

	*o = (struct parity_out){ .dir = dir };
	if (writers)
		err = writers->create(dir, &o->writer, error, writers->arg);
	else
		err = image_writer_posix_create(dir, &o->writer, error);
	if (err) {
		o->writer = NULL;
		return err;
	}
	err = o->writer->ops->begin(o->writer);
	if (!err)
		err = o->writer->ops->open(o->writer, IMAGE_NAME_PARITY, &o->file);
	if (err)
		o->file = NULL;
	else
		err = write_header(o, set, index, key);
	return err ? parity_out_failed(o, err, error) : 0;
}

int parity_append(struct parity_out *o, uint8_t *frame, size_t len,
		  struct ckpt_error *error)
{
	struct parity_frame_hdr hdr = {
		.magic = htole32(PARITY_MAGIC_FRAME),
		.len = htole32((uint32_t)len),
		.seq = htole64(o->seq),
	};
	uint8_t tag[IMAGE_TAG_BYTES];
	int err;

	memset(frame, 0, PARITY_FRAME_HDR);
	memcpy(frame, &hdr, sizeof(hdr));
	crypto_shorthash_siphashx24(tag, frame, PARITY_FRAME_HDR + len, o->key);
	memcpy(frame + offsetof(struct parity_frame_hdr, tag), tag, sizeof(tag));
	err = o->writer->ops->append(o->file, frame, PARITY_FRAME_HDR + len);
	if (err)
		return parity_out_failed(o, err, error);
	o->seq++;
	return 0;
}

static int parity_out_check(const struct parity_out *o, const struct image_key *key, uint8_t *frame,
			    struct ckpt_error *error)
{
	_cleanup_free_ char *tmp = place_beside(o->dir, PLACE_TMP);
	_cleanup_free_ struct parity *p = malloc(sizeof(*p));
	int err;

	if (!tmp || !p)
		return error_set(error, -ENOMEM, "out of memory");
	err = parity_open(p, tmp, false, key, error);	/* locked by the writer */
	if (err)
		return err;
	err = parity_verify(p, frame, error);
	parity_close(p);
	return err;
}

int parity_commit(struct parity_out *o, const struct image_key *key, uint8_t *frame,
		  struct ckpt_error *error)
{
	const struct image_writer_ops *ops = o->writer->ops;
	int err, other;

	err = ops->sync(o->file);
	other = ops->close(o->file);
	o->file = NULL;
	if (!err)
		err = other;
	if (!err)
		err = ops->sync_dir(o->writer);
	if (err)
		return parity_out_failed(o, err, error);
	err = parity_out_check(o, key, frame, error);
	if (err)
		return err;
	err = ops->publish(o->writer);
	return err ? parity_out_failed(o, err, error) : 0;
}

void parity_done(struct parity_out *o)
{
	if (!o->writer)
		return;
	if (o->file)
		o->writer->ops->close(o->file);
	o->writer->ops->discard(o->writer);
	o->writer->ops->destroy(o->writer);
	o->writer = NULL;
	explicit_bzero(o->key, sizeof(o->key));
}
