// SPDX-License-Identifier: GPL-2.0-only
/*
 * Encodes a manifest; manifest.c decodes it.
 *
 * In an encrypted image all free-form text (command, environment, notes) is sealed. The fields
 * that format.h lists stay readable, so that copies can be kept, listed and removed without
 * the secret.
 *
 * Must not do I/O.
 */
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "image/buffer.h"
#include "image/manifest.h"

_Static_assert(sizeof(struct image_manifest_hdr) == 80, "format");
_Static_assert(sizeof(struct image_man_file) == 72, "format");
_Static_assert(sizeof(struct image_man_identity) == 280, "format");
_Static_assert(sizeof(struct image_man_stats) == 128, "format");
_Static_assert(sizeof(struct image_man_base) == 120, "format");
_Static_assert(sizeof(struct image_man_private) == 56, "format");
_Static_assert(sizeof(struct image_man_recovery) == 120, "format");
_Static_assert(sizeof(struct image_man_job) == 40, "format");
_Static_assert(IMAGE_NONCE_BYTES == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "format");

void manifest_mac(const uint8_t *buf, size_t len, const struct image_key *key,
		  const uint8_t id[32], uint8_t mac[MANIFEST_MAC_BYTES])
{
	uint8_t subkey[IMAGE_SUBKEY_BYTES];

	image_key_manifest(key, id, subkey);
	crypto_generichash(mac, MANIFEST_MAC_BYTES, buf, len, subkey, sizeof(subkey));
	explicit_bzero(subkey, sizeof(subkey));
}

void manifest_job_mac(const uint8_t *buf, size_t len, const struct image_key *key,
		      const uint8_t id[32], uint8_t mac[MANIFEST_MAC_BYTES])
{
	uint8_t subkey[IMAGE_SUBKEY_BYTES];

	image_key_job_mac(key, id, subkey);
	crypto_generichash(mac, MANIFEST_MAC_BYTES, buf, len, subkey, sizeof(subkey));
	explicit_bzero(subkey, sizeof(subkey));
}

static void put_string(char *field, size_t room, const char *s, int *err)
{
	size_t len = strlen(s);

	if (len >= room) {
		*err = -ENAMETOOLONG;
		return;
	}
	memcpy(field, s, len);
}

static void put_files(struct buffer *b, const struct image_manifest *m)
{
	int i;

	for (i = 1; i < IMAGE_FILE__COUNT; i++) {
		const struct image_file_info *f = &m->files[i];
		struct image_man_file rec = {};

		if (!f->name)
			continue;
		rec.file = htole32((uint32_t)i);
		rec.len = htole64(f->len);
		rec.nr_chunks = htole64(f->nr_chunks);
		rec.raw_len = htole64(f->raw_len);
		memcpy(rec.digest, f->digest, sizeof(rec.digest));
		buffer_put_record(b, IMAGE_MAN_FILE, &rec, sizeof(rec), NULL, 0);
	}
}

static void put_bases(struct buffer *b, const struct image_manifest *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_bases; i++) {
		const struct image_file_info *f = &m->files[IMAGE_FILE_BASE + i];
		const struct image_base *base = &m->bases[i];
		struct image_man_base rec = {
			.file = htole32(IMAGE_FILE_BASE + i),
			.version = htole16(base->version),
			.generation = htole64(base->generation),
			.len = htole64(f->len),
			.nr_chunks = htole64(f->nr_chunks),
			.raw_len = htole64(f->raw_len),
			.flags = htole32(base->encrypted ? IMAGE_F_ENCRYPTED : 0),
		};

		memcpy(rec.digest, f->digest, sizeof(rec.digest));
		memcpy(rec.id, base->id, sizeof(rec.id));
		buffer_put_record(b, IMAGE_MAN_BASE, &rec, sizeof(rec), NULL, 0);
	}
}

static void put_identity(struct buffer *b, const struct image_manifest *m)
{
	const struct image_identity *id = &m->identity;
	struct image_man_identity rec = {};
	int err = 0;

	rec.created_ns = htole64(id->created_ns);
	rec.xfeatures = htole64(id->xfeatures);
	rec.xstate_size = htole32(id->xstate_size);
	rec.uid = htole32(id->uid);
	rec.gid = htole32(id->gid);
	rec.nr_procs = htole32(id->nr_procs);
	rec.nr_threads = htole32(id->nr_threads);
	put_string(rec.job, sizeof(rec.job), m->job, &err);
	put_string(rec.hostname, sizeof(rec.hostname), id->hostname, &err);
	put_string(rec.release, sizeof(rec.release), id->release, &err);
	put_string(rec.machine, sizeof(rec.machine), id->machine, &err);
	buffer_put_record(b, IMAGE_MAN_IDENTITY, &rec, sizeof(rec), NULL, 0);
	if (err)
		b->err = err;
}

