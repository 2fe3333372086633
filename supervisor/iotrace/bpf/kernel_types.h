/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's structures, as far as io_trace.bpf.c looks into them. libbpf finds each field's
 * place in the running kernel by its name (CO-RE), so only names and types count here, and
 * neither the order nor what is missing.
 */
#ifndef STILLPOINT_KERNEL_TYPES_H
#define STILLPOINT_KERNEL_TYPES_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	__u32 inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	__u32 level;
	struct upid numbers[1];
};

struct signal_struct {
	struct pid *pids[4];
};

struct task_struct {
	struct signal_struct *signal;
};

struct super_block {
	__u32 s_dev;
};

struct inode {
	__u16 i_mode;
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	__u32 f_mode;
};

#pragma clang attribute pop

#endif /* STILLPOINT_KERNEL_TYPES_H */
