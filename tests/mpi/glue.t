#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs of tests/mpi/programs, each with the library alone and through the glue: exit code and
# output must be the same, and the program's own checks must hold.
#
#   KINDS='mpich ompi' RANKS='2 3' PROGRAMS='waits types' tests/mpi/glue.t
#   MPI_SUBSET=long     all programs, with 2 to 4 ranks; otherwise those of $short, with 2

. "$(dirname "$0")/lib.sh"

here=$top/tests/mpi/programs
short='abort_code asked_again attr_order attr_threads attributes cancel_threads collectives comms
	cplusplus errhandler_threads
	errors f08_weights f77_kept files free_apart fortran fortran_doors fortran_f08
	fortran_objects grequest_f grequests handles io_waits
	icollectives new_requests not_so_usual one_sided p2p_modes passive persistent predefined
	probe
	sessions spawn_roots threads tool_objects topologies types user_ops wait_errors wait_failed
	waits waits_mixed'
if [ "${MPI_SUBSET:-}" = long ]; then
	: "${RANKS:=2 3 4}"
	: "${PROGRAMS:=$(cd "$here" && ls -- *.c *.cc *.f *.f90 | sed 's/\..*//')}"
fi
: "${KINDS:=mpich ompi}" "${RANKS:=2}" "${PROGRAMS:=$short}"
declare -A glue=([mpich]=$top/build/lib/mpi/mpich/libmpich.so.12
	[ompi]=$top/build/lib/mpi/ompi/libmpi.so.40)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# standard output, sorted; the exit code last. What the program says of failures stays visible.
run() {
	local kind=$1 ranks=$2 preload=$3 name=$4 rc=0
	(cd "$work" && job "$kind" "$ranks" env ${preload:+LD_PRELOAD="$preload"} \
		"$top/build/mpi/programs/$kind/$name") >"$work/out" 2>"$work/err" || rc=$?
	grep -av '^ *$' "$work/out" |
		grep -av '^=\|PID [0-9]\|BAD TERM\|EXIT \|YOU CAN\|CLEAN\|^--' |
		sort
	echo "exit $rc"
}

# A launcher's own remarks on an abort differ, and it may lose what was said just before; else the
# exit code and the program's words count.
words() {
	[ "$name" != abort_code ] || { grep '^exit' "$1"; return; }
	grep -a 'ranks\|checks\|bad\|deleted\|finalized\|abort\|residual\|^exit' "$1"
}

same() {
	local kind=$1 ranks=$2 name=$3
	build "$kind" "$name" || return
	run "$kind" "$ranks" '' "$name" >"$work/direct"
	run "$kind" "$ranks" "${glue[$kind]}" "$name" >"$work/glued"
	words "$work/direct" >"$work/direct.words"
	words "$work/glued" >"$work/glued.words"
	if ! diff "$work/direct.words" "$work/glued.words" || grep -q 'exit [^01]' "$work/err" ||
	   { [ "$name" != abort_code ] && ! grep -q '^exit 0' "$work/glued"; }; then
		head -20 "$work/err"
		return 1
	fi
}

for kind in $KINDS; do
	[ -e "${glue[$kind]}" ] || continue
	for name in $PROGRAMS; do
		for ranks in $RANKS; do
			some_ok "$kind: $name with $ranks ranks" same "$kind" "$ranks" "$name"
		done
	done
done
finish
