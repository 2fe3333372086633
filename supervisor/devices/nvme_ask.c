// SPDX-License-Identifier: GPL-2.0-only
/*
 * The health log by libnvme; see nvme_ask.h. Opens the controller's device file, and nothing else.
 */
#include "supervisor/devices/nvme_ask.h"

#include <errno.h>
#include <libnvme.h>
#include <string.h>
#include <unistd.h>

const char nvme_ask_missing[] = "";

int nvme_ask(const char *controller, uint8_t ret_log[NVME_LOG_BYTES])
{
	struct nvme_smart_log log = {};
	int fd = nvme_open(controller), err;

	_Static_assert(sizeof(log) == NVME_LOG_BYTES, "the log page");
	if (fd < 0)
		return -errno;
	err = nvme_get_log_smart(fd, NVME_NSID_ALL, false, &log);
	if (err < 0)
		err = -errno;
	close(fd);
	if (!err)
		memcpy(ret_log, &log, sizeof(log));
	return err;
}
