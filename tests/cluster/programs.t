#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# MPI test programs (tests/mpi/programs, tests/mpi/cuts) over three VMs, by tests/mpi/run-cr:
# restarted on other nodes, on more and on fewer nodes, checkpointed every second, and without a
# checkpoint. Their output must be that of a run with the library alone, on the host.
#
#   KERNEL=6.12 KINDS='mpich ompi' RANKS=4 FLAVOURS=NEMS PROGRAMS='mprobe io_kept' \
#	tests/cluster/programs.t
#   MPI_SUBSET=all      every program
#   MPI_PACED=60        S: how many seconds a program takes; default: 8
#   CLUSTER_NETEM='delay 20ms 10ms loss 0.5%'   a network that is slow and loses packets

: "${KERNEL:=6.1}" "${KINDS:=ompi mpich}" "${RANKS:=3}" "${CLUSTER:=cluster-$$}" "${VM_SLOW:=1}"
export KERNEL CLUSTER VM_SLOW VM=$CLUSTER-n1
. "$(dirname "$0")/../vm/lib.sh"
. scripts/cluster.sh

if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP must be root'
	exit 0
fi
if [ "${MPI_SUBSET:-}" = all ]; then
	# abort_code ends before there is anything to save, and ckptrun spawns none
	: "${PROGRAMS:=$(cd tests/mpi && ls programs/*.{c,cc,f,f90} cuts/*.c |
		sed 's,.*/,,; s,\..*,,' | grep -vx -e abort_code -e abort_cut -e spawn_roots)}"
fi
: "${PROGRAMS:=mprobe nbc_across persistent_kept}" "${FLAVOURS:=NEMS}"
# of the programs of cuts/
export CUT_ROUNDS=${CUT_ROUNDS:-10}

dir=build/cluster/$CLUSTER
trap 'cluster_end; rm -rf "$dir" "$cluster_top/build/vm/$CLUSTER"-n*' EXIT

nodes_up() {
	local i
	cluster_make "$top/$dir" 3 || return
	for i in 1 2 3; do
		node_up "$i" || return
	done
}

# all have found each other
nodes_met() {
	local i _
	for i in 1 2 3; do
		for _ in {1..30}; do
			on "$i" ckptctl nodes && break
			sleep 1
		done || return
	done
}

# not in a subshell: what cluster.sh knows is needed later
mkdir -p "$dir"
if nodes_up >"$dir/up.log" 2>&1; then
	pass 'three nodes'
else
	echo "Bail out! no cluster: $(cat "$dir/up.log")"
	exit 1
fi
ok 'they have found each other' nodes_met
for kind in $KINDS; do
	# shellcheck disable=SC2086
	ok "$kind: the programs are right with the library alone" tests/mpi/want "$kind" "$RANKS" \
		$PROGRAMS
	# shellcheck disable=SC2086
	vm_relay < <(tests/mpi/run-cr --cluster "$top/$dir" --kind "$kind" --ranks "$RANKS" \
		--flavours "$FLAVOURS" --slow $((2 * VM_SLOW)) --want "$top/build/mpi/want/$kind" \
		$PROGRAMS 2>&1
		echo $? >"$dir/status")
	status=$(cat "$dir/status")
	[ "$status" -le 1 ] || fail "$kind: the runner comes to its end" "status $status"
done
for i in 1 2 3; do
	ok "node $i: the kernel did not complain" node_check "$i"
done
echo "1..$n"
[ "$failed" -eq 0 ]
