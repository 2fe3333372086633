#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench/mpi_call.sh [DIR...]: nanoseconds of the cheapest calls (bench/mpi_call.c), by the library
# alone, through the glue, and through the glue of other builds, in the build directories DIR. All
# take turns RUNS times, and the least counts.
#
# Environment: RUNS (5), KINDS ('mpich ompi').

set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
declare -A cc=([mpich]=mpicc.mpich [ompi]=mpicc.openmpi)
declare -A library=([mpich]=libmpich.so.12 [ompi]=libmpi.so.40)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

for kind in ${KINDS:-mpich ompi}; do
	"${cc[$kind]}" -O2 -w -o "$work/call" "$top/bench/mpi_call.c"
	for ((run = 0; run < ${RUNS:-5}; run++)); do
		echo "$kind direct $(timeout 120 "$work/call")"
		for dir in "$top/build" "$@"; do
			echo "$kind $dir $(LD_PRELOAD=$dir/lib/mpi/$kind/${library[$kind]} \
				timeout 120 "$work/call")"
		done
	done
done | awk '{
	way = $1 " " $2
	if (!(way in iprobe)) { order[++n] = way; iprobe[way] = $4; test[way] = $6 }
	if ($4 < iprobe[way]) iprobe[way] = $4
	if ($6 < test[way]) test[way] = $6
} END {
	for (i = 1; i <= n; i++)
		printf "%-50s iprobe %6.2f ns  test %6.2f ns\n", order[i], iprobe[order[i]],
			test[order[i]]
}'
