#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# BENCH=rollback: a rollback in place beside a restart from the same checkpoint (L1, cold page
# cache), of a job that has written a part of its memory since, in turn.

. "$(dirname "$0")/lib.sh"
ckptd=$(dirname "$0")/../build/bin/ckptd
images=$work/images
sock=$work/sock

ctl() { "$ckptctl" --socket "$sock" "$@"; }
daemon_start() {
	mkdir -p "$images" "$work/jobs"
	head -c 32 /dev/urandom >"$work/node.key"
	chmod 600 "$work/node.key"
	"$ckptd" --config /dev/null --set socket="$sock" --set state_dir="$work/jobs" \
		--set image_dir="$images" --set key="$work/node.key" --set node=n1 \
		2>"$work/ckptd.log" &
	daemon=$!
	until [ -S "$sock" ]; do sleep 0.1; done
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

daemon_start
trap 'kill $daemon; wait $daemon' EXIT
bench_rollback '1 GiB, nothing written' --mem 1024 --fill random
bench_rollback '1 GiB, 5 % written in one piece' --mem 1024 --fill random --dirty 5
bench_rollback '1 GiB, 5 % written here and there' --mem 1024 --fill random --dirty 5 --scatter \
	--no-thp
