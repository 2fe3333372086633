// SPDX-License-Identifier: GPL-2.0-only
/*
 * Epoll descriptors.
 *
 * The kernel knows an item by its file and by the descriptor that was given to epoll_ctl(2), which
 * the program gives again to change the item.  So a child, with a descriptor table of its own, puts
 * each file at that number and adds it.  All descriptors are empty before, so that one may watch
 * another, in any order.  What is ready is found by the kernel when an item is added: an
 * edge-triggered item of a file that is ready reports that once more.
 *
 * An EPOLLONESHOT item that has fired has no events left.  epoll_ctl(2) cannot make it so, and
 * the kernel module does afterwards.
 *
 * An item of a signalfd waits for signals of the process that added it.  When the child has ended,
 * the kernel module lets the item wait for those of its owner.
 */
#include "engine/core/kdev.h"
#include "engine/core/state_parse.h"
#include "engine/files/reopen.h"
#include "engine/kinds/kinds.h"
#include "engine/restore/restore_records.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bits of an item that are no events: EPOLLWAKEUP, EPOLLONESHOT, EPOLLET, EPOLLEXCLUSIVE */
#define EPOLL_PRIVATE	0xf0000000U

static const struct ckpt_epoll_item *epoll_items(const struct state_file *file)
{
	return (const void *)((const struct ckpt_rec_epoll *)(const void *)file->own + 1);
}

static int epoll_parse(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_epoll *rec = (const void *)hdr;
	const struct ckpt_epoll_item *items = (const void *)(rec + 1);

	if (rec->of.nr > (hdr->len - sizeof(*rec)) / sizeof(*items))
		return state_fail(p, -EBADMSG, "items of epoll file %u too short", rec->of.file);
	for (uint32_t i = 0; i < rec->of.nr; i++)
		if (!items[i].file || items[i].file > INT32_MAX || items[i].fd < 0 ||
		    items[i].owner < 0)
			return state_fail(p, -EBADMSG, "bad item %u of epoll file %u", i,
					  rec->of.file);
	return 0;
}

static int epoll_open(struct reopen *r, const struct state_file *file)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	return fd < 0 ? reopen_failed(r, file, -errno, "make") : kind_flags(r, file, fd);
}

/* ---------------------------------------------------------------- in the child */

struct epoll_failure {
	unsigned int file;	/* index; UINT_MAX: none */
	int fd;			/* of the item */
	int err;
};

/*
 * Add @target as @number to @epoll.  Whatever the table has at that number lies elsewhere
 * meanwhile, and comes back.
 */
static int epoll_add(int epoll, int target, int number, struct epoll_event *event)
{
	int kept = number == target ? -1 : fcntl(number, F_DUPFD_CLOEXEC, 0), ret = 0;

	if (number != target && dup2(target, number) < 0)
		ret = -errno;
	if (!ret && epoll_ctl(number == epoll ? kept : epoll, EPOLL_CTL_ADD, number, event))
		ret = -errno;
	if (kept >= 0) {
		if (dup2(kept, number) < 0 && !ret)
			ret = -errno;
		close(kept);
	} else if (number != target) {
		close(number);
	}
	return ret;
}

static int epoll_fill(const struct reopen *r, unsigned int index, struct epoll_failure *failure)
{
	const struct ckpt_epoll_item *items = epoll_items(&r->state->files[index]);
	const struct state_file *file;
	struct epoll_event event;
	int ret = 0;

	for (uint32_t i = 0; !ret && i < r->state->files[index].own->nr; i++) {
		file = state_file_find(r->state, items[i].file);
		event.events = items[i].events;
		event.data.u64 = items[i].data;
		ret = !file || reopen_fd(r, file) < 0 ? -EBADF :
		      epoll_add(r->fds[index], reopen_fd(r, file), items[i].fd, &event);
		*failure = (struct epoll_failure){ index, items[i].fd, ret };
	}
	return ret;
}

static void epoll_fill_all(const struct reopen *r, struct epoll_failure *failure)
{
	struct rlimit limit;

	/* an item may have a higher number than our limit allows: the program's may be another */
	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	for (unsigned int i = 0; i < r->state->nr_files; i++)
		if (r->state->files[i].rec->kind == CKPT_FILE_EPOLL && r->fds[i] >= 0 &&
		    epoll_fill(r, i, failure))
			return;
	failure->file = UINT_MAX;
}

/* ---------------------------------------------------------------- in the builder */

static int epoll_told(struct reopen *r, const struct epoll_failure *failure)
{
	char what[48];

	if (failure->file == UINT_MAX)
		return 0;
	snprintf(what, sizeof(what), "add descriptor %d again to", failure->fd);
	return reopen_failed(r, &r->state->files[failure->file], failure->err, what);
}

static bool epoll_has_any(const struct reopen *r)
{
	for (unsigned int i = 0; i < r->state->nr_files; i++)
		if (r->state->files[i].rec->kind == CKPT_FILE_EPOLL && r->fds[i] >= 0 &&
		    r->state->files[i].own->nr)
			return true;
	return false;
}

