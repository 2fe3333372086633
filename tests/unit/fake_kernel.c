// SPDX-License-Identifier: GPL-2.0-only
/*
 * A /dev/ckpt without a kernel.  Follows the order that linux/ckpt.h prescribes
 * and aborts the test where a caller breaks it.
 */
#include "tests/unit/fake_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PAGE 4096

struct fake_kernel fake;

void fake_reset(void)
{
	stream_done(&fake.stream);
	memset(&fake, 0, sizeof(fake));
}

void fake_fill(uint32_t seed, void *page)
{
	uint32_t *words = page;

	for (unsigned int i = 0; i < PAGE / sizeof(*words); i++)
		words[i] = seed ? seed * 2654435761u + i * (seed | 1) : 0;
}

static void must(bool condition)
{
	if (!condition)
		abort();
}

struct ckpt_rec_file *fake_file(uint32_t id, uint32_t kind, const char *path, int fd)
{
	struct ckpt_rec_file *rec = stream_file(&fake.stream, id, kind, path);
	struct stat st;

	must(!fstat(fd, &st));
	rec->dev = st.st_dev;
	rec->ino = st.st_ino;
	rec->size = (uint64_t)st.st_size;
	rec->mode = st.st_mode;
	rec->uid = st.st_uid;
	rec->gid = st.st_gid;
	rec->nlink = (uint32_t)st.st_nlink;
	rec->rdev = st.st_rdev;
	rec->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000ULL +
			(uint64_t)st.st_mtim.tv_nsec;
	fake.fds[id] = fd;
	return rec;
}

void fake_heap(const struct fake_page *pages, unsigned int nr_pages, uint64_t start, uint64_t len,
	       int root_fd)
{
	fake_reset();
	fake.pages = pages;
	fake.nr_pages = nr_pages;
	stream_system(&fake.stream);
	fake_file(STREAM_CWD, CKPT_FILE_DIR, "/", root_fd);
	stream_proc(&fake.stream, 100, 0, 1, 1, 1);
	stream_mm(&fake.stream, 1, 100, 1);
	stream_vma(&fake.stream, 1, start, start + len, CKPT_VMA_ANON, CKPT_VM_WRITE, 0);
}

static int fake_freeze(struct ckpt_freeze *arg)
{
	must(!fake.frozen && arg->timeout_ms && arg->max_pause_ms);
	fake.freezes++;
	fake.read_pos = 0;
	if (fake.busy) {
		fake.busy--;
		fake.refused = CKPT_R_D_STATE;
		return -EBUSY;
	}
	if (fake.sockets) {
		fake.sockets--;
		fake.refused = CKPT_R_FD_SOCKET;
		return -EOPNOTSUPP;
	}
	fake.frozen = true;
	arg->freeze_ns = 1000;
	return 0;
}

static const struct fake_page *page_at(uint32_t mm_id, uint64_t addr, bool live)
{
	for (unsigned int i = 0; i < fake.nr_pages; i++)
		if (fake.pages[i].mm_id == mm_id && fake.pages[i].addr == addr &&
		    (live || !fake.pages[i].live))
			return &fake.pages[i];
	return NULL;
}

/* Joins what is contiguous, as the kernel does. */
static int fake_pagemap(struct ckpt_pagemap *arg)
{
	struct ckpt_page_run *runs = (void *)(uintptr_t)arg->runs;
	bool live = arg->flags & CKPT_PAGES_LIVE;
	unsigned int nr = 0;

	fake.pagemaps++;
	if (fake.fail_pagemap_after && (int)fake.pagemaps > fake.fail_pagemap_after)
		return -ETIMEDOUT;
	arg->base = fake.base;
	arg->token = live ? 0 : fake.token;
	must(fake.frozen || fake.thawed);
	must(!live || !fake.thawed);
	for (unsigned int i = 0; i < fake.nr_pages; i++) {
		const struct fake_page *page = &fake.pages[i];
		struct ckpt_page_run *last = nr ? &runs[nr - 1] : NULL;

		if (page->mm_id != arg->mm_id || page->addr < arg->start ||
		    page->addr >= arg->end || (page->live && !live))
			continue;
		if (last && last->start + last->nr_pages * PAGE == page->addr &&
		    last->flags == page->flags &&
		    (!page->cookie || last->cookie + last->nr_pages == page->cookie)) {
			last->nr_pages++;
			continue;
		}
		if (nr == arg->nr_runs) {
			arg->start = page->addr;
			return 0;
		}
		runs[nr].start = page->addr;
		runs[nr].nr_pages = 1;
		runs[nr].flags = page->flags;
		runs[nr++].cookie = page->cookie;
	}
	arg->nr_runs = nr;
	arg->start = arg->end;
	return 0;
}

static int fake_pages_read(struct ckpt_pages *arg)
{
	const struct ckpt_iovec *iov = (void *)(uintptr_t)arg->iov;
	bool live = arg->flags & CKPT_PAGES_LIVE;
	char *buf = (void *)(uintptr_t)arg->buf;

	must(arg->nr_iov >= 1 && arg->nr_iov <= 1024);
	must(!live || !fake.thawed);
	fake.reads++;
	fake.live_reads += live;
	if (fake.fail_read_after && (int)fake.reads > fake.fail_read_after)
		return fake.read_err ?: -ETIMEDOUT;
	for (unsigned int i = 0; i < arg->nr_iov; i++) {
		must(iov[i].len && iov[i].len % PAGE == 0 && iov[i].addr % PAGE == 0);
		for (uint64_t at = 0; at < iov[i].len; at += PAGE, buf += PAGE) {
			const struct fake_page *page = page_at(arg->mm_id, iov[i].addr + at,
							       live);

			must(page);
			fake_fill(page->seed, buf);
			fake.pages_read++;
			arg->done += PAGE;
		}
	}
	return 0;
}

