/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The image of one process tree, as bytes.  One writer (writer.c and friends),
 * one reader (reader.c and friends), this grammar between them.
 *
 * All numbers are little-endian, all structures are packed by construction
 * (natural alignment, explicit padding that is zero and checked).
 *
 *   image     := directory { manifest state index [pages] [blobs] base* }
 *		  written as .tmp-NAME next to its final NAME; the rename of the
 *		  directory commits it.  A directory without a manifest is not an
 *		  image.  No other name belongs to an image.
 *
 *   manifest  := manifest_hdr  record*  mac
 *		  mac is keyed BLAKE2b-256 over everything before it.  It is the
 *		  first thing a reader checks; nothing else is believed before.
 *		  Its records say who, when and where, the sizes, and for each
 *		  file: length, number of chunks, digest over the chunks' tags.
 *
 *   file      := file_hdr  chunk*		(state, index)
 *		| file_hdr  ([gap] chunk)*	(pages, blobs)
 *   gap       := zeros up to the next multiple of ALIGN: so chunks can be written
 *		  from where they were made.  A restore does not read them, a
 *		  verification does
 *   chunk     := chunk_hdr  payload  tag
 *		  payload is raw or one zstd frame, of at most CHUNK_MAX bytes
 *		  raw.  tag is SipHash-2-4 (128 bits) of header and payload under
 *		  the first half of the image's chunk key.  As the key is derived
 *		  from the image's random id and the header names the place, a
 *		  chunk is valid at one place of one file of one image only.
 *		  In an encrypted image the payload is a sealed one: XChaCha20-
 *		  Poly1305 of it under the image's secret chunk key, with the nonce
 *		  (seq, file) and the header as associated data, and the seal's tag
 *		  behind it.  Each place is written once, so no nonce comes twice;
 *		  what is said above of the key and the place holds for the seal.
 *
 *   state     := the chunks' raw bytes, one after another, are record*:
 *		  the kernel's (linux/ckpt_records.h, types below 0x1000) and the
 *		  engine's (0x1000 and above), opaque here; a record may straddle
 *		  chunks.
 *   index     := likewise record*, types enum image_index_type: tables of the
 *		  chunks of pages and blobs, and extents.
 *   pages     := chunks of page data;  blobs := chunks of file contents
 *   base      := the pages file of an earlier image, under the name base1, base2, …:
 *		  a hard link to it, or a copy; chunks, tags and header are those of
 *		  that image, whose id the manifest has.  So an incremental image is
 *		  whole by itself, whatever becomes of the earlier ones.
 *
 *   private   := what is secret in the manifest of an encrypted image: its KEYVAL
 *		  records, sealed like a payload under the image's private key, with
 *		  a random nonce and the image's id as associated data.  What stays
 *		  readable: job, generation, times, host, kernel, owner's uid and
 *		  gid, roots' pids, counts of processes, threads, pages and records,
 *		  lengths of files and chunks, how well each chunk was compressed.
 *
 *   job       := the last record of the manifest of an image that is encrypted with the key of
 *		  its job (job_key.h): keyed BLAKE2b-256, under the secret's job key, over all
 *		  bytes before the record.  Whoever has the master key alone can make the
 *		  manifest's mac, but not this one.
 *
 *   record    := { le16 type, le16 version, le32 len } payload padding
 *		  len counts all of it, is a multiple of 8, at most RECORD_MAX.
 *		  Type bit 0x8000: a reader that does not know it may skip it.
 *
 *   extent    := a piece of a memory map (owner is its mm_id, start an
 *		  address, whole pages) or of a blob (owner is its blob_id, start
 *		  an offset).  Kinds: DATA (where is a position: chunk number
 *		  times CHUNK_MAX plus offset in the raw chunk; never across
 *		  chunks; in pages if src is 0, else in base number src; several
 *		  extents may have the same data, and are pages of their own all
 *		  the same), ZERO, REF (the same physical pages
 *		  as owner src at address where, which are DATA or ZERO there).
 *		  A blob whose later versions may share pages with it is kept among
 *		  the memory maps: its owner is OWNER_BLOB plus its blob_id, its
 *		  extents are DATA, and zeros fill its last page.
 *		  Extents of one table are sorted by (owner, start) and do not
 *		  overlap.  What no extent covers is not in the image (memory) or
 *		  a hole (blob).
 *
 * Keys: master key → key id (tells a wrong key from a damaged image), manifest
 * key, chunk key; each keyed BLAKE2b of a label, the last two with the image id.
 * The secret, of encrypted images only, likewise → secret id, private key, secret chunk
 * key, and job key if the secret is the key of the image's job.  So the master key
 * suffices to tell a damaged image from a whole one.
 *
 * Versions: a manifest names the version that wrote it and the oldest reader
 * version that can read it.  Retired numbers stay listed and are never reused.
 */
#ifndef STILLPOINT_IMAGE_FORMAT_H
#define STILLPOINT_IMAGE_FORMAT_H

#include <linux/types.h>

