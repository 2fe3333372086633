// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which processes a shim and its init are; see identity.h.
 *
 * A process is known by its pid, its start time and the identifier of the boot, so
 * that neither a reused pid nor a reboot makes a stranger look like the job's own.
 */
#include "shim/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic_json.h"
#include "base/proc_stat.h"

int identity_boot(char *buf)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, 36);

	if (fd >= 0)
		close(fd);
	if (n != 36)
		return -EIO;
	buf[36] = '\0';
	return 0;
}

/* Start time of @pid in ticks since boot; 0: no such process, or a dead one. */
static int start_time(pid_t pid, unsigned long long *ret_start)
{
	struct proc_stat stat;
	int err = proc_stat_read(pid, &stat);

	*ret_start = err || proc_stat_is_dead(&stat) ? 0 : stat.start;
	return err == -ESRCH ? 0 : err;
}

static int is_alive(pid_t pid, json_int_t recorded, bool *ret_alive)
{
	unsigned long long start;
	int err = start_time(pid, &start);

	*ret_alive = !err && recorded && start == (unsigned long long)recorded;
	return err;
}

int identity_write(const char *state_dir, pid_t shim, pid_t init)
{
	unsigned long long shim_start, init_start;
	char boot[40];
	json_t *json;
	int err = identity_boot(boot);

	err = err ?: start_time(shim, &shim_start);
	err = err ?: start_time(init, &init_start);
	if (err)
		return err;
	json = json_pack("{s:s, s:i, s:I, s:i, s:I}", "boot", boot,
			 "shim", (int)shim, "shim_start", (json_int_t)shim_start,
			 "init", (int)init, "init_start", (json_int_t)init_start);
	err = json ? atomic_json_write(state_dir, "shim.json", json) : -ENOMEM;
	json_decref(json);
	return err;
}

int identity_read(const char *state_dir, struct identity *ret_identity)
{
	json_int_t shim_start, init_start;
	struct identity id = { 0 };
	const char *recorded;
	char boot[40];
	json_t *json;
	int err;

	err = atomic_json_read(state_dir, "shim.json", &json);
	if (err)
		return err;
	if (json_unpack(json, "{s:s, s:i, s:I, s:i, s:I}", "boot", &recorded,
			"shim", &id.shim, "shim_start", &shim_start,
			"init", &id.init, "init_start", &init_start))
		err = -EBADMSG;
	if (!err)
		err = identity_boot(boot);
	if (!err && strcmp(boot, recorded))
		err = -ESTALE;
	json_decref(json);
	err = err ?: is_alive(id.shim, shim_start, &id.shim_alive);
	err = err ?: is_alive(id.init, init_start, &id.init_alive);
	if (!err)
		*ret_identity = id;
	return err;
}
