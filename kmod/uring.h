/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rings of io_uring: what others need of uring.c and restore_uring.c.
 */
#ifndef _CKPT_URING_H
#define _CKPT_URING_H

#include <linux/types.h>

struct ckpt_collect;
struct ckpt_object;
struct ckpt_rec_uring;
struct file;
struct task_struct;
struct vm_area_struct;

/* False: this kernel's structures are not known. */
bool ckpt_uring_is_known(void);
bool ckpt_collects_uring(const struct ckpt_collect *c);	/* CKPT_TARGET_URING */
bool ckpt_file_is_uring(const struct file *file);
/* Refuse a thread with requests in flight, or with another state of its own. */
void ckpt_collect_uring_thread(struct ckpt_collect *c, struct task_struct *task);
/* The number of the ring that @vma maps; 0: it is refused. */
u32 ckpt_collect_uring_vma(struct ckpt_collect *c, struct ckpt_object *obj,
			   struct vm_area_struct *vma);

/* restore_uring.c */
int ckpt_restore_uring(const struct ckpt_rec_uring *rec);
/* Map a part of a ring where it was; the address, or an error. In the thread. */
unsigned long ckpt_uring_mmap(struct file *file, unsigned long start, unsigned long len,
			      unsigned long prot, unsigned long pgoff);

#endif /* _CKPT_URING_H */
