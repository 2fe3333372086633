/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which processes a shim and its init are, in a form that survives both pid
 * reuse and a reboot: jobs/ID/shim.json, written by root before the job runs.
 */
#ifndef STILLPOINT_SHIM_IDENTITY_H
#define STILLPOINT_SHIM_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

struct identity {
	pid_t shim;
	pid_t init;
	bool shim_alive;
	bool init_alive;
};

/* Write the file, atomically and durably; 0 or negative errno. */
int identity_write(const char *state_dir, pid_t shim, pid_t init);

/*
 * -ENOENT: no file; -ESTALE: the file is of another boot, so neither process lives; -EBADMSG:
 * the file is damaged. Other errors, such as -EMFILE, say nothing about the processes.
 */
int identity_read(const char *state_dir, struct identity *ret_identity);

/* Write this boot's identifier into @buf, which has 40 bytes. */
int identity_boot(char *buf);

#endif /* STILLPOINT_SHIM_IDENTITY_H */
