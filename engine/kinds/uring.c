// SPDX-License-Identifier: GPL-2.0-only
/*
 * Idle rings of io_uring.
 *
 * The kernel module refuses a ring with a request in flight, and records what is in the queues and
 * which files are registered.  A restart makes a ring of the same form, which the tree maps where
 * the former one was, writes what was in the queues into its memory, registers the files, and has
 * the module tell the ring how far it had come.
 */
#include "base/error.h"
#include "engine/core/state_parse.h"
#include "engine/files/reopen.h"
#include "engine/kinds/kinds.h"
#include "engine/restore/restore_records.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SETUP	(IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_SUBMIT_ALL | \
		 IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | \
		 IORING_SETUP_SQE128 | IORING_SETUP_CQE32)

static const struct ckpt_rec_uring *uring_rec(const struct state_file *file)
{
	return (const void *)file->own;
}

static const uint32_t *uring_files(const struct ckpt_rec_uring *rec)
{
	return (const void *)(rec + 1);
}

static const char *uring_bytes(const struct ckpt_rec_uring *rec)
{
	return (const char *)(rec + 1) + ((rec->of.nr * sizeof(uint32_t) + 7) & ~(size_t)7);
}

static bool is_power(uint32_t n)
{
	return n && !(n & (n - 1));
}

static int uring_parse(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_uring *rec = (const void *)hdr;
	uint64_t need = sizeof(*rec) + ((rec->of.nr * sizeof(uint32_t) + 7) & ~(size_t)7);
	uint64_t cqe = sizeof(struct io_uring_cqe) << !!(rec->setup & IORING_SETUP_CQE32);
	uint64_t sqe = sizeof(struct io_uring_sqe) << !!(rec->setup & IORING_SETUP_SQE128);

	if (rec->of.nr > CKPT_URING_FILES_MAX || rec->setup & ~(uint32_t)SETUP ||
	    rec->rings_len > CKPT_URING_BYTES_MAX || rec->sqes_len > CKPT_URING_BYTES_MAX ||
	    !is_power(rec->sq_entries) || !is_power(rec->cq_entries) ||
	    need + ((rec->rings_len + 7) & ~7U) + rec->sqes_len > hdr->len ||
	    rec->sqes_len != rec->sq_entries * sqe || rec->sq_array > rec->rings_len ||
	    rec->rings_len - rec->sq_array != rec->sq_entries * sizeof(uint32_t) ||
	    rec->cqes + rec->cq_entries * cqe > rec->sq_array)
		return state_fail(p, -EBADMSG, "impossible io_uring, file %u", rec->of.file);
	return 0;
}

/* ---------------------------------------------------------------- restore */

static int uring_open(struct reopen *r, const struct state_file *file)
{
	const struct ckpt_rec_uring *rec = uring_rec(file);
	struct io_uring_params params = {
		.flags = rec->setup | IORING_SETUP_CQSIZE, .cq_entries = rec->cq_entries,
	};
	int fd = (int)syscall(SYS_io_uring_setup, rec->sq_entries, &params);

	if (fd < 0)
		return reopen_failed(r, file, -errno, "make");
	if (params.sq_entries != rec->sq_entries || params.cq_entries != rec->cq_entries ||
	    params.sq_off.array != rec->sq_array || params.cq_off.cqes != rec->cqes) {
		close(fd);
		return error_fail(r->error, -EXDEV, "this kernel lays out an io_uring otherwise "
				  "than that of the checkpoint");
	}
	return kind_flags(r, file, fd);
}

static int uring_write(int fd, uint64_t offset, const char *from, size_t len)
{
	char *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
			 (off_t)offset);

	if (map == MAP_FAILED)
		return -errno;
	memcpy(map, from, len);
	munmap(map, len);
	return 0;
}

static int uring_register(struct reopen *r, const struct ckpt_rec_uring *rec, int fd)
{
	const uint32_t *ids = uring_files(rec);
	_cleanup_free_ int *fds = NULL;

	if (!rec->of.nr)
		return 0;
	fds = calloc(rec->of.nr, sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	for (uint32_t i = 0; i < rec->of.nr; i++) {
		const struct state_file *file = ids[i] ? state_file_find(r->state, ids[i]) : NULL;

		fds[i] = file ? reopen_fd(r, file) : -1;
		if (ids[i] && fds[i] < 0)
			return -EBADF;
	}
	return syscall(SYS_io_uring_register, fd, IORING_REGISTER_FILES, fds, rec->of.nr) ? -errno :
											    0;
}

static int uring_fill(struct reopen *r, const struct state_file *file, int fd)
{
	const struct ckpt_rec_uring *rec = uring_rec(file);
	const char *bytes = uring_bytes(rec);
	int ret = uring_write(fd, IORING_OFF_SQ_RING, bytes, rec->rings_len);

	if (!ret)
		ret = uring_write(fd, IORING_OFF_SQES, bytes + ((rec->rings_len + 7) & ~7U),
				  rec->sqes_len);
	if (!ret)
		ret = uring_register(r, rec, fd);
	return ret ? reopen_failed(r, file, ret, "fill") : 0;
}

static bool uring_is_here(const struct reopen *r, unsigned int index)
{
	return r->state->files[index].rec->kind == CKPT_FILE_URING && r->fds[index] >= 0;
}

static int uring_connect(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < r->state->nr_files; i++)
		if (uring_is_here(r, i))
			ret = uring_fill(r, &r->state->files[i], r->fds[i]);
	return ret;
}

static int uring_apply(struct restore_records *s)
{
	const struct state *state = s->files->state;
	const struct state_proc *any = NULL;

	for (unsigned int i = 0; i < state->nr_procs; i++)
		if (state->procs[i].nr_threads)
			any = &state->procs[i];
	for (unsigned int i = 0; i < state->nr_files; i++) {
		struct ckpt_rec_uring *rec;

		if (!uring_is_here(s->files, i))
			continue;
		rec = restore_records_append(s, sizeof(*rec));
		if (!rec)
			return restore_records_no_memory(s);
		*rec = *uring_rec(&state->files[i]);
		rec->of.hdr.len = sizeof(*rec);
		rec->of.file = (uint32_t)s->files->fds[i];
		rec->of.nr = 0;
	}
	/* of no process, but a call names one */
	return s->len && any ? restore_records_call(s, restore_records_tid(any), "io_uring") : 0;
}

const struct state_kind state_kind_uring = {
	.name = "io_uring",
	.records = {
		{ CKPT_REC_URING, sizeof(struct ckpt_rec_uring), STATE_OWNER_FILE, uring_parse },
	},
	.files = { CKPT_FILE_URING },
	.file_has_record = true,
	.one_description = true,
	.policy = kind_passes,
	.open = uring_open,
	.connect = uring_connect,
	.apply = uring_apply,
};
