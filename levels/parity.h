/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file of parity over the images of a group, as bytes.  Little-endian, natural
 * alignment, padding is zero and authenticated.
 *
 *   parity    := directory { parity }
 *		  written as .tmp-NAME and committed by the rename of the directory,
 *		  swept and removed like an image (image/writer.h)
 *   the file  := header  frame*
 *   header    := parity_file_hdr  parity_file_member{k}  zeros  mac
 *		  of hdr_len bytes, a multiple of 4096; mac is keyed BLAKE2b-256 over
 *		  all before it.  It says whose parity this is (job, generation, of each
 *		  member the node, which part of the generation its image is, the image's
 *		  id and the lengths of its files) and which of the m pieces.
 *   frame     := parity_frame_hdr (padded to 4096)  payload
 *		  payload is row k + index of the code (rs.h) over the bytes at
 *		  seq * unit of every member's stream (layout.h), which is taken to be
 *		  zeros behind its end; unit bytes long, the last one what is left of the
 *		  longest stream.  tag is SipHash-2-4 (128 bits) of all of the frame, with
 *		  zeros in its own place.
 *
 * Both keys are derived from the master key and the file's random salt, so a frame is
 * valid at one place of one file only, and a second encoding of changed bytes never has
 * the keys of the first.
 */
#ifndef STILLPOINT_LEVELS_PARITY_H
#define STILLPOINT_LEVELS_PARITY_H

#include <linux/types.h>

#include "base/error.h"
#include "image/format.h"
#include "levels/layout.h"
#include "levels/level.h"
#include "levels/rs.h"

#define PARITY_VERSION		2	/* 1 had no parts, and was never released */
#define PARITY_MAGIC		"STPTPAR\n"
#define PARITY_MAGIC_FRAME	0x59545250U	/* "PRTY" */
#define PARITY_FRAME_HDR	4096U
#define PARITY_UNIT_MAX		(256U << 10)
#define PARITY_UNIT_MIN		(64U << 10)
#define PARITY_NODE_MAX		63

struct parity_file_hdr {
	__u8 magic[8];
	__le16 version;
	__le16 version_reader;
	__le32 hdr_len;
	__u8 key_id[IMAGE_KEY_ID_BYTES];
	__u8 salt[32];
	__le64 generation;
	__le64 len;				/* of the longest stream */
	__le32 unit;
	__le16 k;
	__le16 m;
	__le32 index;				/* 0 to m-1 */
	__le32 pad;
	char job[64];
};

struct parity_file_member {
	char node[PARITY_NODE_MAX + 1];
	__u8 id[IMAGE_ID_BYTES];
	__le64 len[LAYOUT_FILES];
	__le32 part;				/* -1: the generation is this image */
	__le32 pad;
};

struct parity_frame_hdr {
	__le32 magic;
	__le32 len;				/* of the payload */
	__le64 seq;
	__u8 tag[IMAGE_TAG_BYTES];
};

/* ---------------------------------------------------------------- in memory */

struct parity_member {
	char node[PARITY_NODE_MAX + 1];
	uint8_t id[IMAGE_ID_BYTES];
	int part;
	struct layout layout;
};

/* The fields that all m parity files of a group share; unused ones are zero. */
struct parity_set {
	unsigned int k, m;
	uint32_t unit;
	uint64_t generation;
	uint64_t len;
	char job[64];
	struct parity_member members[RS_DATA_MAX];
};

/*
 * Unit of a new set: small enough that a stripe of most groups stays in a core's cache
 * between reading and coding, large enough for a disk.
 */
uint32_t parity_unit(unsigned int k, unsigned int m);

/* Check a set's figures: -EINVAL, -EFBIG.  Computes unit and len if they are 0. */
int parity_set_check(struct parity_set *set);

/* Bytes of payload at @pos. */
static inline size_t parity_len(const struct parity_set *set, uint64_t pos)
{
	return set->len - pos < set->unit ? set->len - pos : set->unit;
}

/* A committed file of parity. */
struct parity {
	const char *dir;	/* the caller's */
	int dirfd, fd;
	unsigned int index;
	uint32_t hdr_len;
	uint8_t id[32];		/* of this piece: its header's mac */
	uint64_t created_ns;	/* CLOCK_REALTIME, as the file system has it */
	struct parity_set set;
	uint8_t key[32];
};

/*
 * parity_open() - open and check header and length
 * @lock: against deletion, as source.h
 *
 * -ENOENT none there, -EBADMSG, -EKEYREJECTED, -EPROTONOSUPPORT as an image.  On
 * failure there is nothing to close.
 */
int parity_open(struct parity *p, const char *dir, bool lock, const struct image_key *key,
		struct ckpt_error *error);
/* The header as it is in the file: hdr_len bytes, to be freed; it was authenticated. */
int parity_header(const struct parity *p, uint8_t **ret_header, struct ckpt_error *error);
/* Parse a header that another node sent; @where is for messages.  Errors as parity_open(). */
int parity_parse(const uint8_t *header, size_t len, const char *where,
		 const struct image_key *key, unsigned int *ret_index,
		 struct parity_set *ret_set, struct ckpt_error *error);
/* Read and authenticate the frame at @pos: PARITY_FRAME_HDR bytes, then the payload. */
int parity_read(const struct parity *p, uint64_t pos, uint8_t *frame,
		struct ckpt_error *error);
/* All frames; @frame has room for the largest. */
int parity_verify(const struct parity *p, uint8_t *frame, struct ckpt_error *error);
void parity_close(struct parity *p);	/* a zeroed one is fine */

/* A file of parity that is being written. */
struct parity_out {
	const char *dir;	/* the caller's */
	struct image_writer *writer;
	struct image_wfile *file;
	uint64_t seq;
	uint8_t key[32];
};

int parity_begin(struct parity_out *o, const char *dir, const struct parity_set *set,
		 unsigned int index, const struct image_key *key,
		 const struct level_writers *writers, struct ckpt_error *error);
/* @frame: room for a header, then @len bytes of payload; aligned to 4096 */
int parity_append(struct parity_out *o, uint8_t *frame, size_t len,
		  struct ckpt_error *error);
/* Make it durable, read it back and authenticate it, then visible.  @frame: room for one. */
int parity_commit(struct parity_out *o, const struct image_key *key, uint8_t *frame,
		  struct ckpt_error *error);
void parity_done(struct parity_out *o);	/* removes all traces if not committed */

#endif /* STILLPOINT_LEVELS_PARITY_H */
