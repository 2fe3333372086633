#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The restore side of the module, by hand: see tests/kselftest/restore_test.c.

. "$(dirname "$0")/lib.sh"
vm_ready || { echo "Bail out! no VM"; exit 1; }

program=build/bin/tests/kselftest/restore_test
[ -x "$program" ] || { echo "Bail out! no $program: run make"; exit 1; }

parts='one phases threads regs restarts files locks layout many mempolicy exec_key aio large
	hugetlb pages thp share share_thp beside killed robust signals timers fatal alarm
	stopped groups tty rseq rollback rollback_lost rollback_keep rollback_dumped
	rollback_library
	mq_notify l0_refused l0_rollback l0_huge l0_given_up fuzz'
# shellcheck disable=SC2086
for part in $(share $parts); do
	ok_vm "$part" --env VM_SLOW="$VM_SLOW" "$top/$program" "$part"
	grep -E '^(not ok|# )' <<<"$out" | sed 's/^/# /'
done
finish
