// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decodes a manifest.
 *
 * Nothing is trusted before the MAC was checked: magic, version and key id are read
 * first only to name the error (not an image, another version, another key), never to
 * act on.  After the MAC every length is checked nevertheless, as if it had not been
 * authenticated: the writer may have been buggy.
 *
 * A decoded manifest keeps the bytes it was read from; its strings point into these, or into
 * its decrypted text.
 *
 * An image of a job that has a key here is decoded with that key, and with no other: whoever has
 * the node's key alone can put a plain image in the place of an encrypted one.
 *
 * Must not do I/O, but for the file of the job's key.
 */
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "image/job_key.h"
#include "image/manifest.h"
#include "image/stream.h"

#define NAME		IMAGE_NAME_MANIFEST
#define HDR_BYTES	sizeof(struct image_manifest_hdr)

#define STATS_FIXED	offsetof(struct image_man_stats, pages_same)

struct manifest {
	struct image_manifest m;
	uint8_t *buf;
	uint8_t *text;		/* decrypted text of the PRIVATE record; NULL: none, or locked */
	size_t text_len;
	const struct image_key *key;	/* set during decoding only */
	struct image_key *own;	/* of the image's job; NULL: none here */
	struct ckpt_error own_error;
	uint64_t job_at;	/* place of the JOB record; 0: none */
	int32_t *roots;
	const char **keys;
	const char **values;
	bool seen[16];		/* by enum image_manifest_type */
};

static int check_version(const struct image_manifest_hdr *hdr, struct fault *fault)
{
	unsigned int version = le16toh(hdr->version);
	unsigned int reader = le16toh(hdr->version_reader);

	if (reader > IMAGE_VERSION)
		return fault_set(fault, -EPROTONOSUPPORT, NAME, 8,
				 "image version %u needs a reader of version %u, this one is %u: "
				 "update it",
				 version, reader, IMAGE_VERSION);
	if (version < IMAGE_VERSION_OLDEST || reader > version || !reader)
		return fault_set(fault, -EPROTONOSUPPORT, NAME, 8,
				 "image version %u is not known, the oldest readable is %u",
				 version, IMAGE_VERSION_OLDEST);
	return 0;
}

static int check_envelope(const uint8_t *buf, size_t len,
			  const struct image_key *key, struct fault *fault)
{
	struct image_manifest_hdr hdr;
	uint8_t key_id[IMAGE_KEY_ID_BYTES];
	uint8_t mac[MANIFEST_MAC_BYTES];
	int err;

	if (len < HDR_BYTES + MANIFEST_MAC_BYTES)
		return fault_set(fault, -EBADMSG, NAME, len, "truncated");
	memcpy(&hdr, buf, HDR_BYTES);
	if (memcmp(hdr.magic, IMAGE_MAGIC_MANIFEST, sizeof(hdr.magic)))
		return fault_set(fault, -EBADMSG, NAME, 0,
				 "not a manifest (foreign or damaged)");
	err = check_version(&hdr, fault);
	if (err)
		return err;
	image_key_id(key, key_id);
	if (memcmp(hdr.key_id, key_id, sizeof(key_id)))
		return fault_set(fault, -EKEYREJECTED, NAME,
				 offsetof(struct image_manifest_hdr, key_id),
				 "written with another key");
	if (le64toh(hdr.len) != len)
		return fault_set(fault, -EBADMSG, NAME, len,
				 "%s: %llu bytes were written",
				 le64toh(hdr.len) > len ? "truncated" : "has a foreign tail",
				 (unsigned long long)le64toh(hdr.len));
	manifest_mac(buf, len - MANIFEST_MAC_BYTES, key, hdr.id, mac);
	if (sodium_memcmp(mac, buf + len - MANIFEST_MAC_BYTES, MANIFEST_MAC_BYTES))
		return fault_set(fault, -EBADMSG, NAME, len - MANIFEST_MAC_BYTES,
				 "authentication failed: changed after it was written");
	return 0;
}

