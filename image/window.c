// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads a file through one aligned buffer.
 *
 * The buffer has room for a whole chunk at any offset, so a chunk costs one read, and
 * small chunks behind it cost none.  For a caller that reads several large chunks in
 * order there is a larger buffer, of huge pages: the kernel then pins fewer pieces of
 * memory, and passes fewer to the device, in fewer reads.  Reads begin at aligned
 * offsets and go to aligned addresses, as O_DIRECT needs it.  A short read means the end
 * of the file only if the next read returns no more.
 */
#include "image/window.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/chunk.h"

#define WINDOW_ALIGN	4096U
#define WINDOW_BYTES	((CHUNK_BOUND / WINDOW_ALIGN + 2) * WINDOW_ALIGN)
#define WINDOW_AHEAD	(4U << 20)	/* four chunks that are stored uncompressed */
#define HUGE_PAGE	(2U << 20)

uint8_t *window_buffer(void)
{
	return aligned_alloc(WINDOW_ALIGN, WINDOW_BYTES);
}

int window_init(struct window *w)
{
	*w = (struct window){ .fd = -1, .limit = UINT64_MAX };
	w->buf = window_buffer();
	return w->buf ? 0 : -ENOMEM;
}

void window_done(struct window *w)
{
	free(w->buf);
	free(w->ahead);
	w->buf = NULL;
	w->ahead = NULL;
}

void window_direct(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		(void)fcntl(fd, F_SETFL, flags | O_DIRECT);
}

/*
 * Some file systems accept O_DIRECT and then fail to read with -EINVAL: clear O_DIRECT and
 * read again.  Another thread may have cleared it meanwhile, so only a second -EINVAL
 * counts as an error.
 */
static ssize_t read_some(int fd, void *buf, size_t len, uint64_t offset)
{
	bool refused = false;

	for (;;) {
		ssize_t n = pread(fd, buf, len, (off_t)offset);
		int flags;

		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		if (errno != EINVAL || refused)
			return -errno;
		flags = fcntl(fd, F_GETFL);
		if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_DIRECT))
			return -EINVAL;
		refused = true;
	}
}

/* Is there a large buffer to use?  If there is no memory for it, the small one is used. */
static bool has_ahead(struct window *w)
{
	if (!w->in_order)
		return false;
	if (!w->ahead) {
		w->ahead = aligned_alloc(HUGE_PAGE, WINDOW_AHEAD);
		if (w->ahead)
			madvise(w->ahead, WINDOW_AHEAD, MADV_HUGEPAGE);
	}
	return w->ahead;
}

/* Choose the buffer, and return how much to read at w->base; at least @len bytes. */
static size_t window_amount(struct window *w, size_t len)
{
	uint64_t limit = w->hint && w->hint < w->limit ? w->hint : w->limit;
	uint64_t wanted = limit > w->base ? limit - w->base : 0;
	size_t room = WINDOW_BYTES;

	w->data = w->buf;
	if (wanted > room && has_ahead(w)) {
		w->data = w->ahead;
		room = WINDOW_AHEAD;
	}
	if (wanted < len || wanted > room)
		return room;
	return (size_t)(wanted + WINDOW_ALIGN - 1) & ~(size_t)(WINDOW_ALIGN - 1);
}

static int window_fill(struct window *w, int fd, uint64_t offset, size_t len)
{
	size_t have = 0, most;

	w->fd = -1;
	w->reads++;
	w->base = offset - offset % WINDOW_ALIGN;
	most = window_amount(w, offset - w->base + len);
	w->hint = 0;
	while (have < most) {
		size_t from = have - have % WINDOW_ALIGN;
		ssize_t n = read_some(fd, w->data + from, most - from, w->base + from);

		if (n < 0)
			return (int)n;
		if (from + (size_t)n <= have)
			break;		/* the end of the file */
		have = from + (size_t)n;
	}
	w->fd = fd;
	w->start = offset;
	w->end = w->base + have;
	return 0;
}

int window_get(struct window *w, int fd, uint64_t offset, size_t len, uint8_t **ret_data)
{
	int err;

	if (len > CHUNK_BOUND)
		return -EINVAL;
	if (w->fd != fd || offset < w->start || offset > w->end || len > w->end - offset) {
		err = window_fill(w, fd, offset, len);
		if (err)
			return err;
	}
	if (offset > w->end || len > w->end - offset)
		return -ENODATA;
	*ret_data = w->data + (offset - w->base);
	return 0;
}

uint8_t *window_swap(struct window *w, uint8_t *other)
{
	uint8_t *buf = w->buf;

	if (w->data != buf)
		return NULL;
	w->buf = other;
	w->fd = -1;
	return buf;
}

void window_limit(struct window *w, uint64_t offset, bool in_order)
{
	w->limit = offset;
	w->in_order = in_order && offset != UINT64_MAX;
}

void window_hint(struct window *w, uint64_t offset)
{
	w->hint = offset;
}

uint64_t window_reach(const struct window *w, uint64_t offset)
{
	return offset - offset % WINDOW_ALIGN + (w->in_order ? WINDOW_AHEAD : WINDOW_BYTES);
}

void window_drop(struct window *w, uint64_t offset)
{
	if (w->start < offset)
		w->start = offset;
}
