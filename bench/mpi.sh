#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench/mpi.sh: what the glue adds to MPI calls, on this machine, no VM. The library alone and the
# library through the glue take turns RUNS times; a figure is the least of a run, a ratio the
# median of the runs' ratios. The goals are of docs/decisions/0058-cost-goals-of-the-glue.md.
#
# With INTERRUPTIBLE=1 a third takes part, in collectives: the glue with interruptible ones. With
# TRANSPORT=tcp messages go through TCP on the loopback interface instead of shared memory; then
# one-sided calls are left out, as MPICH 4.0.2 alone makes no windows there.
#
# Environment: RUNS (5), KINDS ('mpich ompi'), METRICS (of mpi_rates.c; all), INTERRUPTIBLE,
# TRANSPORT.

set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
RUNS=${RUNS:-5}
KINDS=${KINDS:-mpich ompi}
read -ra metrics <<<"${METRICS:-}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
declare -A glue=([mpich]=$top/build/lib/mpi/mpich/libmpich.so.12
	[ompi]=$top/build/lib/mpi/ompi/libmpi.so.40)
declare -A cc=([mpich]=mpicc.mpich [ompi]=mpicc.openmpi)

case ${TRANSPORT:=shared} in
shared) over=() ;;
tcp) over=(UCX_TLS=tcp,self UCX_NET_DEVICES=lo MPIR_CVAR_NOLOCAL=1
	OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo)
	[ ${#metrics[@]} -gt 0 ] || metrics=(latency-8B latency-1KB latency-1MB message-8B barrier
		allreduce-8B iprobe) ;;
*) echo "mpi: TRANSPORT is shared or tcp" >&2; exit 2 ;;
esac

pair() {
	local kind=$1
	shift
	case $kind in
	mpich) env "${over[@]}" timeout 120 mpiexec.mpich -n 2 "$@" ;;
	ompi) env "${over[@]}" timeout 120 mpirun.openmpi --allow-run-as-root --oversubscribe \
		--bind-to none --mca mpi_yield_when_idle 0 -n 2 "$@" ;;
	esac
}

for kind in $KINDS; do
	"${cc[$kind]}" -O2 -w -D_GNU_SOURCE -o "$work/$kind" "$top/bench/mpi_rates.c"
	for ((run = 1; run <= RUNS; run++)); do
		pair "$kind" "$work/$kind" "${metrics[@]}" | sed "s/^/$kind $run direct /"
		pair "$kind" env LD_PRELOAD="${glue[$kind]}" "$work/$kind" "${metrics[@]}" |
			sed "s/^/$kind $run glue /"
		[ -z "${INTERRUPTIBLE:-}" ] || pair "$kind" env LD_PRELOAD="${glue[$kind]}" \
			CKPT_COLLECTIVES=interruptible "$work/$kind" barrier allreduce-8B |
			sed "s/^/$kind $run interruptible /"
	done
done >"$work/rows"
echo "$TRANSPORT, load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) CPUs"
python3 - "$work/rows" <<'PYTHON'
import statistics
import sys
rows = {}
for line in open(sys.argv[1]):
    kind, run, way, metric, value, _ = line.split()
    rows.setdefault((kind, metric), {}).setdefault(way, {})[run] = float(value)
print('| library | | direct, ns | glue, ns | ratio (median) | ratio (of the best) |\n'
      '|---|---|---|---|---|---|')
for (kind, metric), ways in rows.items():
    direct = ways.get('direct')
    if not direct:
        continue
    for way in ('glue', 'interruptible'):
        if way not in ways:
            continue
        glue, name = ways[way], metric if way == 'glue' else f'{metric}, {way}'
        ratios = [glue[r] / direct[r] for r in direct if r in glue]
        print(f'| {kind} | {name} | {min(direct.values()):.1f} | {min(glue.values()):.1f} | '
              f'{statistics.median(ratios):.2f} | '
              f'{min(glue.values()) / min(direct.values()):.2f} |')
PYTHON
