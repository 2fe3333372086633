#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# BENCH=iotrace: what watching a job's I/O costs it, and how good the report is.
#
# One process (bench/iosteps.c) of a job does each case watched (on) and not watched (off), in
# pairs, the first of which is watched in every second run; so does a process outside of the job,
# of what does nothing. In each run the job's process is under strace -f -c once, too. With random,
# slow, the disk is one of dm-delay that takes SLOW_MS for each operation. Then, while the job is
# watched: the rate of the program's own log beside that of the report, also of a phase of PHASE_S
# seconds; the operations beside the rows and names of files that the record has of them; and what
# the kernel says of its programs, at the entry (times) and at the exit (counts) of a call.
#
# Environment, beside that of lib.sh: SLOW_MS (4), PHASE_S (20), COUNTED (2, runs in which log and
# report are compared), BLOCK_MS (100, of each of the BLOCKS of a case). No Darshan: Debian 12 has
# no package of its library.

. "$(dirname "$0")/lib.sh"
bin=$work/bin
sock=$work/sock
SLOW_MS=${SLOW_MS:-4}
PHASE_S=${PHASE_S:-20}
COUNTED=${COUNTED:-2}
BLOCKS=9		# of iosteps
BLOCK_NS=${BLOCK_MS:-100}000000
declare -A job=() number=() # of the job; operations of a block by "WHO CASE"
null_cases=(zero-0 zero-1 file-1)
cases=(write read direct-write direct-read random small "${null_cases[@]}")
for i in "${!cases[@]}"; do wanted "${cases[i]}" || unset "cases[i]"; done

ctl() { "$bin/ckptctl" --socket "$sock" "$@"; }
daemon_start() {
	mkdir -p "$bin" "$work/images" "$work/jobs"
	cp "$(dirname "$0")"/../build/bin/ckpt{d,ctl,-shim,-launch} "$bin/"
	head -c 32 /dev/urandom >"$work/node.key"
	chmod 600 "$work/node.key"
	"$bin/ckptd" --config /dev/null --set socket="$sock" --set state_dir="$work/jobs" \
		--set image_dir="$work/images" --set key="$work/node.key" --set node=n1 \
		--set metrics_file="$work/ckpt.prom" 2>>"$work/ckptd.log" &
	daemon=$!
	until [ -S "$sock" ]; do sleep 0.1; done
}

# ------------------------------------------------------------------ steps

steps_prepare() { # WHO
	mkdir -p "$work/$1"
	mkfifo "$work/$1/orders" "$work/$1/answers"
}
# steps WHO CASE N: sets $least, $median, $bytes, $ns
steps() {
	local answer
	echo "$2 $3" >"$work/$1/orders"
	answer=$(cat "$work/$1/answers")
	read -r least median bytes ns <<<"$answer"
	[ -n "${ns:-}" ] || die "$1 $2 $3: $answer"
}
# measured WHO CASE RUN TOOL [PART]: a PART-th of the case's operations
measured() {
	local n=$((number["$1 $2"] / ${5:-1}))
	steps "$1" "$2" $((n > 0 ? n : 1))
	row "$2${label[$1]}" "$3" "$4" least "$least"
	row "$2${label[$1]}" "$3" "$4" median "$median"
}
calibrate() { # WHO CASE
	local n=1
	while :; do
		steps "$1" "$2" $n
		[ $((median * n)) -lt $((BLOCK_NS / 20)) ] || break
		n=$((n * 8))
	done
	n=$((BLOCK_NS / (median > 0 ? median : 1)))
	number["$1 $2"]=$((n > 0 ? n : 1))
}

# --------------------------------------------------------------- the watch

programs() { bpftool prog show | grep -c ' name io_'; }
state=off
watch() { # on|off
	local who
	[ "$1" != "$state" ] || return 0
	for who in job slow; do
		ctl io watch "${job[$who]}" "$1" >/dev/null || die "io watch $1"
	done
	if [ "$1" = off ]; then
		until [ "$(programs)" = 0 ]; do sleep 0.2; done
	else
		[ "$(programs)" -gt 0 ] || die 'no BPF programs'
	fi
	state=$1
	# the collector and the kernel are at rest again
	sleep 2
}
in_state() { # RUN on|off
	local case
	watch "$2"
	for case in "${cases[@]}"; do measured job "$case" "$1" "$2"; done
	measured slow random "$1" "$2"
	for case in small "${null_cases[@]}"; do measured outside "$case" "$1" "$2"; done
}
under_strace() { # RUN
	local case part pid tracer
	pid=$(pgrep -f "^/root/iosteps $work/job ") || die 'the process of the job'
	strace -f -c -o "$work/strace" -p "$pid" 2>/dev/null &
	tracer=$!
	until grep -q "^TracerPid:.*[1-9]" "/proc/$pid/status"; do sleep 0.1; done
	for case in "${cases[@]}"; do
		part=1
		case $case in zero-*|file-*) part=100 ;; small) part=10 ;; esac
		measured job "$case" "$1" strace $part
	done
	kill -INT $tracer
	wait $tracer
}

# ------------------------------------------------- how good the report is