#define IMAGE_VERSION		6	/* written by this code */
#define IMAGE_VERSION_OLDEST	1	/* oldest this code can read */
#define IMAGE_VERSION_READER	1	/* oldest reader that can read what we write, */
#define IMAGE_VERSION_BASES	2	/* if it has bases, */
#define IMAGE_VERSION_SECRET	3	/* if it is encrypted, */
#define IMAGE_VERSION_GAPS	4	/* if there may be gaps between chunks, */
#define IMAGE_VERSION_PAGED	5	/* if blobs are kept in pages, */
#define IMAGE_VERSION_JOB	6	/* if it is sealed with the key of its job */

#define IMAGE_MAGIC_MANIFEST	"STPTMAN\n"
#define IMAGE_MAGIC_FILE	"STPTFIL\n"
#define IMAGE_MAGIC_CHUNK	0x4b4e4843U	/* "CHNK" */

#define IMAGE_PAGE_SIZE		4096U
#define IMAGE_ALIGN		4096U		/* a gap ends at a multiple of it */
#define IMAGE_ALIGN_UP(n)	(((n) + (IMAGE_ALIGN - 1)) & ~(IMAGE_ALIGN - 1ULL))
#define IMAGE_CHUNK_MAX		(1U << 20)	/* raw bytes of a chunk */
#define IMAGE_RECORD_MAX	(16U << 20)
#define IMAGE_MANIFEST_MAX	(16U << 20)
#define IMAGE_OWNER_BLOB	(1ULL << 63)	/* no mm_id has this bit */
#define IMAGE_ID_BYTES		32
#define IMAGE_KEY_ID_BYTES	16
#define IMAGE_TAG_BYTES		16
#define IMAGE_SEAL_BYTES	16	/* that sealing makes a payload longer */
#define IMAGE_NONCE_BYTES	24
#define IMAGE_DIGEST_BYTES	32

#define IMAGE_NAME_MANIFEST	"manifest"
#define IMAGE_NAME_PARITY	"parity"	/* in a directory of its own: levels/parity.h */
#define IMAGE_NAME_MANIFEST_TMP	"manifest.tmp"

enum image_file {
	IMAGE_FILE_STATE = 1,
	IMAGE_FILE_INDEX = 2,
	IMAGE_FILE_PAGES = 3,
	IMAGE_FILE_BLOBS = 4,
	IMAGE_FILE__COUNT,
	IMAGE_FILE_BASE = IMAGE_FILE__COUNT	/* base1; base2 is one more, … */
};

#define IMAGE_BASES_MAX		15
#define IMAGE_FILES		(IMAGE_FILE_BASE + IMAGE_BASES_MAX)

/* 1 << 0: retired; encrypted with the master key, which no program ever did */
#define IMAGE_F_ENCRYPTED	(1U << 1)	/* payloads sealed, and a PRIVATE record */

struct image_manifest_hdr {
	__u8 magic[8];
	__le16 version;
	__le16 version_reader;
	__le32 flags;				/* IMAGE_F_* */
	__le64 len;				/* of the whole file, mac included */
	__le64 generation;
	__u8 id[IMAGE_ID_BYTES];		/* random, one per image */
	__u8 key_id[IMAGE_KEY_ID_BYTES];
};

struct image_file_hdr {
	__u8 magic[8];
	__le16 version;
	__le16 file;				/* enum image_file */
	__le32 flags;				/* as the manifest's */
	__le64 generation;
	__le64 pad;
	__u8 id[IMAGE_ID_BYTES];
};

enum image_codec {
	IMAGE_CODEC_RAW = 0,
	IMAGE_CODEC_ZSTD = 1,
};

struct image_chunk_hdr {
	__le32 magic;
	__le16 file;
	__u8 codec;
	__u8 pad8;
	__le64 seq;				/* 0, 1, 2, … in its file */
	__le32 raw_len;				/* 1 to IMAGE_CHUNK_MAX */
	__le32 stored_len;			/* of payload, at most raw_len */
	__le64 pad;
};

struct image_rec_hdr {				/* same layout as struct ckpt_rec_hdr */
	__le16 type;
	__le16 version;
	__le32 len;
};

#define IMAGE_REC_OPTIONAL	0x8000

/* ------------------------------------------------------ manifest records */

enum image_manifest_type {
	IMAGE_MAN_FILE = 1,
	IMAGE_MAN_IDENTITY = 2,
	IMAGE_MAN_STATS = 3,
	IMAGE_MAN_ROOTS = 4,
	IMAGE_MAN_KEYVAL = 5 | IMAGE_REC_OPTIONAL,
	IMAGE_MAN_BASE = 6,
	/* 7: partners and erasure layout */
	IMAGE_MAN_PRIVATE = 8,
	IMAGE_MAN_RECOVERY = 9,
	IMAGE_MAN_JOB = 10,
};

/* FILE: once per file of the image, in order of enum image_file */
struct image_man_file {
	struct image_rec_hdr hdr;
	__le32 file;
	__le32 pad;
	__le64 len;
	__le64 nr_chunks;
	__le64 raw_len;				/* sum over the chunks */
	__u8 digest[IMAGE_DIGEST_BYTES];	/* BLAKE2b over the tags in order */
};

