// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading files of parity, and the figures of a set of them.
 *
 * As with an image nothing is believed before it was authenticated: the header's MAC
 * first (magic, version and key id are looked at before that only to choose the error),
 * then its figures are checked as if they came from a stranger, then each frame as it is
 * read.
 *
 * Must not keep more than a header in memory.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/error.h"
#include "image/window.h"
#include "levels/parity.h"

#define STRIPE_BYTES	(3U << 20)	/* wanted; RS_ROWS_MAX of the smallest are 5.3 MiB */
#define STRIPE_MAX	(16U << 20)	/* of a set that somebody else made */
#define MAC_BYTES	IMAGE_DIGEST_BYTES
#define HDR_MAX		(64U << 10)
#define DIRECT_BYTES	(1U << 20)

_Static_assert(sizeof(struct parity_file_hdr) == 160, "format");
_Static_assert(sizeof(struct parity_file_member) == 144, "format");
_Static_assert(sizeof(struct parity_frame_hdr) == 32, "format");
_Static_assert(sizeof(struct parity_file_hdr) + MAC_BYTES +
	       RS_DATA_MAX * sizeof(struct parity_file_member) <= HDR_MAX, "format");

uint32_t parity_unit(unsigned int k, unsigned int m)
{
	uint32_t unit = PARITY_UNIT_MAX;

	while (unit > PARITY_UNIT_MIN &&
	       (uint64_t)(unit + PARITY_FRAME_HDR) * (k + m) > STRIPE_BYTES)
		unit /= 2;
	return unit;
}

int parity_set_check(struct parity_set *set)
{
	uint64_t len = 0;
	unsigned int i;

	if (!set->k || set->k > RS_DATA_MAX || !set->m || set->m > RS_PARITY_MAX)
		return -EINVAL;
	if (!set->unit)
		set->unit = parity_unit(set->k, set->m);
	if (set->unit > PARITY_UNIT_MAX || set->unit < PARITY_UNIT_MIN ||
	    set->unit & (set->unit - 1) ||
	    (uint64_t)(set->unit + PARITY_FRAME_HDR) * (set->k + set->m) > STRIPE_MAX)
		return -EINVAL;
	for (i = 0; i < set->k; i++)
		if (set->members[i].layout.total > len)
			len = set->members[i].layout.total;
	if (!set->len)
		set->len = len;
	return !len || set->len != len ? -EINVAL : 0;
}

/* ---------------------------------------------------------------- header */

static int parity_bad(const struct parity *p, const char *what, struct ckpt_error *error)
{
	return error_set(error, -EBADMSG, "%.170s/" IMAGE_NAME_PARITY ": %s", p->dir,
			       what);
}

static int read_exactly(const struct parity *p, uint64_t offset, void *buf, size_t len,
			struct ckpt_error *error)
{
	uint8_t *to = buf;

