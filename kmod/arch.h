/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What only the processor's architecture knows.
 */
#ifndef _CKPT_ARCH_H
#define _CKPT_ARCH_H

struct ckpt_info;

/* Fill xstate_size, vdso_size, vvar_size and xfeatures, as the caller sees them. */
void ckpt_arch_info(struct ckpt_info *info);

#endif /* _CKPT_ARCH_H */
