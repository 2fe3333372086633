#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The matrix of faults of ckptctl diag over three VMs, with both libraries and the kernel module:
# faults of a rank, of the program, of ckptd, of a node, of the network and of a disk. The verdict,
# its cause, the suspects and their node have to be right; times from the fault and from the
# question to the verdict are printed. What is only slow must not be called a hang.
#
#   KERNEL=6.1 KINDS='mpich ompi' tests/cluster/diagnose.t
#   KERNEL=6.1 ONLY='ompi: d*' tests/cluster/diagnose.t      cases whose names match

. "$(dirname "$0")/../vm/lib.sh"
. "$top/scripts/cluster.sh"
. "$top/tests/mpi/verdicts.sh"
if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP must be root'
	exit 0
fi
CLUSTER=diagnose-$$
: "${KINDS:=mpich ompi}"
# a lost node last: it has to boot again
: "${WAYS:=stop sleep loop operation request miss other receive any circle slow lossy killed oom \
	disk dropped cut daemon off}"
dir=$top/build/cluster/$CLUSTER
work=$dir/work
module=true NEVER=6 SLOW=$VM_SLOW
# where files of the job are, in the VMs
there=$cluster_mnt/work
disk=/mnt/suspended
trap 'cluster_end; rm -rf "$dir" "$top/build/vm/$CLUSTER"-n*' EXIT

home() { on 1 timeout -k 2 $((100 * VM_SLOW)) ckptctl "$@"; }

# node 2 has a disk behind the device mapper
boot() {
	local options=()
	[ "$1" != 2 ] || options=(--disk "$dir/disk,size=256M")
	node_up "$1" "${options[@]}" || return
	[ "$1" != 2 ] || on 2 sh -c "modprobe dm-mod && mkdir -p $disk &&
		dmsetup --noudevsync create slow --table \
			\"0 \$(cat /sys/block/nvme0n1/size) linear /dev/nvme0n1 0\" &&
		dmsetup mknodes && mount /dev/mapper/slow $disk"
}
meet() {
	local _
	for _ in $(seq $((60 * VM_SLOW))); do
		home nodes >"$work/nodes" 2>&1 && return
		sleep 1
	done
	cat "$work/nodes"
	return 1
}

# hangs KIND WAY RANK [OPTION...]: the job's number in $job; $fault is the time of the fault
hangs() {
	local kind=$1 way=$2 rank=$3
	shift 3
	rm -f "$dir/shared/work/go"
	job=$(on 1 env -C $there HANG_SECONDS=$((900 * VM_SLOW)) HANG_RANK="$rank" \
		HANG_FILE=$disk/file HANG_GO=$there/go ckptrun -n 4 --hosts n1,n2,n3 "$@" -d \
		"$cluster_mnt/hang.$kind" "$way")
	output="$dir/shared/images/$job/std* $dir/shared/n?.log"
	for _ in $(seq $((240 * VM_SLOW))); do
		grep -qs begun "$dir/shared/images/$job/stdout" && break
		sleep 0.25
	done
	fault=$(seconds)
}
over() {
	[ -n "$job" ] || return
	home kill "$job" KILL >"$work/over" 2>&1
	home wait "$job" >>"$work/over" 2>&1
	job=''
}

