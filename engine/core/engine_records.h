/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine's own records in an image's state stream: facts that dump found in user space and
 * restore needs.  Same rules as for the kernel's records: struct ckpt_rec_hdr first, a multiple of
 * 8 bytes, little-endian; new fields only at the end.
 *
 * Their order is: TREE, then the kernel's, which are kept unchanged, FILE_PLACEs, IPCs, TTY_DATAs,
 * TTYs, SOCK_OPTIONS, SOCK_ENDs, EXTERNALs, FILE_TRACKs, FILE_MARKs, BLOBs, CLOSEDs.  A reader must
 * not depend on that order.
 */
#ifndef STILLPOINT_ENGINE_RECORDS_H
#define STILLPOINT_ENGINE_RECORDS_H

#include <linux/ckpt.h>

#define ENGINE_TREE_KILLED	(1U << 0)	/* dumped with kill: the tree did not run on */
#define ENGINE_TREE_STOP_AND_COPY (1U << 1)
#define ENGINE_TREE_SHM_DIR	(1U << 2)	/* a /dev/shm directory is carried */

/* TREE: the dump as a whole.  nr_roots __s32 pids follow, of the tree's PID namespace, padded */
struct engine_rec_tree {
	struct ckpt_rec_hdr hdr;
	__u32 flags;
	__u32 files;		/* enum engine_files the dump was made with */
	__u64 generation;
	__u64 realtime_ns;	/* when the dump began */
	char boot_id[40];	/* /proc/sys/kernel/random/boot_id */
	char hostname[64];
	char job[64];
	__u32 nr_roots;
	__u32 pad;
};

#define ENGINE_TRACK_WRITES	(1U << 0)	/* the tree has it open or mapped for writing */
#define ENGINE_TRACK_TAIL	(1U << 1)	/* tail_* and tail_hash are valid */
#define ENGINE_TRACK_BUILD_ID	(1U << 2)	/* ELF file: build_id is valid */
#define ENGINE_TRACK_SYNCED	(1U << 3)	/* fsync succeeded before the commit */
#define ENGINE_TRACK_EXEC	(1U << 4)	/* program or library: mapped executable */
#define ENGINE_TRACK_WATCHED	(1U << 5)	/* the tree can write in place, and the content is
						 * not in the image: size and mtime_ns must be
						 * the same at a restart
						 */
#define ENGINE_TRACK_KEPT	(1U << 6)	/* the tree can write in place, and a blob
						 * has the content
						 */

/*
 * FILE_TRACK: a regular file that stays where it is.  One record for each file_id;
 * the records of descriptions of one inode are equal but for the file_id.
 */
struct engine_rec_file_track {
	struct ckpt_rec_hdr hdr;
	__u32 file_id;
	__u32 flags;
	__u64 size;		/* when the tree was frozen */
	__u64 mtime_ns;
	__u64 dev;
	__u64 ino;
	__u64 tail_start;	/* the hash covers [tail_start, tail_start + tail_len) */
	__u64 tail_len;		/* see file_identity.h */
	__u8 tail_hash[32];	/* file_identity_tail() */
	__u32 build_id_len;
	__u32 pad;
	__u8 build_id[32];
};

enum engine_blob_kind {
	ENGINE_BLOB_OBJECT = 1,	/* content of file_id's inode, which has no name to open:
				 * SHM, MEMFD, HUGETLB, deleted file
				 */
	ENGINE_BLOB_FILE = 2,	/* content of file_id at its path: tmpfs, files carried or kept */
	ENGINE_BLOB_SHM_DIR = 3, /* entry of the job's private /dev/shm: path is relative to it */
};

/*
 * BLOB: content kept as a blob of the image.  size is the logical size: bytes that the
 * blob does not hold are a hole.  blob is 0 when there is no content (size 0 or
 * all hole, directory, symbolic link).  One record for each inode: other file_ids of
 * the inode find it by dev and ino.
 * Path (NUL-terminated, padded) follows, then the target of a symbolic link.
 */
struct engine_rec_blob {
	struct ckpt_rec_hdr hdr;
	__u32 kind;
	__u32 file_id;		/* 0 for ENGINE_BLOB_SHM_DIR */
	__u64 blob;
	__u64 size;
	__u64 dev;
	__u64 ino;
	__u64 mtime_ns;
	__u32 mode;
	__u32 uid;
	__u32 gid;
	__u32 path_len;		/* bytes with NUL; 0: none */
	__u32 target_len;	/* bytes with NUL; 0: none */
	__u32 pad;
};

/*
 * BLOB_HASHES: the content of a file, blob, is kept in pages; the blob @hashes has a struct
 * file_hash (engine/dump/file_hashes.h) of each.  Only a later dump reads it.
 */
struct engine_rec_blob_hashes {
	struct ckpt_rec_hdr hdr;
	__u64 blob;
	__u64 hashes;
	__u64 dev;		/* of stat(2) */
	__u64 ino;
	__u64 size;		/* of the file */
	__u64 mtime_ns, ctime_ns;	/* of the freeze; 0: a later write may leave them so */
};

