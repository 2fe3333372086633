/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The init of a new PID namespace: parent of the roots and of the builder.
 */
#ifndef STILLPOINT_NSINIT_H
#define STILLPOINT_NSINIT_H

#include "engine/restore/builder.h"

/**
 * nsinit_create() - a process 1 that makes the builder and keeps the tree
 * @b: handed to builder_main() in there
 *
 * It is a child of the caller and dies with it until the tree runs; then it
 * passes signals on to the first root, reaps, and when all processes are gone
 * exits as the first root did (128 + n after signal n).
 *
 * Return: its pid, or a negative errno.
 */
pid_t nsinit_create(const struct builder *b);

#endif /* STILLPOINT_NSINIT_H */
