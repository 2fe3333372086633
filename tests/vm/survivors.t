#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Rollback of an MPI job whose ranks stay: tests/vm/survivors.sh, which runs in the VM.
#
#   KINDS='mpich openmpi' RANKS=2 tests/vm/survivors.t
#
# One library on each kernel; MPI_SUBSET=all: both.

. "$(dirname "$0")/lib.sh"
case ${MPI_SUBSET:-},$KERNEL in
all,*) : "${KINDS:=mpich openmpi}" ;;
*,6.12) : "${KINDS:=openmpi}" ;;
*) : "${KINDS:=mpich}" ;;
esac
: "${RANKS:=2}"
vm_ready
mkdir -p build/examples
for kind in $KINDS; do
	program=$top/build/examples/survivors.$KERNEL.$kind
	ok "$kind: the example is built" "mpicc.$kind" -O2 -o "$program" examples/poisson.c -lm
	share=build/vm/$VM/share
	vm_relay < <(in_vm --timeout $((300 * VM_SLOW)) --env VM_SLOW="$VM_SLOW" \
		"$top/tests/vm/survivors.sh" "$kind" "$RANKS" "$program" \
		"/mnt/nvme/survivors.$kind" 2>&1
		echo $? >"$share/survivors.status")
	status=$(cat "$share/survivors.status")
	[ "$status" = 0 ] || fail "$kind: the test comes to its end" "status $status"
done
finish
