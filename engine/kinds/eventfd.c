// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eventfds.
 *
 * The kernel module records the count and whether the descriptor is a semaphore.  eventfd(2) takes
 * 32 bits of a first count only, so the count is written.
 */
#include "engine/core/state_parse.h"
#include "engine/files/reopen.h"
#include "engine/kinds/kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int eventfd_parse(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_eventfd *rec = (const void *)hdr;

	if (rec->count == UINT64_MAX || rec->flags & ~(unsigned int)EFD_SEMAPHORE)
		return state_fail(p, -EBADMSG, "impossible eventfd, file %u", rec->of.file);
	return 0;
}

static int eventfd_open(struct reopen *r, const struct state_file *file)
{
	const struct ckpt_rec_eventfd *rec = (const void *)file->own;
	int fd = eventfd(0, (int)rec->flags | EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return reopen_failed(r, file, -errno, "make");
	if (rec->count && eventfd_write(fd, rec->count)) {
		int ret = reopen_failed(r, file, -errno, "set the count of");

		close(fd);
		return ret;
	}
	return kind_flags(r, file, fd);
}

const struct state_kind state_kind_eventfd = {
	.name = "eventfd",
	.records = {
		{ CKPT_REC_EVENTFD, sizeof(struct ckpt_rec_eventfd), STATE_OWNER_FILE,
		  eventfd_parse },
	},
	.files = { CKPT_FILE_EVENTFD },
	.file_has_record = true,
	.one_description = true,
	.policy = kind_passes,
	.open = eventfd_open,
};
