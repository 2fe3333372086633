// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a map of BPF with an entry.
 */
#include <linux/bpf.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static int fd;
static uint32_t key = 3;
static uint64_t value = 77;

static long entry(int op)
{
	union bpf_attr attr = { .map_fd = (uint32_t)fd };

	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)&value;
	return syscall(SYS_bpf, op, &attr, sizeof(attr));
}

static void setup(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_HASH, .key_size = 4, .value_size = 8, .max_entries = 4,
	};

	fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		cr_skip("bpf: %s", strerror(errno));
	cr_sys(entry(BPF_MAP_UPDATE_ELEM));
}

static void verify(void)
{
	value = 0;
	cr_sys(entry(BPF_MAP_LOOKUP_ELEM));
	cr_eq(value, 77);
}

CR_TEST(.setup = setup, .verify = verify);
