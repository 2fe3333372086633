/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run the application's signal handlers with the upper FS base, whatever they
 * interrupt. This library interposes sigaction(), signal() and their kin: the kernel
 * gets one function, which switches the FS base and calls the application's handler.
 * A handler that interrupts no call into the lower half costs one indirect call more.
 */
#ifndef MPI_GLUE_GLUE_SIGNAL_H
#define MPI_GLUE_GLUE_SIGNAL_H

/**
 * glue_signal_begin() - a lower half has been loaded: take over the signal handlers
 * @upper_word: see struct lower_boot
 *
 * Also takes over handlers that were installed without this library: before it was
 * loaded, or by the libc itself.
 */
void glue_signal_begin(long upper_word);

#endif
