#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Allocations of the module that fail, one at a time (tests/kselftest/ckptfail), and commands that
# nobody sane would give. Captures say themselves that each failure is told of
# (capture_fail.c). Of restores no run may pass in which an allocation failed; one that waits for
# somebody who failed is killed, which must leave nothing behind either.

. "$(dirname "$0")/lib.sh"
vm_ready || { echo "Bail out! no VM"; exit 1; }

tests=$top/build/bin/tests/kselftest
for f in "$tests/capture_test" "$tests/restore_test" "build/kmod/$KERNEL/ckptfail.ko"; do
	[ -e "$f" ] || { echo "Bail out! no $f: run make"; exit 1; }
done

# shellcheck disable=SC2016
sweep='P=/sys/module/ckptfail/parameters
echo 0 >$P/fail_at; echo 0 >$P/count
"$1" "$2" >/dev/null || { echo "$2 fails by itself"; exit 1; }
n=$(cat $P/count); passed=0; i=1
while [ $i -le $n ]; do
	hits=$(cat $P/hits)
	echo 0 >$P/count; echo $i >$P/fail_at
	timeout -s KILL "$3" "$1" "$2" >/tmp/sweep.out 2>&1
	rc=$?
	echo 0 >$P/fail_at
	if [ $rc = 0 ] && [ "$(cat $P/hits)" != "$hits" ]; then
		echo "passes although $(cat $P/where) failed"
		passed=$((passed + 1))
	fi
	i=$((i + 1))
done
echo "$n allocations"
[ $n -gt 10 ] && [ $passed = 0 ]'

ok_vm "ckptfail goes in" insmod "$top/build/kmod/$KERNEL/ckptfail.ko"
ok_vm "each allocation of a capture" --env VM_SLOW="$VM_SLOW" "$tests/capture_test" fail_nth
grep -E '^(not ok|# )' <<<"$out" | sed 's/^/# /'
for part in one files signals; do
	ok_vm "each allocation of a restore: $part" --timeout $((300 * VM_SLOW)) \
		sh -c "$sweep" sh "$tests/restore_test" "$part" $((3 * VM_SLOW))
	diag "$out"
done
ok_vm "ckptfail goes out" rmmod ckptfail
ok_vm "a restore after all that" "$tests/restore_test" one
ok_vm "odd commands" --timeout $((120 * VM_SLOW)) --env VM_SLOW="$VM_SLOW" \
	"$tests/capture_test" fuzz
grep -E '^(not ok|# )' <<<"$out" | sed 's/^/# /'
ok_vm "the module goes out" sh -c "$module_goes"
ok "and in again" scripts/vm insmod "$VM"
finish
