#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# An MPI job on one node, checkpointed and restarted: tests/vm/mpi.sh, which runs in the VM.
#
#   KINDS='mpich openmpi' RANKS=2 tests/vm/mpi.t
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
	program=$top/build/examples/poisson.$KERNEL.$kind
	ok "$kind: the example is built" "mpicc.$kind" -O2 -o "$program" examples/poisson.c -lm
	share=build/vm/$VM/share
	vm_relay < <(in_vm --timeout $((300 * VM_SLOW)) --env VM_SLOW="$VM_SLOW" "$top/tests/vm/mpi.sh" "$kind" "$RANKS" \
		"$program" "/mnt/nvme/mpi.$kind" 2>&1
		echo $? >"$share/mpi.status")
	status=$(cat "$share/mpi.status")
	[ "$status" = 0 ] || fail "$kind: the test comes to its end" "status $status"
done
finish
