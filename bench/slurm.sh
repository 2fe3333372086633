#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench/slurm.sh: overhead of Slurm's plugin on `srun true`, as a step of an allocation and as a job
# of its own: without the plugin, with it, and with it and --ckpt=yes, in turn. Slurm is that of
# tests/slurm/bed, of one node, in namespaces of this machine: nothing is saved, so no module is
# needed, and nothing of the machine's own Slurm is touched.
#
# Environment: RUNS (30 of each). Rows stay in build/bench/slurm-DATE. As root.

set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
RUNS=${RUNS:-30}
dir=${2:-$top/build/bench/slurm-$(date +%Y%m%d-%H%M%S)}
conf=/etc/slurm/plugstack.conf

# once KIND MODE: a row "KIND MODE microseconds"
once() {
	local began kind=$1 mode=$2 options=()
	[ "$kind" = job ] || options=(--overlap)
	[ "$mode" != ckpt ] || options+=(--ckpt=yes)
	if [ "$mode" = none ]; then : >$conf; else cp "$dir/plugin" $conf; fi
	# what was before has left its processor
	sleep 0.5
	began=${EPOCHREALTIME/./}
	srun -n1 "${options[@]}" true
	echo "$kind $mode $((${EPOCHREALTIME/./} - began))"
}
# measure KIND: rows, after a first time that fills caches; each mode is the first in turn
measure() {
	local i j modes=(none plugin ckpt)
	[ -s "$dir/plugin" ] || cp $conf "$dir/plugin"
	for ((i = 0; i <= RUNS; i++)); do
		for j in 0 1 2; do
			once "$1" ${modes[(i + j) % 3]}
		done
	done | tail -n +4
}
# Our own /etc, /usr/sbin, /run, /home, /var/log and /var/lib/munge, and Slurm there.
inside() {
	local own path
	mount --make-rprivate /
	own=$(mktemp -d)
	mount -t tmpfs bench "$own"
	for path in /etc /usr/sbin; do
		mkdir -p "$own$path"
		cp -a "$path/." "$own$path"
		mount --bind "$own$path" $path
	done
	for path in /run /home /var/log /var/lib/munge; do
		mkdir -p "$own$path"
		mount --bind "$own$path" $path
	done
	BED_GROUPS=no tests/slurm/bed start "$own/bed"
	export -f once measure
	export RUNS dir conf
	salloc --quiet -n1 bash -euc 'measure step' >"$dir/rows"
	measure job >>"$dir/rows"
	tests/slurm/bed stop "$own/bed"
}
if [ $# -gt 0 ] && [ "$1 $$" != 'inside 1' ]; then
	echo 'usage: RUNS=30 bench/slurm.sh' >&2
	exit 2
fi
if [ $# -gt 0 ]; then
	inside
	exit
fi

mkdir -p "$dir"
unshare --mount --net --uts --ipc --pid --fork --mount-proc "$0" inside "$dir"
echo "load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) CPUs" | tee "$dir/machine"
python3 - "$dir/rows" <<'PYTHON' | tee "$dir/table.md"
import statistics
import sys
rows = {}
with open(sys.argv[1]) as f:
    for kind, mode, us in (line.split() for line in f):
        rows.setdefault((kind, mode), []).append(int(us) / 1000)
print('| srun true | runs | of them | no plugin, ms | plugin | ratio | --ckpt=yes | ratio |\n' +
      8 * '|---' + '|')
for kind in ('step', 'job'):
    # the tenth percentile is what a machine with other work has nearly to itself
    for name, tenth in (('median', 4), ('tenth percentile', 0)):
        none, plugin, ckpt = (statistics.quantiles(rows[kind, mode], n=10)[tenth]
                              for mode in ('none', 'plugin', 'ckpt'))
        print(f'| {kind} | {len(rows[kind, "none"])} | {name} | {none:.0f} | {plugin:.0f} | '
              f'{plugin / none:.2f} | {ckpt:.0f} | {ckpt / none:.2f} |')
PYTHON
