// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file behind a private and a shared mapping was deleted and its descriptor
 * closed: the content lives on in the mappings, and the shared one stays shared.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(32 * 4096)

static uint8_t *priv, *shared;
static pid_t child;

static void in_child(void *arg)
{
	cr_wait_go();
	cr_check_fill(shared, SIZE, 1);
	cr_fill(shared, 4096, 2);
}

static void setup(void)
{
	uint8_t *data = malloc(SIZE);
	int fd;

	cr_fill(data, SIZE, 1);
	cr_write_file(cr_path("data"), data, SIZE);
	fd = (int)cr_sys(open(cr_path("data"), O_RDWR));
	priv = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_check(priv != MAP_FAILED && shared != MAP_FAILED, "mmap");
	close(fd);
	cr_sys(unlink(cr_path("data")));
	free(data);
	cr_fill(priv + 4096, 4096, 9);
	child = cr_fork(in_child, NULL);
}

static void verify(void)
{
	cr_join(child);
	cr_check_fill(shared, 4096, 2);
	cr_check_fill(priv, 4096, 2);	/* a clean page shows the file */
	cr_check_fill(priv + 4096, 4096, 9);
	cr_check(!memcmp(priv + 8192, shared + 8192, SIZE - 8192), "the rest");
}

CR_TEST(.setup = setup, .verify = verify);
