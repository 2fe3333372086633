// SPDX-License-Identifier: GPL-2.0-only
/*
 * In place of nvme_ask.c where libnvme was not there at build time; see nvme_ask.h.
 */
#include "supervisor/devices/nvme_ask.h"

#include <errno.h>

const char nvme_ask_missing[] = "this ckptd was built without libnvme";

int nvme_ask(const char *controller, uint8_t ret_log[NVME_LOG_BYTES])
{
	return -EOPNOTSUPP;
}
