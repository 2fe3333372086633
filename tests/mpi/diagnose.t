#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptctl diag on jobs that hang, and on jobs that only look so, with both libraries. On this
# machine without the kernel module: then nothing is known of where a running thread is.
# tests/vm/diagnose.t runs the same with the module.
#
#   KINDS='mpich ompi' WAYS='stop miss' SLOW=1 tests/mpi/diagnose.t
#
# As root: a job has namespaces of its own.

. "$(dirname "$0")/lib.sh"

: "${KINDS:=mpich ompi}" "${SLOW:=1}"
: "${WAYS:=stop sleep loop operation miss other receive circle clean uneven}"
if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP must be root'
	exit 0
fi

work=$(mktemp -d)
chmod 755 "$work"
head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
mkdir "$work/jobs" "$work/images"
"$top/build/bin/ckptd" --config /dev/null --set socket="$work/sock" \
	--set state_dir="$work/jobs" --set image_dir="$work/images" --set key="$work/key" \
	--set node=n1 --set diagnose=notify --set diagnose_every=1s \
	--set diagnose_patience="$((3 * SLOW))s" 2>"$work/log" &
daemon=$!
trap 'kill $daemon; wait $daemon; rm -rf "$work"' EXIT
for _ in {1..100}; do
	[ -S "$work/sock" ] && break
	sleep 0.05
done

ctl() {
	timeout -k 2 $((60 * SLOW)) "$top/build/bin/ckptctl" "$1" --socket "$work/sock" "${@:2}"
}

# field NAME: of the result of the last diagnosis
field() {
	python3 -c 'import json, sys
value = json.load(open(sys.argv[1]))["result"]
for name in sys.argv[2].split("."):
    value = value[int(name) if name.isdigit() else name]
print(json.dumps(value))' "$work/report" "$1"
}

# program KIND: in the build directory, which a VM can only read
program() {
	local out=$top/build/mpi/diagnose/$1/hang
	newer "$out" "$top/tests/mpi/hang.c" && return
	mkdir -p "${out%/*}" && "${cc[$1]}" -O1 -g -w -o "$out" "$top/tests/mpi/hang.c"
}

# hangs KIND WAY: start it in the background; the job's number in $job
hangs() {
	local kind=$1 way=$2
	program "$kind" || return
	HANG_SECONDS=$((8 * SLOW)) timeout -k 2 $((60 * SLOW)) "$top/build/bin/ckptrun" \
		--socket "$work/sock" -n 4 "$top/build/mpi/diagnose/$kind/hang" "$way" \
		</dev/null >"$work/out" 2>"$work/err" &
	run=$!
	for ((i = 0; i < 200 * SLOW; i++)); do
		grep -q begun "$work/out" && break
		sleep 0.05
	done
	sleep $((1 + SLOW))
	job=$(ctl ps --json | sed -n 's/^ *"job": *\([0-9]*\),*$/\1/p' | tail -n 1)
	[ -n "$job" ]
}

over() {
	[ -z "$job" ] || ctl kill "$job" KILL >/dev/null 2>&1
	wait "$run"
	job=''
}

# The patience is that of an impatient user: the jobs hang for seconds, not for minutes. On a busy
# machine the hang may have just begun: then the report says to ask again.
diagnose() {
	local i
	for ((i = 0; i < 3; i++)); do
		ctl diag run --json --patience 800ms "$@" "$job" >"$work/report" || {
			cat "$work/report" "$work/err"
			return 1
		}
		grep -q 'not confirmed: ask again' "$work/report" || return 0
		sleep 1
	done
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

module=false
[ ! -c /dev/ckpt ] || module=true

# in_function NAME: the samples of rank 1 are all in that function
in_function() {
	is mpi_ranks.1.thread.steady true && field mpi_ranks.1.thread.place.name | grep -q "$1"
}

# a rank that runs: only the module sees where
runs_in() {
	if $module; then
		is verdict '"hangs"' cause '"loops"' suspects '[1]' && in_function "$1"
	else
		is verdict '"unknown"'
	fi
}

# the verdict on WAY
right() {
	local way=$1
	# whoever is that impatient takes a long step of the uneven one for a hang
	[ -n "$job" ] && diagnose $([ "$way" != uneven ] || echo --patience 30s) &&
		is looks.0.module $module || return
	case $way in
	stop)
		is verdict '"hangs"' cause '"stopped"' suspects '[1]' call '"MPI_Barrier"' \
			blocked 3
		;;
	sleep) is verdict '"hangs"' cause '"sleeps"' suspects '[1]' call '"MPI_Barrier"' ;;
	loop)
		is suspects '[1]' && runs_in hang_loop
		;;
	operation)
		runs_in hang_loop || { ! $module && is verdict '"hangs"' cause '"arrived"'; }
		;;
	miss) is verdict '"hangs"' cause '"differ"' suspects '[1]' ;;
	other) is verdict '"hangs"' cause '"differ"' suspects '[1]' call '"MPI_Barrier"' ;;
	receive) is verdict '"hangs"' cause '"circle"' suspects '[0, 1]' mpi_ranks.1.tag 77 \
		mpi_ranks.1.peer 0 ;;
	circle) is verdict '"hangs"' cause '"circle"' suspects '[0, 1, 2]' ;;
	clean) is verdict '"runs"' ;;
	uneven) [ "$(field cause)" = '"early"' ] || is verdict '"runs"' ;;
	esac
}

