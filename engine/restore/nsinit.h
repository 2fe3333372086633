/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The init of a new PID namespace: parent of the roots and of the builder.
 *
 * It owns nothing of the tree.  When the tree runs, it does nothing but pass signals on
 * and reap; it must never wait for anything else.
 */
#ifndef STILLPOINT_NSINIT_H
#define STILLPOINT_NSINIT_H

#include "engine/restore/builder.h"

/**
 * nsinit_create() - create a process 1 that makes the builder and keeps the tree
 * @b: handed to builder_main() in the new namespace
 *
 * The init is a child of the caller.  Until the tree runs it dies with the caller.  Then
 * it passes signals on to the first root, reaps, and when all processes are gone exits
 * as the first root did (128 + n after signal n).
 *
 * Return: its pid, or a negative errno.
 */
pid_t nsinit_create(const struct builder *b);

#endif /* STILLPOINT_NSINIT_H */
