// SPDX-License-Identifier: GPL-2.0-only
/*
 * Switches between the halves other than calls: the first entry into the lower half's
 * dynamic linker, the return when the lower half has started, and the process's exit.
 *
 * The lower half starts on a stack of its own and never unwinds it: lower main()
 * "returns" by switching FS base and stack pointer back to where lower_load()
 * waits. Calls afterwards (lower_enter()) stay on the caller's stack.
 *
 * Nothing here may touch thread-local storage or return through a stack protector.
 */
#include <stdlib.h>

#include "mpi-glue/lower/lower_internal.h"

_Static_assert(offsetof(struct lower_boot, upper_sp) == 0, "assembly");
_Static_assert(offsetof(struct lower_boot, upper_fs) == 8, "assembly");
_Static_assert(offsetof(struct lower_boot, lower_sp) == 16, "assembly");
_Static_assert(offsetof(struct lower_boot, entry) == 24, "assembly");

__asm__(".pushsection lower_text,\"ax\",@progbits\n"
	".globl lower_switch_start\n"
	".hidden lower_switch_start\n"
	".type lower_switch_start,@function\n"
	"lower_switch_start:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	rdfsbase %rax\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rax, 8(%rdi)\n"
	"	mov 24(%rdi), %rax\n"
	"	mov 16(%rdi), %rsp\n"
	"	xor %edx, %edx\n"	/* nothing for the dynamic linker to register */
	"	xor %ebp, %ebp\n"
	"	jmp *%rax\n"
	".size lower_switch_start,.-lower_switch_start\n"
	".globl lower_switch_ready\n"
	".hidden lower_switch_ready\n"
	".type lower_switch_ready,@function\n"
	"lower_switch_ready:\n"
	"	mov 8(%rdi), %rax\n"
	"	wrfsbase %rax\n"
	"	mov (%rdi), %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size lower_switch_ready,.-lower_switch_ready\n"
	".popsection\n");

/* the linker defines these two symbols */
extern const char __start_lower_text[] __attribute__((visibility("hidden")));
extern const char __stop_lower_text[] __attribute__((visibility("hidden")));

void lower_text_range(unsigned long *ret_start, unsigned long *ret_end)
{
	*ret_start = (unsigned long)__start_lower_text;
	*ret_end = (unsigned long)__stop_lower_text;
}

LOWER_TEXT void lower_switch_leave(int status, unsigned long upper_fs)
{
	lower_up(upper_fs);
	exit(status);
}