static void put_stats(struct buffer *b, const struct image_manifest *m)
{
	struct image_man_stats rec = {
		.pause_ns = htole64(m->timing.pause_ns),
		.freeze_ns = htole64(m->timing.freeze_ns),
		.collect_ns = htole64(m->timing.collect_ns),
		.clone_ns = htole64(m->timing.clone_ns),
		.dump_ns = htole64(m->timing.dump_ns),
		.pages_data = htole64(m->counts.pages_data),
		.pages_zero = htole64(m->counts.pages_zero),
		.pages_ref = htole64(m->counts.pages_ref),
		.nr_runs = htole64(m->nr_runs),
		.nr_blobs = htole64(m->counts.nr_blobs),
		.blob_bytes = htole64(m->counts.blob_bytes),
		.blob_data = htole64(m->counts.blob_data),
		.nr_records = htole64(m->counts.nr_records),
		.pages_same = htole64(m->counts.pages_same),
		.pages_base = htole64(m->counts.pages_base),
	};

	buffer_put_record(b, IMAGE_MAN_STATS, &rec, sizeof(rec), NULL, 0);
}

static void put_roots(struct buffer *b, const struct image_manifest *m)
{
	struct image_man_roots rec = { .nr = htole32(m->nr_roots) };
	struct buffer pids = {};
	unsigned int i;

	for (i = 0; i < m->nr_roots; i++) {
		uint32_t pid = htole32((uint32_t)m->roots[i]);

		buffer_put(&pids, &pid, sizeof(pid));
	}
	buffer_put_record(b, IMAGE_MAN_ROOTS, &rec, sizeof(rec), pids.p, pids.len);
	if (pids.err)
		b->err = pids.err;
	buffer_done(&pids);
}

/* Put the free-form texts; in an encrypted image into the PRIVATE record. */
static void put_keyvals(struct buffer *b, const struct image_manifest *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_keyvals; i++) {
		size_t key_len = strlen(m->keys[i]);
		size_t val_len = strlen(m->values[i]);
		struct image_man_keyval rec = {
			.key_len = htole32((uint32_t)key_len),
			.val_len = htole32((uint32_t)val_len),
		};
		struct buffer text = {};

		buffer_put(&text, m->keys[i], key_len + 1);
		buffer_put(&text, m->values[i], val_len + 1);
		buffer_put_record(b, IMAGE_MAN_KEYVAL, &rec, sizeof(rec),
				  text.p, text.len);
		if (text.err)
			b->err = text.err;
		buffer_done(&text);
	}
}

static void put_private(struct buffer *b, const struct image_manifest *m,
			const struct image_key *key)
{
	struct image_man_private rec = { .cipher = htole32(IMAGE_CIPHER_XCHACHA20POLY1305) };
	uint8_t subkey[IMAGE_SUBKEY_BYTES];
	_cleanup_free_ uint8_t *sealed = NULL;
	struct buffer text = {};

	put_keyvals(&text, m);
	if (!text.err)
		sealed = malloc(text.len + IMAGE_SEAL_BYTES);
	if (!sealed) {
		b->err = text.err ? text.err : -ENOMEM;
		buffer_done(&text);
		return;
	}
	rec.len = htole32((uint32_t)text.len);
	memcpy(rec.secret_id, m->secret_id, sizeof(rec.secret_id));
	randombytes_buf(rec.nonce, sizeof(rec.nonce));
	image_key_private(key, m->id, subkey);
	crypto_aead_xchacha20poly1305_ietf_encrypt(sealed, NULL, text.p, text.len, m->id,
						   sizeof(m->id), NULL, rec.nonce, subkey);
	explicit_bzero(subkey, sizeof(subkey));
	buffer_put_record(b, IMAGE_MAN_PRIVATE, &rec, sizeof(rec), sealed,
			  text.len + IMAGE_SEAL_BYTES);
	buffer_done(&text);
}

