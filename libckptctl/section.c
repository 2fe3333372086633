// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Sections of a program that runs in replicas: ckpt_section_begin(), ckpt_section_end().
 *
 * Owns the process's table (section_table.h). The end of a section costs two accesses to memory,
 * unless somebody wants the process to wait. While it waits nothing of its memory changes, so that
 * replicas that wait are equal: the loop counts nothing, and clock_nanosleep(2) sets no errno.
 * Call both from one thread.
 */
#include "libckptctl/ckptctl.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "libckptctl/section_table.h"

#define API	__attribute__((visibility("default")))
#define WAIT_NS	2000000
#define WIPED	4096	/* bytes */

static const uint8_t magic[SECTION_MAGIC_BYTES] = SECTION_MAGIC;

static struct section_table *the_sections;

API int ckpt_section_begin(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = SECTION_TABLE_SIZE + 2 * page;
	char *all;

	if (the_sections)
		return 0;
	/* between two inaccessible pages, so that it is a mapping of its own */
	all = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return -ENOMEM;
	if (mprotect(all + page, SECTION_TABLE_SIZE, PROT_READ | PROT_WRITE)) {
		munmap(all, size);
		return -ENOMEM;
	}
	the_sections = (void *)(all + page);
	the_sections->version = SECTION_VERSION;
	memcpy(the_sections->magic, magic, sizeof(magic));
	return 0;
}

/* Not static: called by the instructions below alone. */
__attribute__((visibility("hidden"))) int section_end(void);

int section_end(void)
{
	static const struct timespec nap = { .tv_nsec = WAIT_NS };
	struct section_table *table = the_sections;
	uint64_t section, until;

	if (!table)
		return -EINVAL;
	section = table->section + 1;
	__atomic_store_n(&table->section, section, __ATOMIC_RELEASE);
	for (;;) {
		until = __atomic_load_n(&table->until, __ATOMIC_ACQUIRE);
		if (!until || until > section)
			break;
		__atomic_store_n(&table->waits, 1, __ATOMIC_RELEASE);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	}
	__atomic_store_n(&table->waits, 0, __ATOMIC_RELEASE);
	return 0;
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/*
 * Zero the stack on which section_end() and its calls will stand, as a frame has holes in which
 * earlier calls have left their counts and times, and go there. A frame of this function would
 * have such holes, too. Memory below the stack pointer is nobody's: a signal's handler that uses
 * some has ended before the next word is zeroed.
 */
API __attribute__((naked)) int ckpt_section_end(void)
{
	__asm__("lea -" TEXT(WIPED) "(%rsp), %rdi\n\t"
		"xor %eax, %eax\n\t"
		"mov $" TEXT(WIPED) " / 8, %ecx\n\t"
		"rep stosq\n\t"
		"jmp section_end");
}