static int get_header(struct manifest *man, struct fault *fault)
{
	struct image_manifest_hdr hdr;

	memcpy(&hdr, man->buf, HDR_BYTES);
	if (le32toh(hdr.flags) & ~IMAGE_F_ENCRYPTED)
		return fault_set(fault, -EPROTONOSUPPORT, NAME,
				 offsetof(struct image_manifest_hdr, flags),
				 "unknown flags 0x%x", le32toh(hdr.flags));
	man->m.version = le16toh(hdr.version);
	man->m.encrypted = le32toh(hdr.flags) & IMAGE_F_ENCRYPTED;
	man->m.locked = man->m.encrypted;	/* until its PRIVATE record is opened */
	man->m.generation = le64toh(hdr.generation);
	memcpy(man->m.id, hdr.id, sizeof(hdr.id));
	return 0;
}

/* Are the file's numbers within the bounds that later sums rely on? */
static bool is_possible(const struct image_file_info *info)
{
	return info->len >= sizeof(struct image_file_hdr) && info->len <= INT64_MAX &&
	       info->nr_chunks <= info->len &&
	       info->raw_len / IMAGE_CHUNK_MAX <= info->nr_chunks;
}

static int get_file(struct manifest *man, const uint8_t *rec, uint32_t len)
{
	struct image_man_file f;
	struct image_file_info *info;
	uint32_t file;

	memcpy(&f, rec, sizeof(f));
	file = le32toh(f.file);
	if (file < 1 || file >= IMAGE_FILE__COUNT || man->m.files[file].name)
		return -EINVAL;
	info = &man->m.files[file];
	info->name = image_file_names[file];
	info->len = le64toh(f.len);
	info->nr_chunks = le64toh(f.nr_chunks);
	info->raw_len = le64toh(f.raw_len);
	memcpy(info->digest, f.digest, sizeof(f.digest));
	if (!is_possible(info))
		return -EINVAL;
	man->m.counts.bytes_stored += info->len;
	if (file != IMAGE_FILE_INDEX)
		man->m.counts.bytes_raw += info->raw_len;
	return 0;
}

static int get_base(struct manifest *man, const uint8_t *rec, uint32_t len)
{
	unsigned int nr = man->m.nr_bases;
	struct image_file_info *info = &man->m.files[IMAGE_FILE_BASE + nr];
	struct image_man_base r;

	memcpy(&r, rec, sizeof(r));
	if (nr == IMAGE_BASES_MAX || le32toh(r.file) != IMAGE_FILE_BASE + nr || r.pad || r.pad2 ||
	    le32toh(r.flags) & ~IMAGE_F_ENCRYPTED)
		return -EINVAL;
	info->name = image_file_names[IMAGE_FILE_BASE + nr];
	info->len = le64toh(r.len);
	info->nr_chunks = le64toh(r.nr_chunks);
	info->raw_len = le64toh(r.raw_len);
	memcpy(info->digest, r.digest, sizeof(r.digest));
	if (!is_possible(info))
		return -EINVAL;
	man->m.bases[nr].version = le16toh(r.version);
	man->m.bases[nr].generation = le64toh(r.generation);
	man->m.bases[nr].encrypted = le32toh(r.flags) & IMAGE_F_ENCRYPTED;
	memcpy(man->m.bases[nr].id, r.id, sizeof(r.id));
	man->m.nr_bases++;
	return 0;
}

/* The string in a fixed field, in place; NULL if it does not end within the field. */
static const char *get_string(const char *field, size_t room)
{
	return memchr(field, '\0', room) ? field : NULL;
}

static int get_identity(struct manifest *man, const uint8_t *rec, uint32_t len)
{
	const struct image_man_identity *in_place = (const void *)rec;
	struct image_identity *id = &man->m.identity;
	struct image_man_identity r;

	memcpy(&r, rec, sizeof(r));
	id->created_ns = le64toh(r.created_ns);
	id->xfeatures = le64toh(r.xfeatures);
	id->xstate_size = le32toh(r.xstate_size);
	id->uid = le32toh(r.uid);
	id->gid = le32toh(r.gid);
	id->nr_procs = le32toh(r.nr_procs);
	id->nr_threads = le32toh(r.nr_threads);
	man->m.job = get_string(in_place->job, sizeof(r.job));
	id->hostname = get_string(in_place->hostname, sizeof(r.hostname));
	id->release = get_string(in_place->release, sizeof(r.release));
	id->machine = get_string(in_place->machine, sizeof(r.machine));
	if (!man->m.job || !id->hostname || !id->release || !id->machine)
		return -EINVAL;
	if (image_key_of_job(man->key, man->m.job, &man->own, &man->own_error))
		return -ENOKEY;
	if (man->own)
		man->key = man->own;
	return 0;
}

