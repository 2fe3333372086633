// SPDX-License-Identifier: GPL-2.0-only
/*
 * The one table of unexported symbols, compat/ksyms.def.
 *
 * A kprobe finds the address of kallsyms_lookup_name(), and that function finds the other symbols.
 * On IBT kernels the probe's address lies behind the function's ENDBR, which is as good a target
 * for the direct call that a static call becomes.  No function here is ever called through a
 * pointer.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

#include "ksyms.h"

typedef unsigned long ckpt_lookup_fn(const char *name);

DEFINE_STATIC_CALL_NULL(ckpt_k_lookup, ckpt_lookup_fn);

#define CKPT_KFUNC(name, type, why) DEFINE_STATIC_CALL_NULL(ckpt_k_##name, type);
#define CKPT_KDATA(name, type, why)
#include "ksyms.def"
#undef CKPT_KFUNC
#undef CKPT_KDATA

struct ckpt_kdata ckpt_kdata __ro_after_init;

static int __init ckpt_ksyms_find_lookup(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	void *addr;
	int err;

	err = register_kprobe(&probe);
	if (err) {
		pr_err("no kallsyms_lookup_name (%d): this kernel lacks kprobes or kallsyms\n",
		       err);
		return err;
	}
	addr = probe.addr;
	unregister_kprobe(&probe);
	static_call_update(ckpt_k_lookup, addr);
	return 0;
}

static void __init *ckpt_ksyms_lookup(const char *name, const char *why)
{
	unsigned long addr = static_call(ckpt_k_lookup)(name);

	if (!addr)
		pr_err("this kernel has no symbol %s, needed to %s\n", name, why);
	return (void *)addr;
}

int __init ckpt_ksyms_init(void)
{
	int missing = 0;
	void *addr;
	int err;

	err = ckpt_ksyms_find_lookup();
	if (err)
		return err;

#define CKPT_KFUNC(name, type, why)					\
	addr = ckpt_ksyms_lookup(#name, why);				\
	if (addr)							\
		static_call_update(ckpt_k_##name, addr);		\
	else								\
		missing++;
#define CKPT_KDATA(name, type, why)					\
	ckpt_kdata.name = ckpt_ksyms_lookup(#name, why);		\
	if (!ckpt_kdata.name)						\
		missing++;
#include "ksyms.def"
#undef CKPT_KFUNC
#undef CKPT_KDATA

	return missing ? -ENOENT : 0;
}
