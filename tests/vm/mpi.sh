#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Checkpoint and restart of an MPI job on one node, in a VM: mpi.sh KIND RANKS PROGRAM WORK
#
# The program's output, interrupted and restarted, is compared with that of a run by the
# library's own launcher. Prints TAP without a plan. VM_SLOW: as for tests/vm/lib.sh.
set -u
: "${VM_SLOW:=1}"
kind=$1 ranks=$2 program=$3 work=$4
top=$(cd "$(dirname "$0")/../.." && pwd)
n=0
verdict() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
	[ "$1" = 0 ] || [ $# -lt 3 ] || sed 's/^/# /' <<<"$3"
}
try() {
	local what=$1 out rc
	shift
	out=$("$@" 2>&1)
	rc=$?
	verdict $rc "$what" "$* (status $rc): $out"
	return $rc
}

rm -rf "$work"
mkdir -p "$work/jobs" "$work/images"
head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
"$top/build/bin/ckptd" --config /dev/null --set socket="$work/sock" --set state_dir="$work/jobs" \
	--set image_dir="$work/images" --set key="$work/key" --set node=n1 2>"$work/log" &
daemon=$!
trap 'kill $daemon; wait $daemon' EXIT
for _ in {1..200}; do
	[ -S "$work/sock" ] && break
	sleep 0.1
done
ctl() { "$top/build/bin/ckptctl" --socket "$work/sock" "$@"; }
run() { "$top/build/bin/ckptrun" --socket "$work/sock" "$@"; }

# it shall outlast its checkpoints, also where they take ten times as long
size=64 iterations=400 rest=$((40 + 20 * VM_SLOW))
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"mpiexec.$kind" $([ "$kind" = mpich ] || echo --oversubscribe) -n "$ranks" \
	"$program" $size $iterations >"$work/want" 2>"$work/want.err"
verdict $? "$kind: the program alone" "$(tail -5 "$work/want.err")"

lines() { wc -l <"$work/images/1/stdout"; }
reaches() {
	for _ in $(seq 1200); do
		[ "$(lines 2>/dev/null || echo 0)" -ge "$1" ] && return
		sleep 0.1
	done
	echo "only $(lines) lines"
	return 1
}

try "$kind: started" run --detach -n "$ranks" "$program" $size $iterations $rest || exit 1
try "$kind: it computes" reaches 20
asked() {
	ctl doctor 1 >"$work/doctor"
	local rc=$?
	cat "$work/doctor"
	[ $rc = 0 ] && grep -q '^ranks *ok' "$work/doctor"
}
try "$kind: doctor says that it can be checkpointed" asked
for i in 1 2; do
	try "$kind: checkpoint $i" ctl checkpoint 1
	at=$(lines)
	try "$kind: it runs on after it" reaches $((at + 10))
done
# One by itself, and what it has cost; then nobody is busy with the job any more.
by_itself() {
	local i
	ctl auto 1 --every 1s || return
	for i in $(seq 600); do
		ctl stats 1 --json | grep -q '"auto": true' && break
		sleep 0.1
	done
	ctl auto 1 off || return
	for i in $(seq 300); do
		ctl ps --json | grep -q '"busy"' || break
		sleep 0.1
	done
	ctl stats 1
	ctl stats 1 --json | grep -A30 '"checkpoints"' | grep -q quiesce_ns || return
	ctl stats 1 --json | grep -q '"auto": true'
}
try "$kind: a checkpoint that ckptd takes by itself" by_itself
try "$kind: checkpoint that ends it" ctl checkpoint 1 --kill
# What is said of this node reaches the library: one that cannot start so has the restart refused,
# and nothing is lost.
case $kind in
mpich)
	wrong=(--env UCX_TLS=nosuch)
	right=(--env UCX_TLS=tcp,self --env UCX_NET_DEVICES=lo) ;;
*)
	wrong=(--env OMPI_MCA_pml=ob1 --env OMPI_MCA_btl=self,tcp \
		--env OMPI_MCA_btl_tcp_if_include=nosuch0)
	right=("${wrong[@]::5}" OMPI_MCA_btl_tcp_if_include=lo) ;;
