#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptctl diag on images of MPI jobs that hung and were killed, in a VM: image_hang.sh KIND WORK.
# Prints TAP without a plan. VM_SLOW: as for tests/vm/lib.sh.
set -u
: "${VM_SLOW:=1}"
kind=$1 work=$2
top=$(cd "$(dirname "$0")/../.." && pwd)
n=0
try() {
	local what=$1 rc
	shift
	"$@" >"$work/output" 2>&1	# no subshell: it may set $job
	rc=$?
	n=$((n + 1))
	if [ $rc = 0 ]; then echo "ok $n - $kind: $what"; return; fi
	echo "not ok $n - $kind: $what"
	echo "# $* (status $rc)"
	sed 's/^/# /' "$work/output"
	return $rc
}

rm -rf "$work"
mkdir -p "$work/jobs" "$work/images"
chmod 755 "$work"
head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
cp "$top/build/mpi/diagnose/$kind/hang" "$work/hang"
"$top/build/bin/ckptd" --config /dev/null --set socket="$work/sock" --set state_dir="$work/jobs" \
	--set image_dir="$work/images" --set key="$work/key" --set node=n1 2>"$work/log" &
daemon=$!
trap 'kill $daemon; wait $daemon' EXIT
for _ in {1..200}; do
	[ -S "$work/sock" ] && break
	sleep 0.1
done
ctl() { timeout $((300 * VM_SLOW)) "$top/build/bin/ckptctl" "$1" --socket "$work/sock" "${@:2}"; }

# hangs WAY: start it; $job is its number. Its ranks hang for three seconds when this returns.
hangs() {
	job=$("$top/build/bin/ckptrun" --socket "$work/sock" --collectives=interruptible --detach \
		-n 4 "$work/hang" "$1") || return
	for _ in $(seq 600); do
		grep -q begun "$work/images/$job/stdout" 2>/dev/null && break
		sleep 0.1
	done
	sleep 3
}
over() { ctl kill "$job" KILL && ctl wait "$job"; [ $? = 137 ]; }