static int get_stats(struct manifest *man, const uint8_t *rec, uint32_t len)
{
	struct image_man_stats r = {};

	memcpy(&r, rec, len < sizeof(r) ? len : sizeof(r));
	man->m.timing.pause_ns = le64toh(r.pause_ns);
	man->m.timing.freeze_ns = le64toh(r.freeze_ns);
	man->m.timing.collect_ns = le64toh(r.collect_ns);
	man->m.timing.clone_ns = le64toh(r.clone_ns);
	man->m.timing.dump_ns = le64toh(r.dump_ns);
	man->m.counts.pages_data = le64toh(r.pages_data);
	man->m.counts.pages_zero = le64toh(r.pages_zero);
	man->m.counts.pages_ref = le64toh(r.pages_ref);
	man->m.nr_runs = le64toh(r.nr_runs);
	man->m.counts.nr_blobs = le64toh(r.nr_blobs);
	man->m.counts.blob_bytes = le64toh(r.blob_bytes);
	man->m.counts.blob_data = le64toh(r.blob_data);
	man->m.counts.nr_records = le64toh(r.nr_records);
	man->m.counts.pages_same = le64toh(r.pages_same);
	man->m.counts.pages_base = le64toh(r.pages_base);
	return 0;
}

static int get_roots(struct manifest *man, const uint8_t *rec, uint32_t len)
{
	struct image_man_roots r;
	uint32_t i, nr;

	memcpy(&r, rec, sizeof(r));
	nr = le32toh(r.nr);
	if (nr > (len - sizeof(r)) / sizeof(uint32_t))
		return -EINVAL;
	man->roots = calloc(nr ? nr : 1, sizeof(*man->roots));
	if (!man->roots)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		uint32_t pid;

		memcpy(&pid, rec + sizeof(r) + i * sizeof(pid), sizeof(pid));
		man->roots[i] = (int32_t)le32toh(pid);
	}
	man->m.roots = man->roots;
	man->m.nr_roots = nr;
	return 0;
}

