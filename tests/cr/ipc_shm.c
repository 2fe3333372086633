// SPDX-License-Identifier: GPL-2.0-only
/*
 * System V shared memory, in the namespace that everybody has: attached by parent and child at
 * different addresses, once more to read only, with a hole; attached by nobody; and removed, but
 * still attached.
 */
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "tests/cr/phase.h"

#define KEY	0x43520001
#define LEN	(5UL * 65536 + 100)
#define PAGE	4096UL

static int keyed, idle, removed;
static uint8_t *mem, *read_only, *gone;
static pid_t child;

static struct shmid_ds stat_of(int id)
{
	struct shmid_ds ds;

	cr_sys(shmctl(id, IPC_STAT, &ds));
	return ds;
}

static uint8_t *attach(int id, int flags)
{
	uint8_t *at = shmat(id, NULL, flags);

	cr_check(at != (void *)-1, "shmat: %s", strerror(errno));
	return at;
}

/* Sees what the parent writes, at another address. */
static void child_run(void *arg)
{
	uint8_t *other = attach(keyed, 0);

	cr_mark("attached");
	cr_wait_go();
	cr_await("written");
	cr_eq(other[7], 77);
	cr_eq(mem[7], 77);
	other[8] = 88;
	cr_sys(shmdt(other));
	cr_mark("answered");
}

static void setup(void)
{
	keyed = (int)cr_sys(shmget(KEY, LEN, IPC_CREAT | IPC_EXCL | 0640));
	mem = attach(keyed, 0);
	cr_fill(mem, LEN, 1);
	cr_sys(munmap(mem + 4 * PAGE, 2 * PAGE));
	read_only = attach(keyed, SHM_RDONLY);
	idle = (int)cr_sys(shmget(IPC_PRIVATE, 3 * PAGE, IPC_CREAT | 0600));
	gone = attach(idle, 0);
	cr_fill(gone, 3 * PAGE, 2);
	cr_sys(shmdt(gone));
	removed = (int)cr_sys(shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600));
	gone = attach(removed, 0);
	cr_fill(gone, PAGE, 3);
	cr_sys(shmctl(removed, IPC_RMID, NULL));
	child = cr_fork(child_run, NULL);
	cr_await("attached");
}

static void verify(void)
{
	/* here with its hole twice, to read only, and in the child three times, as it forked */
	cr_eq(stat_of(keyed).shm_nattch, 7);
	cr_eq(stat_of(keyed).shm_perm.mode & 0777, 0640);
	cr_eq(stat_of(keyed).shm_segsz, LEN);
	cr_eq(shmget(KEY, 0, 0), keyed);
	cr_check_fill(read_only, LEN, 1);
	cr_eq(mprotect(read_only, PAGE, PROT_READ | PROT_WRITE), -1);
	mem[7] = 77;
	cr_eq(read_only[7], 77);
	cr_mark("written");
	cr_await("answered");
	cr_eq(mem[8], 88);
	cr_join(child);
	cr_eq(stat_of(keyed).shm_nattch, 3);
	cr_sys(shmdt(mem));
	cr_eq(stat_of(keyed).shm_nattch, 1);
	cr_eq(stat_of(idle).shm_nattch, 0);
	mem = attach(idle, 0);
	cr_check_fill(mem, 3 * PAGE, 2);
	cr_check_fill(gone, PAGE, 3);
	cr_eq(stat_of(removed).shm_nattch, 1);
	cr_sys(shmdt(gone));
	cr_eq(shmctl(removed, IPC_STAT, &(struct shmid_ds){ 0 }), -1);
	cr_sys(shmctl(idle, IPC_RMID, NULL));
	cr_sys(shmctl(keyed, IPC_RMID, NULL));
}

CR_TEST(.setup = setup, .verify = verify);
