/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks that tell one inode from another: an inode's number alone does not, because a file
 * system gives the number of a removed file to a new one. Dump records a mark, restore
 * compares it.
 *
 * A file system may know neither the time of birth nor handles; then a mark is empty and
 * tells nothing. Nothing here needs a right beyond the descriptor, which may be O_PATH.
 */
#ifndef STILLPOINT_FILE_MARK_H
#define STILLPOINT_FILE_MARK_H

#include <fcntl.h>
#include <stdint.h>

/**
 * struct file_mark - what tells an inode from a later one of the same number
 * @btime_ns: time of birth, 0: the file system does not tell
 * @handle_type, @handle_len, @handle: of name_to_handle_at(2), which has the generation of the
 *	number; @handle_len 0: none
 */
struct file_mark {
	uint64_t btime_ns;
	int32_t handle_type;
	uint32_t handle_len;
	uint8_t handle[MAX_HANDLE_SZ];
};

enum file_mark_verdict {
	FILE_MARK_TELLS_NOTHING,
	FILE_MARK_SAME,
	FILE_MARK_OTHER,
};

/* Read the mark of the inode that @fd leads to; what cannot be read is left empty. */
void file_mark_read(int fd, struct file_mark *ret_mark);

/**
 * file_mark_compare() - are these marks of one inode?
 *
 * Both are marks of inodes of the same number. A time of birth decides; else equal handles do.
 * Different handles prove nothing by themselves: a server may make them anew.
 */
enum file_mark_verdict file_mark_compare(const struct file_mark *was,
					 const struct file_mark *here);

#endif /* STILLPOINT_FILE_MARK_H */
