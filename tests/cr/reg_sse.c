// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sixteen SSE registers hold their values while the program spins.
 */
#include "tests/cr/spin.h"

static uint8_t in[16][16] __attribute__((aligned(64)));
static uint8_t out[16][16] __attribute__((aligned(64)));

#define LOAD(n)		"movdqa 16*" #n "(%[in]), %%xmm" #n "\n"
#define STORE(n)	"movdqa %%xmm" #n ", 16*" #n "(%[out])\n"
#define ALL(X)		X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) \
			X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

static void block(void)
{
	cr_fill(in, sizeof(in), 5);
	__asm__ volatile(ALL(LOAD) SPIN_LOOP ALL(STORE)
		:
		: [in] "r"(in), [out] "r"(out), SPIN_OPERANDS
		: "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
		  "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
		  "xmm14", "xmm15");
}

static void verify(void)
{
	cr_check_fill(out, sizeof(out), 5);
}

CR_TEST(.setup = spin_setup, .wait = block, .verify = verify);
