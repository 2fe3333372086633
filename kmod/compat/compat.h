/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the core may take for granted on every supported kernel; included before
 * everything else.  The core is written for the newest kernel, this file
 * imitates it on older ones.  Probes (CKPT_HAVE_*) come from kmod/Kbuild.
 */
#ifndef _CKPT_COMPAT_H
#define _CKPT_COMPAT_H

#define pr_fmt(fmt) "ckpt: " fmt

#endif /* _CKPT_COMPAT_H */
