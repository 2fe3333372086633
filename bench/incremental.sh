#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# BENCH=incremental: a checkpoint of what was written since the last one beside a full one, of the
# same workload in turn; and by how much a job that computes is slower at one checkpoint a second.

. "$(dirname "$0")/lib.sh"

dump() { # CASE RUN TOOL DIR OPTION…
	local case=$1 run=$2 tool=$3 dir=$4 out
	shift 4
	rm -rf "$dir"
	sync
	out=$("$measure" "$work/measure" "$ckptctl" --json --standalone --key "$key" \
		dump --pid "$pid" --dir "$dir" --leave-running "$@") || die "ckptctl dump: $out"
	[ -n "$case" ] || return 0
	rows_of_measure "$case" "$run" "$tool"
	row "$case" "$run" "$tool" pause $(($(json_number pause_ns "$out") / 1000))
	# what it shares with its base is a link
	row "$case" "$run" "$tool" size "$(find "$dir" -type f -links 1 -printf '%k\n' |
		awk '{ kib += $1 } END { print kib }')"
}
dirty() {
	local before
	before=$(wc -l <"$work/touch.out")
	kill -USR2 "$pid"
	until [ "$(wc -l <"$work/touch.out")" -gt "$before" ]; do sleep 0.05; done
}

# What was restored from an image is what it was.
restored() { # CASE DIR
	workload_stop
	"$ckptctl" --standalone --key "$key" restore --dir "$2" --detach >/dev/null ||
		die "ckptctl restore"
	workload_check || die "$1, $2: the workload is not what it was"
}

bench_incremental() { # CASE touch-arguments
	local case=$1 run
	wanted "$case" || return 0
	shift
	for ((run = 1; run <= RUNS; run++)); do
		workload_start "$@"
		dump "" 0 "" "$work/base" --track
		if ((run % 2)); then
			dirty
			dump "$case" $run ours "$work/ours" --base "$work/base" --track
			dirty
			dump "$case" $run full "$work/full"
			# the later one first: a restart cuts what was printed since
			restored "$case" "$work/full"
			restored "$case" "$work/ours"
		else
			dump "$case" $run full "$work/full"
			dirty
			dump "$case" $run ours "$work/ours" --base "$work/base" --track
			restored "$case" "$work/ours"
			restored "$case" "$work/full"
		fi
		workload_stop
		rm -rf "$work/base" "$work/ours" "$work/full"
		say "$bench $case: run $run of $RUNS"
	done
}

steps() {
	local before
	before=$(wc -l <"$work/steady.out")
	kill -USR1 "$pid"
	until [ "$(wc -l <"$work/steady.out")" -gt "$before" ]; do sleep 0.02; done
	sed -n '$s/steps //p' "$work/steady.out"
}
clock() { date +%s%N; }

# 20 s alone and 20 s with a checkpoint at every second, in turn; rows are steps a second
bench_steady() { # CASE MIB PERCENT
	local case=$1 run way before began n taken base
	wanted "$case" || return 0
	for ((run = 1; run <= RUNS; run++)); do
		setsid "$steady" "$2" "$3" </dev/null >"$work/steady.out" 2>&1 &
		pid=$!
		until grep -q ready "$work/steady.out"; do sleep 0.2; done
		dump "" 0 "" "$work/step-0" --track
		base=$work/step-0
		for way in alone checkpoints; do
			before=$(steps)
			began=$(clock)
			taken=0
			for n in {1..20}; do
				if [ $way = checkpoints ]; then
					dump "" 0 "" "$work/step-$n" --base "$base" --track
					base=$work/step-$n
					taken=$((taken + 1))
				fi
				# until the next second, if it is not there yet
				while [ $((($(clock) - began) / 1000000000)) -lt "$n" ]; do
					sleep 0.02
				done
			done
			row "$case" $run $way rate \
				$((($(steps) - before) * 1000000000 / ($(clock) - began)))
			row "$case" $run $way taken $((taken * 100000000000 / ($(clock) - began)))
		done
		kill -9 "$pid"
		wait "$pid" 2>/dev/null
		rm -rf "$work"/step-*
		say "$bench $case: run $run of $RUNS"
	done
}

bench_incremental '1 GiB, 5 % written in one piece' --mem 1024 --fill random --dirty 5
bench_incremental '1 GiB, 5 % written here and there, 4 KiB pages' --mem 1024 --fill random \
	--dirty 5 --scatter --no-thp
bench_steady 'a job of 256 MiB, 5 % written a second' 256 5
