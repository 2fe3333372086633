// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: System V shared memory, attached.
 */
#include <sys/ipc.h>
#include <sys/shm.h>

#include "tests/cr/phase.h"

static uint8_t *mem;

static void setup(void)
{
	int id = (int)cr_sys(shmget(IPC_PRIVATE, 65536, IPC_CREAT | 0600));

	mem = shmat(id, NULL, 0);
	cr_check(mem != (void *)-1, "shmat");
	cr_sys(shmctl(id, IPC_RMID, NULL));
	cr_fill(mem, 65536, 1);
}

static void verify(void)
{
	cr_check_fill(mem, 65536, 1);
	cr_sys(shmdt(mem));
}

CR_TEST(.setup = setup, .verify = verify);
