// SPDX-License-Identifier: GPL-2.0-only
/*
 * Private file mapping: dirty pages belong to the process, clean ones still show
 * the file, and the file itself was never changed.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(256 * 4096)

static uint8_t *mem;
static uint64_t rounds;

static void setup(void)
{
	uint8_t *data = malloc(SIZE);
	int fd;

	cr_fill(data, SIZE, 1);
	cr_write_file(cr_path("data"), data, SIZE);
	fd = (int)cr_sys(open(cr_path("data"), O_RDONLY));
	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	cr_check(mem != MAP_FAILED, "mmap");
	close(fd);
	free(data);
	for (int i = 0; i < 256; i += 2)
		cr_fill(mem + i * 4096, 4096, 1000 + (uint64_t)i);
}

static void step(void)
{
	cr_fill(mem + 128 * 4096, 4096, ++rounds);
}

static void verify(void)
{
	uint8_t *data = (uint8_t *)cr_read(cr_path("data"), NULL);

	cr_check_fill(data, SIZE, 1);
	cr_check_fill(mem + 128 * 4096, 4096, rounds ? rounds : 1128);
	for (int i = 0; i < 256; i++) {
		if (i == 128)
			continue;
		if (i % 2)
			cr_check(!memcmp(mem + i * 4096, data + i * 4096, 4096),
				 "clean page %d", i);
		else
			cr_check_fill(mem + i * 4096, 4096, 1000 + (uint64_t)i);
	}
	free(data);
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