	while (len) {
		ssize_t n = pread(p->fd, to, len, (off_t)offset);
		int flags;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL) {		/* wants more alignment */
			flags = fcntl(p->fd, F_GETFL);
			if (flags >= 0 && (flags & O_DIRECT) &&
			    !fcntl(p->fd, F_SETFL, flags & ~O_DIRECT))
				continue;
			errno = EINVAL;
		}
		if (n < 0)
			return error_set(error, -errno,
					       "%.200s/" IMAGE_NAME_PARITY ": %m", p->dir);
		if (!n)
			return parity_bad(p, "truncated", error);
		to += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

static int check_envelope(const struct parity *p, const struct parity_file_hdr *hdr,
			  const struct image_key *key, struct ckpt_error *error)
{
	uint8_t key_id[IMAGE_KEY_ID_BYTES];
	uint32_t len = le32toh(hdr->hdr_len);

	if (memcmp(hdr->magic, PARITY_MAGIC, sizeof(hdr->magic)))
		return parity_bad(p, "not a file of parity (foreign, or its header is damaged)",
				  error);
	if (le16toh(hdr->version_reader) > PARITY_VERSION || le16toh(hdr->version) < PARITY_VERSION)
		return error_set(error, -EPROTONOSUPPORT,
				 "%.120s/" IMAGE_NAME_PARITY ": version %u is not known, this is "
							     "%u",
				 p->dir, le16toh(hdr->version), PARITY_VERSION);
	image_key_id(key, key_id);
	if (memcmp(hdr->key_id, key_id, sizeof(key_id)))
		return error_set(error, -EKEYREJECTED,
				       "%.180s/" IMAGE_NAME_PARITY ": written with another key",
				       p->dir);
	if (len % PARITY_FRAME_HDR || len < sizeof(*hdr) + MAC_BYTES || len > HDR_MAX)
		return parity_bad(p, "damaged header", error);
	return 0;
}

static int get_set(struct parity *p, const uint8_t *buf)
{
	struct parity_file_member rec;
	struct parity_file_hdr hdr;
	struct parity_set *set = &p->set;
	uint64_t len[LAYOUT_FILES];
	unsigned int i, j;

	memcpy(&hdr, buf, sizeof(hdr));
	p->index = le32toh(hdr.index);
	p->hdr_len = le32toh(hdr.hdr_len);
	set->k = le16toh(hdr.k);
	set->m = le16toh(hdr.m);
	set->unit = le32toh(hdr.unit);
	set->generation = le64toh(hdr.generation);
	set->len = le64toh(hdr.len);
	if (!set->unit || !set->len || p->index >= set->m || set->k > RS_DATA_MAX ||
	    sizeof(hdr) + set->k * sizeof(rec) + MAC_BYTES > p->hdr_len ||
	    memchr(hdr.job, 0, sizeof(hdr.job)) == NULL)
		return -EINVAL;
	memcpy(set->job, hdr.job, sizeof(set->job));
	for (i = 0; i < set->k; i++) {
		memcpy(&rec, buf + sizeof(hdr) + i * sizeof(rec), sizeof(rec));
		if (!memchr(rec.node, 0, sizeof(rec.node)))
			return -EINVAL;
		memcpy(set->members[i].node, rec.node, sizeof(rec.node));
		memcpy(set->members[i].id, rec.id, sizeof(rec.id));
		set->members[i].part = (int)le32toh(rec.part);
		for (j = 0; j < LAYOUT_FILES; j++)
			len[j] = le64toh(rec.len[j]);
		if (layout_init(&set->members[i].layout, len))
			return -EINVAL;
	}
	return parity_set_check(set);
}

/* @buf: hdr_len bytes, whose envelope was checked. */
static int parity_authenticate(struct parity *p, const uint8_t *buf, const struct image_key *key,
			       struct ckpt_error *error)
{
	uint8_t mac[MAC_BYTES], subkey[IMAGE_SUBKEY_BYTES];
	struct parity_file_hdr hdr;
	uint32_t len;

	memcpy(&hdr, buf, sizeof(hdr));
	len = le32toh(hdr.hdr_len);
	image_key_parity(key, hdr.salt, subkey, p->key);
	crypto_generichash(mac, sizeof(mac), buf, len - MAC_BYTES, subkey, sizeof(subkey));
	explicit_bzero(subkey, sizeof(subkey));
	if (sodium_memcmp(mac, buf + len - MAC_BYTES, sizeof(mac)))
		return parity_bad(p,
				  "authentication of its header failed: changed after it was "
				  "written",
				  error);
	if (get_set(p, buf))
		return parity_bad(p, "impossible figures in its header", error);
	memcpy(p->id, mac, sizeof(p->id));
	return 0;
}

static int load_header(struct parity *p, const struct image_key *key,
		       struct ckpt_error *error)
{
	_cleanup_free_ uint8_t *buf = aligned_alloc(PARITY_FRAME_HDR, HDR_MAX);
	struct parity_file_hdr hdr;
	int err;

	if (!buf)
		return error_set(error, -ENOMEM, "out of memory");
	err = read_exactly(p, 0, buf, PARITY_FRAME_HDR, error);
	if (err)
		return err;
	memcpy(&hdr, buf, sizeof(hdr));
	err = check_envelope(p, &hdr, key, error);
	if (!err)
		err = read_exactly(p, PARITY_FRAME_HDR, buf + PARITY_FRAME_HDR,
				   le32toh(hdr.hdr_len) - PARITY_FRAME_HDR, error);
	return err ? err : parity_authenticate(p, buf, key, error);
}

int parity_header(const struct parity *p, uint8_t **ret_header, struct ckpt_error *error)
{
	_cleanup_free_ uint8_t *buf = aligned_alloc(PARITY_FRAME_HDR, p->hdr_len);
	int err;

	if (!buf)
		return error_set(error, -ENOMEM, "out of memory");
	err = read_exactly(p, 0, buf, p->hdr_len, error);
	if (!err)
		*ret_header = take_ptr(buf);
	return err;
}

int parity_parse(const uint8_t *header, size_t len, const char *where,
		 const struct image_key *key, unsigned int *ret_index,
		 struct parity_set *ret_set, struct ckpt_error *error)
{
	_cleanup_free_ struct parity *p = calloc(1, sizeof(*p));
	struct parity_file_hdr hdr;
	int err;

