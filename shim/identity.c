// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which processes a shim and its init are; see identity.h.
 *
 * A process is known by pid and start time, both by this boot's identifier, so
 * that neither a reused number nor a reboot makes a stranger look like ours.
 */
#include "shim/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/atomic_json.h"

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

/* Field 22 of /proc/PID/stat, in ticks since boot; 0: no such process. */
static unsigned long long start_time(pid_t pid)
{
	char path[40], text[1024];
	unsigned long long start = 0;
	const char *at;
	ssize_t n;
	int fd, field;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* The name may hold anything; its closing parenthesis is the last. */
	at = strrchr(text, ')');
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		start = strtoull(at + 1, NULL, 10);
	return start;
}

int identity_write(const char *state_dir, pid_t shim, pid_t init)
{
	char boot[40];
	json_t *json;
	int err = identity_boot(boot);

	if (err)
		return err;
	json = json_pack("{s:s, s:i, s:I, s:i, s:I}", "boot", boot,
			 "shim", (int)shim, "shim_start", (json_int_t)start_time(shim),
			 "init", (int)init, "init_start", (json_int_t)start_time(init));
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
	if (err)
		return err;
	id.shim_alive = shim_start && start_time(id.shim) == (unsigned long long)shim_start;
	id.init_alive = init_start && start_time(id.init) == (unsigned long long)init_start;
	*ret_identity = id;
	return 0;
}
