// SPDX-License-Identifier: GPL-2.0-only
/*
 * The x87 stack, eight deep, with its control word: values come out in order and
 * to the last bit while the program spins.
 */
#include "tests/cr/spin.h"

static long double out[7];
static uint16_t cw_after;

static void block(void)
{
	uint16_t cw = 0x0f7f;	/* round toward zero, extended precision, masked */
	uint16_t old, now;

	__asm__ volatile(
		"fnstcw %[old]\n" "fninit\n" "fldcw %[cw]\n"
		"fld1\n" "fldl2t\n" "fldl2e\n" "fldpi\n" "fldlg2\n" "fldln2\n" "fldz\n"
		SPIN_LOOP
		"fstpt (%[out])\n" "fstpt 16(%[out])\n" "fstpt 32(%[out])\n"
		"fstpt 48(%[out])\n" "fstpt 64(%[out])\n" "fstpt 80(%[out])\n"
		"fstpt 96(%[out])\n"
		"fnstcw %[now]\n" "fldcw %[old]\n"
		: [old] "=m"(old), [now] "=m"(now)
		: [cw] "m"(cw), [out] "r"(out), SPIN_OPERANDS
		: "memory", "cc", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)",
		  "st(6)", "st(7)");
	cw_after = now;
}

static void verify(void)
{
	cr_eq(cw_after, 0x0f7f);
	cr_check(out[0] == 0.0L && out[6] == 1.0L, "ends");
	cr_check(out[3] > 3.14159265358979323L && out[3] < 3.14159265358979325L, "pi");
	cr_check(out[1] > 0.6931471805599453L && out[1] < 0.6931471805599454L, "ln 2");
	cr_check(out[5] > 3.3219280948873623L && out[5] < 3.3219280948873624L, "log2 10");
}

CR_TEST(.setup = spin_setup, .wait = block, .verify = verify);
