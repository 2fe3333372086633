// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signalfds.
 *
 * A signalfd is its mask and nothing else: a read takes pending signals of the process that reads,
 * and those are in the process's own records.
 */
#include "engine/files/reopen.h"
#include "engine/kinds/kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static int signalfd_open(struct reopen *r, const struct state_file *file)
{
	const struct ckpt_rec_signalfd *rec = (const void *)file->own;
	/* the C library's call takes a set of another size */
	long fd = syscall(SYS_signalfd4, -1, &rec->mask, sizeof(rec->mask), SFD_CLOEXEC);

	return fd < 0 ? reopen_failed(r, file, -errno, "make") : kind_flags(r, file, (int)fd);
}

const struct state_kind state_kind_signalfd = {
	.name = "signalfd",
	.records = {
		{ CKPT_REC_SIGNALFD, sizeof(struct ckpt_rec_signalfd), STATE_OWNER_FILE, NULL },
	},
	.files = { CKPT_FILE_SIGNALFD },
	.file_has_record = true,
	.one_description = true,
	.policy = kind_passes,
	.open = signalfd_open,
};
