/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Leases: PID namespaces that are killed at a certain time unless somebody moves that time on
 * (ckpt_lease.h). A lease hangs on its namespace, not on a context.
 */
#ifndef _CKPT_LEASE_H
#define _CKPT_LEASE_H

#include <linux/ckpt.h>

struct ckpt_ctx;

/* The command; needs no lock of the context. */
int ckpt_lease(struct ckpt_ctx *ctx, struct ckpt_lease *arg);
/* Wait for what the last lease still does; there is no lease any more, as each holds the module. */
void ckpt_leases_exit(void);

#endif /* _CKPT_LEASE_H */