# reported SIDE...: bytes and nanoseconds of these operations of the job
reported() {
	ctl io report --json "${job[job]}" | python3 -c '
import json, sys
ops = json.load(sys.stdin)["result"]["operations"]
print(*(sum(ops[side][what] for side in sys.argv[1:]) for what in ("bytes", "ns")))' "$@"
}
# counted: operations and rows so far, names of files in the record
counted() {
	python3 - "$work/ckpt.prom" "$work/jobs/io.db" <<-'END'
	import sqlite3
	import sys
	with open(sys.argv[1]) as f:
	    values = [line.rsplit(' ', 1) for line in f if not line.startswith('#')]
	print(sum(int(v) for name, v in values if name.startswith('ckpt_io_operations_total{')
	          and '"create"' not in name),
	      sum(int(v) for name, v in values if name == 'ckpt_io_rows_total'),
	      sqlite3.connect(sys.argv[2]).execute('SELECT count(*) FROM name').fetchone()[0])
	END
}
settle() { sleep 7; } # until the metrics have the last second
compare() { # RUN CASE N SIDE...
	local run=$1 case=$2 n=$3 before after from to began
	shift 3
	settle
	before=$(reported "$@") from=$(counted) began=$SECONDS
	steps job "$case" "$n"
	settle
	after=$(reported "$@") to=$(counted)
	read -r -a before <<<"$before $from"
	read -r -a after <<<"$after $to"
	# of small files, most of the time is between the calls that the report has
	case $case in
	small|keep) ;;
	*)
		row "$case" "$run" log rate $((bytes * 1000000 / ns))
		row "$case" "$run" report rate $(((after[0] - before[0]) * 1000000 / \
			(after[1] - before[1]))) ;;
	esac
	row "$case" "$run" log bytes "$bytes"
	row "$case" "$run" report bytes $((after[0] - before[0]))
	row "$case" "$run" record operations $((after[2] - before[2]))
	row "$case" "$run" record rows $((after[3] - before[3]))
	row "$case" "$run" record names $((after[4] - before[4]))
	row "$case" "$run" record seconds $((SECONDS - began - 7 > 0 ? SECONDS - began - 7 : 1))
}
# The rate of a phase of direct writes, by the report's seconds.
phase() { # RUN
	local n=$((number["job direct-write"] * PHASE_S * (1000000000 / BLOCK_NS) / BLOCKS)) got
	settle
	steps job direct-write "$n"
	settle
	got=$(ctl io report --json "${job[job]}" | python3 -c '
import json, sys
p = json.load(sys.stdin)["result"]["phases"][-1]
print(p["write_bytes"] * 1000000 // (p["seconds"] * 10**9))')
	row phase "$1" log rate $((bytes * 1000000 / ns))
	row phase "$1" report rate "$got"
}
# program_ns PROGRAM: of each of its runs between the two lists
program_ns() {
	python3 - "$1" "$work/programs" <<-'END'
	import json
	import sys
	def program(path):
	    with open(path) as f:
	        p = next(p for p in json.load(f) if p.get('name') == sys.argv[1])
	    return p.get('run_time_ns', 0), p.get('run_cnt', 0)
	before, after = program(sys.argv[2]), program(sys.argv[2] + '.after')
	print((after[0] - before[0]) // max(1, after[1] - before[1]))
	END
}
# Nanoseconds of each program of vfs_read(), by the kernel's own clock.
programs_ns() { # RUN
	local who what
	sysctl -q kernel.bpf_stats_enabled=1
	for who in job outside; do
		bpftool prog show --json >"$work/programs"
		steps $who zero-1 "${number["$who zero-1"]}"
		bpftool prog show --json >"$work/programs.after"
		for what in io_read_begin io_read; do
			row zero-1 "$1" "kernel-$who" $what "$(program_ns $what)"
		done
	done
	sysctl -q kernel.bpf_stats_enabled=0
}

# ------------------------------------------------------------------- main

export DM_DISABLE_UDEV=1
modprobe -a loop dm-mod dm-delay || die 'no dm-delay'
truncate -s 256M /dev/shm/slow.img
loop=$(losetup --find --show /dev/shm/slow.img) || die 'no loop device'
dmsetup create slow --table "0 $((256 << 11)) delay $loop 0 $SLOW_MS $loop 0 $SLOW_MS" ||
	die 'no slow disk'
/sbin/mke2fs -q -F -t ext4 /dev/mapper/slow
mkdir -p /mnt/slow
mount /dev/mapper/slow /mnt/slow || die 'the slow disk cannot be mounted'
declare -A label=([job]='' [slow]=', slow' [outside]=', outside')

daemon_start
for who in job slow outside; do steps_prepare $who; done
job[job]=$(ctl run --detach -- /root/iosteps "$work/job" "$work/job") || die 'no job'
job[slow]=$(ctl run --detach -- /root/iosteps "$work/slow" /mnt/slow) || die 'no job'
/root/iosteps "$work/outside" "$work/outside" &
outside=$!
for case in "${cases[@]}"; do calibrate job "$case"; done
calibrate slow random
for case in small "${null_cases[@]}"; do calibrate outside "$case"; done
for ((run = 1; run <= RUNS; run++)); do
	first=off second=on
	((run % 2)) || first=on second=off
	in_state $run $first
	[ $first != off ] || under_strace $run
	in_state $run $second
	[ $second != off ] || under_strace $run
	say "$bench: pair $run of $RUNS"
done
watch on
for ((run = 1; run <= (COUNTED < RUNS ? COUNTED : RUNS); run++)); do
	! wanted zero-1 || programs_ns $run
	for case in "${cases[@]}"; do
		n=$((number["job $case"] * 5))
		case $case in
		write|direct-write) compare $run "$case" $n write ;;
		read|direct-read) compare $run "$case" $n read ;;
		random) compare $run "$case" $n read write ;;
		small) compare $run small $n write ;;
		esac
	done
	! wanted keep || compare $run keep 200 write
	! wanted direct-write || phase $run
	say "$bench: report $run"
done
for who in job slow outside; do echo end >"$work/$who/orders"; done
ctl wait "${job[job]}" || die 'the job failed'
ctl wait "${job[slow]}" || die 'the job on the slow disk failed'
wait "$outside" || die 'the process outside failed'
kill "$daemon"
wait "$daemon"
umount /mnt/slow
dmsetup remove slow
losetup -d "$loop"
