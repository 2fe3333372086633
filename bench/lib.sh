# SPDX-License-Identifier: GPL-2.0-only
#
# Helpers of the benchmarks; sourced by bash, in the VM.
#
# A case is a workload (arguments of bench/touch). In each run a fresh workload is
# dumped by both, in turn: odd runs CRIU first, even runs ours. Every figure is a
# row of a CSV file: bench,case,run,tool,metric,value (times in µs, sizes in KiB).
#
# With /root/ckptctl-before (bench/run, BEFORE) the peer is an older Stillpoint, not CRIU.
#
# Environment (set by bench/run): CRIU (its program), OUT (the CSV file), RUNS, DISK (a directory on
# the NVMe disk), CASES (a regular expression; only such cases). The programs are
# in /root.

set -u
touch=/root/touch
measure=/root/measure
steady=/root/steady
ckptctl=/root/ckptctl
bench=$(basename "$0" .sh)
work=$DISK/bench
key=/root/bench.key
criu=${CRIU:-criu}
peer=criu
[ ! -x /root/ckptctl-before ] || peer=before
mkdir -p "$work"

say() { printf 'bench: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
wanted() { [[ $1 =~ ${CASES:-} ]]; } # CASE
row() { # CASE RUN TOOL METRIC VALUE
	echo "$bench,\"$1\",$2,$3,$4,$5" >>"$OUT"
}

# Starts touch with the given arguments in a session of its own; sets $pid.
workload_start() {
	rm -f "$work/touch.out"
	setsid "$touch" "$@" --dir "$work" </dev/null >"$work/touch.out" 2>&1 &
	pid=$!
	local i
	for ((i = 0; i < 3000; i++)); do
		grep -q ready "$work/touch.out" 2>/dev/null && return 0
		kill -0 $pid 2>/dev/null || die "touch $*: $(cat "$work/touch.out")"
		sleep 0.1
	done
	die "touch $*: not ready"
}
workload_stop() {
	kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	while pgrep -x touch >/dev/null; do sleep 0.05; done
}
# Every process of the workload checks its memory.
workload_check() {
	local i before
	before=$(wc -l <"$work/touch.out")
	kill -USR1 "$pid" || return 1
	for ((i = 0; i < 1200; i++)); do
		[ "$(wc -l <"$work/touch.out")" -gt "$before" ] && break
		sleep 0.1
	done
	[ "$(tail -1 "$work/touch.out")" = good ]
}

# The number after "$1": in JSON.
json_number() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" <<<"$2" | head -1; }
# 12345 of "Frozen time: 12345 us"
criu_stat() { sed -n "s/.*$1: \([0-9]*\) us.*/\1/p" <<<"$2" | head -1; }

rows_of_measure() { # CASE RUN TOOL
	local wall synced rss cpu
	read -r wall synced rss cpu <"$work/measure"
	row "$1" "$2" "$3" wall "$wall"
	row "$1" "$2" "$3" synced "$synced"
	row "$1" "$2" "$3" rss "$rss"
	row "$1" "$2" "$3" cpu "$cpu"
}

dump_criu() { # CASE RUN; leaves $work/criu
	local out
	rm -rf "$work/criu"
	mkdir "$work/criu"
	sync
	out=$("$measure" "$work/measure" "$criu" dump -t "$pid" -D "$work/criu" \
		--leave-running -v1 -o dump.log --display-stats) ||
		die "criu dump: $(tail -5 "$work/criu/dump.log")"
	rows_of_measure "$1" "$2" criu
	row "$1" "$2" criu freeze "$(criu_stat 'Freezing time' "$out")"
	row "$1" "$2" criu pause "$(criu_stat 'Frozen time' "$out")"
	row "$1" "$2" criu size "$(du -sk "$work/criu" | cut -f1)"
}

dump_stillpoint() { # TOOL COMMAND CASE RUN; leaves $work/TOOL
	local out tool=$1 command=$2
	shift 2
	rm -rf "${work:?}/$tool"
	sync
	out=$("$measure" "$work/measure" "$command" --json --standalone --key "$key" \
		dump --pid "$pid" --dir "$work/$tool" --leave-running) ||
		die "$command dump: $out"
	rows_of_measure "$1" "$2" "$tool"
	row "$1" "$2" "$tool" freeze $(($(json_number freeze_ns "$out") / 1000))
	row "$1" "$2" "$tool" pause $(($(json_number pause_ns "$out") / 1000))
	row "$1" "$2" "$tool" collect $(($(json_number collect_ns "$out") / 1000))
	row "$1" "$2" "$tool" clone $(($(json_number clone_ns "$out") / 1000))
	row "$1" "$2" "$tool" size "$(du -sk "$work/$tool" | cut -f1)"
}
dump_ours() { dump_stillpoint ours "$ckptctl" "$@"; } # CASE RUN
dump_before() { dump_stillpoint before "$ckptctl-before" "$@"; } # CASE RUN

# The same without CRIU.
bench_ours() {
	local case=$1 run
	wanted "$case" || return 0
	shift
	for ((run = 1; run <= RUNS; run++)); do
		workload_start "$@"
		dump_ours "$case" $run
		workload_check || die "$case: the workload is not what it was"
		workload_stop
		rm -rf "$work/ours" "$work"/file-*
		say "$bench $case: run $run of $RUNS"
	done
}

# bench_dump CASE touch-arguments: RUNS alternating pairs of dumps.
bench_dump() {
	local case=$1 run
	wanted "$case" || return 0
	shift
	for ((run = 1; run <= RUNS; run++)); do
		workload_start "$@"
		if ((run % 2)); then
			"dump_$peer" "$case" $run
			dump_ours "$case" $run
		else
			dump_ours "$case" $run
			"dump_$peer" "$case" $run
		fi
		workload_check || die "$case: the workload is not what it was"
		workload_stop
		rm -rf "$work/$peer" "$work/ours" "$work"/file-*
		say "$bench $case: run $run of $RUNS"
	done
}