static void put_recovery(struct buffer *b, const struct image_manifest *m)
{
	struct image_man_recovery rec = {};

	if (sodium_is_zero(m->recovery.public, sizeof(m->recovery.public)))
		return;
	memcpy(rec.public, m->recovery.public, sizeof(rec.public));
	memcpy(rec.sealed, m->recovery.sealed, sizeof(rec.sealed));
	buffer_put_record(b, IMAGE_MAN_RECOVERY, &rec, sizeof(rec), NULL, 0);
}

/* Put the last record.  Its MAC is over the header with the manifest's whole length. */
static void put_job(struct buffer *b, const struct image_manifest *m, const struct image_key *key)
{
	struct image_man_job rec = {};
	struct image_manifest_hdr hdr;

	if (b->err)
		return;
	memcpy(&hdr, b->p, sizeof(hdr));
	hdr.len = htole64(b->len + sizeof(rec) + MANIFEST_MAC_BYTES);
	memcpy(b->p, &hdr, sizeof(hdr));
	manifest_job_mac(b->p, b->len, key, m->id, rec.mac);
	buffer_put_record(b, IMAGE_MAN_JOB, &rec, sizeof(rec), NULL, 0);
}

static uint16_t oldest_reader(const struct image_manifest *m)
{
	if (m->of_job)
		return IMAGE_VERSION_JOB;
	if (m->paged)
		return IMAGE_VERSION_PAGED;
	if (m->gaps || m->nr_bases)	/* the files of bases may have gaps */
		return IMAGE_VERSION_GAPS;
	if (m->encrypted)
		return IMAGE_VERSION_SECRET;
	return IMAGE_VERSION_READER;
}

int manifest_encode(const struct image_manifest *m, const struct image_key *key,
		    uint8_t **ret_buf, size_t *ret_len)
{
	struct image_manifest_hdr hdr = {};
	uint8_t mac[MANIFEST_MAC_BYTES];
	struct buffer b = {};

	memcpy(hdr.magic, IMAGE_MAGIC_MANIFEST, sizeof(hdr.magic));
	hdr.version = htole16(m->version);
	hdr.version_reader = htole16(oldest_reader(m));
	hdr.flags = htole32(m->encrypted ? IMAGE_F_ENCRYPTED : 0);
	hdr.generation = htole64(m->generation);
	memcpy(hdr.id, m->id, sizeof(hdr.id));
	image_key_id(key, hdr.key_id);
	buffer_put(&b, &hdr, sizeof(hdr));
	put_files(&b, m);
	put_bases(&b, m);
	put_identity(&b, m);
	put_stats(&b, m);
	put_roots(&b, m);
	if (m->encrypted)
		put_private(&b, m, key);
	else
		put_keyvals(&b, m);
	if (m->of_job) {
		put_recovery(&b, m);
		put_job(&b, m, key);
	}
	if (!b.err && b.len + MANIFEST_MAC_BYTES > IMAGE_MANIFEST_MAX)
		b.err = -EFBIG;
	if (!b.err) {
		hdr.len = htole64(b.len + MANIFEST_MAC_BYTES);
		memcpy(b.p, &hdr, sizeof(hdr));
		manifest_mac(b.p, b.len, key, m->id, mac);
		buffer_put(&b, mac, sizeof(mac));
	}
	if (b.err) {
		int err = b.err;

		buffer_done(&b);
		return err;
	}
	*ret_buf = b.p;
	*ret_len = b.len;
	return 0;
}

void manifest_file_hdr(const struct image_manifest *m, enum image_file file,
		       struct image_file_hdr *ret_hdr)
{
	const bool of_base = file >= IMAGE_FILE_BASE;
	const struct image_base *base = &m->bases[of_base ? file - IMAGE_FILE_BASE : 0];
	struct image_file_hdr hdr = {};

	memcpy(hdr.magic, IMAGE_MAGIC_FILE, sizeof(hdr.magic));
	hdr.version = htole16(of_base ? base->version : m->version);
	hdr.file = htole16(of_base ? IMAGE_FILE_PAGES : file);
	hdr.flags = htole32((of_base ? base->encrypted : m->encrypted) ? IMAGE_F_ENCRYPTED : 0);
	hdr.generation = htole64(of_base ? base->generation : m->generation);
	memcpy(hdr.id, of_base ? base->id : m->id, sizeof(hdr.id));
	*ret_hdr = hdr;
}
