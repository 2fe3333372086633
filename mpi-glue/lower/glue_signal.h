/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The application's signal handlers run with the upper FS base, whatever they
 * interrupt. sigaction(), signal() and their kin are interposed: the kernel is given one
 * function, which switches and calls the application's. Only handlers that
 * interrupt a call below cost anything more than an indirect call.
 */
#ifndef MPI_GLUE_GLUE_SIGNAL_H
#define MPI_GLUE_GLUE_SIGNAL_H

/**
 * glue_signal_begin() - a lower half is there
 * @upper_word: see struct lower_boot
 *
 * Handlers installed without us (before we were loaded, or by the libc itself) are
 * taken in as well.
 */
void glue_signal_begin(long upper_word);

#endif
