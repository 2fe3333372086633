/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rings of io_uring: what of struct io_ring_ctx differs among kernels, and one structure that they
 * keep to themselves, which compat/layout.c compares with the kernel's own description.
 */
#ifndef _CKPT_COMPAT_URING_H
#define _CKPT_COMPAT_URING_H

#include <linux/io_uring_types.h>
#include <linux/mm.h>
#include <linux/timekeeping.h>
#include <linux/xarray.h>

/* The tables of registered files have another form from 6.13 on, for which nothing is written. */
#if defined(CONFIG_IO_URING) && defined(CKPT_HAVE_URING_FILE_PTR)
#define CKPT_URING_IS_KNOWN	1

/* io_ring_ctx.file_data: of the registered files */
struct ckpt_uring_rsrc {
	struct io_ring_ctx *ctx;
	u64 **tags;		/* pages of them */
	unsigned int nr;
};

#define CKPT_URING_TAGS		(PAGE_SIZE / sizeof(u64))

/* The file in a place of the table, without the flags in its address; NULL: the place is empty. */
static inline struct file *ckpt_uring_file(const struct io_ring_ctx *ctx, unsigned int at)
{
	return (struct file *)(ctx->file_table.files[at].file_ptr & ~7UL);
}

/* Buffers that the program has provided, for the kernel to choose one. */
static inline bool ckpt_uring_has_provided(const struct io_ring_ctx *ctx)
{
#ifdef CKPT_HAVE_URING_IO_BL
	if (ctx->io_bl)
		return true;
#endif
	return !xa_empty(&ctx->io_bl_xa);
}

static inline bool ckpt_uring_has_clock(const struct io_ring_ctx *ctx)
{
#ifdef CKPT_HAVE_URING_CLOCK
	return ctx->clockid != CLOCK_MONOTONIC;
#else
	return false;
#endif
}

#else
#define CKPT_URING_IS_KNOWN	0
#endif

#endif /* _CKPT_COMPAT_URING_H */
