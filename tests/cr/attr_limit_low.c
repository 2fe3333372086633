// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits below what is in use: more descriptors open than RLIMIT_NOFILE allows now,
 * more address space than RLIMIT_AS, a data limit passed: the restore must not
 * trip over them, and they bind afterwards.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/cr/phase.h"

static uint8_t *mem;
static int high;

static void setup(void)
{
	mem = cr_map(64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_fill(mem, 1 << 20, 1);
	high = (int)cr_sys(fcntl(1, F_DUPFD, 60));
	cr_sys(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 20, 20 }));
	cr_sys(setrlimit(RLIMIT_AS, &(struct rlimit){ 8 << 20, 8 << 20 }));
	cr_sys(setrlimit(RLIMIT_DATA, &(struct rlimit){ 1 << 20, 1 << 20 }));
	cr_sys(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 65536, 65536 }));
	cr_sys(setrlimit(RLIMIT_STACK, &(struct rlimit){ 262144, 262144 }));
}

static void verify(void)
{
	struct rlimit now;

	cr_check_fill(mem, 1 << 20, 1);
	cr_check(fcntl(high, F_GETFD) >= 0, "high descriptor");
	cr_check(mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		 MAP_FAILED && errno == ENOMEM, "RLIMIT_AS does not bind");
	cr_eq(fcntl(1, F_DUPFD, 60), -1);
	cr_sys(getrlimit(RLIMIT_FSIZE, &now));
	cr_eq(now.rlim_cur, 65536);
}

CR_TEST(.setup = setup, .verify = verify);
