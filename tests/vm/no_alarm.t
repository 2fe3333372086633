#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# No false alarm of the diagnosis: tests/vm/no_alarm.sh, both libraries at once.
#
#   KERNEL=6.1 KINDS='mpich ompi' ALARM_SECONDS=7200 tests/vm/no_alarm.t

. "$(dirname "$0")/lib.sh"

: "${KINDS:=mpich ompi}" "${ALARM_SECONDS:=90}"
vm_ready
for kind in $KINDS; do
	declare -A cc=([mpich]=mpicc.mpich [ompi]=mpicc.openmpi)
	mkdir -p "build/mpi/diagnose/$kind"
	ok "$kind: the program is built" "${cc[$kind]}" -O1 -g -w \
		-o "build/mpi/diagnose/$kind/hang" tests/mpi/hang.c
done
status=build/vm/$VM/share/no_alarm.status
# shellcheck disable=SC2086 # KINDS are words
vm_relay < <(in_vm --timeout $((ALARM_SECONDS + 600 * VM_SLOW)) \
	--env ALARM_SECONDS="$ALARM_SECONDS" \
	"$top/tests/vm/no_alarm.sh" /mnt/nvme/no_alarm $KINDS 2>&1
	echo $? >"$status")
[ "$(cat "$status")" = 0 ] || fail "the test comes to its end" "$(cat "$status")"
finish
