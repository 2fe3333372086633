#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# MPI jobs that are checkpointed at the worst of times: tests/vm/mpi_badluck.py, which runs in
# the VM.
#
#   KINDS='mpich openmpi' ONLY='leaves periodic' tests/vm/mpi_badluck.t
#   MPI_SUBSET=all      all of it, with both libraries: a quarter of an hour for each

. "$(dirname "$0")/lib.sh"
if [ "${MPI_SUBSET:-}" = all ]; then
	: "${KINDS:=mpich openmpi}" "${ONLY:=all}"
fi
: "${KINDS:=mpich}"
: "${ONLY:=receives apart leaves not_in_mpi without_glue two_at_once daemon_dies_waiting}"
vm_ready
mkdir -p build/examples
for kind in $KINDS; do
	to=build/examples/badluck.$KERNEL.$kind
	mkdir -p "$to"
	ok "$kind: programs are built" sh -ec '
		mpicc.$0 -O2 -o "$1/poisson" examples/poisson.c -lm
		mpicc.$0 -O2 -o "$1/badluck" tests/mpi/badluck/badluck.c
		mpicc.$0 -O2 -o "$1/colls" tests/mpi/cuts/colls.c' "$kind" "$to"
	words=
	for word in $ONLY; do
		[ "$word" = all ] && words+=,_$kind || words+=,${word}_$kind
	done
	DAEMON_ARGS="--only ${words#,}" vm_program mpi_badluck
done
finish
