// SPDX-License-Identifier: GPL-2.0-only
/*
 * Protection keys of the program (pkey_alloc): memory, a file and code under a key, a key that
 * nothing has yet, and beside them the kernel's own key. Mappings have their keys again, each
 * thread its rights, and the next key that is given is none of them.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define PAGE 4096

static const uint8_t code[] = { 0xb8, 0x2a, 0, 0, 0, 0xc3 };	/* mov $42, %eax; ret */
static uint8_t *mem, *constant, *file, *kernels, *own;
static long kernels_key;
static int key, unused, seen_code, seen_key;
static sigjmp_buf out;
static pthread_t thread;
static pid_t child;

static void on_segv(int sig, siginfo_t *info, void *context)
{
	seen_code = info->si_code;
	seen_key = info->si_code == SEGV_PKUERR ? (int)info->si_pkey : -1;
	siglongjmp(out, 1);
}

/* True if the byte can be changed; else who says no is in seen_code, seen_key. */
static bool writes(volatile uint8_t *at)
{
	struct sigaction action = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO }, old;
	const int rights = pkey_get(key), others = pkey_get(unused);
	volatile bool ok = false;

	cr_sys(sigaction(SIGSEGV, &action, &old));
	if (!sigsetjmp(out, 1)) {
		*at ^= 1;
		*at ^= 1;
		ok = true;
	} else {
		/* the handler runs with the kernel's rights, which a jump out of it keeps */
		pkey_set(key, (unsigned int)rights);
		pkey_set(unused, (unsigned int)others);
	}
	cr_sys(sigaction(SIGSEGV, &old, NULL));
	return ok;
}

static int run(const uint8_t *at)
{
	return ((int (*)(void))(uintptr_t)at)();
}

static void check(void)
{
	cr_eq(cr_smaps(mem, "ProtectionKey"), key);
	cr_eq(cr_smaps(constant, "ProtectionKey"), key);
	cr_eq(cr_smaps(file, "ProtectionKey"), key);
	cr_eq(cr_smaps(own, "ProtectionKey"), key);
	cr_eq(cr_smaps(kernels, "ProtectionKey"), kernels_key);
	cr_eq(pkey_get(key), PKEY_DISABLE_WRITE);
	cr_eq(pkey_get(unused), PKEY_DISABLE_ACCESS);
	cr_eq(mem[0] + mem[3 * PAGE] + constant[0] + file[0], 1 + 2 + 3 + 4);
	cr_eq(run(kernels) + run(own), 2 * 42);
	cr_check(!writes(mem), "the key does not hold");
	cr_eq(seen_code, SEGV_PKUERR);
	cr_eq(seen_key, key);
	pkey_set(key, 0);
	cr_check(writes(mem) && writes(file), "rights of the thread");
	cr_check(!writes(constant), "constant memory was written");
	cr_eq(seen_code, SEGV_ACCERR);
	pkey_set(key, PKEY_DISABLE_WRITE);
}

static void *with_other_rights(void *arg)
{
	pkey_set(key, PKEY_DISABLE_ACCESS);
	cr_mark("thread");
	cr_wait_go();
	cr_eq(pkey_get(key), PKEY_DISABLE_ACCESS);
	return NULL;
}

static void in_child(void *arg)
{
	cr_mark("child");
	cr_wait_go();
	check();
}

static uint8_t *map_code(void)
{
	uint8_t *at = cr_map(PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	memcpy(at, code, sizeof(code));
	return at;
}

static void setup(void)
{
	int fd;

	key = pkey_alloc(0, 0);
	if (key < 0)
		cr_skip("no protection keys");
	unused = (int)cr_sys(pkey_alloc(0, PKEY_DISABLE_ACCESS));
	mem = cr_map(4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	constant = cr_map(PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_write_file(cr_path("file"), "\4", 1);
	fd = (int)cr_sys(open(cr_path("file"), O_RDWR));
	cr_sys(ftruncate(fd, PAGE));
	file = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_check(file != MAP_FAILED, "mmap");
	cr_sys(close(fd));
	kernels = map_code();
	own = map_code();
	mem[0] = 1;
	mem[3 * PAGE] = 2;
	constant[0] = 3;
	cr_sys(pkey_mprotect(mem, 4 * PAGE, PROT_READ | PROT_WRITE, key));
	cr_sys(pkey_mprotect(constant, PAGE, PROT_READ, key));
	cr_sys(pkey_mprotect(file, PAGE, PROT_READ | PROT_WRITE, key));
	cr_sys(mprotect(kernels, PAGE, PROT_EXEC));
	cr_sys(pkey_mprotect(own, PAGE, PROT_EXEC, key));
	kernels_key = cr_smaps(kernels, "ProtectionKey");
	cr_check(kernels_key > 0 && kernels_key != key, "the kernel chose key %ld", kernels_key);
	pkey_set(key, PKEY_DISABLE_WRITE);
	check();
	cr_eq(pthread_create(&thread, NULL, with_other_rights, NULL), 0);
	cr_await("thread");
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	int next;

	check();
	next = (int)cr_sys(pkey_alloc(0, 0));
	cr_check(next != key && next != unused && next != kernels_key, "key %d given twice", next);
	cr_sys(pkey_free(next));
	cr_sys(pkey_free(unused));
	cr_eq(pkey_alloc(0, 0), unused);
	pthread_join(thread, NULL);
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
