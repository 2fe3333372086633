/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trying whether images could be restored, in the place where a shim would restore them: a child
 * of the launcher, as what confines ckptd would count otherwise.
 */
#ifndef STILLPOINT_SHIM_TRY_H
#define STILLPOINT_SHIM_TRY_H

#include <stdbool.h>

/*
 * try_run() - if the specification asks for a try, do it and report
 * @spec: descriptor of the specification: {"try": [args of op_restore(), ...], "host_ns": bool,
 *	"any_rights": bool, "asker": {...} (optional), "key": path, "encryption_key": path
 *	(optional)}
 * @report: gets progress, then the outcome: the first failure, or {"tried": [results of
 *	op_restore(), ...]}
 *
 * Nothing is started or changed. Return: true: it was tried, and the process has to end.
 */
bool try_run(int spec, int report);

#endif /* STILLPOINT_SHIM_TRY_H */
