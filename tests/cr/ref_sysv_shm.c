// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: System V shared memory that the program made and filled, and has attached no more.
 */
#include <sys/ipc.h>
#include <sys/shm.h>

#include "tests/cr/phase.h"

static int id;

static uint8_t *attach(void)
{
	uint8_t *mem = shmat(id, NULL, 0);

	cr_check(mem != (void *)-1, "shmat");
	return mem;
}

static void setup(void)
{
	uint8_t *mem;

	id = (int)cr_sys(shmget(IPC_PRIVATE, 65536, IPC_CREAT | 0600));
	mem = attach();
	cr_fill(mem, 65536, 1);
	cr_sys(shmdt(mem));
}

static void verify(void)
{
	uint8_t *mem = attach();

	cr_check_fill(mem, 65536, 1);
	cr_sys(shmdt(mem));
	cr_sys(shmctl(id, IPC_RMID, NULL));
}

CR_TEST(.setup = setup, .verify = verify);