# field NAME: of the result of the last diagnosis
field() {
	python3 -c 'import json, sys
value = json.load(open(sys.argv[1]))["result"]
for name in sys.argv[2].split("."):
    value = value[int(name) if isinstance(value, list) else name]
print(json.dumps(value))' "$work/report" "$1"
}
# is NAME VALUE [NAME VALUE]...
is() {
	local wrong=0
	while [ $# -gt 0 ]; do
		[ "$(field "$1")" = "$2" ] || {
			echo "$1 is $(field "$1"), not $2"
			wrong=1
		}
		shift 2
	done
	[ $wrong = 0 ] || cat "$work/report"
	return $wrong
}
diagnose() {
	ctl diag run --json --patience 1s "$1" >"$work/report" || {
		cat "$work/report"
		return 1
	}
}

once() {
	diagnose "$job:1" && is verdict '"unknown"' cause '"once"' suspects '[1]' generation 1 \
		blocked 3 call '"MPI_Barrier"' sequence 21
}
found() {
	diagnose "$job:2" && is verdict '"hangs"' cause '"loops"' suspects '[1]' blocked 3 \
		call '"MPI_Barrier"' generation 2 looks.0.samples 2 || return
	ctl diag run --patience 1s "$job:2" >"$work/text" || return
	cat "$work/text"
	grep -q "^job $job, generation 2, 4 ranks: HANGS (loops), " "$work/text" &&
		grep -q 'rank 1 is in hang_loop+' "$work/text"
}
patient() { diagnose "$job:2" && ctl diag run --patience 1h "$job:2" | grep -q 'not confirmed'; }
stacks() {
	ctl diag stacks "$job:2" >"$work/tree" || return
	cat "$work/tree"
	ctl diag stacks --format folded "$job:2" >"$work/folded" || return
	cat "$work/folded"
	grep -q '^ *blame (hang): 1 \[1\]$' "$work/tree" &&
		grep -q '^ *hang_loop (hang): 1 \[1\]$' "$work/tree" &&
		grep -q '^ *PMPI_Barrier (libmp.*): 3 \[0,2-3\]$' "$work/tree" &&
		grep -q 'main (hang);blame (hang);hang_loop (hang) 1$' "$work/folded" &&
		ctl diag stacks --format dot "$job:2" | grep -q '^digraph stacks'
}
differ() {
	ctl diag diff "$job:1" "$job:2" >"$work/text" || return
	cat "$work/text"
	grep -q 'generation 1 to 2.*4 of 4 ranks stayed where they were' "$work/text" &&
		grep -Eq '^0,2-3 +0 +0 +MPI_Barrier number 21 of WORLD +the same$' "$work/text" &&
		grep -Eq '^1 +0 +0 +hang_loop \(hang\) +the same$' "$work/text"
}
bundle() {
	ctl diag run --patience 1s --out "$work/evidence" "$job:2" || return
	cat "$work/evidence/verdict.txt"
		grep -q '^hangs (loops)$' "$work/evidence/verdict.txt" &&
		grep -q 'hang_loop (hang)' "$work/evidence/stacks.txt"
}
# another user learns nothing of root's job
foreign() {
	chmod 666 "$work/sock"
	local said
	said=$(setpriv --reuid 1234 --regid 1234 --clear-groups "$top/build/bin/ckptctl" diag \
		--socket "$work/sock" stacks "$job:2" 2>&1)
	local rc=$?
	echo "$said"
	[ $rc != 0 ] && ! grep -q hang_loop <<<"$said"
}
# the program was built anew meanwhile: names must not be taken from it
rebuilt() {
	cp /bin/true "$work/other" && mv "$work/other" "$work/hang" || return
	ctl diag stacks "$job:2" >"$work/tree" 2>"$work/said" || return
	cat "$work/tree" "$work/said"
	grep -q "$work/hang is missing, or is of another build" "$work/said" &&
		grep -Eq '^ *hang\+0x[0-9a-f]+: 1 \[1\]' "$work/tree" &&
		! grep -q hang_loop "$work/tree" || return
	cp "$top/build/mpi/diagnose/$kind/hang" "$work/other" && mv "$work/other" "$work/hang"
}
circle() {
	diagnose "$job:1" && is verdict '"hangs"' cause '"circle"' suspects '[0, 1, 2]' \
		mpi_ranks.0.thread.samples 1
}
receive() { diagnose "$job:1" && is verdict '"hangs"' cause '"circle"' suspects '[0, 1]'; }
# world COLUMN: of the line of MPI_COMM_WORLD: 3, collectives begun by all ranks; 5, by any
world() { ctl diag colls "$job" | awk -v column="$1" '$1 == "WORLD" { print $column }'; }
# all ranks begin collectives that none had begun, however little this machine lets them run
go_on() {
	local before least=0 end=$((SECONDS + 60 * VM_SLOW))
	before=$(world 5)
	while [ -n "$before" ] && [ $SECONDS -lt $end ]; do
		least=$(world 3)
		[ "${least:-0}" -le "$before" ] || return 0
		sleep 0.2
	done
	echo "all ranks have begun $least collectives; before, one had begun $before"
	return 1
}
at_work() {
	for g in 1 2; do
		diagnose "$job:$g" || return
		! grep '"verdict": "hangs"' "$work/report" || return
	done
	ctl diag diff "$job:1" "$job:2" | tee "$work/text"
	grep -q '0 of 4 ranks stayed' "$work/text"
}

# A code of other people, of Debian's packages (scripts/setup --real), built for Open MPI: LAMMPS
# runs a command of its input on rank 0 that never ends; the other ranks wait for it.
lammps_hangs() {
	cat >"$work/in.melt" <<-'END'
		units lj
		lattice fcc 0.8442
		region box block 0 4 0 4 0 4
		create_box 1 box
		create_atoms 1 box
		mass 1 1.0
		velocity all create 1.0 87287
		pair_style lj/cut 2.5
		pair_coeff 1 1 1.0 1.0 2.5
		fix 1 all nve
		run 100
		shell sleep 100000
		run 100
	END
	job=$("$top/build/bin/ckptrun" --socket "$work/sock" --collectives=interruptible --detach \
		-n 4 lmp -in "$work/in.melt" -log "$work/log.lammps") || return
	for _ in $(seq $((600 * VM_SLOW))); do
		grep -q '^Dangerous builds' "$work/log.lammps" 2>/dev/null && break
		sleep 0.1
	done
	sleep 3
}
lammps_found() {
	ctl diag run --patience 1s "$job:2" >"$work/text" || return
	cat "$work/text"
	ctl diag stacks "$job:2" | tee "$work/tree"
	grep -q "^job $job, generation 2, 4 ranks: HANGS (" "$work/text" &&
		grep -q 'LAMMPS_NS5Input5shell' "$work/tree"
}

try 'a job whose rank 1 loops' hangs loop
try 'its checkpoint' ctl checkpoint "$job"
sleep 2
try 'another checkpoint of it' ctl checkpoint "$job"
try 'it is killed' over
try 'one image names the rank, and confirms nothing' once
try 'with the generation before it confirms the loop' found
try 'a patience that has not passed confirms nothing' patient
try 'the stacks of the dead job' stacks
try 'two generations differ in nothing' differ
try 'the evidence' bundle
try 'another user is refused' foreign
try 'a program of another build gives no names' rebuilt
for way in circle receive; do
	try "a job: $way" hangs $way
	try 'its checkpoint' ctl checkpoint "$job"
	try 'it is killed' over
	try "$way: found in one image" $way
done
if [ "$kind" = ompi ] && command -v lmp >/dev/null; then
	try 'LAMMPS, rank 0 of which waits for a command' lammps_hangs
	try 'its checkpoint' ctl checkpoint "$job"
	sleep 2
	try 'another checkpoint of it' ctl checkpoint "$job"
	try 'it is killed' over
	try 'LAMMPS: the rank, and where in its code' lammps_found
else
	n=$((n + 1))
	echo "ok $n - $kind: LAMMPS # SKIP no lmp for this library: scripts/setup --real"
fi
export HANG_SECONDS=900
try 'a job that computes' hangs clean
try 'its checkpoint' ctl checkpoint "$job"
try 'every rank goes on' go_on
try 'another checkpoint of it' ctl checkpoint "$job"
try 'it is killed' over
try 'no false alarm' at_work
exit 0