static int get_keyval(struct manifest *man, const uint8_t *rec, uint32_t len)
{
	size_t n = man->m.nr_keyvals;
	const char *text = (const char *)rec + sizeof(struct image_man_keyval);
	struct image_man_keyval r;
	uint64_t key_len, val_len;
	const char **v;

	memcpy(&r, rec, sizeof(r));
	key_len = le32toh(r.key_len);
	val_len = le32toh(r.val_len);
	if (!key_len || key_len + val_len + 2 > len - sizeof(r) ||
	    strnlen(text, key_len + 1) != key_len ||
	    strnlen(text + key_len + 1, val_len + 1) != val_len)
		return -EINVAL;
	v = reallocarray(man->keys, n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	man->keys = v;
	v = reallocarray(man->values, n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	man->values = v;
	man->keys[n] = text;
	man->values[n] = text + key_len + 1;
	man->m.keys = man->keys;
	man->m.values = man->values;
	man->m.nr_keyvals++;
	return 0;
}

/*
 * Decrypt the PRIVATE record, if the secret is the image's.  The MAC was checked before: if
 * decryption fails, somebody who has the node's key has forged the record.
 */
static int get_private(struct manifest *man, const uint8_t *rec, uint32_t len)
{
	uint8_t own[IMAGE_KEY_ID_BYTES], subkey[IMAGE_SUBKEY_BYTES];
	struct image_man_private r;
	uint64_t sealed_len;
	int err;

	memcpy(&r, rec, sizeof(r));
	sealed_len = (uint64_t)le32toh(r.len) + IMAGE_SEAL_BYTES;
	if (!man->m.encrypted || sealed_len > len - sizeof(r))
		return -EINVAL;
	if (le32toh(r.cipher) != IMAGE_CIPHER_XCHACHA20POLY1305)
		return -EPROTONOSUPPORT;
	memcpy(man->m.secret_id, r.secret_id, sizeof(r.secret_id));
	image_key_secret_id(man->key, own);
	if (!image_key_has_secret(man->key) || sodium_memcmp(own, r.secret_id, sizeof(own)))
		return 0;
	man->text = malloc(le32toh(r.len) + 1);
	if (!man->text)
		return -ENOMEM;
	image_key_private(man->key, man->m.id, subkey);
	err = crypto_aead_xchacha20poly1305_ietf_decrypt(man->text, NULL, NULL, rec + sizeof(r),
							 sealed_len, man->m.id, sizeof(man->m.id),
							 r.nonce, subkey);
	explicit_bzero(subkey, sizeof(subkey));
	if (err)
		return -EINVAL;
	man->m.locked = false;
	man->text_len = le32toh(r.len);
	return 0;
}

static int get_recovery(struct manifest *man, const uint8_t *rec, uint32_t len)
{
	struct image_man_recovery r;

	memcpy(&r, rec, sizeof(r));
	memcpy(man->m.recovery.public, r.public, sizeof(r.public));
	memcpy(man->m.recovery.sealed, r.sealed, sizeof(r.sealed));
	return 0;
}

/* The record's MAC is checked at the end, when the key is known; see check_job(). */
static int get_job(struct manifest *man, const uint8_t *rec, uint32_t len)
{
	struct image_manifest_hdr hdr;

	memcpy(&hdr, man->buf, HDR_BYTES);
	if (!man->m.encrypted || len != sizeof(struct image_man_job) || rec < man->buf ||
	    rec + len + MANIFEST_MAC_BYTES != man->buf + le64toh(hdr.len))
		return -EINVAL;		/* not the last one, or among the private ones */
	man->job_at = (uint64_t)(rec - man->buf);
	man->m.of_job = true;
	return 0;
}

static int get_record(struct manifest *man, uint16_t type, const uint8_t *rec,
		      uint32_t len)
{
	static const struct {
		uint16_t type;
		bool once;
		size_t fixed_len;
		int (*get)(struct manifest *man, const uint8_t *rec, uint32_t len);
	} known[] = {
		{ IMAGE_MAN_FILE, false, sizeof(struct image_man_file), get_file },
		{ IMAGE_MAN_IDENTITY, true, sizeof(struct image_man_identity), get_identity },
		{ IMAGE_MAN_STATS, true, STATS_FIXED, get_stats },
		{ IMAGE_MAN_ROOTS, true, sizeof(struct image_man_roots), get_roots },
		{ IMAGE_MAN_BASE, false, sizeof(struct image_man_base), get_base },
		{ IMAGE_MAN_KEYVAL, false, sizeof(struct image_man_keyval), get_keyval },
		{ IMAGE_MAN_PRIVATE, true, sizeof(struct image_man_private), get_private },
		{ IMAGE_MAN_RECOVERY, true, sizeof(struct image_man_recovery), get_recovery },
		{ IMAGE_MAN_JOB, true, sizeof(struct image_man_job), get_job },
	};
	unsigned int bit = type & ~IMAGE_REC_OPTIONAL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].type != type)
			continue;
		if (len < known[i].fixed_len)
			return -EINVAL;
		if (known[i].once && man->seen[bit])
			return -EINVAL;
		man->seen[bit] = true;
		return known[i].get(man, rec, len);
	}
	return type & IMAGE_REC_OPTIONAL ? 0 : -EPROTONOSUPPORT;
}

static int get_records(struct manifest *man, const uint8_t *buf, size_t pos, size_t end,
		       struct fault *fault)
{
	while (pos < end) {
		struct image_rec_hdr hdr;
		uint32_t rec_len;
		int err;

		if (end - pos < sizeof(hdr))
			return fault_set(fault, -EBADMSG, NAME, pos,
					 "torn record");
		memcpy(&hdr, buf + pos, sizeof(hdr));
		rec_len = le32toh(hdr.len);
		if (rec_len < sizeof(hdr) || rec_len % 8 || rec_len > end - pos)
			return fault_set(fault, -EBADMSG, NAME, pos,
					 "record of impossible length %u",
					 rec_len);
		err = get_record(man, le16toh(hdr.type), buf + pos, rec_len);
		if (err == -ENOMEM)
			return fault_set(fault, err, NAME, pos, "out of memory");
		if (err == -ENOKEY)
			return fault_set(fault, err, NAME, pos, "the key of job %s: %.150s",
					 man->m.job, man->own_error.text);
		if (err == -EPROTONOSUPPORT)
			return fault_set(fault, err, NAME, pos,
					 "unknown record type %u: written by a newer version",
					 le16toh(hdr.type));
		if (err)
			return fault_set(fault, -EBADMSG, NAME, pos,
					 "bad record of type %u",
					 le16toh(hdr.type));
		pos += rec_len;
	}
	return 0;
}

