#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Incidents: hangs that ckptd finds by itself are noted once with their evidence, outlive ckptd,
# and are closed when the ranks go on or the job ends; with both libraries.
#
#   KINDS='mpich ompi' SLOW=1 tests/mpi/incidents.t
#
# As root: a job has namespaces of its own.

. "$(dirname "$0")/lib.sh"

: "${KINDS:=mpich ompi}" "${SLOW:=1}"
if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP must be root'
	exit 0
fi

work=$(mktemp -d)
chmod 755 "$work"
head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
mkdir "$work/jobs" "$work/images"
job=''
trap 'over; ckptd_ends TERM; rm -rf "$work"' EXIT

# each test is a subshell: what it starts is in files
ckptd_ends() {
	local pid _
	pid=$(cat "$work/pid" 2>/dev/null) || return 0
	rm "$work/pid"
	kill -"$1" "$pid"
	for _ in {1..200}; do
		kill -0 "$pid" 2>/dev/null || return 0
		[[ $(cut -d' ' -f3 "/proc/$pid/stat" 2>/dev/null) = Z ]] && return
		sleep 0.05
	done
}
ckptd_runs() {
	"$top/build/bin/ckptd" --config /dev/null --set socket="$work/sock" \
		--set state_dir="$work/jobs" --set image_dir="$work/images" \
		--set key="$work/key" --set node=n1 --set diagnose=notify \
		--set diagnose_every=1s --set diagnose_patience="$((3 * SLOW))s" \
		>/dev/null 2>>"$work/log" </dev/null &
	echo $! >"$work/pid"
	for _ in {1..100}; do
		ctl ps >/dev/null 2>&1 && break
		sleep 0.05
	done
}
ctl() {
	timeout -k 2 $((60 * SLOW)) "$top/build/bin/ckptctl" "$1" --socket "$work/sock" "${@:2}"
}
# hangs KIND WAY SECONDS: start it in the background; the job's number in $job
hangs() {
	local kind=$1
	[ -x "$work/$kind" ] || "${cc[$kind]}" -O1 -g -w -o "$work/$kind" \
		"$top/tests/mpi/hang.c" || return
	job=$(HANG_SECONDS=$3 timeout -k 2 $((60 * SLOW)) "$top/build/bin/ckptrun" \
		--socket "$work/sock" -n 4 -d "$work/$kind" "$2" </dev/null)
	for ((i = 0; i < 200 * SLOW; i++)); do
		grep -qs begun "$work/images/$job"/stdout* && break
		sleep 0.05
	done
}
over() {
	[ -z "$job" ] || ctl kill "$job" KILL >/dev/null 2>&1
	[ -z "$job" ] || ctl wait "$job" >/dev/null 2>&1
	job=''
}
# the only incident of the job, as NAME=VALUE lines
incident() {
	ctl diag incidents --json "$job" >"$work/list" || return
	python3 -c 'import json, sys
one, = json.load(open(sys.argv[1]))["result"]["incidents"]
for name in one:
    print(f"{name}={json.dumps(one[name])}")' "$work/list" >"$work/one" 2>/dev/null
}
# comes LINE...: the incident has them, in the end
comes() {
	local line all
	for ((i = 0; i < 300 * SLOW; i++)); do
		all=true
		incident || all=false
		for line in "$@"; do
			grep -qxF "$line" "$work/one" || all=false
		done
		$all && return
		sleep 0.1
	done
	cat "$work/list" "$work/log"
	return 1
}
number() { sed -n 's/^incident=//p' "$work/one"; }
told() { grep -c "job $job hangs: incident i" "$work/log"; }