static int epoll_connect(struct reopen *r)
{
	struct epoll_failure failure = { .file = 0 };
	int ends[2], ret, status;
	ssize_t n;
	pid_t pid;

	if (!epoll_has_any(r))
		return 0;
	if (pipe2(ends, O_CLOEXEC))
		return error_fail(r->error, -errno, "cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		epoll_fill_all(r, &failure);
		_exit(write(ends[1], &failure, sizeof(failure)) != sizeof(failure));
	}
	ret = pid < 0 ? -errno : 0;
	close(ends[1]);
	n = pid < 0 ? 0 : read(ends[0], &failure, sizeof(failure));
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (ret || n != sizeof(failure))
		return error_fail(r->error, ret ? ret : -EIO,
				  "cannot add descriptors to an epoll descriptor again: %s",
				  ret ? strerror(-ret) : "the process that does it died");
	return epoll_told(r, &failure);
}

static bool epoll_has_fired(const struct ckpt_epoll_item *item, int32_t unused)
{
	return !(item->events & ~EPOLL_PRIVATE);
}

static bool epoll_is_owned(const struct ckpt_epoll_item *item, int32_t owner)
{
	return item->owner == owner;
}

/* Append a record of the type, @len bytes and the items of the file that @takes chooses. */
static int epoll_append(struct restore_records *s, const struct state_file *file, uint16_t type,
			size_t len, bool (*takes)(const struct ckpt_epoll_item *, int32_t),
			int32_t owner)
{
	const struct ckpt_epoll_item *items = epoll_items(file);
	struct ckpt_epoll_item *out;
	struct ckpt_rec_of_file *rec;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < file->own->nr; i++)
		nr += takes(&items[i], owner);
	if (!nr)
		return 0;
	rec = restore_records_append(s, len + nr * sizeof(*out));
	if (!rec)
		return restore_records_no_memory(s);
	rec->hdr.type = type;
	rec->hdr.version = 1;
	rec->file = (uint32_t)reopen_fd(s->files, file);
	rec->nr = nr;
	out = (void *)((char *)rec + len);
	for (uint32_t i = 0; i < file->own->nr; i++) {
		if (!takes(&items[i], owner))
			continue;
		*out = items[i];
		out->file = (uint32_t)reopen_fd(s->files,
						state_file_find(s->files->state, items[i].file));
		out++;
	}
	return 0;
}

static bool epoll_is_here(const struct restore_records *s, unsigned int index)
{
	return s->files->state->files[index].rec->kind == CKPT_FILE_EPOLL &&
	       s->files->fds[index] >= 0;
}

/* Every owner must be there, and alive. */
static int epoll_check_owners(struct restore_records *s, const struct state_file *file)
{
	const struct ckpt_epoll_item *items = epoll_items(file);

	for (uint32_t i = 0; i < file->own->nr; i++) {
		const struct state_proc *proc = items[i].owner ?
			state_proc_find(s->files->state, items[i].owner) : NULL;

		if (items[i].owner && (!proc || !proc->nr_threads))
			return error_fail(s->error, -ESRCH, "an epoll descriptor watches a "
					  "signalfd of process %d, which is not restored here",
					  items[i].owner);
	}
	return 0;
}

/* Let the items of signalfds wait for signals of their owner @proc. */
static int epoll_give_back(struct restore_records *s, const struct state_proc *proc)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < s->files->state->nr_files; i++)
		if (epoll_is_here(s, i))
			ret = epoll_append(s, &s->files->state->files[i], CKPT_REC_SIGNALFD,
					   sizeof(struct ckpt_rec_signalfd), epoll_is_owned,
					   proc->rec->pid);
	return ret || !s->len ? ret :
	       restore_records_call(s, restore_records_tid(proc), "signalfds in epoll descriptors");
}

static int epoll_apply(struct restore_records *s)
{
	const struct state *state = s->files->state;
	const struct state_proc *any = NULL;
	int ret = 0;

	for (unsigned int i = 0; !ret && i < state->nr_files; i++)
		ret = epoll_is_here(s, i) ? epoll_check_owners(s, &state->files[i]) : 0;
	for (unsigned int i = 0; !ret && i < state->nr_procs; i++) {
		if (!state->procs[i].nr_threads)
			continue;
		any = &state->procs[i];
		ret = epoll_give_back(s, any);
	}
	for (unsigned int i = 0; !ret && i < state->nr_files; i++)
		if (epoll_is_here(s, i))
			ret = epoll_append(s, &state->files[i], CKPT_REC_EPOLL,
					   sizeof(struct ckpt_rec_epoll), epoll_has_fired, 0);
	if (ret || !s->len || !any)
		return ret;
	/* of no process, but a call names one */
	return restore_records_call(s, restore_records_tid(any), "epoll descriptors");
}

const struct state_kind state_kind_epoll = {
	.name = "epoll",
	.records = {
		{ CKPT_REC_EPOLL, sizeof(struct ckpt_rec_epoll), STATE_OWNER_FILE, epoll_parse },
	},
	.newest = 2,
	.files = { CKPT_FILE_EPOLL },
	.file_has_record = true,
	.one_description = true,
	.policy = kind_passes,
	.open = epoll_open,
	.connect = epoll_connect,
	.apply = epoll_apply,
};
