#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Jobs that do not hang, side by side in a VM, and nothing may be called a hang:
# no_alarm.sh WORK KIND... Each library runs three jobs of tests/mpi/hang.c: work spread unevenly,
# one rank ten times slower, and short collectives. The uneven one is checkpointed every second.
# Every twenty seconds a load of two processes begins, or ends. ckptd looks by itself every two
# seconds, and ckptctl asks as often. ALARM_SECONDS: for how long (90). Prints TAP without a plan.
set -u
: "${ALARM_SECONDS:=90}"
work=$1
shift
top=$(cd "$(dirname "$0")/../.." && pwd)
n=0
say() { # NAME COMMAND...
	n=$((n + 1))
	if "${@:2}" >"$work/output" 2>&1; then echo "ok $n - $1"; return; fi
	echo "not ok $n - $1"
	sed 's/^/# /' "$work/output"
}
ctl() { timeout 120 "$top/build/bin/ckptctl" "$1" --socket "$work/sock" "${@:2}"; }

rm -rf "$work"
mkdir -p "$work/jobs" "$work/images"
head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
# the slowest rank computes for 1.5 s between collectives, and for six times as long beside the load
"$top/build/bin/ckptd" --config /dev/null --set socket="$work/sock" --set state_dir="$work/jobs" \
	--set image_dir="$work/images" --set key="$work/key" --set node=n1 --set retain_keep=2 \
	--set diagnose=notify --set diagnose_every=2s --set diagnose_patience=30s 2>"$work/log" &
daemon=$!
load=()
trap 'kill "$daemon" ${load[@]+"${load[@]}"}; wait' EXIT
for _ in {1..200}; do
	[ -S "$work/sock" ] && break
	sleep 0.1
done

declare -A jobs
start() { # KIND WAY
	local job
	job=$("$top/build/bin/ckptrun" --socket "$work/sock" --collectives=interruptible --detach \
		-n 3 -- env HANG_SECONDS=100000 "$top/build/mpi/diagnose/$1/hang" "$2") || return
	jobs[$1:$2]=$job
}
began() { # KIND WAY
	for _ in {1..1200}; do
		grep -q begun "$work/images/${jobs[$1:$2]}/stdout" 2>/dev/null && return
		sleep 0.1
	done
	cat "$work/images/${jobs[$1:$2]}"/std*
	return 1
}
for kind; do
	say "$kind: work spread unevenly" start "$kind" uneven
	say "$kind: a slow rank" start "$kind" slow
	say "$kind: short collectives" start "$kind" clean
done
for name in "${!jobs[@]}"; do
	say "$name begins" began "${name%:*}" "${name#*:}"
done

for kind; do
	say "$kind: a checkpoint every second" ctl auto "${jobs[$kind:uneven]}" --every 1s
done

asked=0 hangs=0 failed=0
turn=$SECONDS
end=$((SECONDS + ALARM_SECONDS))
while [ $SECONDS -lt $end ]; do
	for name in "${!jobs[@]}"; do
		if ctl diag run --json --patience 30s "${jobs[$name]}" >"$work/report" \
			2>"$work/said"; then
			asked=$((asked + 1))
		else
			failed=$((failed + 1))
			cp "$work/said" "$work/said.$failed"
		fi
		grep -q '"verdict": *"hangs"' "$work/report" || continue
		hangs=$((hangs + 1))
		cp "$work/report" "$work/hangs.$hangs"
	done
	if [ $((SECONDS - turn)) -ge 20 ]; then
		turn=$SECONDS
		if [ ${#load[@]} = 0 ]; then
			for _ in 1 2; do
				sh -c 'while :; do :; done' &
				load+=($!)
			done
		else
			kill "${load[@]}"
			wait "${load[@]}" 2>/dev/null
			load=()
		fi
	fi
	sleep 2
done

answered() {
	echo "$asked answered, $failed not"
	tail -n +1 "$work"/said.*
	[ $failed = 0 ] && [ $asked -ge 6 ]
}
quiet() { tail -n +1 "$work"/hangs.*; [ $hangs = 0 ]; }
silent() { ! grep -i 'hang' "$work/log"; }
saved() {
	local kind g
	for kind; do
		g=$(ctl list --json "${jobs[$kind:uneven]}" | grep -c '"generation"')
		echo "$kind: $g generations"
		[ "$g" -ge 2 ] || return
	done
}
alive() {
	local name
	for name in "${!jobs[@]}"; do
		ctl ps | grep "^ *${jobs[$name]} " || return
	done
}
echo "# $asked diagnoses asked for in $ALARM_SECONDS s, $hangs hangs"
say 'every question is answered' answered
say 'no answer is a hang' quiet
say 'ckptd logs no hang' silent
say 'checkpoints were made' saved "$@"
say 'all jobs run' alive
for name in "${!jobs[@]}"; do
	ctl kill "${jobs[$name]}" KILL >/dev/null
done
exit 0
