#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The matrix of faults of ckptctl diag: jobs over three nodes, each a ckptd in a network namespace
# of its own, with one fault each: in a rank, in the program, in ckptd, in the network. The verdict
# has to be right; times from the fault to the verdict are printed.
#
#   KINDS='mpich ompi' WAYS='stop cut' SLOW=1 tests/mpi/diagnose_matrix.t
#
# As root. Traffic stays in the namespaces.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nodes.sh"
. "$(dirname "$0")/verdicts.sh"

: "${KINDS:=mpich ompi}" "${SLOW:=1}"
: "${WAYS:=stop sleep loop operation request miss other receive any circle slow killed oom \
	daemon cut split}"
# nodes that are one machine must not take each other's memory for their own
export UCX_TLS=tcp,self OMPI_MCA_btl=self,tcp OMPI_MCA_pml=ob1 OMPI_MCA_btl_tcp_if_include=eth0
export UCX_NET_DEVICES=eth0

module=false
[ ! -c /dev/ckpt ] || module=true
chmod 755 "$work"
space=matrix$$
address=('' 10.77.0.1 10.77.0.2 10.77.0.3)
node_options=(--set image_dir="$work/images")
node_prefix=(nsenter --net="/run/netns/$space-%i")
trap 'for n in "$work"/n*; do stop "${n##*/n}"; done; network_gone; rm -rf "$work"' EXIT

network_gone() {
	local i
	for i in 1 2 3 sw; do ip netns del "$space-$i" 2>/dev/null; done
}
# three nodes, and between them a switch in a namespace of its own
network() {
	local i
	ip netns add "$space-sw" && ip -n "$space-sw" link add br0 type bridge &&
		ip -n "$space-sw" link set br0 up || return
	for i in 1 2 3; do
		ip netns add "$space-$i" && ip -n "$space-$i" link set lo up &&
			ip -n "$space-sw" link add "port$i" type veth peer name eth0 \
				netns "$space-$i" &&
			ip -n "$space-sw" link set "port$i" master br0 up &&
			ip -n "$space-$i" address add "${address[i]}/24" dev eth0 &&
			ip -n "$space-$i" link set eth0 up || return
	done
}
link() { ip -n "$space-sw" link set "port$1" "$2"; }

home() { on 1 "$@"; }
# A job is in the network namespace of its caller.
# hangs KIND WAY RANK [OPTION...]: the job's number in $job; $fault is the time of the fault
hangs() {
	local kind=$1 way=$2 rank=$3
	shift 3
	mkdir -p "$work/$kind"
	[ -x "$work/$kind/hang" ] ||
		"${cc[$kind]}" -O1 -g -w -o "$work/$kind/hang" "$top/tests/mpi/hang.c" || return
	job=$(cd "$work" && HANG_SECONDS=600 HANG_RANK=$rank timeout -k 2 $((60 * SLOW)) \
		nsenter --net="/run/netns/$space-1" "$top/build/bin/ckptrun" \
		--socket "$work/n1/sock" -n 4 --hosts n1,n2,n3 "$@" -d "$work/$kind/hang" "$way" \
		</dev/null)
	output="$work/images/$job/std*"
	for ((i = 0; i < 400 * SLOW; i++)); do
		grep -qs begun "$work/images/$job"/stdout* && break
		[ $((i % 20)) != 19 ] || on 1 ps | grep -Eq "^ *$job " || break
		sleep 0.05
	done
	fault=$(seconds)
}
over() {
	[ -z "$job" ] || on 1 kill "$job" KILL >/dev/null 2>&1
	[ -z "$job" ] || on 1 wait "$job" >/dev/null 2>&1
	job=''
}

killed() {
	kill -KILL "$(pid_of 2)" || return
	fault=$(seconds)
	comes_to 'hangs ended 2 - n2'
}
# the rank in a group with little memory: version 1 or 2 of control groups
oom() {
	local group pid
	pid=$(pid_of 2) || return
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		echo +memory >/sys/fs/cgroup/cgroup.subtree_control
		group=/sys/fs/cgroup/$space
		mkdir "$group" && echo 64M >"$group/memory.max" &&
			{ echo 0 >"$group/memory.swap.max"; true; } 2>/dev/null
	else
		group=/sys/fs/cgroup/memory/$space
		mkdir "$group" && echo 64M >"$group/memory.limit_in_bytes"
	fi
	echo "$pid" >"$group/cgroup.procs" || return
	for ((i = 0; i < 600 * SLOW; i++)); do
		[ -d "/proc/$pid" ] || break
		sleep 0.1
	done
	fault=$(seconds)
	local rc=0
	comes_to 'hangs ended 2 - n2' || rc=$?
	rmdir "$group"
	return $rc
}
# ckptd of a node stands still: the rank that sleeps elsewhere is found, and the node is named
daemon() {
	local pid rc=0
	pid=$(cat "$work/n3/pid")
	kill -STOP "$pid"
	fault=$(seconds)
	comes_to 'hangs sleeps 1,3 n3 n1' && reach_is n3 daemon_hangs || rc=$?
	kill -CONT "$pid"
	[ $rc = 0 ] && comes_to 'hangs sleeps 1 - n1'
}
# A job without a fault loses a node: what the node's rank does is not known, so nobody may act.
cut() {
	local rc=0
	link 2 down
	fault=$(seconds)
	comes_to 'unknown silent 2 n2 -' && reach_is n2 off || rc=$?
	link 2 up
	return $rc
}
# The home alone has no way to a node, which the third one reaches.
split() {
	local rc=0
	ip -n "$space-1" route add unreachable "${address[2]}/32"
	fault=$(seconds)
	comes_to 'unknown silent 2 n2 -' && reach_is n2 link &&
		tells 'node n3 reaches it, and node n1 does not' || rc=$?
	ip -n "$space-1" route del unreachable "${address[2]}/32"
	return $rc
}

# right WAY: the verdict on the job
right() {
	[ -n "$job" ] || return
	case $1 in
	stop) comes_to 'hangs stopped 2 - n2' ;;
	sleep) comes_to 'hangs sleeps 2 - n2' ;;
	loop) loops 2 n2 ;;
	operation)
		if $module; then
			loops 2 n2
		else
			comes_to 'hangs arrived - - -' 'hangs library 2 - n2'
		fi
		;;
	miss | other) comes_to 'hangs differ 2 - n2' ;;
	receive) comes_to 'hangs circle 0,2 - n1' 'hangs circle 2,0 - n2' ;;
	any | request) comes_to 'hangs library 2 - n2' ;;
	circle) comes_to 'hangs circle 0,1,2 - n1' ;;
	slow) never ;;
	*) "$1" ;;
	esac
}

head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
mkdir "$work/images"
network || { echo '1..0 # SKIP no network namespaces'; exit 0; }
make_keys 3
start 1 && start 2 && start 3
ok 'three nodes meet' meet 1 2 3
for kind in $KINDS; do
	for way in $WAYS; do
		in_share || continue
		rm -f "$work/took"
		case $way in
		killed) hangs "$kind" wait 2 --keep-going ;;
		oom) hangs "$kind" eat 2 --keep-going ;;
		daemon) hangs "$kind" wait 1 ;;
		cut | split) hangs "$kind" clean 1 ;;
		*) hangs "$kind" "$way" 2 ;;
		esac
		ok "$kind: $way" right "$way"
		[ ! -e "$work/took" ] || sed "s/^/# $kind: $way: /" "$work/took"
		over
	done
done
finish