# Where a rank sleeps, its stack is known without the module, too.
stacks() {
	ctl diag stacks "$job" >"$work/report" || return
	cat "$work/report"
	ctl diag stacks --format folded "$job" >"$work/folded" || return
	cat "$work/folded"
	grep -q 'blame (hang): 1 \[1\]' "$work/report" &&
		grep -q 'main (hang);blame (hang);pause .* 1$' "$work/folded" &&
		ctl diag stacks --format dot "$job" | grep -q '^digraph stacks'
}

bundle() {
	rm -rf "$work/evidence"
	ctl diag run --patience 800ms --out "$work/evidence" "$job" || return
	head "$work/evidence/verdict.txt" "$work/evidence/stacks.txt" || return
	grep -q '^hangs (sleeps)$' "$work/evidence/verdict.txt" &&
		grep -q 'blame (hang): 1 \[1\]' "$work/evidence/stacks.txt" &&
		[ -s "$work/evidence/report.json" ] && [ -s "$work/evidence/stacks.folded" ] &&
		[ "$(stat -c %a "$work/evidence")" = 700 ] || return
	# what is there stays
	! ctl diag run --out "$work/evidence" "$job"
}

# ckptd looks by itself: the hang is in the log once, and nothing else is
notified() {
	local _
	for ((_ = 0; _ < 100 * SLOW; _++)); do
		grep -q "job $job hangs: rank 1 on n1.*sleeps outside MPI" "$work/log" && break
		sleep 0.1
	done
	sleep 3
	cat "$work/log"
	[ "$(grep -c "job $job hangs: MPI_Barrier number 21" "$work/log")" = 1 ]
}

no_false_alarm() {
	! grep "job $job hangs" "$work/log"
}

# It answers, and warns of the hang that it has found.
healthy() {
	local want='nodes=0 silent=0 without_module=0 jobs=1 lost=0 hangs=1'
	! ctl health && [ "$(ctl health --nagios)" = \
		"STILLPOINT WARNING - 1 jobs hang: ckptctl diag incidents | $want" ]
}

is_critical() {
	local rc=0
	"$top/build/bin/ckptctl" health --socket "$work/none" --nagios || rc=$?
	[ $rc = 2 ]
}

colls() {
	ctl diag colls "$job" >"$work/report" || return
	cat "$work/report"
	grep -Eq '^WORLD +4 +20 +1 +21 +[023]$' "$work/report"
}

# The ring of the rank's last calls: the receive, and before it twenty rounds of two calls.
recent() {
	ctl diag show --rank 1 "$job" >"$work/report" || return
	cat "$work/report"
	grep -Eq '^ *1 +41 +[0-9.]+ s ago +MPI_Recv from 0, tag 77$' "$work/report" &&
		grep -Eq '^ *1 +39 +[0-9.]+ s ago +MPI_Allreduce number 20 of WORLD$' \
			"$work/report" &&
		[ "$(grep -c 'MPI_Sendrecv' "$work/report")" = 20 ] &&
		[ "$(wc -l <"$work/report")" = 42 ] || return
	ctl diag show "$job" >"$work/report" || return
	cat "$work/report"
	[ "$(wc -l <"$work/report")" = 17 ] || return
	ctl diag run --patience 800ms "$job" | tee "$work/report"
	grep -Eq 'rank 1 began before that: MPI_Sendrecv.*; MPI_Allreduce number 20' "$work/report"
}

for kind in $KINDS; do
	for way in $WAYS; do
		hangs "$kind" "$way"
		ok "$kind: $way" right "$way"
		[ "$way" != receive ] || ok "$kind: its last calls" recent
		[ "$way" != sleep ] || ok "$kind: its stack" stacks
		[ "$way" != sleep ] || ok "$kind: its communicator" colls
		[ "$way" != sleep ] || ok "$kind: its evidence" bundle
		[ "$way" != sleep ] || ok "$kind: ckptd finds it by itself" notified
		case $way in clean | uneven) ok "$kind: no false alarm" no_false_alarm ;; esac
		[ "$way" != sleep ] || ok "$kind: ckptctl health warns of it" healthy
		over
	done
done
ok 'without ckptd all is critical' is_critical
finish
