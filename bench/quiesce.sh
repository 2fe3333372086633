#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench/quiesce.sh: from the request of a checkpoint to the resumed job, 8 ranks on 3 nodes, and
# beside it what a barrier of all ranks takes on the same network at the same time; then a restart
# by its phases, as ckptctl(1) has them (the images are shared, so nothing is fetched). Nodes are
# emulated VMs on one machine: the ratio counts, not the times.
#
# Environment: KERNEL (6.1), RUNS (5 checkpoints), KINDS ('mpich ompi'). Rows stay in
# build/bench/quiesce-KERNEL-DATE.

set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
KERNEL=${KERNEL:-6.1}
RUNS=${RUNS:-5}
KINDS=${KINDS:-mpich ompi}
CLUSTER=bench-quiesce
. scripts/cluster.sh
dir=$top/build/bench/quiesce-$KERNEL-$(date +%Y%m%d-%H%M%S)
declare -A cc=([mpich]=mpicc.mpich [ompi]=mpicc.openmpi)

cluster_make "$dir" 3
trap cluster_end EXIT
for k in 1 2 3; do
	node_up $k
done
job=0
for kind in $KINDS; do
	job=$((job + 1))
	"${cc[$kind]}" -O2 -o "$dir/shared/steps-$kind" bench/mpi_steps.c
	on 1 ckptrun -n 8 --map 0-2:n1,3-5:n2,6-7:n3 --detach "$cluster_mnt/steps-$kind" 1000000 5
	log=$dir/shared/images/$job/stdout
	until [ "$(wc -l <"$log" 2>/dev/null || echo 0)" -ge 5 ]; do sleep 0.5; done
	for run in $(seq "$RUNS"); do
		on 1 ckptctl checkpoint "$job" --json >"$dir/$kind-checkpoint-$run.json"
		at=$(wc -l <"$log")
		until [ "$(wc -l <"$log")" -ge $((at + 3)) ]; do sleep 0.2; done
	done
	on 1 ckptctl checkpoint "$job" --kill --json >"$dir/$kind-last.json"
	began=$(date +%s%N)
	at=$(wc -l <"$log")
	on 1 ckptctl restart "$job" --json >"$dir/$kind-restart.json"
	up=$(date +%s%N)
	until [ "$(wc -l <"$log")" -gt "$at" ]; do sleep 0.05; done
	echo "$kind $(((up - began) / 1000000)) $((($(date +%s%N) - up) / 1000000))" \
		>>"$dir/restart"
	grep ^barrier "$log" >"$dir/$kind-barriers"
	on 1 ckptctl kill "$job" KILL
done
echo "kernel $KERNEL, load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) CPUs for three nodes" |
	tee "$dir/machine"
python3 - "$dir" $KINDS <<'PYTHON' | tee "$dir/table.md"
import glob
import json
import statistics
import sys
where, kinds = sys.argv[1], sys.argv[2:]
print('| library | runs | barrier, ms | quiesce, ms | quiesce / barrier | freeze, ms | '
      'snapshot, ms | thaw, ms | pause, ms | durable, ms |\n' + 10 * '|---' + '|')
for kind in kinds:
    runs = []
    for name in glob.glob(f'{where}/{kind}-checkpoint-*.json'):
        with open(name) as f:
            runs.append(json.load(f)['result'])
    with open(f'{where}/{kind}-barriers') as f:
        barrier = statistics.median(float(line.split()[2]) for line in f) / 1e6

    def ms(key):
        return statistics.median(r[key] for r in runs) / 1e6
    print(f'| {kind} | {len(runs)} | {barrier:.1f} | {ms("quiesce_ns"):.0f} | '
          f'{ms("quiesce_ns") / barrier:.1f} | {ms("freeze_ns"):.2f} | {ms("clone_ns"):.2f} | '
          f'{ms("thaw_ns"):.1f} | {ms("pause_ns"):.1f} | {ms("total_ns"):.0f} |')
print('\n| library | tried, ms | restored, ms | of it memory, ms | ranks up, ms | '
      'request to running, ms | ckptctl, ms | then to the first progress, ms |\n'
      + 8 * '|---' + '|')
with open(f'{where}/restart') as f:
    for line in f:
        kind, up, first = line.split()
        with open(f'{where}/{kind}-restart.json') as g:
            took = json.load(g)['result']
        phases = ' | '.join(f'{took[key] / 1e6:.0f}' for key in (
            'try_ns', 'restore_ns', 'memory_ns', 'ranks_ns', 'total_ns'))
        print(f'| {kind} | {phases} | {up} | {first} |')
PYTHON