killed() {
	local pid
	pid=$(pid_of 2) && on 2 kill -KILL "$pid" || return
	fault=$(seconds)
	comes_to 'hangs ended 2 - n2'
}
# The rank in a group with little memory: the kernel ends it.
oom() {
	local pid rc=0 _
	pid=$(pid_of 2) && on 2 sh -c 'cd /sys/fs/cgroup && mkdir small &&
		echo 64M >small/memory.max && echo $0 >small/cgroup.procs' "$pid" || return
	touch "$dir/shared/work/go"
	on 2 sh -c 'while [ -d /proc/$0 ]; do sleep 0.1; done' "$pid"
	fault=$(seconds)
	comes_to 'hangs ended 2 - n2' || rc=$?
	on 2 sh -c 'grep -q "^oom_kill [1-9]" /sys/fs/cgroup/small/memory.events &&
		rmdir /sys/fs/cgroup/small' || { echo 'the kernel ended nobody'; rc=1; }
	return $rc
}
# Its disk does not answer: the rank is in D state.
disk() {
	local rc=0
	on 2 dmsetup --noudevsync suspend --nolockfs --noflush slow || return
	fault=$(seconds)
	comes_to 'hangs disk 2 - n2' || rc=$?
	on 2 dmsetup --noudevsync resume slow
	[ $rc = 0 ] || return
	goes_on
}
# goes_on: the fault is over, and so is the hang
goes_on() {
	local _
	for _ in {1..20}; do
		case $(verdict) in runs*) return ;; esac
		sleep 0.5
	done
	cat "$work/report"
	return 1
}
# netem LOSS: packets of the ranks that n2 sends are lost, those of ckptd are not
netem() {
	on 2 sh -c 'modprobe -a sch_netem sch_prio cls_u32 || exit
		tc qdisc add dev eth0 root handle 1: prio \
			priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 &&
		tc qdisc add dev eth0 parent 1:3 handle 30: netem loss "$0" &&
		for side in sport dport; do
			tc filter add dev eth0 parent 1: protocol ip prio 1 u32 \
				match ip protocol 6 0xff match ip $side 7929 0xffff \
				flowid 1:1 || exit
		done
		tc filter add dev eth0 parent 1: protocol ip prio 2 u32 \
			match ip protocol 6 0xff flowid 1:3' "$1"
}
netem_off() { on 2 tc qdisc del dev eth0 root; }
dropped() {
	local rc=0
	netem 100% || return
	fault=$(seconds)
	comes_to 'hangs arrived - - -' &&
		tells 'node n2: .* connections of the job to 10.77.0.[13] get no ack' || rc=$?
	netem_off
	return $rc
}
lossy() {
	local rc=0
	netem 5% || return
	never || rc=$?
	netem_off
	return $rc
}
cut() {
	local rc=0
	on 2 ip link set eth0 down
	fault=$(seconds)
	comes_to 'unknown silent 2 n2 -' && reach_is n2 off || rc=$?
	on 2 ip link set eth0 up
	meet && return $rc
}
# The rank that sleeps on another node is found, and the node without ckptd is named.
daemon() {
	local rc=0
	on 3 sh -c 'pkill -9 -x ckptd; while pgrep -x ckptd >/dev/null; do sleep 0.1; done'
	fault=$(seconds)
	comes_to 'hangs sleeps 1,3 n3 n1' && reach_is n3 no_daemon || rc=$?
	node_daemon 3 && meet && [ $rc = 0 ] && comes_to 'hangs sleeps 1 - n1'
}
off() {
	node_off 2
	fault=$(seconds)
	comes_to 'unknown silent 2 n2 -' && reach_is n2 off
}
back() {
	on 1 ckptctl kill --node-lost "$job" KILL >"$work/over" 2>&1 || over
	job=''
	boot 2 && meet
}

# right WAY: the verdict on the job
right() {
	[ -n "$job" ] || { tail -n 5 "$dir"/shared/n?.log; return 1; }
	case $1 in
	stop) comes_to 'hangs stopped 2 - n2' ;;
	sleep) comes_to 'hangs sleeps 2 - n2' ;;
	loop | operation) loops 2 n2 ;;
	miss | other) comes_to 'hangs differ 2 - n2' ;;
	receive) comes_to 'hangs circle 0,2 - n1' 'hangs circle 2,0 - n2' ;;
	any | request) comes_to 'hangs library 2 - n2' ;;
	circle) comes_to 'hangs circle 0,1,2 - n1' ;;
	slow) never ;;
	*) "$1" ;;
	esac
}

try() {
	local kind=$1 way=$2
	# shellcheck disable=SC2053
	[[ "$kind: $way" = ${ONLY:-*} ]] || return
	rm -f "$work/took"
	case $way in
	killed) hangs "$kind" wait 2 --keep-going ;;
	oom) hangs "$kind" eat 2 --keep-going ;;
	daemon) hangs "$kind" wait 1 ;;
	disk) hangs "$kind" write 2 ;;
	dropped | lossy | cut | off) hangs "$kind" clean 1 ;;
	*) hangs "$kind" "$way" 2 ;;
	esac
	ok "$kind: $way" right "$way"
	[ ! -e "$work/took" ] || sed "s/^/# $kind: $way: /" "$work/took"
	if [ "$way" = off ]; then
		ok "$kind: the node is back" back
	else
		over
	fi
}

mkdir -p "$work"
cluster_make "$dir" 3 || exit 1
for kind in $KINDS; do
	declare -A cc=([mpich]=mpicc.mpich [ompi]=mpicc.openmpi)
	"${cc[$kind]}" -O1 -g -w -o "$dir/shared/hang.$kind" tests/mpi/hang.c || exit 1
done
for k in 1 2 3; do
	ok "node $k boots" boot $k
done
ok 'three nodes meet' meet
for kind in $KINDS; do
	for way in $WAYS; do
		try "$kind" "$way"
	done
done
for k in 1 2 3; do
	ok "node $k: the kernel did not complain" node_check $k
done
echo "1..$n"
[ $failed -eq 0 ]
