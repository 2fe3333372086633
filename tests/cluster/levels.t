#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Nodes that are lost with their images: four VMs, each with an image directory and a store of its
# own, and all levels: L2 the next node, L3 groups of 2+2 (n1 and n3, n2 and n4, each held by the
# other two), L4 a directory that all see. An MPI job over n1 and n3, and one of n1 alone. n1 is
# lost: restarted from L2; n1 and its partner n2: from L3; they and n3, m + 1 of the group: from
# L4. What it computes from there on are the residuals of an uninterrupted run.
#
#   KERNEL=6.1 MPI=mpich tests/cluster/levels.t

. "$(dirname "$0")/../vm/lib.sh"
. "$top/scripts/cluster.sh"
CLUSTER=levels
MPI=${MPI:-mpich}
images=/var/lib/stillpoint/images
CLUSTER_IMAGES=$images
CLUSTER_CONF=('image_dir_shared = no' 'store = /var/lib/stillpoint/store'
	'level.partner = partner' 'level.group = erasure:2+2' \
		"level.disk = posix:$cluster_mnt/disk")
trap cluster_end EXIT
dir=$top/build/cluster-levels
iterations=5000
ON_TIMEOUT=$((600 * VM_SLOW))

if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP must be root'
	exit 0
fi
declare -A compiler=([ompi]=mpicc.openmpi [mpich]=mpicc.mpich)
rm -rf "$dir"
cluster_make "$dir" 4 || exit 1
mkdir -m 700 "$dir/shared/disk"
"${compiler[$MPI]}" -O2 -o "$dir/shared/poisson" "$top/examples/poisson.c" -lm || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
case $MPI in
ompi) mpiexec.openmpi --oversubscribe -n 2 "$dir/shared/poisson" 64 $iterations ;;
mpich) mpiexec.mpich -n 2 "$dir/shared/poisson" 64 $iterations ;;
esac >"$dir/want" 2>"$dir/want.err" || exit 1

boots() {
	node_up "$1" --cpus 1 --quiet
}

# what job $2 has written on node $1, in lines; what was written before that node had it are zeros
lines() { on "$1" sh -c "tr -d '\\0' <$images/$2/stdout | wc -l" 2>/dev/null || echo 0; }

gets_on() {
	local seen at _
	seen=$(lines "$1" "$2")
	for _ in $(seq $((300 * VM_SLOW))); do
		at=$(lines "$1" "$2")
		[ "$at" -lt $((seen + 4)) ] || return 0
		sleep 0.5
	done
	echo "it stands still at $at"
	tail -n 12 "$dir"/shared/n?.log
	return 1
}

# NODE COMMAND...: succeeds within some tries, as an admin would try again
again() {
	local node=$1 said _
	shift
	for _ in 1 2 3 4; do
		said=$(on "$node" "$@" 2>&1) && break
		sleep 2
	done || { echo "$said"; tail -n 12 "$dir"/shared/n?.log; return 1; }
	echo "$said"
}

# on which levels a node has generation 1 of job $2
levels() {
	on "$1" ckptctl list "$2" --json | python3 -c 'import json, sys
for row in json.load(sys.stdin)["result"]["jobs"][0]["generations"]:
    print(*[level["level"] for level in row["levels"] if level["state"] == "here"])'
}

comes_to_all() {
	local _
	for _ in $(seq $((120 * VM_SLOW))); do
		[ "$(levels 1 "$1")" = 'L1 partner group disk' ] && return
		sleep 2
	done
	levels 1 "$1"
	tail -n 12 "$dir"/shared/n?.log
	return 1
}

# JOB WHERE RESTART...: restarted on n4, with an image had from there
restarts() {
	local job=$1 where=$2
	shift 2
	again 4 ckptctl restart "$@" --node-lost >"$dir/said" || { cat "$dir/said"; return 1; }
	cat "$dir/said" "$dir/shared/n4.log" >"$dir/both"
	grep -q "$where" "$dir/both" || { cat "$dir/both"; return 1; }
	gets_on 4 "$job"
}

# it ends there, and n4 is a node that has never seen it
ends_and_goes() {
	on 4 ckptctl kill 1 KILL
	on 4 ckptctl wait 1
	on 4 sh -c "rm -rf $images/1 && : >$cluster_mnt/n4.log"
}

# what was written before the checkpoint is on no level; zeros are in its place
goes_on_from_zeros() {
	python3 -c 'import sys
got, want = (open(name, "rb").read() for name in sys.argv[1:])
rest = got.lstrip(b"\0")
at = len(got) - len(rest)
sys.exit(at == 0 or rest.count(b"\n") < 4 or want[at:at + len(rest)] != rest)' \
		"$dir/got" "$dir/want"
}

parts_of() { on "$1" sh -c "cd $images/1/gen-1 && ls -d node-*"; }

for k in 1 2 3 4; do
	ok "node $k boots" boots $k
done
ok 'n1 knows the others' node_knows 1 2 3 4
ok 'n3, too' node_knows 3 1 2 4
ok 'n4, too' node_knows 4 1 2 3
ok 'a job of two ranks starts on n1 and n3' on 1 ckptrun -n 2 --hosts n1,n3 --detach \
	$cluster_mnt/poisson 64 $iterations 200
# shellcheck disable=SC2016
ok 'and one on n1 alone' on 1 ckptctl run --detach -- \
	sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); echo $i; sleep 0.3; done'
ok 'it computes' gets_on 1 1
ok 'a checkpoint of the first' again 1 ckptctl checkpoint 1
ok 'of the second, which has the next of the numbers of n1' again 1 ckptctl checkpoint 5
is 'n1 has its image' "$(parts_of 1)" node-0
is 'n3 has its own' "$(parts_of 3)" node-1
ok 'it computes on' gets_on 1 1
ok 'both parts of the first come to all levels' comes_to_all 1
ok 'the second comes to all levels' comes_to_all 5

node_off 1
ok 'L2: n1 is lost; restarted on n4 and n3, from the partner of n1' \
	restarts 1 'image \(0\|of node n1\): fetched from level partner' 1 --nodes n4,n3
is 'n3 has what it had' "$(parts_of 3)" node-1
is 'n4 has the other one' "$(parts_of 4)" node-0
ok 'L2: the job of n1 alone, on n4' \
	restarts 5 'generation 1: fetched from level partner' 5
ok 'that one ends' on 4 ckptctl kill 5 KILL

ends_and_goes >"$dir/ends" 2>&1
node_off 2
ok 'L3: n1 and its partner n2 are lost; restarted on n4 and n3, rebuilt from'\
' the image of n3 and parity' \
	restarts 1 'image \(0\|of node n1\): fetched from level group' 1:1 --nodes n4,n3

ends_and_goes >"$dir/ends" 2>&1
ok 'n3: the kernel has nothing to say' node_check 3
node_off 3
ok 'another machine takes the place of n1' boots 1
ok 'n4 knows it' node_knows 4 1
ok 'L4: n1, n2 and n3 are lost; restarted on n4 and n1, from the directory' \
	restarts 1 'image \(0\|of node n1\): fetched from level disk' 1:1 --nodes n4,n1
on 4 ckptctl kill 1 KILL
on 4 cat $images/1/stdout >"$dir/got"
ok 'the residuals from the checkpoint on are those of an uninterrupted run' goes_on_from_zeros
for k in 1 4; do
	ok "n$k: the kernel has nothing to say" node_check $k
done
[ $failed -eq 0 ] || tail -n 30 "$dir"/shared/n?.log | sed 's/^/# /'
echo "1..$n"
[ $failed -eq 0 ]
