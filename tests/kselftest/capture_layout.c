// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of capture_test for a module that may not read the kernel's private structures
 * (insmod ckpt.ko distrust=…): what is lost with each of them is refused by name, and with a
 * module that may, none of it is.  tests/vm/layout.t runs it both ways.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

static bool is_distrusted(const char *type)
{
	FILE *f = fopen("/sys/module/ckpt/parameters/distrust", "r");
	char names[256] = "";

	if (f) {
		if (!fgets(names, sizeof(names), f))
			names[0] = 0;
		fclose(f);
	}
	return strstr(names, type);
}

static void idle_here(void *unused)
{
	(void)unused;
	am_ready();
	for (;;)
		pause();
}

/* Has an undo list, but nothing to undo: the set is gone. */
static void undone(void *unused)
{
	struct sembuf up = { .sem_op = 1, .sem_flg = SEM_UNDO };
	int set = semget(IPC_PRIVATE, 1, 0600);

	if (set < 0 || semop(set, &up, 1) || semctl(set, 0, IPC_RMID))
		_exit(1);
	idle_here(unused);
}

/* A dry snapshot of a process that runs @fn: refused for @reason if @refused. */
static void check_layout(void (*fn)(void *), bool refused, enum ckpt_reason reason,
			 const char *what)
{
	pid_t pid;
	int fd, err;

	shared->ready = 0;
	pid = spawn(fn, NULL);
	wait_ready(1);
	fd = cap_frozen(pid, NULL);
	err = cap_snapshot(fd, CKPT_SNAPSHOT_DRY, NULL);
	if (refused)
		tap_ok(err == -EOPNOTSUPP && recs_refused(fd, reason, pid), "%s: refused", what);
	else
		tap_is(err, 0, "%s: accepted", what);
	close(fd);
	reap(pid);
}

part(layout)
{
	bool landlock = is_distrusted("landlock_cred_security") &&
			syscall(SYS_landlock_create_ruleset, NULL, 0, 1) > 0;
	struct ckpt_info info = { .size = sizeof(info) };
	int fd = cap_open();

	cap_command(fd, CKPT_IOC_INFO, &info);
	close(fd);
	tap_is(!(info.features & CKPT_FEAT_TTY_PEEK), is_distrusted("n_tty_data"),
	       "unread input is read unless n_tty_data is distrusted");
	check_layout(idle_here, landlock, CKPT_R_LANDLOCK, "a process, perhaps in a sandbox");
	if (!landlock)
		check_layout(undone, is_distrusted("sem_undo_list"), CKPT_R_SYSV_SEM,
			     "a process that has used SEM_UNDO");
}
