// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restartable sequences: the kernel keeps the CPU number in the thread's rseq area
 * up to date after the wait, and a critical section interrupted by a checkpoint is
 * aborted, not run on elsewhere.
 *
 * The section counts in two words; an abort between the two stores must be seen
 * and made good by the abort handler, so that they never differ at its end.
 */
#include <sched.h>
#include <stddef.h>
#include <sys/rseq.h>

#include "tests/cr/phase.h"

static volatile uint64_t first, second, aborts;

static struct rseq *area(void)
{
	return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

/* first++ ... second++, with a long way between; false when aborted */
static bool section(void)
{
	struct rseq *rs = area();

	__asm__ goto volatile(
		".pushsection __rseq_cs, \"aw\"\n"
		".balign 32\n"
		"3: .long 0, 0\n"
		".quad 1f, (2f - 1f), 4f\n"
		".popsection\n"
		"leaq 3b(%%rip), %%rax\n"
		"movq %%rax, %c[cs](%[rs])\n"
		"1:\n"
		"movl $3000, %%ecx\n"
		"5: decl %%ecx\n"
		"jnz 5b\n"
		"incq %[first]\n"
		"2:\n"
		".pushsection .text.unlikely, \"ax\"\n"
		".byte 0x0f, 0xb9, 0x3d\n"
		".long %c[sig]\n"
		"4: jmp %l[abort]\n"
		".popsection\n"
		:
		: [rs] "r"(rs), [cs] "i"(offsetof(struct rseq, rseq_cs)),
		  [first] "m"(first), [sig] "i"(RSEQ_SIG)
		: "rax", "rcx", "memory", "cc"
		: abort);
	rs->rseq_cs = 0;
	second++;
	return true;
abort:
	aborts++;
	return false;
}

static void setup(void)
{
	if (!__rseq_size)
		cr_skip("no restartable sequences");
}

static void step(void)
{
	for (int i = 0; i < 200; i++)
		while (!section())
			;
}

static void verify(void)
{
	cr_check(first == second && first > 0, "%llu and %llu",
		 (unsigned long long)first, (unsigned long long)second);
	for (int i = 0; i < 100; i++) {
		/* both are read on the same CPU unless it moves just then */
		unsigned int seen, cpu;
		int tries = 0;

		do {
			cpu = (unsigned int)sched_getcpu();
			seen = *(volatile uint32_t *)&area()->cpu_id;
		} while (seen != cpu && ++tries < 50);
		cr_eq(seen, cpu);
	}
	step();
	cr_eq(first, second);
	/* a registered area cannot be registered once more elsewhere */
	*(volatile uint32_t *)&area()->cpu_id = 12345;
	for (int i = 0; i < 200 && *(volatile uint32_t *)&area()->cpu_id == 12345; i++)
		usleep(10000);
	cr_check(*(volatile uint32_t *)&area()->cpu_id != 12345,
		 "the kernel does not write the rseq area any more");
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
