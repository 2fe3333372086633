#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Rollback of an MPI job in place, on one node, in a VM: survivors.sh KIND RANKS PROGRAM WORK
#
# Ranks keep their processes, and the output is that of a run by the library's own launcher. Where
# they cannot stay, all are restarted. Prints TAP without a plan. VM_SLOW: as for tests/vm/lib.sh.
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
# Ranks and shim: numbers and times of start.
who() {
	local pid
	for pid in $(pgrep -f "^$program") $(pgrep ckpt-shim); do
		sed 's/.*)//' "/proc/$pid/stat" | cut -d' ' -f20 | sed "s/^/$pid /"
	done
}
# Threads of the first rank: those of the former library are gone.
threads() { ls "/proc/$(pgrep -f "^$program" | head -1)/task" | wc -l; }

try "$kind: started" run --detach -n "$ranks" "$program" $size $iterations $rest || exit 1
try "$kind: it computes" reaches 20
before=$(who)
try "$kind: checkpoint" ctl checkpoint 1
saved=$(lines)
had=$(threads)
stays() {
	ctl rollback 1 --in-place || return
	[ "$(who)" = "$before" ] || { echo "before: $before, now: $(who)"; return 1; }
}
for i in 1 2; do
	try "$kind: it runs on" reaches $((saved + 15))
	try "$kind: rollback $i: its processes stay" stays || tail -30 "$work/log" | sed 's/^/# /'
	[ "$(find "$work/images/1" -name 'stdout.cut-*' | wc -l)" = "$i" ]
	verdict $? "$kind: its output is cut back" "$(ls "$work/images/1")"
done
try "$kind: it runs on behind the last rollback" reaches $((saved + 20))
[ "$(threads)" = "$had" ]
verdict $? "$kind: it has as many threads as before" "$(threads) instead of $had"
try "$kind: a checkpoint of what was rolled back" ctl checkpoint 1
saved=$(lines)
try "$kind: it runs on" reaches $((saved + 5))
try "$kind: rollback to that: its processes stay" stays
# Limits are nothing that a rollback sets, so all is restarted.
falls_back() {
	prlimit --pid "$(pgrep -f "^$program" | head -1)" --core=4096:4096
	ctl rollback 1 --json >"$work/back" || return
	cat "$work/back"
	grep -q '"in_place": false' "$work/back" && grep -q 'other resource limits' "$work/back" &&
		[ "$(who)" != "$before" ]
}
try "$kind: it runs on" reaches $((saved + 5))
try "$kind: where the processes cannot stay, all are restarted" falls_back
grep -q 'no rollback in place: process .* has other resource limits' "$work/log"
verdict $? "$kind: the log says why" "$(grep rollback "$work/log")"
before=$(who)
try "$kind: it runs on" reaches $((saved + 5))
try "$kind: rollback of what was restarted: its processes stay" stays
try "$kind: it ends well" timeout $((300 * VM_SLOW)) "$top/build/bin/ckptctl" \
	--socket "$work/sock" wait 1
cmp -s "$work/want" "$work/images/1/stdout"
verdict $? "$kind: the residuals are those of a run without us" \
	"$(diff "$work/want" "$work/images/1/stdout" | head -10)"
sed 's/^/# /' "$work/log" "$work/images/1/stderr" 2>/dev/null | tail -40
echo "1..$n"
