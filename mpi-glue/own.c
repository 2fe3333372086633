// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of the glue's own memory; see own.h.
 *
 * Entries are made by the thread in MPI_Init and, later, by the glue thread. Must not list memory
 * in which the program keeps anything: errors there would not be seen.
 */
#include "mpi-glue/own.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>


/* glibc's: where an arena beside the main one begins, and the mark of its memory */
#define OWN_ARENA	(64UL << 20)
#define OWN_NOT_MAIN	4UL

static const uint8_t magic[OWN_MAGIC_BYTES] = OWN_MAGIC;

static void own_add(const void *start, size_t len)
{
	uint64_t nr;

	if (!glue.own || glue.own->nr >= OWN_MAX || !len)
		return;
	nr = glue.own->nr;
	glue.own->range[nr] = (struct own_range) { (uintptr_t)start, len };
	__atomic_store_n(&glue.own->nr, nr + 1, __ATOMIC_RELEASE);
}

/* Make the table, between two inaccessible pages, so that it is a mapping of its own. */
static void own_make(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = OWN_TABLE_SIZE + 2 * page;
	char *all = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED)
		return;
	if (mprotect(all + page, OWN_TABLE_SIZE, PROT_READ | PROT_WRITE)) {
		munmap(all, size);
		return;
	}
	glue.own = (void *)(all + page);
	glue.own->version = OWN_VERSION;
	memcpy(glue.own->magic, magic, sizeof(magic));
}

/* If @info is of this library: list its segments that can be written. */
static int own_segments(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool ours = false;
	uintptr_t start;
	int i;

	(void)size;
	(void)arg;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		start = info->dlpi_addr + p->p_vaddr;
		ours = ours || (p->p_type == PT_LOAD && (uintptr_t)&glue >= start &&
				(uintptr_t)&glue < start + p->p_memsz);
	}
	for (i = 0; ours && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_W)
			own_add((void *)(info->dlpi_addr + p->p_vaddr), p->p_memsz);
	}
	return ours;
}

void own_begin(void)
{
	if (glue.own)
		return;
	own_make();
	dl_iterate_phdr(own_segments, NULL);
	for (unsigned int kind = 0; kind < VK_NR; kind++)
		own_add(glue.table[kind].base, (size_t)glue.table[kind].stride *
			glue.table[kind].max);
	own_add(&glue_self, sizeof(glue_self));
	/* waits of the glue leave any number in it */
	own_add(&errno, sizeof(errno));
}

/*
 * Is malloc() that of the C library? Before a block of another one, as jemalloc's, is no header,
 * and maybe no memory.
 */
static bool own_is_glibc(void)
{
	Dl_info of_malloc, of_library;

	return dladdr((void *)(uintptr_t)malloc, &of_malloc) &&
	       dladdr((void *)(uintptr_t)pthread_create, &of_library) &&
	       of_malloc.dli_fbase == of_library.dli_fbase;
}

void own_thread(void)
{
	/* more than what is kept for each thread */
	void *block = own_is_glibc() ? malloc(2048) : NULL;
	pthread_attr_t attr;
	void *stack;
	size_t size;

	if (block && *(const volatile uint64_t *)((uintptr_t)block - 8) & OWN_NOT_MAIN)
		own_add((void *)((uintptr_t)block & ~(OWN_ARENA - 1)), OWN_ARENA);
	free(block);
	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	if (!pthread_attr_getstack(&attr, &stack, &size))
		own_add(stack, size);
	pthread_attr_destroy(&attr);
}
