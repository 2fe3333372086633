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

/* Atomic and durable; 0 or negative errno. */
int identity_write(const char *state_dir, pid_t shim, pid_t init);

/*
 * -ENOENT: none; -ESTALE: of another boot, so neither lives; -EBADMSG: damaged. Others, such as
 * -EMFILE, say nothing about the processes.
 */
int identity_read(const char *state_dir, struct identity *ret_identity);

/* This boot's identifier; @buf of 40 bytes. */
int identity_boot(char *buf);

#endif /* STILLPOINT_SHIM_IDENTITY_H */
