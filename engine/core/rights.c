// SPDX-License-Identifier: GPL-2.0-only
/*
 * Capabilities of the calling thread; see rights.h.
 *
 * Raw system calls, because libc has no functions for them.  They change the calling
 * thread only.
 */
#include "engine/core/rights.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static int rights_get(uint64_t *ret_permitted, uint64_t *ret_effective)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &hdr, data))
		return -errno;
	*ret_permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	*ret_effective = data[0].effective | (uint64_t)data[1].effective << 32;
	return 0;
}

uint64_t rights_permitted(void)
{
	uint64_t permitted = 0, effective;

	return rights_get(&permitted, &effective) ? 0 : permitted;
}

int rights_set(uint64_t permitted, uint64_t effective)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 }, { 0 } };

	for (int i = 0; i < 2; i++) {
		data[i].permitted = (uint32_t)(permitted >> (32 * i));
		data[i].effective = (uint32_t)(effective >> (32 * i));
	}
	return syscall(SYS_capset, &hdr, data) ? -errno : 0;
}

int rights_raise(uint64_t caps, uint64_t *ret_before)
{
	uint64_t permitted, effective;
	int ret = rights_get(&permitted, &effective);

	if (ret)
		return ret;
	if (caps & ~permitted)
		return -EPERM;
	*ret_before = effective;
	return rights_set(permitted, effective | caps);
}

void rights_lower(uint64_t before)
{
	rights_set(rights_permitted(), before);
}
