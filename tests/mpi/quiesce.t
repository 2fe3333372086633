#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs of tests/mpi/programs and tests/mpi/cuts under checkpoints without a checkpoint: every few
# milliseconds the job is quiesced, drained and let go, or given new lower halves in place. The
# output is that of a run with the library alone. MPICH, as restarts need tests/mpi/pmi1.
#
#   MODES='go restart' INTERVAL=20 RANKS=2 PROGRAMS='waits types' tests/mpi/quiesce.t

. "$(dirname "$0")/lib.sh"

: "${MODES:=go restart}" "${INTERVAL:=20}" "${RANKS:=2}" "${MAX:=1000}"
: "${PROGRAMS:=drained probes persists colls}"
glue=$top/build/lib/mpi/mpich/libmpich.so.12
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() {
	local name=$1 out=$top/build/mpi/programs/mpich/$1 src
	for src in "$top/tests/mpi/cuts/$name.c" "$top/tests/mpi/programs/$name.c"; do
		[ -e "$src" ] && break
	done
	[ -x "$out" ] && [ "$out" -nt "$src" ] && return
	mkdir -p "${out%/*}"
	mpicc.mpich -O1 -g -w -pthread -o "$out" "$src"
}

# each rank: its page, its place in the job, the glue
# shellcheck disable=SC2016
rank='export CKPT_STATUS=$1/$PMI_RANK_OF_TEST PMI_ID=$PMI_RANK_OF_TEST LD_PRELOAD=$2; exec "$3"'

cut() {
	local mode=$1 name=$2 program=$top/build/mpi/programs/mpich/$2
	build "$name" || return
	mkdir -p "$work/pages"
	(cd "$work" && job mpich "$RANKS" "$program" | sort >"$work/direct") || return
	(cd "$work" && timeout -k 2 120 "$bin/quiesce" "$work/pages" "$RANKS" "$INTERVAL" "$mode" \
		"$MAX" "$top/tests/mpi/pmi1" "$RANKS" sh -c "$rank" - "$work/pages" "$glue" \
		"$program" >"$work/out" 2>"$work/err") || { cat "$work/err"; return 1; }
	sort "$work/out" | diff "$work/direct" - || { cat "$work/err"; return 1; }
	grep -q '^# [1-9].* cuts' "$work/err" || { cat "$work/err"; return 1; }
}

for mode in $MODES; do
	for name in $PROGRAMS; do
		ok "$mode: $name with $RANKS ranks" cut "$mode" "$name"
	done
done
finish