static int fake_file_get(struct ckpt_file_get *arg)
{
	const __u32 *ids = (void *)(uintptr_t)arg->ids;
	__s32 *fds = (void *)(uintptr_t)arg->fds;

	must(fake.frozen && !fake.thawed);
	for (unsigned int i = 0; i < arg->nr; i++) {
		must(ids[i] < 64);
		fds[i] = fcntl(fake.fds[ids[i]], F_DUPFD_CLOEXEC, 3);
		if (fds[i] < 0)
			return -errno;
	}
	return 0;
}

static int fake_tty_peek(struct ckpt_tty_peek *arg)
{
	uint32_t room = arg->len;

	must(fake.frozen && !fake.thawed);
	arg->len = 0;
	if (fake.tty_ret || arg->file_id != fake.tty_file)
		return fake.tty_ret;
	must(fake.tty_len <= room);
	arg->len = fake.tty_len;
	arg->canon = fake.tty_canon;
	memcpy((void *)(uintptr_t)arg->buf, fake.tty_bytes, fake.tty_len);
	memcpy((void *)(uintptr_t)arg->marks, &fake.tty_marks, sizeof(fake.tty_marks));
	return 0;
}

static int fake_writes_read(struct ckpt_writes_read *arg)
{
	uint64_t room = arg->len;

	must(arg->flags == CKPT_WRITES_READ_STATE && !arg->after && !arg->tag);
	if (!fake.writes)
		return -ENODATA;
	arg->len = fake.writes_len;
	arg->log_flags = fake.writes_flags;
	arg->since_ns = fake.writes_since_ns;
	arg->seq = fake.writes_seq;
	if (room < fake.writes_len)
		return -ENOSPC;
	memcpy((void *)(uintptr_t)arg->buf, fake.writes, fake.writes_len);
	return 0;
}

static int fake_thaw(struct ckpt_thaw *arg)
{
	must(fake.frozen && !fake.thawed);
	fake.thawed = true;
	if (fake.thaw_ret)
		return fake.thaw_ret;
	fake.killed = arg->flags & CKPT_THAW_KILL;
	arg->pause_ns = 5000;
	return 0;
}

static int fake_command(struct kdev *dev, unsigned long command, void *arg)
{
	must(*(__u32 *)arg == _IOC_SIZE(command));
	switch (command) {
	case CKPT_IOC_TARGET:
		fake.target = *(struct ckpt_target *)arg;
		fake.nr_excludes = fake.target.nr_exclude;
		return 0;
	case CKPT_IOC_FREEZE:
		return fake_freeze(arg);
	case CKPT_IOC_SNAPSHOT:
		must(fake.frozen);
		((struct ckpt_snapshot *)arg)->state_bytes = fake.stream.len;
		return 0;
	case CKPT_IOC_PAGEMAP:
		return fake_pagemap(arg);
	case CKPT_IOC_PAGES_READ:
		return fake_pages_read(arg);
	case CKPT_IOC_FILE_GET:
		return fake_file_get(arg);
	case CKPT_IOC_TTY_PEEK:
		return fake_tty_peek(arg);
	case CKPT_IOC_THAW:
		return fake_thaw(arg);
	case CKPT_IOC_WRITES_START:
		must(!fake.frozen);
		return 0;
	case CKPT_IOC_WRITES_READ:
		return fake_writes_read(arg);
	case CKPT_IOC_DROP:
		must(fake.thawed);
		fake.dropped = true;
		return 0;
	default:
		return -ENOTTY;
	}
}

static ssize_t fake_read(struct kdev *dev, void *buf, size_t len)
{
	struct ckpt_rec_refusal refusal = {
		.hdr = { CKPT_REC_REFUSAL, 1, sizeof(refusal) },
		.reason = fake.refused,
		.pid = 100,
		.comm = "made-up",
		.detail = "wchan nfs_wait",
	};
	const char *from = fake.refused ? (char *)&refusal : (char *)fake.stream.buf;
	size_t all = fake.refused ? sizeof(refusal) : fake.stream.len - fake.lost;

	if (len > all - fake.read_pos)
		len = all - fake.read_pos;
	memcpy(buf, from + fake.read_pos, len);
	fake.read_pos += len;
	return (ssize_t)len;
}

static void fake_close(struct kdev *dev)
{
	fake.closed++;
	fake.frozen = false;
	fake.read_pos = 0;
	fake.refused = 0;
	free(dev);
}

static bool fake_expired(struct kdev *dev)
{
	return fake.expired;
}

static const struct kdev_ops fake_ops = { fake_command, fake_read, fake_close, fake_expired };

int fake_open(struct kdev **ret_dev, struct ckpt_error *error)
{
	struct kdev *dev = calloc(1, sizeof(*dev));

	must(dev);
	dev->ops = &fake_ops;
	dev->fd = -1;
	dev->info.api = CKPT_API;
	dev->info.max_pause_ms = 600000;
	dev->info.features = fake.features;
	fake.opened++;
	*ret_dev = dev;
	return 0;
}