stops() {
	pgrep -f "^$work/$1 clean" | sed -n 3p >"$work/rank"
	kill -STOP "$(cat "$work/rank")"
	comes 'state="notified"' 'cause="stopped"' 'nr_suspects=1' \
		'witnesses=["pages", "samples"]' 'action="notify"' &&
		! grep -q '^generation=' "$work/one" && [ "$(told)" = 1 ]
}
# looked_at N: the incident is open, and was confirmed more than N times
looked_at() {
	local rounds
	for ((i = 0; i < 300 * SLOW; i++)); do
		incident && rounds=$(sed -n 's/^rounds=//p' "$work/one") &&
			[ "${rounds:-0}" -gt "$1" ] && grep -qxF 'state="notified"' "$work/one" &&
			return
		sleep 0.1
	done
	cat "$work/list" "$work/log"
	return 1
}
stays_one() {
	comes 'state="notified"' || return
	ckptd_ends KILL
	ckptd_runs
	local rounds
	incident && rounds=$(sed -n 's/^rounds=//p' "$work/one")
	looked_at "$rounds" && [ "$(told)" = 1 ]
}
dissolves() {
	kill -CONT "$(cat "$work/rank")"
	comes 'state="cleared"' 'result="the ranks go on"' && grep -q '^closed=[1-9]' "$work/one"
}
shown() {
	ctl diag show "i$(number)" | tee "$work/shown"
	grep -q "^incident i$(number), job $job: notified (stopped), suspects" "$work/shown" &&
		grep -q 'there was no generation to restart from' "$work/shown" &&
		grep -q 'it was stopped by a signal' "$work/shown" &&
		ctl diag incidents "$job" >"$work/shown" &&
		grep -Eq "^i$(number) +$job .* notified +stopped +[0-3]@n1" "$work/shown"
}
counted() {
	! ctl health >"$work/shown" && grep -q '1 jobs hang' "$work/shown" &&
		grep -q 'hangs=1$' "$work/shown"
}
bundled() {
	local dir=$work/bundle.$1
	[ "$(ctl diag bundle --out "$dir" "i$(number)")" = "$dir" ] || return
	ls "$dir"
	grep -q '^hangs (stopped)$' "$dir/verdict.txt" && [ -s "$dir/stacks.folded" ] &&
		python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
assert len(report["mpi_ranks"]) == 4 and report["verdict"] == "hangs"
assert report["incident"]["incident"] == int(sys.argv[2]) and report["history"] == []
assert report["looks"][0]["hardware"] is not None
assert any(row["thread"].get("frames") for row in report["mpi_ranks"])' \
		"$dir/report.json" "$(number)" &&
		! ctl diag bundle --out "$dir" "i$(number)"
}
not_for_others() {
	local as=(setpriv --reuid 65534 --regid 65534 --clear-groups "$top/build/bin/ckptctl" diag)
	"${as[@]}" incidents --socket "$work/sock" --json | tr -d ' \n' |
		grep -q '"incidents":\[\]' || return
	! "${as[@]}" show --socket "$work/sock" "i$(number)" >"$work/shown" 2>&1 &&
		! "${as[@]}" bundle --socket "$work/sock" --out "$work/no" "i$(number)" \
			>>"$work/shown" 2>&1 &&
		[ "$(grep -c "there is no incident i$(number)" "$work/shown")" = 2 ]
}
ends() {
	comes 'state="notified"' 'cause="circle"' 'nr_suspects=3' || return
	ctl kill "$job" KILL && ctl wait "$job" >/dev/null 2>&1
	comes 'state="cleared"' 'result="the job has ended"'
}
no_such() {
	! ctl diag show i999 2>"$work/shown" && grep -q 'no incident i999' "$work/shown" &&
		! ctl diag bundle 7 2>"$work/shown" && grep -q 'as i12' "$work/shown"
}

ckptd_runs
for kind in $KINDS; do
	hangs "$kind" clean $((50 * SLOW))
	ok "$kind: a stopped rank becomes one incident" stops "$kind"
	ok "$kind: the incident is shown" shown
	ok "$kind: ckptctl health counts it" counted
	ok "$kind: its evidence" bundled "$kind"
	ok "$kind: it is nothing for other users" not_for_others
	ok "$kind: it stays one when ckptd is killed" stays_one
	ok "$kind: it is cleared when the rank goes on" dissolves
	over
	hangs "$kind" circle 0
	ok "$kind: a deadlock is cleared by the job's end" ends
	over
done
ok 'a number that is none' no_such
finish
