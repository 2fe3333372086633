#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# BENCH=rollback: a rollback in place beside a restart from the same checkpoint (L1, cold page
# cache), of a job that has written a part of its memory since, in turn; without and with the
# snapshot kept in the kernel (L0).

. "$(dirname "$0")/lib.sh"
ckptd=$(dirname "$0")/../build/bin/ckptd
images=$work/images
sock=$work/sock

ctl() { "$ckptctl" --socket "$sock" "$@"; }
daemon_start() { # l0_memory
	rm -f "$sock"
	mkdir -p "$images" "$work/jobs"
	[ -s "$work/node.key" ] || head -c 32 /dev/urandom >"$work/node.key"
	chmod 600 "$work/node.key"
	"$ckptd" --config /dev/null --set socket="$sock" --set state_dir="$work/jobs" \
		--set image_dir="$images" --set key="$work/node.key" --set node=n1 \
		--set l0_memory="$1" 2>>"$work/ckptd.log" &
	daemon=$!
	until [ -S "$sock" ]; do sleep 0.1; done
}
daemon_stop() {
	kill "$daemon"
	wait "$daemon"
	daemon=
}

output() { cat "$images/$job/stdout" 2>/dev/null; }
# asked SIGNAL WORD: the program answers the signal with a line
asked() {
	local before
	before=$(output | wc -l)
	pkill "-$1" -o -x touch
	until [ "$(output | wc -l)" -gt "$before" ]; do sleep 0.1; done
	[ "$(output | tail -n 1)" = "$2" ] || die "the job says $(output | tail -n 1), not $2"
}

timed() { # CASE RUN TOOL COMMAND…
	local case=$1 run=$2 tool=$3
	shift 3
	sync
	echo 3 >/proc/sys/vm/drop_caches
	"$measure" "$work/measure" "$ckptctl" --socket "$sock" --json "$@" >"$work/answer" ||
		die "$*: $(cat "$work/answer")"
	rows_of_measure "$case" "$run" "$tool"
	asked USR1 good
}
roll_back() {
	[ $writes = no ] || asked USR2 dirty
	timed "$1" "$2" ours rollback --in-place "$job"
	row "$1" "$2" ours pause $(($(json_number pause_ns "$(cat "$work/answer")") / 1000))
	row "$1" "$2" ours copied $(($(json_number bytes_copied "$(cat "$work/answer")") / 1024))
	row "$1" "$2" ours read $(($(json_number bytes_read "$(cat "$work/answer")") / 1024))
}
restart() {
	[ $writes = no ] || asked USR2 dirty
	ctl kill "$job" KILL >/dev/null
	ctl wait "$job" >/dev/null
	timed "$1" "$2" restart restart "$job"
}

bench_rollback() { # CASE touch-arguments
	local case=$1 run
	wanted "$case" || return 0
	shift
	case $* in *--dirty*) writes=yes ;; *) writes=no ;; esac
	for ((run = 1; run <= RUNS; run++)); do
		job=$(ctl run --detach -- "$touch" "$@" --dir "$work")
		until output | grep -q ready; do sleep 0.2; done
		# only the first of the two finds tracked writes: a restart ends them
		ctl checkpoint --incremental "$job" >/dev/null || die 'no checkpoint'
		roll_back "$case" "$run"
		restart "$case" "$run"
		ctl kill "$job" KILL >/dev/null
		ctl wait "$job" >/dev/null
		ctl rm "$job" >/dev/null
		say "$bench $case: run $run of $RUNS"
	done
}

bench_all() { # suffix
	bench_rollback "1 GiB, nothing written$1" --mem 1024 --fill random
	bench_rollback "1 GiB, 5 % written in one piece$1" --mem 1024 --fill random --dirty 5
	bench_rollback "1 GiB, 5 % written here and there$1" --mem 1024 --fill random --dirty 5 \
		--scatter --no-thp
}

# Steps a second of a job with an incremental checkpoint every ten seconds, without and with L0.
bench_cost() { # CASE MIB PERCENT
	local case=$1 run way began before n
	wanted "$case" || return 0
	for ((run = 1; run <= RUNS; run++)); do
		for way in off l0; do
			daemon_start "$([ $way = l0 ] && echo 1G || echo off)"
			job=$(ctl run --detach -- "$steady" "$2" "$3")
			until output | grep -q ready; do sleep 0.2; done
			ctl checkpoint --incremental "$job" >/dev/null || die 'no checkpoint'
			before=$(steps)
			began=$(date +%s%N)
			for n in {1..4}; do
				while [ $(($(date +%s%N) - began)) -lt "${n}0000000000" ]; do
					sleep 0.05
				done
				ctl checkpoint --incremental "$job" >/dev/null ||
					die 'no checkpoint'
			done
			row "$case" "$run" $way rate \
				$((($(steps) - before) * 1000000000 / ($(date +%s%N) - began)))
			ctl kill "$job" KILL >/dev/null
			ctl wait "$job" >/dev/null
			ctl rm "$job" >/dev/null
			daemon_stop
		done
		say "$bench $case: run $run of $RUNS"
	done
}
steps() {
	local before
	before=$(output | wc -l)
	pkill -USR1 -o -x steady
	until [ "$(output | wc -l)" -gt "$before" ]; do sleep 0.02; done
	output | sed -n '$s/steps //p'
}

daemon=
trap '[ -z "$daemon" ] || daemon_stop' EXIT
bench_cost 'a job of 256 MiB, 5 % written a second, a checkpoint every 10 s' 256 5
daemon_start off
bench_all ''
daemon_stop
daemon_start 512M
bench_all ' (L0)'
