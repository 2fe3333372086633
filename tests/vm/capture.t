#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The capture side of the module, by hand: see tests/kselftest/capture_test.c.

. "$(dirname "$0")/lib.sh"
vm_ready || { echo "Bail out! no VM"; exit 1; }

program=build/bin/tests/kselftest/capture_test
[ -x "$program" ] || { echo "Bail out! no $program: run make"; exit 1; }

parts='info target rights owned sample sample_owned sent phases regs process signals vmas
	files locks pages special cookies stopped zombies vfork traced refusals waits handlers
	kill killed_early killed_timed orphaned killed_large close pause pause_reads owner rmmod
	storm forking continued continued_wait small_stack restarted reaped core freezer limits
	limit_of_child cpuset track track_moved track_forced exclude exclude_range
	exclude_fd exclude_many exclude_thread exclude_exec exclude_exe crowd queue_limit
	lock_crowd suspend frozen_group layout again many writes writes_full writes_moved
	writes_add writes_state writes_ended writes_links writes_long writes_umount lease
	lease_refused mqueue mqueue_refused'
# shellcheck disable=SC2086
for part in $(share $parts); do
	ok_vm "$part" --timeout $((200 * VM_SLOW)) --env VM_SLOW="$VM_SLOW" \
		"$top/$program" "$part"
	grep -E '^(not ok|# )' <<<"$out" | sed 's/^/# /'
done

ok_vm "the module goes out" sh -c "$module_goes"
ok "and in again" scripts/vm insmod "$VM"
finish
