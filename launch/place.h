/* SPDX-License-Identifier: GPL-2.0-only */
/* The place of a shim: control groups, namespaces and rights that an order names. */
#ifndef STILLPOINT_LAUNCH_PLACE_H
#define STILLPOINT_LAUNCH_PLACE_H

#include "base/error.h"
#include "launch/order.h"

/*
 * place_fork() - as fork(2), with the child in the control group of v2
 *
 * Call in a process of one thread. Return: the child, 0 in it, or negative errno.
 */
pid_t place_fork(const struct launch_order *order, struct ckpt_error *error);

/*
 * place_enter() - put this process under all else that the order names
 *
 * Call in the child of place_fork(), as root. It may stand still in here for as long as the
 * control group is frozen, so it must not be the launcher itself.
 *
 * Return: 0, or negative errno: the process has to end.
 */
int place_enter(const struct launch_order *order, struct ckpt_error *error);

#endif /* STILLPOINT_LAUNCH_PLACE_H */
