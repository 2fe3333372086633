// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: System V shared memory of huge pages, attached.
 */
#include <sys/ipc.h>
#include <sys/shm.h>

#include "tests/cr/phase.h"

#define LEN	(2UL << 20)

static uint8_t *mem;

static void setup(void)
{
	int id = shmget(IPC_PRIVATE, LEN, IPC_CREAT | SHM_HUGETLB | 0600);

	if (id < 0)
		cr_skip("shmget: %s", strerror(errno));
	mem = shmat(id, NULL, 0);
	cr_check(mem != (void *)-1, "shmat");
	cr_sys(shmctl(id, IPC_RMID, NULL));
	cr_fill(mem, LEN, 1);
}

static void verify(void)
{
	cr_check_fill(mem, LEN, 1);
	cr_sys(shmdt(mem));
}

CR_TEST(.setup = setup, .verify = verify);
