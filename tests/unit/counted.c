// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory counted while code is tested: the allocator's by AddressSanitizer's hooks, which see
 * libraries as well, and mappings by the linker's --wrap, which sees what is linked statically.
 * Any thread may allocate.
 */
#include "tests/unit/counted.h"

#include <stdatomic.h>
#include <sys/mman.h>

int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void *, size_t),
					      void (*freed)(const volatile void *))
	__attribute__((weak));
size_t __sanitizer_get_allocated_size(const volatile void *p) __attribute__((weak));
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *addr, size_t len);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *addr, size_t len);

static atomic_long now, most;

static void add(long bytes)
{
	long is = atomic_fetch_add(&now, bytes) + bytes, was = atomic_load(&most);

	while (is > was && !atomic_compare_exchange_weak(&most, &was, is))
		;
}

static void allocated(const volatile void *p, size_t len)
{
	add((long)len);
}

static void freed(const volatile void *p)
{
	if (p)
		add(-(long)__sanitizer_get_allocated_size(p));
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *p = __real_mmap(addr, len, prot, flags, fd, offset);

	if (p != MAP_FAILED)
		add((long)len);
	return p;
}

int __wrap_munmap(void *addr, size_t len)
{
	add(-(long)len);
	return __real_munmap(addr, len);
}

bool counted_begin(void)
{
	static bool installed;

	if (!__sanitizer_install_malloc_and_free_hooks)
		return false;
	if (!installed && !__sanitizer_install_malloc_and_free_hooks(allocated, freed))
		return false;
	installed = true;
	atomic_store(&now, 0);
	atomic_store(&most, 0);
	return true;
}

size_t counted_most(void)
{
	return (size_t)atomic_load(&most);
}

size_t counted_now(void)
{
	return (size_t)atomic_load(&now);
}
