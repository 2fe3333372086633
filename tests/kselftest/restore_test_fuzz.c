// SPDX-License-Identifier: GPL-2.0-only
/*
 * restore_test: records that are damaged, and records of nothing but chance.
 *
 * Nothing to check but that the kernel survives, answers, and kills what was
 * half built.  The seed is printed; `restore_test fuzz SEED` would be the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/kselftest/restore_rig.h"
#include "tests/kselftest/restore_test.h"

static unsigned long long state = 88172645463325252ULL;

static unsigned long chance(unsigned long n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static unsigned long long odd_value(void)
{
	static const unsigned long long odd[] = {
		0, 1, 2, 7, 8, 63, 64, 65, 4095, 4096, 0x7fffffff, 0x80000000, 0xffffffff,
		0x7ffffffff000, 0x7fffffffffff, 0x800000000000, 0xffff800000000000,
		0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffff000, ~0ULL,
		PAYLOAD_BASE, SHARED_BASE, HEAP_BASE, VVAR_BASE,
	};

	return chance(3) ? odd[chance(sizeof(odd) / sizeof(odd[0]))] :
			   chance(1UL << 48);
}

static void build(struct rig *rig, struct recs *recs, int kind)
{
	struct ckpt_rec_xstate *xstate;
	struct ckpt_rec_sigpending *sig;
	struct ckpt_rec_lock *lock;
	struct ckpt_rec_fd *fd;
	int i;

	recs->len = 0;
	switch (kind) {
	case 0:
		recs_basic(rig, recs, NULL, NULL);
		break;
	case 1:
		for (i = 0; i < 5; i++) {
			fd = recs_add(recs, CKPT_REC_FD, sizeof(*fd));
			fd->fd = i;
			fd->file = i;
		}
		lock = recs_add(recs, CKPT_REC_LOCK, sizeof(*lock));
		*lock = (struct ckpt_rec_lock) {
			.hdr = lock->hdr, .file = chance(5), .files_id = 1,
			.kind = CKPT_LOCK_POSIX, .type = F_RDLCK, .end = 1 + chance(100),
		};
		break;
	default:
		recs_add(recs, CKPT_REC_SIGACTIONS, sizeof(struct ckpt_rec_sigactions));
		recs_proc(recs);
		recs_thread(recs, payload_hold, SHARED_BASE, 0, 0);
		sig = recs_add(recs, CKPT_REC_SIGPENDING, sizeof(*sig));
		sig->signo = 1 + chance(64);
		xstate = recs_add(recs, CKPT_REC_XSTATE, sizeof(*xstate) + 832);
		xstate->size = 832;
		*(__u32 *)((char *)(xstate + 1) + 24) = 0x1f80;
		break;
	}
}

static void damage(struct recs *recs)
{
	unsigned long long value;
	unsigned long at, n = 1 + chance(4);

	while (n--) {
		value = odd_value();
		switch (chance(4)) {
		case 0:
			at = chance(recs->len / 8) * 8;
			memcpy(recs->buf + at, &value, 8);
			break;
		case 1:
			at = chance(recs->len / 4) * 4;
			memcpy(recs->buf + at, &value, 4);
			break;
		case 2:
			recs->buf[chance(recs->len)] ^= 1 << chance(8);
			break;
		default:
			recs->len = 1 + chance(recs->len);
			if (recs->len < 16)
				recs->len = 16;
			break;
		}
	}
}

static int round_of_commands(struct rig *rig, struct recs *recs)
{
	struct ckpt_iovec iov[4];
	struct ckpt_pages pages = { .nr_iov = 1 + chance(4), .iov = (unsigned long)iov };
	pid_t pid = rig->helpers[chance(2)].pid;
	unsigned int i;

	switch (chance(6)) {
	case 0:
		for (i = 0; i < 4; i++)
			iov[i] = (struct ckpt_iovec) { odd_value() & ~4095UL,
						       (chance(3) ? 8192 : odd_value()) & ~4095UL };
		pages.mm_id = pid;
		pages.buf = chance(2) ? (unsigned long)recs->buf : odd_value();
		return rig_command(rig, CKPT_IOC_PAGES_WRITE, &pages);
	case 1:
		return rig_share(rig, rig->helpers[0].pid, rig->helpers[1].pid,
				 odd_value() & ~4095UL, odd_value() & ~4095UL);
	case 2:
		return rig_drop(rig, pid, odd_value() & ~4095UL, odd_value() & ~4095UL);
	default:
		build(rig, recs, chance(3));
		if (chance(8))
			damage(recs);
		return rig_state(rig, pid, recs, &(__u64){ 0 });
	}
}

void test_fuzz(void)
{
	const char *rounds = getenv("FUZZ_ROUNDS");
	int round, i, err, refused = 0, done = 0, nr = rounds ? atoi(rounds) : 60;
	struct recs recs = {};
	struct rig rig;

	tap_note("damaged records, %d rounds, seed %llu", nr, state);
	for (round = 0; round < nr; round++) {
		rig_open(&rig);
		rig_add(&rig, -1, 1 + chance(3), NULL);
		rig_add(&rig, -1, 1, NULL);
		rig_start(&rig);
		for (i = 0; i < 40; i++) {
			err = round_of_commands(&rig, &recs);
			refused += err < 0;
			done += err == 0;
			if (kill(rig.helpers[0].pid, 0))
				break;
		}
		if (chance(2))
			rig_commit(&rig);
		/* what was committed runs anything: it must not outlive the test */
		kill(rig.helpers[0].pid, SIGKILL);
		kill(rig.helpers[1].pid, SIGKILL);
		close(rig.ctx);
		rig.ctx = -1;
		rig_close(&rig);
	}
	tap_ok(refused > 0 && done > 0, "%d commands refused, %d done", refused, done);
	recs_done(&recs);
}
