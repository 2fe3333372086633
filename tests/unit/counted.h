/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much memory this process has from its allocator and by mmap(), as the code under test
 * asks for it: linked with COUNTED of image.mk, in a process under AddressSanitizer.
 */
#ifndef STILLPOINT_TEST_COUNTED_H
#define STILLPOINT_TEST_COUNTED_H

#include <stdbool.h>
#include <stddef.h>

/* Count from now on; false: there is no AddressSanitizer. */
bool counted_begin(void);
/* The most since then beyond what there was; what is there now. */
size_t counted_most(void);
size_t counted_now(void);

#endif /* STILLPOINT_TEST_COUNTED_H */
