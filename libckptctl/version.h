/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The version of everything in user space.
 */
#ifndef STILLPOINT_VERSION_H
#define STILLPOINT_VERSION_H

#define CKPT_VERSION	"0.1.0"

#endif /* STILLPOINT_VERSION_H */
