/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /dev/ckpt: the file operations and the table of commands.
 */
#ifndef _CKPT_CHARDEV_H
#define _CKPT_CHARDEV_H

int ckpt_chardev_init(void);
void ckpt_chardev_exit(void);

struct ckpt_ctx;
struct file;

/* The context of an open /dev/ckpt; NULL: the file is another one. */
struct ckpt_ctx *ckpt_chardev_ctx(struct file *file);

#endif /* _CKPT_CHARDEV_H */
