#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# MPI test programs (tests/mpi/programs, tests/mpi/cuts), checkpointed and restarted as jobs in
# the VM by tests/mpi/run-cr. Their output must be that of a run with the library alone, on the
# host.
#
#   KINDS='mpich ompi' RANKS=2 FLAVOURS=CTE PROGRAMS='mprobe io_kept' tests/vm/mpi_programs.t
#   MPI_SUBSET=all      every program, with all flavours and both libraries; otherwise those of
#                       $short with C, one library on each kernel (the other one of tests/vm/mpi.t)

. "$(dirname "$0")/lib.sh"

short='callers f08_halo grequests helpers mprobe nbc_across persistent_kept scripted windows'
if [ "${MPI_SUBSET:-}" = all ]; then
	# abort_code and abort_cut end before there is anything to save, and ckptrun spawns none
	: "${PROGRAMS:=$(cd tests/mpi && ls programs/*.{c,cc,f,f90} cuts/*.c |
		sed 's,.*/,,; s,\..*,,' | grep -vx -e abort_code -e abort_cut -e spawn_roots)}"
	: "${FLAVOURS:=CTE}"
fi
case ${MPI_SUBSET:-},$KERNEL in
all,*) : "${KINDS:=mpich ompi}" ;;
*,6.12) : "${KINDS:=mpich}" ;;
*) : "${KINDS:=ompi}" ;;
esac
# shellcheck disable=SC2086
: "${RANKS:=2}" "${PROGRAMS:=$(share $short)}" "${FLAVOURS:=C}"
# of the programs of cuts/; the same in the VM
export CUT_ROUNDS=${CUT_ROUNDS:-10}
vm_ready
for kind in $KINDS; do
	# shellcheck disable=SC2086
	ok "$kind: the programs are right with the library alone" tests/mpi/want "$kind" "$RANKS" \
		$PROGRAMS
	share=build/vm/$VM/share
	# shellcheck disable=SC2086
	vm_relay < <(in_vm --timeout $((7200 * VM_SLOW)) --env CUT_ROUNDS="$CUT_ROUNDS" \
		"$top/tests/mpi/run-cr" --kind "$kind" --ranks "$RANKS" --flavours "$FLAVOURS" \
		--slow $((2 * VM_SLOW)) --want "$top/build/mpi/want/$kind" --work /mnt/nvme/mpi-cr \
		$PROGRAMS 2>&1
		echo $? >"$share/mpi_programs.status")
	status=$(cat "$share/mpi_programs.status")
	[ "$status" -le 1 ] || fail "$kind: the runner comes to its end" "status $status"
done
finish
