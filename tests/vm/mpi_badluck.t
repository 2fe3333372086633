#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# MPI jobs that are checkpointed at the worst of times: tests/vm/mpi_badluck.py, which runs in
# the VM. KINDS='mpich openmpi' says with which libraries.

. "$(dirname "$0")/lib.sh"
: "${KINDS:=mpich openmpi}"
vm_ready
mkdir -p build/examples
for kind in $KINDS; do
	to=build/examples/badluck.$KERNEL.$kind
	mkdir -p "$to"
	ok "$kind: programs are built" sh -ec '
		mpicc.$0 -O2 -o "$1/poisson" examples/poisson.c -lm
		mpicc.$0 -O2 -o "$1/badluck" tests/mpi/badluck/badluck.c
		mpicc.$0 -O2 -o "$1/colls" tests/mpi/cuts/colls.c' "$kind" "$to"
	DAEMON_ARGS="--only _$kind" vm_program mpi_badluck
done
finish
