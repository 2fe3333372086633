// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mapping that reaches beyond the end of its file: pages past the end still
 * raise SIGBUS, the tail of the last page still reads zero.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static uint8_t *mem;
static sigjmp_buf env;

static void on_bus(int sig)
{
	siglongjmp(env, 1);
}

static void setup(void)
{
	uint8_t data[6000];
	int fd;

	signal(SIGBUS, on_bus);
	cr_fill(data, sizeof(data), 1);
	cr_write_file(cr_path("data"), data, sizeof(data));
	fd = (int)cr_sys(open(cr_path("data"), O_RDWR));
	mem = mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	cr_check(mem != MAP_FAILED, "mmap");
	close(fd);
	mem[0] ^= 0xff;
}

static void verify(void)
{
	uint8_t data[6000];

	cr_fill(data, sizeof(data), 1);
	data[0] ^= 0xff;
	cr_check(!memcmp(mem, data, sizeof(data)), "content");
	for (int i = 6000; i < 8192; i++)
		cr_eq(mem[i], 0);
	if (!sigsetjmp(env, 1)) {
		(void)*(volatile uint8_t *)(mem + 8192);
		cr_fail("no SIGBUS beyond the end of the file");
	}
}

CR_TEST(.setup = setup, .verify = verify);