/* IDENTITY: strings NUL padded */
struct image_man_identity {
	struct image_rec_hdr hdr;
	__le64 created_ns;			/* CLOCK_REALTIME */
	__le64 xfeatures;			/* XCR0 bits of the node */
	__le32 xstate_size;
	__le32 uid;				/* owner of the tree */
	__le32 gid;
	__le32 nr_procs;
	__le32 nr_threads;
	__le32 pad;
	char job[64];
	char hostname[72];
	char release[72];
	char machine[24];
};

/* STATS: what was measured and counted */
struct image_man_stats {
	struct image_rec_hdr hdr;
	__le64 pause_ns;
	__le64 freeze_ns;
	__le64 collect_ns;
	__le64 clone_ns;
	__le64 dump_ns;
	__le64 pages_data;
	__le64 pages_zero;
	__le64 pages_ref;
	__le64 nr_runs;				/* page extents */
	__le64 nr_blobs;
	__le64 blob_bytes;			/* sum of sizes */
	__le64 blob_data;			/* of them not holes */
	__le64 nr_records;			/* in the state stream */
	/* since then; a record that ends here says 0 */
	__le64 pages_same;			/* of pages_data: with the data of others */
	__le64 pages_base;			/* of pages_data: with data of a base */
};

/* ROOTS: then nr le32 pids in the tree's PID namespace, padded */
struct image_man_roots {
	struct image_rec_hdr hdr;
	__le32 nr;
	__le32 pad;
};

/* BASE: once per base, ascending; the one of the latest image is base1 */
struct image_man_base {
	struct image_rec_hdr hdr;
	__le32 file;				/* IMAGE_FILE_BASE and up */
	__le16 version;				/* this and the rest: of the base's image */
	__le16 pad;
	__le64 generation;
	__le64 len;
	__le64 nr_chunks;
	__le64 raw_len;
	__u8 digest[IMAGE_DIGEST_BYTES];
	__u8 id[IMAGE_ID_BYTES];
	__le32 flags;				/* IMAGE_F_* */
	__le32 pad2;
};

/* KEYVAL: then key NUL value NUL, padded */
struct image_man_keyval {
	struct image_rec_hdr hdr;
	__le32 key_len;				/* without NUL */
	__le32 val_len;
};

enum image_cipher {
	IMAGE_CIPHER_XCHACHA20POLY1305 = 1,
};

/* PRIVATE: once if the image is encrypted, else never; then len bytes and the seal, padded */
struct image_man_private {
	struct image_rec_hdr hdr;
	__le32 cipher;				/* of this and of the chunks */
	__le32 len;				/* without IMAGE_SEAL_BYTES */
	__u8 secret_id[IMAGE_KEY_ID_BYTES];
	__u8 nonce[IMAGE_NONCE_BYTES];
};

/* RECOVERY: at most once, of an image with JOB: the job's key for the site's secret key */
struct image_man_recovery {
	struct image_rec_hdr hdr;
	__u8 public[32];			/* the site's; X25519 */
	__u8 sealed[80];			/* crypto_box_seal() of the job's key */
};

/* JOB: once if the image is sealed with the key of its job, else never */
struct image_man_job {
	struct image_rec_hdr hdr;
	__u8 mac[IMAGE_DIGEST_BYTES];
};

/* --------------------------------------------------------- index records */

enum image_index_type {
	IMAGE_IX_CHUNKS = 1,
	IMAGE_IX_EXTENTS = 2,
	IMAGE_IX_BLOB = 3,
	IMAGE_IX_TRACK = 4 | IMAGE_REC_OPTIONAL,
};

/* CHUNKS: then nr struct image_ix_chunk, of the chunks from number first */
struct image_ix_chunks {
	struct image_rec_hdr hdr;
	__le32 file;				/* PAGES, BLOBS or a base */
	__le32 nr;
	__le64 first;
};

struct image_ix_chunk {
	__le64 offset;				/* of the chunk_hdr in the file */
	__le32 stored_len;
	__le32 raw_len;
};

enum image_extent_kind {
	IMAGE_EXTENT_DATA = 1,
	IMAGE_EXTENT_ZERO = 2,
	IMAGE_EXTENT_REF = 3,			/* memory only */
};

/* EXTENTS: then nr struct image_ix_extent */
struct image_ix_extents {
	struct image_rec_hdr hdr;
	__le32 file;				/* PAGES: memory; BLOBS: blobs */
	__le32 nr;
};

struct image_ix_extent {
	__le64 owner;
	__le64 start;
	__le64 len;
	__le64 where;
	__le64 src;
	__le32 kind;
	__le32 pad;
};

/* BLOB: one blob and its size, ascending ids */
struct image_ix_blob {
	struct image_rec_hdr hdr;
	__le64 id;
	__le64 size;
};

/*
 * TRACK: then nr struct image_ix_track.  From this image on writes to the memory map
 * are tracked, and the kernel knows it by the token (struct ckpt_pagemap).
 */
struct image_ix_tracks {
	struct image_rec_hdr hdr;
	__le32 nr;
	__le32 pad;
};

struct image_ix_track {
	__le64 owner;
	__le64 token;
};

#endif /* STILLPOINT_IMAGE_FORMAT_H */
