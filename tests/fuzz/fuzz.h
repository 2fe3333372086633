/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What fuzz targets share.  A target defines LLVMFuzzerTestOneInput(); it is
 * linked with libFuzzer to search (make fuzz-NAME) and with replay.c to run the
 * committed corpus under ASan and UBSan in check-unit.
 */
#ifndef STILLPOINT_TESTS_FUZZ_H
#define STILLPOINT_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The target's committed corpus, from the top. */
extern const char *const fuzz_corpus;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read every byte, so that the sanitizers see what was handed out. */
static inline void fuzz_touch(const void *data, size_t len)
{
	const volatile uint8_t *p = data;
	size_t i;

	for (i = 0; i < len; i++)
		(void)p[i];
}

#endif /* STILLPOINT_TESTS_FUZZ_H */
