#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Acts on hangs, in a VM: hang_act.sh KIND WORK. With diagnose = recover ckptd rolls jobs of
# tests/mpi/hang.c back in place, by itself: once, not again and again, and only where that helps.
# Prints TAP without a plan. VM_SLOW: as for tests/vm/lib.sh.
set -u
: "${VM_SLOW:=1}"
kind=$1 work=$2
top=$(cd "$(dirname "$0")/../.." && pwd)
program=$work/hang
n=0 job=0
say() { # NAME COMMAND...
	n=$((n + 1))
	if "${@:2}" >"$work/output" 2>&1; then echo "ok $n - $kind: $1"; return; fi
	echo "not ok $n - $kind: $1"
	sed 's/^/# /' "$work/output"
	return 1
}
ctl() { timeout $((120 * VM_SLOW)) "$top/build/bin/ckptctl" "$1" --socket "$work/sock" "${@:2}"; }

rm -rf "$work"
mkdir -p "$work/jobs" "$work/images"
head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
# other users' ranks have a program to run, and a file to find
chmod 711 "$work"
cp "$top/build/mpi/diagnose/$kind/hang" "$program"
mkdir -m 777 "$work/go"
cd /
patience=$((5 * VM_SLOW))
"$top/build/bin/ckptd" --config /dev/null --set socket="$work/sock" --set state_dir="$work/jobs" \
	--set image_dir="$work/images" --set key="$work/key" --set node=n1 \
	--set diagnose=recover --set diagnose_every=1s --set diagnose_patience=${patience}s \
	2>"$work/log" &
daemon=$!
trap 'kill "$daemon"; wait' EXIT
for _ in {1..200}; do
	[ -S "$work/sock" ] && break
	sleep 0.1
done

comes() { # SECONDS COMMAND...
	for _ in $(seq $(($1 * VM_SLOW * 5))); do
		"${@:2}" >/dev/null 2>&1 && return
		sleep 0.2
	done
	"${@:2}"
	cat "$work/list" "$work/one"
	tail -20 "$work/log"
	return 1
}
who() {
	local pid
	for pid in $(pgrep -f "^$program"); do
		sed 's/.*)//' "/proc/$pid/stat" | cut -d' ' -f20 | sed "s/^/$pid /"
	done
}
began() { grep -q begun "$work/images/$job/stdout"; }
as=()
start() { # WAY TURNS
	export HANG_GO=$work/go/$((job + 1)) HANG_SECONDS=$2 HANG_TURNS=$2
	job=$("${as[@]}" "$top/build/bin/ckptrun" --socket "$work/sock" --detach -n 3 \
		"$program" "$1" </dev/null) || return
	comes 60 began
}
# hang AGAIN: two seconds make the checkpoint older than the hang, whose begin is told in seconds
hang() {
	ctl checkpoint "$job" && sleep 2 || return
	before=$(who)
	touch "$work/go/$job"
	sleep 2
	$1 || rm "$work/go/$job"
}
# the job's newest incident has these, as NAME=VALUE lines
incident() {
	local line
	ctl diag incidents --json "$job" >"$work/list" || return
	python3 -c 'import json, sys
one = json.load(open(sys.argv[1]))["result"]["incidents"][0]
for name in one:
    print(f"{name}={json.dumps(one[name])}")' "$work/list" >"$work/one" || return
	for line; do
		grep -qxF "$line" "$work/one" || return
	done
}
stays() { [ "$(who)" = "$before" ] || { echo "before: $before, now: $(who)"; return 1; }; }
ends() {
	ctl wait "$job" && cat "$work/images/$job/stdout" &&
		grep -qx right "$work/images/$job/stdout"
}
over() { ctl kill "$job" KILL; ctl wait "$job"; true; }
rolls() { grep -c "job $job was rolled back to generation" "$work/log"; }
rolled() { # CAUSE
	comes 40 incident "cause=\"$1\"" 'action="rollback"' 'state="cleared"' \
		'result="the ranks go on, rolled back to generation 1"' && [ "$(rolls)" = 1 ]
}

say 'a job' start once 1200 || exit 1
say 'it loops once' hang false
say 'it is rolled back and goes on' rolled loops
say 'its processes stayed' stays
say 'it ends well' ends

as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
say "a user's job" start lost 1200
say 'it receives what nobody sends, once' hang false
say 'it is rolled back and goes on' rolled circle
say 'its processes stayed' stays
say 'it ends well' ends
as=()

say 'a job' start once 100000
say 'it loops, and will again' hang true
say 'it is handed over, after one rollback' comes 60 incident 'state="handed_over"' \
	'result="it hangs at the same place although it was rolled back"' 'action="rollback"'
say 'it was rolled back once' [ "$(rolls)" = 1 ]
say 'it was not ended' stays
over
say 'its incident is closed' comes 30 incident 'state="cleared"' 'result="the job has ended"'

say 'a job without a checkpoint' start loop 0
say 'it is told of, and nothing is done' comes 40 incident 'state="notified"' \
	'action="notify"' \
	'result="no rollback: no generation is older than the hang and not doubted"'
over
say 'a job that is stopped' start clean 100000
say 'it has a checkpoint' ctl checkpoint "$job"
sleep 2
kill -STOP "$(pgrep -f "^$program" | sed -n 2p)"
told='no rollback: somebody has stopped a process by a signal; SIGCONT lets it go on'
say 'it is told of, and nothing is done' comes 40 incident 'state="notified"' \
	'cause="stopped"' 'action="notify"' "result=\"$told\""
say 'it runs as it was' [ "$(rolls)" = 0 ]
over
sed 's/^/# /' "$work/log" | tail -60
exit 0
