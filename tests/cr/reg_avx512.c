// SPDX-License-Identifier: GPL-2.0-only
/*
 * AVX-512: all 32 registers in full width and the mask registers hold their values
 * while the program spins.
 */
#include "tests/cr/spin.h"

static uint8_t in[32][64] __attribute__((aligned(64)));
static uint8_t out[32][64] __attribute__((aligned(64)));
static uint16_t masks[8];

#define LOAD(n)		"vmovdqa64 64*" #n "(%[in]), %%zmm" #n "\n"
#define STORE(n)	"vmovdqa64 %%zmm" #n ", 64*" #n "(%[out])\n"
#define ALL(X)		X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) \
			X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
			X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) \
			X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
#define KLOAD(n)	"movl $0x10" #n "0, %%eax\n" "kmovw %%eax, %%k" #n "\n"
#define KSTORE(n)	"kmovw %%k" #n ", 2*" #n "(%[masks])\n"
#define KALL(X)		X(1) X(2) X(3) X(4) X(5) X(6) X(7)

static void setup(void)
{
	if (!__builtin_cpu_supports("avx512f"))
		cr_skip("no AVX-512");
	spin_setup();
}

static void __attribute__((target("avx512f"))) block(void)
{
	cr_fill(in, sizeof(in), 7);
	__asm__ volatile(ALL(LOAD) KALL(KLOAD) SPIN_LOOP ALL(STORE) KALL(KSTORE)
			 "vzeroupper\n"
		:
		: [in] "r"(in), [out] "r"(out), [masks] "r"(masks), SPIN_OPERANDS
		: "memory", "cc", "rax", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
		  "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
		  "xmm14", "xmm15");
}

static void verify(void)
{
	cr_check_fill(out, sizeof(out), 7);
	for (int i = 1; i < 8; i++)
		cr_eq(masks[i], 0x1000 + i * 16);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
