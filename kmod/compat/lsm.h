/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Security modules: their say in what is handed over, and the state of credentials beyond ids and
 * capabilities, a Landlock domain and keys.
 *
 * Landlock has no interface that tells whether a task is in a domain.  The blob of Landlock begins
 * with the pointer to the domain, and its size table begins with the place of the blob, once
 * Landlock is initialized.
 */
#ifndef _CKPT_COMPAT_LSM_H
#define _CKPT_COMPAT_LSM_H

#include <linux/cred.h>
#include <linux/key.h>
#include <linux/keyctl.h>
#include <linux/lsm_hooks.h>

#include "ksyms.h"
#include "layout.h"

/* struct landlock_cred_security, as far as it is read. */
struct ckpt_landlock_cred {
	void *domain;
};

/* May the calling process be given a descriptor of @file?  0, or -errno of a security module. */
static inline int ckpt_file_may_receive(struct file *file)
{
#ifdef CONFIG_SECURITY
	return ckpt_k(security_file_receive)(file);
#else
	return 0;
#endif
}

/* True also if nobody knows where this kernel notes it. */
static inline bool ckpt_cred_has_landlock(const struct cred *cred)
{
#ifdef CONFIG_SECURITY_LANDLOCK
	const struct ckpt_landlock_cred *mine;

	if (!*ckpt_kdata.landlock_initialized || !cred->security)
		return false;
	if (!ckpt_layout_fits(CKPT_LAYOUT_LANDLOCK))
		return true;
	mine = cred->security + ckpt_kdata.landlock_blob_sizes->lbs_cred;
	return mine->domain;
#else
	return false;
#endif
}

#ifdef CONFIG_KEYS
static inline bool ckpt_keyring_is_used(const struct key *keyring)
{
	return keyring && READ_ONCE(keyring->keys.nr_leaves_on_tree);
}
#endif

/*
 * Keys of the process or thread, or a keyring chosen for those that it requests; the keys of
 * the session are its leader's matter.
 */
static inline bool ckpt_cred_has_keys(const struct cred *cred)
{
#ifdef CONFIG_KEYS
	return cred->jit_keyring != KEY_REQKEY_DEFL_DEFAULT ||
	       ckpt_keyring_is_used(cred->process_keyring) ||
	       ckpt_keyring_is_used(cred->thread_keyring);
#else
	return false;
#endif
}

#endif /* _CKPT_COMPAT_LSM_H */
