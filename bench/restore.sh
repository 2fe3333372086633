#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# From the request until the tree runs again, with a cold page cache; and that
# it holds what it held.

. "$(dirname "$0")/lib.sh"

restore_criu() { # CASE RUN
	"$measure" "$work/measure" "$criu" restore -d -D "$work/criu" -v1 -o restore.log ||
		die "criu restore: $(tail -5 "$work/criu/restore.log")"
	rows_of_measure "$1" "$2" criu
}

restore_stillpoint() { # TOOL COMMAND CASE RUN
	"$measure" "$work/measure" "$2" --standalone --key "$key" restore \
		--dir "$work/$1" --detach >/dev/null || die "$2 restore"
	rows_of_measure "$3" "$4" "$1"
}
restore_ours() { restore_stillpoint ours "$ckptctl" "$@"; } # CASE RUN
restore_before() { restore_stillpoint before "$ckptctl-before" "$@"; } # CASE RUN

restored() { # TOOL CASE RUN
	workload_stop
	sync
	echo 3 >/proc/sys/vm/drop_caches
	"restore_$1" "$2" "$3"
	workload_check || die "$1, $2: the workload is not what it was"
}

bench_restore() { # CASE touch-arguments
	local case=$1 run first second
	wanted "$case" || return 0
	shift
	for ((run = 1; run <= RUNS; run++)); do
		first=$peer second=ours
		((run % 2)) || { first=ours second=$peer; }
		workload_start "$@"
		"dump_$first" "$case, dump" $run
		restored $first "$case" $run
		"dump_$second" "$case, dump" $run
		restored $second "$case" $run
		workload_stop
		rm -rf "$work/$peer" "$work/ours" "$work"/file-*
		say "$bench $case: run $run of $RUNS"
	done
}

bench_restore '1 GiB' --mem 1024
bench_restore '64 threads' --mem 16 --threads 64
bench_restore '16 x 64 MiB' --procs 16 --mem 64
