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
declare -A soname=([mpich]=libmpi.so.12 [openmpi]=libmpi.so.40)
declare -A system=([mpich]=libmpich.so.12 [openmpi]=libmpi.so.40)

# own KIND PROGRAM: the example with a copy of the library in PROGRAM.mpi, found by RPATH
own() {
	local kind=$1 dir=$2.mpi name=${soname[$1]}
	rm -rf "$dir" && mkdir "$dir" &&
		cp "$(realpath "/usr/lib/x86_64-linux-gnu/${system[$kind]}")" "$dir/$name" &&
		patchelf --set-soname "$name" "$dir/$name" &&
		"mpicc.$kind" -O2 -c -o "$dir/poisson.o" examples/poisson.c &&
		cc -o "$2.own" "$dir/poisson.o" "$dir/$name" -lm -Wl,-rpath,"$dir"
}

for kind in $KINDS; do
	program=$top/build/examples/poisson.$KERNEL.$kind
	ok "$kind: the example is built" "mpicc.$kind" -O2 -o "$program" examples/poisson.c -lm
	ok "$kind: and with a library of its own" own "$kind" "$program"
	share=build/vm/$VM/share
	vm_relay < <(in_vm --timeout $((300 * VM_SLOW)) --env VM_SLOW="$VM_SLOW" \
		"$top/tests/vm/mpi.sh" "$kind" "$RANKS" \
		"$program" "/mnt/nvme/mpi.$kind" 2>&1
		echo $? >"$share/mpi.status")
	status=$(cat "$share/mpi.status")
	[ "$status" = 0 ] || fail "$kind: the test comes to its end" "status $status"
done
finish
