#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Hangs of MPI jobs that ckptd rolls back by itself: tests/vm/hang_act.sh, which runs in the VM.
#
#   KERNEL=6.1 KINDS='mpich ompi' tests/vm/hang_act.t
#
# One library on each kernel; MPI_SUBSET=all: both.

. "$(dirname "$0")/lib.sh"
case ${MPI_SUBSET:-},$KERNEL in
all,*) : "${KINDS:=mpich ompi}" ;;
*,6.12) : "${KINDS:=ompi}" ;;
*) : "${KINDS:=mpich}" ;;
esac
declare -A cc=([mpich]=mpicc.mpich [ompi]=mpicc.openmpi)
vm_ready
for kind in $KINDS; do
	mkdir -p "build/mpi/diagnose/$kind"
	ok "$kind: the program is built" "${cc[$kind]}" -O1 -g -w \
		-o "build/mpi/diagnose/$kind/hang" tests/mpi/hang.c
	status=build/vm/$VM/share/hang_act.status
	vm_relay < <(in_vm --timeout $((900 * VM_SLOW)) --env VM_SLOW="$VM_SLOW" \
		"$top/tests/vm/hang_act.sh" "$kind" "/mnt/nvme/hang_act.$kind" 2>&1
		echo $? >"$status")
	[ "$(cat "$status")" = 0 ] || fail "$kind: the test comes to its end" "$(cat "$status")"
done
finish
