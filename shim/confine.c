// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rights and keys of ckptd that a job must not have; see confine.h.
 *
 * A new job takes this on in its init, a restored one in each process that makes a tree: init
 * itself still reads the image's keys, which may be in the keyring that is left here.
 */
#include "shim/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

int confine_self(void *arg)
{
	const struct shim_spec *spec = arg;
	unsigned long cap;

	/* ENOSYS: a kernel without keyrings */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return -errno;
	for (cap = 0; cap < 64; cap++) {
		if (!(spec->bounding >> cap & 1) && prctl(PR_CAPBSET_READ, cap) == 1 &&
		    prctl(PR_CAPBSET_DROP, cap))
			return -errno;
	}
	return 0;
}

int confine_next_exec(const struct shim_spec *spec)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_fd_ int fd = -1;

	if (!spec->apparmor)
		return 0;
	if (asprintf(&text, "exec %s", spec->apparmor) < 0)
		return -ENOMEM;
	fd = open("/proc/self/attr/apparmor/exec", O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}