/*
 * Check that the image is sealed with the key of its job, if it has to be.  A locked image was not
 * checked; nothing but its manifest is given out then.
 */
static int check_job(const struct manifest *man, struct fault *fault)
{
	const size_t at = offsetof(struct image_manifest_hdr, flags);
	uint8_t mac[MANIFEST_MAC_BYTES];

	if (image_key_is_own(man->key) && (!man->m.of_job || man->m.locked))
		return fault_set(fault, -EKEYREJECTED, NAME, at,
				 "not sealed with the key of job %s that this node has: it was put "
				 "there by somebody without that key",
				 man->m.job);
	if (image_key_jobs_only(man->key) && !man->m.of_job && job_key_number(man->m.job))
		return fault_set(fault, -EKEYREJECTED, NAME, at,
				 "not sealed with a key of job %s, as job_keys = only demands",
				 man->m.job);
	if (!man->m.of_job || man->m.locked)
		return 0;
	manifest_job_mac(man->buf, man->job_at, man->key, man->m.id, mac);
	if (sodium_memcmp(mac, man->buf + man->job_at + offsetof(struct image_man_job, mac),
			  sizeof(mac)))
		return fault_set(fault, -EBADMSG, NAME, man->job_at,
				 "authentication by the key of the job failed: changed by somebody "
				 "without that key");
	return 0;
}

static int get_all(struct manifest *man, size_t len, struct fault *fault)
{
	const size_t end = len - MANIFEST_MAC_BYTES;
	int err = get_records(man, man->buf, HDR_BYTES, end, fault);

	if (!err && man->text)
		err = get_records(man, man->text, 0, man->text_len, fault);
	if (err)
		return err;
	if (man->m.encrypted && !man->seen[IMAGE_MAN_PRIVATE])
		return fault_set(fault, -EBADMSG, NAME, end, "encrypted, and with no key named");
	if (!man->seen[IMAGE_MAN_IDENTITY] || !man->seen[IMAGE_MAN_STATS] ||
	    !man->m.files[IMAGE_FILE_STATE].name ||
	    !man->m.files[IMAGE_FILE_INDEX].name)
		return fault_set(fault, -EBADMSG, NAME, end,
				 "a required record is missing");
	return check_job(man, fault);
}

int manifest_decode(uint8_t *buf, size_t len, const struct image_key *key,
		    struct manifest **ret_man, struct fault *fault)
{
	struct manifest *man;
	int err;

	err = check_envelope(buf, len, key, fault);
	if (err)
		return err;
	man = calloc(1, sizeof(*man));
	if (!man)
		return fault_set(fault, -ENOMEM, NAME, 0, "out of memory");
	man->buf = buf;
	man->key = key;
	man->m.counts.bytes_stored = len;
	err = get_header(man, fault);
	if (!err)
		err = get_all(man, len, fault);
	man->key = NULL;
	if (err) {
		man->buf = NULL;	/* @buf stays the caller's */
		manifest_destroy(man);
		return err;
	}
	*ret_man = man;
	return 0;
}

const struct image_key *manifest_key(const struct manifest *man, const struct image_key *key)
{
	return man->own ? man->own : key;
}

const struct image_manifest *manifest_info(const struct manifest *man)
{
	return &man->m;
}

void manifest_destroy(struct manifest *man)
{
	if (!man)
		return;
	image_key_destroy(man->own);
	free(man->buf);
	free(man->text);
	free(man->roots);
	free(man->keys);
	free(man->values);
	free(man);
}
