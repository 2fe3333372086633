// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading and comparing the marks of inodes; see file_mark.h.
 *
 * Nothing is opened and nothing is changed: both calls take the descriptor that the caller
 * has.
 */
#include "engine/core/file_mark.h"

#include <string.h>
#include <sys/stat.h>

#define NSEC	1000000000ULL

static void file_mark_read_handle(int fd, struct file_mark *mark)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h = { .handle.handle_bytes = MAX_HANDLE_SZ };
	int mount;

	if (name_to_handle_at(fd, "", &h.handle, &mount, AT_EMPTY_PATH) ||
	    h.handle.handle_bytes > sizeof(mark->handle))
		return;
	mark->handle_type = h.handle.handle_type;
	mark->handle_len = h.handle.handle_bytes;
	memcpy(mark->handle, h.room + sizeof(h.handle), mark->handle_len);
}

void file_mark_read(int fd, struct file_mark *ret_mark)
{
	struct statx stx;

	memset(ret_mark, 0, sizeof(*ret_mark));
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &stx) == 0 && stx.stx_mask & STATX_BTIME &&
	    stx.stx_btime.tv_sec > 0)
		ret_mark->btime_ns = (uint64_t)stx.stx_btime.tv_sec * NSEC + stx.stx_btime.tv_nsec;
	file_mark_read_handle(fd, ret_mark);
}

enum file_mark_verdict file_mark_compare(const struct file_mark *was, const struct file_mark *here)
{
	if (was->btime_ns && here->btime_ns)
		return was->btime_ns == here->btime_ns ? FILE_MARK_SAME : FILE_MARK_OTHER;
	if (was->handle_len && was->handle_len == here->handle_len &&
	    was->handle_type == here->handle_type &&
	    memcmp(was->handle, here->handle, was->handle_len) == 0)
		return FILE_MARK_SAME;
	return FILE_MARK_TELLS_NOTHING;
}
