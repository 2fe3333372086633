/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol between a node and its partner.  One grammar for both sides; all numbers
 * are little-endian.
 *
 *   connection := hello back frame*		client first
 *   hello      := partner_hello		names the ticket; proves the token
 *   back       := partner_back			proves it, too, and that it is no replay
 *   frame      := partner_frame payload tag
 *		   ChaCha20-Poly1305 (IETF) under a key for each direction, the nonce is the
 *		   frame's number in it, the header is associated data; on a plain
 *		   connection the payload is, too.  So a frame is valid at one place of
 *		   one connection, and a frame that is cut off, repeated, swapped or
 *		   flipped ends the connection.
 *
 *   client's turn := OPEN | PUT | GET | VERIFY | DELETE | LIST | SPACE
 *   answers	   := RESULT, exactly one for each, last
 *
 *   PUT	 → GO, then DATA* END from the client.  RESULT may come instead of GO (it is there
 *		   already, it is refused) and at any time after it: then the client
 *		   ends what it was sending with CANCEL or END, which is thrown away.
 *		   CANCEL instead of END: given up; RESULT -ECANCELED.
 *   GET	 → INFO DATA* RESULT.  CANCEL from the client: RESULT comes early; if RESULT was
 *		   sent already, the server discards CANCEL before the next request.
 *   LIST	 → (ITEM [HEADER])* RESULT, for names that begin with the request's name, which
 *		   may be empty.  HEADER follows an ITEM of whole parity: its file's header.
 *   ALIVE	   from the server, between any two frames: it is at work
 *
 * What is moved is an image or, with the flag, parity over images (levels/parity.h).
 * DATA is the stream of levels/layout.h, in pieces of the size that PUT or GET names, the
 * last one smaller.
 *
 * Keys: each is keyed BLAKE2b by the token of a label, those of frames with both nonces.
 * errno numbers are Linux's on amd64.
 */
#ifndef STILLPOINT_LEVELS_PARTNER_WIRE_H
#define STILLPOINT_LEVELS_PARTNER_WIRE_H

#include <linux/types.h>

#include "levels/layout.h"
#include "levels/partner.h"

#define PARTNER_MAGIC		"STPTPRT\n"
#define PARTNER_NONCE_BYTES	32
#define PARTNER_MAC_BYTES	32
#define PARTNER_TAG_BYTES	16
#define PARTNER_PIECE_MAX	(1U << 20)	/* payload of DATA; a multiple of 4096 */
#define PARTNER_PIECE_MIN	4096U

#define PARTNER_F_PLAIN		(1U << 0)

struct partner_hello {
	__u8 magic[8];
	__le16 version;
	__le16 flags;				/* PARTNER_F_*, as the ticket's */
	__le32 pad;
	__u8 id[PARTNER_ID_BYTES];
	__u8 nonce[PARTNER_NONCE_BYTES];
	__u8 mac[PARTNER_MAC_BYTES];		/* of what is before */
};

struct partner_back {
	__u8 magic[8];
	__le16 version;
	__le16 flags;
	__le32 pad;
	__u8 nonce[PARTNER_NONCE_BYTES];
	__u8 mac[PARTNER_MAC_BYTES];		/* of the hello and what is before */
};

struct partner_frame {
	__le32 len;				/* of payload */
	__le16 type;
	__le16 pad;
};

enum partner_type {
	PARTNER_OPEN = 1,
	PARTNER_PUT = 2,
	PARTNER_GET = 3,
	PARTNER_VERIFY = 4,
	PARTNER_DELETE = 5,
	PARTNER_LIST = 6,
	PARTNER_SPACE = 7,
	PARTNER_GO = 16,
	PARTNER_DATA = 17,
	PARTNER_END = 18,
	PARTNER_CANCEL = 19,
	PARTNER_RESULT = 20,
	PARTNER_ALIVE = 21,
	PARTNER_INFO = 22,
	PARTNER_ITEM = 23,
	PARTNER_HEADER = 24,
};

/* OPEN: first of all; by it a partner with another key of images is found at once */
struct partner_wire_open {
	__u8 key_id[16];
};

#define PARTNER_WANT_GENERATION	(1U << 0)
#define PARTNER_WANT_ID		(1U << 1)
#define PARTNER_WANT_JOB	(1U << 2)
#define PARTNER_DEEP		(1U << 3)
#define PARTNER_PARITY		(1U << 4)	/* PUT; and of INFO and ITEM */

/* PUT, GET, VERIFY, DELETE, LIST; what does not apply is zero */
struct partner_wire_request {
	char name[LEVEL_NAME_MAX + 8];		/* NUL padded, as all strings */
	char job[64];
	__u8 id[32];
	__le64 generation;
	__le64 len[LAYOUT_FILES];		/* PUT */
	__le32 piece;				/* PUT, GET */
	__le32 flags;
};

struct partner_wire_result {
	__le32 err;				/* errno, or 0 */
	__le32 pad;
	__le64 total;				/* SPACE */
	__le64 free;
	char text[256];
};

/* INFO, and ITEM with an image that is whole: else err and text */
struct partner_wire_image {
	char name[LEVEL_NAME_MAX + 8];
	char job[64];
	__u8 id[32];
	__le64 generation;
	__le64 created_ns;
	__le64 bytes;
	__le64 len[LAYOUT_FILES];		/* INFO */
	__le32 err;
	__le32 flags;				/* PARTNER_PARITY */
	char text[256];
};

#endif /* STILLPOINT_LEVELS_PARTNER_WIRE_H */
