/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the programs with io_uring: a ring by the system calls alone, so that every position in it
 * is the program's to look at.
 */
#ifndef STILLPOINT_TESTS_CR_URING_H
#define STILLPOINT_TESTS_CR_URING_H

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

struct uring {
	int fd;
	struct io_uring_params params;
	char *rings;		/* both queues */
	size_t rings_len;
	struct io_uring_sqe *sqes;
};

static inline uint32_t *uring_at(const struct uring *u, uint32_t offset)
{
	return (uint32_t *)(u->rings + offset);
}

static inline void uring_init(struct uring *u, uint32_t entries, uint32_t flags)
{
	u->params.flags |= flags;
	u->fd = (int)syscall(SYS_io_uring_setup, entries, &u->params);
	if (u->fd < 0)
		cr_skip("io_uring_setup: %s", strerror(errno));
	u->rings_len = u->params.sq_off.array + u->params.sq_entries * sizeof(uint32_t);
	u->rings = mmap(NULL, u->rings_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			u->fd, IORING_OFF_SQ_RING);
	cr_check(u->rings != MAP_FAILED, "mmap: %s", strerror(errno));
	u->sqes = mmap(NULL, u->params.sq_entries * sizeof(*u->sqes), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, u->fd, IORING_OFF_SQES);
	cr_check(u->sqes != MAP_FAILED, "mmap: %s", strerror(errno));
}

/* Queue an entry without telling the kernel. */
static inline struct io_uring_sqe *uring_queue(struct uring *u, uint8_t op, int fd, uint64_t data)
{
	uint32_t *tail = uring_at(u, u->params.sq_off.tail);
	uint32_t at = *tail & (u->params.sq_entries - 1);
	struct io_uring_sqe *sqe = &u->sqes[at];

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = op;
	sqe->fd = fd;
	sqe->user_data = data;
	uring_at(u, u->params.sq_off.array)[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	return sqe;
}

static inline int uring_enter(struct uring *u, unsigned int submit, unsigned int wait)
{
	return (int)syscall(SYS_io_uring_enter, u->fd, submit, wait,
			    wait ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
}

static inline void uring_submit(struct uring *u, unsigned int nr)
{
	cr_eq(cr_sys(uring_enter(u, nr, 0)), nr);
}

/* Take the next completion, which must be that of @data with @res. */
static inline void uring_take(struct uring *u, uint64_t data, int res)
{
	uint32_t *head = uring_at(u, u->params.cq_off.head);
	const struct io_uring_cqe *cqes = (const void *)(u->rings + u->params.cq_off.cqes);
	const struct io_uring_cqe *cqe;

	while (__atomic_load_n(uring_at(u, u->params.cq_off.tail), __ATOMIC_ACQUIRE) == *head)
		cr_sys(uring_enter(u, 0, 1));
	cqe = &cqes[*head & (u->params.cq_entries - 1)];
	cr_eq(cqe->user_data, data);
	cr_eq(cqe->res, res);
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
}

static inline uint32_t uring_unread(const struct uring *u)
{
	return *uring_at(u, u->params.cq_off.tail) - *uring_at(u, u->params.cq_off.head);
}

#endif /* STILLPOINT_TESTS_CR_URING_H */
