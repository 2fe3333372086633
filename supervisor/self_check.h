/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The check of a configured node: files, directories and the module that ckptd needs for its
 * work, though it runs without them. ckptd looks once when it starts, `ckptd --check` on demand.
 */
#ifndef STILLPOINT_SELF_CHECK_H
#define STILLPOINT_SELF_CHECK_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/daemon.h"

/*
 * self_check_find() - look for what is missing; may wait for file systems
 * @module: the kernel module as well, and not only what the configuration names
 *
 * Changes nothing. Return: [{"found": text, "advice": text, "logged": daemon_start() logs that
 * itself}], a new reference.
 */
json_t *self_check_find(const struct config *config, bool module);

/*
 * self_check_start() - let a worker look, log a warning for each thing that is missing, and tell
 *	systemd
 *
 * Errors are logged. The event loop does not wait.
 */
void self_check_start(struct daemon *daemon);
void self_check_stop(struct daemon *daemon);

#endif /* STILLPOINT_SELF_CHECK_H */