/* TTY: a pty of the tree, by the index that FILE records carry as object */
struct engine_rec_tty {
	struct ckpt_rec_hdr hdr;
	__u32 index;
	__u32 flags;
	__u32 c_iflag, c_oflag, c_cflag, c_lflag;	/* struct termios2 */
	__u32 c_ispeed, c_ospeed;
	__u8 c_line;
	__u8 c_cc[19];
	__u16 ws_row, ws_col, ws_xpixel, ws_ypixel;
	__u32 pad;
};

/* Unread bytes of one end of a pty. A byte's mark is set if it ends a line (canonical mode). */
struct engine_tty_bytes {
	__u8 bytes[CKPT_TTY_MAX];
	__u64 marks[CKPT_TTY_MAX / 64];
};

/* TTY_DATA: bytes that one end (@kind: PTM or PTS) of the pty with that index has not read */
struct engine_rec_tty_data {
	struct ckpt_rec_hdr hdr;
	__u32 index;
	__u32 kind;		/* enum ckpt_file_kind */
	__u32 len;
	__u32 pad;
	/* then: struct engine_tty_bytes */
};

/* EXTERNAL: this file leads to something outside of the tree that the caller named */
struct engine_rec_external {
	struct ckpt_rec_hdr hdr;
	__u32 file_id;
	__u32 kind;		/* enum ckpt_file_kind of the file in the tree */
	__u64 object;		/* its object, if any */
	char name[32];
};

#define ENGINE_PLACE_LINK	(1U << 0)	/* the inode has no link under the recorded path,
						 * but another one: it is not deleted
						 */

/*
 * FILE_PLACE: where file_id lies on the node of the dump, if that is not the path
 * of its record: a path from our own root, or a handle (name_to_handle_at(2)) in
 * the file system of the directory of the recorded path.
 * Path (NUL-terminated) and handle follow.
 */
struct engine_rec_file_place {
	struct ckpt_rec_hdr hdr;
	__u32 file_id;
	__u32 flags;		/* ENGINE_PLACE_* */
	__u32 path_len;		/* bytes with NUL; 0: none */
	__u32 handle_len;	/* bytes; 0: none */
	__s32 handle_type;
	__u32 pad;
};

/*
 * FILE_MARK: which inode a tracked file was, so that a later one of the same number is not
 * taken for it (engine/core/file_mark.h).  The handle follows.
 */
struct engine_rec_file_mark {
	struct ckpt_rec_hdr hdr;
	__u32 file_id;
	__u32 handle_len;	/* bytes; 0: none */
	__u64 btime_ns;		/* birth; 0: the file system does not tell */
	__s32 handle_type;
	__u32 pad;
};

#define ENGINE_WRITES_KNOWN	(1U << 0)	/* there was a log */
#define ENGINE_WRITES_COMPLETE	(1U << 1)	/* … and the CLOSED records have all its names */

/*
 * WRITES: how far the write log of the tree's PID namespace was read for the CLOSED records. What
 * has a larger number in that log, or is in a log that began later, happened after the dump.
 */
struct engine_rec_writes {
	struct ckpt_rec_hdr hdr;
	__u32 flags;		/* ENGINE_WRITES_* */
	__u32 nr_nodes;		/* of the job, each with an image; 0 in older images: one */
	__u64 log_ns;		/* since_ns of struct ckpt_writes_read */
	__u64 seq;		/* the last number */
};

#define ENGINE_CLOSED_ABSENT	(1U << 0)	/* no file had the name */
#define ENGINE_CLOSED_OPEN	(1U << 1)	/* another name of the inode of file_id */
#define ENGINE_CLOSED_KEPT	(1U << 2)	/* blob has the content; 0: nothing but holes */
#define ENGINE_CLOSED_WATCHED	(1U << 3)	/* a restart needs the same size and mtime_ns */
#define ENGINE_CLOSED_GROWS	(1U << 4)	/* only appended to: a restart cuts it, by tail_* */
#define ENGINE_CLOSED_LINK	(1U << 5)	/* a symbolic link: its target follows the path */

/*
 * CLOSED: a name of a file or symbolic link that the tree had written, made or renamed before the
 * dump, as its write log tells. One of the flags is set. Records of one inode (dev, ino) are equal
 * but for path, log_flags and writes. The path and a link's target of size bytes follow (NULs).
 */
struct engine_rec_closed {
	struct ckpt_rec_hdr hdr;
	__u32 flags;		/* ENGINE_CLOSED_* */
	__u32 file_id;		/* ENGINE_CLOSED_OPEN; else 0 */
	__u64 blob;
	__u64 size;
	__u64 dev;
	__u64 ino;
	__u64 mtime_ns;
	__u32 mode;
	__u32 uid;
	__u32 gid;
	__u32 log_flags;	/* CKPT_WRITE_* */
	__u32 writes;		/* as in struct ckpt_write */
	__u32 path_len;		/* bytes with NUL */
	__u32 tail_len;		/* see file_identity.h */
	__u32 pad;
	__u8 tail_hash[32];
};

#include "engine/core/engine_records_kinds.h"

#endif /* STILLPOINT_ENGINE_RECORDS_H */
