// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that may only be executed (PROT_EXEC alone): where the processor has protection
 * keys, the kernel gives such a mapping one of its own choice, so that nobody reads it.
 * It still runs, is still unreadable where it was, and has the same key.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define PAGE 4096

static const uint8_t code[] = { 0xb8, 0x2a, 0, 0, 0, 0xc3 };	/* mov $42, %eax; ret */
static uint8_t *anon, *file, *both, *again;
static long anon_key, file_key, both_key;
static bool anon_reads, file_reads;
static sigjmp_buf out;
static pid_t child;

static void on_segv(int sig)
{
	siglongjmp(out, 1);
}

static bool reads(const volatile uint8_t *at)
{
	struct sigaction action = { .sa_handler = on_segv }, old;
	volatile bool ok = false;

	cr_sys(sigaction(SIGSEGV, &action, &old));
	if (!sigsetjmp(out, 1)) {
		cr_eq(*at, code[0]);
		ok = true;
	}
	cr_sys(sigaction(SIGSEGV, &old, NULL));
	return ok;
}

static int run(const uint8_t *at)
{
	return ((int (*)(void))(uintptr_t)at)();
}

static uint8_t *map_code(int flags, int fd)
{
	uint8_t *at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	cr_check(at != MAP_FAILED, "mmap");
	memcpy(at, code, sizeof(code));
	memcpy(at + PAGE, code, sizeof(code));
	return at;
}

static void check(void)
{
	cr_eq(cr_smaps(anon, "ProtectionKey"), anon_key);
	cr_eq(cr_smaps(file, "ProtectionKey"), file_key);
	cr_eq(cr_smaps(both, "ProtectionKey"), both_key);
	cr_eq(run(anon) + run(anon + PAGE) + run(file) + run(both), 4 * 42);
	cr_eq(reads(anon), anon_reads);
	cr_eq(reads(file), file_reads);
	cr_check(reads(both), "readable");
}

static void in_child(void *arg)
{
	cr_mark("child");
	cr_wait_go();
	check();
}

static void setup(void)
{
	int fd;

	cr_write_file(cr_path("code"), code, sizeof(code));
	fd = (int)cr_sys(open(cr_path("code"), O_RDWR));
	cr_sys(ftruncate(fd, 2 * PAGE));
	anon = map_code(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	both = map_code(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	file = map_code(MAP_SHARED, fd);
	cr_sys(close(fd));
	cr_sys(mprotect(anon, 2 * PAGE, PROT_EXEC));
	cr_sys(mprotect(file, 2 * PAGE, PROT_EXEC));
	cr_sys(mprotect(both, 2 * PAGE, PROT_READ | PROT_EXEC));
	anon_key = cr_smaps(anon, "ProtectionKey");
	file_key = cr_smaps(file, "ProtectionKey");
	both_key = cr_smaps(both, "ProtectionKey");
	anon_reads = reads(anon);
	file_reads = reads(file);
	/* -1: the processor has no keys */
	cr_check(anon_key < 0 || (anon_key && !anon_reads), "the key %ld does nothing", anon_key);
	check();
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

/* The key is the kernel's still: the next such mapping gets it, and no program does. */
static void verify(void)
{
	int key;

	check();
	again = map_code(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	cr_sys(mprotect(again, 2 * PAGE, PROT_EXEC));
	cr_eq(cr_smaps(again, "ProtectionKey"), anon_key);
	key = pkey_alloc(0, 0);
	cr_check(key < 0 || key != anon_key, "the kernel's key %d was given away", key);
	cr_sys(mprotect(anon, 2 * PAGE, PROT_READ | PROT_EXEC));
	cr_check(reads(anon), "readable again");
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
