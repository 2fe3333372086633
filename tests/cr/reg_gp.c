// SPDX-License-Identifier: GPL-2.0-only
/*
 * All general registers hold their values while the program spins in user mode.
 */
#include "tests/cr/spin.h"

/* named in the assembly below */
volatile uint64_t reg_gp_out[13];

#define out reg_gp_out

static void block(void)
{
	__asm__ volatile(
		"movq $0x1001, %%rax\n" "movq $0x1002, %%rbx\n" "movq $0x1003, %%rcx\n"
		"movq $0x1004, %%rdx\n" "movq $0x1005, %%rsi\n" "movq $0x1006, %%rdi\n"
		"movq $0x1008, %%r8\n"  "movq $0x1009, %%r9\n"  "movq $0x1010, %%r10\n"
		"movq $0x1011, %%r11\n" "movq $0x1012, %%r12\n" "movq $0x1013, %%r13\n"
		"movabsq $0x8877665544331014, %%r14\n"
		"9: incq spin_rounds(%%rip)\n"
		"cmpl $0, spin_stop(%%rip)\n"
		"je 9b\n"
		"leaq reg_gp_out(%%rip), %%r15\n"
		"movq %%rax, (%%r15)\n"    "movq %%rbx, 8(%%r15)\n"
		"movq %%rcx, 16(%%r15)\n"  "movq %%rdx, 24(%%r15)\n"
		"movq %%rsi, 32(%%r15)\n"  "movq %%rdi, 40(%%r15)\n"
		"movq %%r8, 48(%%r15)\n"   "movq %%r9, 56(%%r15)\n"
		"movq %%r10, 64(%%r15)\n"  "movq %%r11, 72(%%r15)\n"
		"movq %%r12, 80(%%r15)\n"  "movq %%r13, 88(%%r15)\n"
		"movq %%r14, 96(%%r15)\n"
		:
		:
		: "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
		  "r12", "r13", "r14", "r15", "memory", "cc");
}

static void verify(void)
{
	static const uint64_t want[13] = {
		0x1001, 0x1002, 0x1003, 0x1004, 0x1005, 0x1006, 0x1008, 0x1009,
		0x1010, 0x1011, 0x1012, 0x1013, 0x8877665544331014,
	};

	for (int i = 0; i < 13; i++)
		cr_check(out[i] == want[i], "register %d is %#llx", i,
			 (unsigned long long)out[i]);
	cr_check(spin_rounds > 0, "it never spun");
}

CR_TEST(.setup = spin_setup, .wait = block, .verify = verify);