	if (!p)
		return error_set(error, -ENOMEM, "out of memory");
	p->dir = where;
	if (len < sizeof(hdr))
		return parity_bad(p, "truncated", error);
	memcpy(&hdr, header, sizeof(hdr));
	err = check_envelope(p, &hdr, key, error);
	if (!err && le32toh(hdr.hdr_len) != len)
		err = parity_bad(p, "truncated", error);
	if (!err)
		err = parity_authenticate(p, header, key, error);
	if (!err) {
		*ret_index = p->index;
		*ret_set = p->set;
	}
	explicit_bzero(p->key, sizeof(p->key));
	return err;
}

/* ----------------------------------------------------------------- frames */

static uint64_t frame_offset(const struct parity *p, uint64_t pos)
{
	return p->hdr_len + pos + pos / p->set.unit * PARITY_FRAME_HDR;
}

static int check_length(struct parity *p, struct ckpt_error *error)
{
	uint64_t last = (p->set.len - 1) / p->set.unit * p->set.unit;
	uint64_t want = frame_offset(p, last) + PARITY_FRAME_HDR + parity_len(&p->set, last);
	struct stat st;

	if (fstat(p->fd, &st) < 0)
		return error_set(error, -errno, "%.200s: %m", p->dir);
	if ((uint64_t)st.st_size != want)
		return error_set(error, -EBADMSG,
				 "%.120s/" IMAGE_NAME_PARITY ": %llu bytes long, %llu were written",
				 p->dir, (unsigned long long)st.st_size, (unsigned long long)want);
	p->created_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000U + (uint64_t)st.st_mtim.tv_nsec;
	if (want >= DIRECT_BYTES)
		window_direct(p->fd);
	return 0;
}

int parity_read(const struct parity *p, uint64_t pos, uint8_t *frame,
		struct ckpt_error *error)
{
	size_t len = parity_len(&p->set, pos);
	struct parity_frame_hdr hdr;
	uint8_t tag[IMAGE_TAG_BYTES];
	int err;

	err = read_exactly(p, frame_offset(p, pos), frame, PARITY_FRAME_HDR + len, error);
	if (err)
		return err;
	memcpy(&hdr, frame, sizeof(hdr));
	memset(frame + offsetof(struct parity_frame_hdr, tag), 0, sizeof(hdr.tag));
	crypto_shorthash_siphashx24(tag, frame, PARITY_FRAME_HDR + len, p->key);
	if (sodium_memcmp(tag, hdr.tag, sizeof(tag)) ||
	    le32toh(hdr.magic) != PARITY_MAGIC_FRAME || le32toh(hdr.len) != len ||
	    le64toh(hdr.seq) != pos / p->set.unit)
		return error_set(error, -EBADMSG,
				 "%.120s/" IMAGE_NAME_PARITY ": authentication of frame %llu "
							     "failed",
				 p->dir, (unsigned long long)(pos / p->set.unit));
	return 0;
}

int parity_verify(const struct parity *p, uint8_t *frame, struct ckpt_error *error)
{
	uint64_t pos;
	int err = 0;

	for (pos = 0; !err && pos < p->set.len; pos += p->set.unit)
		err = parity_read(p, pos, frame, error);
	return err;
}

/* --------------------------------------------------------- open and close */

static int parity_open_file(struct parity *p, bool lock, struct ckpt_error *error)
{
	struct stat st;

	p->dirfd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dirfd < 0)
		return error_set(error, -errno, "%.200s: %m", p->dir);
	if (lock && flock(p->dirfd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return error_set(error, -EBUSY, "%.200s: being written or deleted",
				       p->dir);
	p->fd = openat(p->dirfd, IMAGE_NAME_PARITY, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
		       O_NOCTTY | O_NONBLOCK);
	if (p->fd < 0)
		return error_set(error, -errno, "%.200s/" IMAGE_NAME_PARITY ": %m",
				       p->dir);
	if (fstat(p->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return parity_bad(p, "not a regular file", error);
	return 0;
}

int parity_open(struct parity *p, const char *dir, bool lock, const struct image_key *key,
		struct ckpt_error *error)
{
	int err;

	memset(p, 0, sizeof(*p));
	p->dir = dir;
	p->dirfd = -1;
	p->fd = -1;
	err = parity_open_file(p, lock, error);
	if (!err)
		err = load_header(p, key, error);
	if (!err)
		err = check_length(p, error);
	if (err)
		parity_close(p);
	return err;
}

void parity_close(struct parity *p)
{
	if (!p->dir)
		return;
	if (p->fd >= 0)
		close(p->fd);
	if (p->dirfd >= 0)
		close(p->dirfd);
	explicit_bzero(p->key, sizeof(p->key));
	p->dir = NULL;
}