esac
refused() {
	local rc=0
	ctl restart 1 "${wrong[@]}" || rc=$?
	[ $rc = 1 ]
}
try "$kind: no restart with an interface that this node has not" refused
try "$kind: restart, with one that it has" ctl restart 1 "${right[@]}"
at=$(lines)
try "$kind: it computes again" reaches $((at + 10))
try "$kind: a checkpoint of what was restarted" ctl checkpoint 1 --kill
try "$kind: restart of that" ctl restart 1
try "$kind: it ends well" timeout $((300 * VM_SLOW)) "$top/build/bin/ckptctl" \
	--socket "$work/sock" wait 1
if cmp -s "$work/want" "$work/images/1/stdout"; then
	verdict 0 "$kind: the residuals are those of a run without us"
else
	verdict 1 "$kind: the residuals are those of a run without us" \
		"$(diff "$work/want" "$work/images/1/stdout" | head -10)"
fi

# A library that is not the system's: the same file below before and after a restart. Two programs.
cp "$program.own" "$work/poisson.own"
try "$kind: own library: started" run --detach -n 1 "$program.own" $size $iterations $rest : \
	-n $((ranks - 1)) "$work/poisson.own" $size $iterations $rest
lines() { wc -l <"$work/images/2/stdout"; }
below_says() {
	tr '\0' '\n' <"/proc/$1/environ" | grep -E 'LIBRARY|PRELOAD|LOWER'
	tr '\0' ' ' <"/proc/$1/cmdline"
	ls -l "$program.mpi" 2>&1
	grep /libmpi "/proc/$1/maps"
	LD_TRACE_LOADED_OBJECTS=1 "$program.own" | grep libmpi
	"$top/build/bin/ckptrun" --dry-run -n 1 "$program.own" 2>&1
}
below() {
	local pid files
	for pid in $(pgrep -f '^[^ ]*poisson[^ ]*\.own '); do
		files=$(grep '^20.* r-xp .*/libmpi' "/proc/$pid/maps" |
			grep -o '/[^ ]*/libmpi.*' | sort -u)
		[[ $files = $program.mpi/libmpi.so.* && $files != *$'\n'* ]] ||
			{ echo "pid $pid: $files, wanted below $program.mpi"; below_says "$pid"
			  return 1; }
	done
	[ -n "$pid" ]
}
try "$kind: own library: it computes" reaches 20
try "$kind: own library: it is the one below" below
try "$kind: own library: checkpoint that ends it" ctl checkpoint 2 --kill
try "$kind: own library: restart" ctl restart 2
try "$kind: own library: it is the one below again" below
try "$kind: own library: it ends well" timeout $((300 * VM_SLOW)) "$top/build/bin/ckptctl" \
	--socket "$work/sock" wait 2
try "$kind: own library: the residuals are the same" cmp "$work/want" "$work/images/2/stdout"

# A job of the library's own launcher is one tree. Its sockets can be what a checkpoint refuses, as
# their state of that moment is: then the refusal says what to do. Else it is saved as any tree is.
ctl run --detach -- "mpiexec.$kind" $([ "$kind" = mpich ] || echo --oversubscribe) -n "$ranks" \
	"$program" $size $iterations $rest >"$work/launched" 2>&1
lines() { wc -l <"$work/images/3/stdout"; }
try "$kind: its own launcher: it computes" reaches 5
told() {
	local rc=0 said
	said=$(ctl checkpoint 3 2>&1) || rc=$?
	head -5 <<<"$said"
	if [ $rc = 0 ]; then
		ctl kill 3 KILL
		# KI-190: its ports may be held for a minute
		for _ in {1..30}; do
			rc=0
			said=$(ctl restart 3 2>&1) || rc=$?
			grep -q 'Address already in use' <<<"$said" || break
			sleep 3
		done
		echo "$said"
		[ $rc = 0 ] && reaches $(($(lines) + 5))
		return
	fi
	[ $rc = 3 ] &&
		head -1 <<<"$said" | grep -q 'MPI.*start it again with ckptrun -n RANKS PROGRAM'
}
try "$kind: its own launcher: a checkpoint names ckptrun, or it goes on from it" told
ctl kill 3 KILL
sed 's/^/# /' "$work/log" "$work/images/1/stderr" 2>/dev/null | tail -30
echo "1..$n"
