#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs of tests/mpi/cuts and tests/mpi/programs under checkpoints without a checkpoint: every
# few milliseconds the job is quiesced, drained and let go, or given new lower halves in place.
# The output is that of a run with the library alone. Restarts need tests/mpi/pmi1, so MPICH, or a
# rank of Open MPI that has no launcher and is alone; they are few, as each costs a tenth of a
# second. Then what waits for cuts: cuts/free_late.c, in which a rank frees a communicator after
# two, cuts/free_unreceived.c, cuts/progress.c and cuts/many_comms_kept.c; some of both with
# MPI_THREAD_MULTIPLE, and cuts/callers.c, whose threads call at the same time; and with
# interruptible collectives cuts/apart.c, in which a rank does not come to what the others wait in
# before it has seen two. cuts/stopped_in_call.c needs a restart to go wrong. What each of
# wrong_here, init_level, send_cancelled, request_handlers, file_meets and message_later is for it
# says itself. More of all, and all cases unless TEST_SHARE says which:
#
#   KINDS='mpich ompi' MODES='go restart' INTERVAL=2 CUTS=100 CUT_ROUNDS=150 RANKS='2 3 4 5' \
#	PROGRAMS='waits types' tests/mpi/quiesce.t

. "$(dirname "$0")/lib.sh"

: "${KINDS:=mpich ompi}" "${MODES:=go restart}" "${INTERVAL:=10}" "${RANKS:=2 3 4}" "${CUTS:=}"
: "${PROGRAMS:=drained probes persists colls consensus idup_late io_collective type_freed windows}"
: "${CUT_ROUNDS:=10}"
export CUT_ROUNDS
: "${APART:=2 3}" "${APART_PROGRAMS:=colls free_apart}" \
	"${MULTIPLE:=drained io_collective kept_threads}"
: "${SAID:=[1-9].* cuts}" "${CALLERS_RANKS:=2 3}"
declare -A cuts=([go]=${CUTS:-1000} [restart]=${CUTS:-2})
declare -A glue=([mpich]=$top/build/lib/mpi/mpich/libmpich.so.12
	[ompi]=$top/build/lib/mpi/ompi/libmpi.so.40)
work=$(mktemp -d)
# as the shim's: who writes to a page of a disk's file may wait for the disk
pages=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work" "$pages"' EXIT

# each rank: its page, the glue, and for a restart its place in the job
# shellcheck disable=SC2016
rank='r=${PMI_RANK_OF_TEST:-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}}
[ -n "$PMI_RANK_OF_TEST" ] && export PMI_ID=$r
export CKPT_STATUS=$1/$r LD_PRELOAD=$2
exec "$3"'

launcher() {
	case $1,$2 in
	ompi,restart) launch=(env OMPI_MCA_ess_singleton_isolated=1 PMI_RANK_OF_TEST=0) ;;
	*,restart) launch=("$top/tests/mpi/pmi1" "$3") ;;
	mpich,*) launch=(mpiexec.mpich -n "$3") ;;
	ompi,*) launch=(mpirun.openmpi --allow-run-as-root --oversubscribe -n "$3") ;;
	esac
}

# 3: it was over before the first cut, or refusal
try() {
	local kind=$1 mode=$2 ranks=$3 name=$4 program=$top/build/mpi/programs/$1/$4 launch direct
	rm -f "$pages"/*
	launcher "$kind" "$mode" "$ranks"
	direct=$work/$kind.$name.$ranks.$CUT_ROUNDS
	[ -e "$direct" ] || (cd "$work" && job "$kind" "$ranks" "$program" | sort >"$direct.new" &&
		mv "$direct.new" "$direct") || return
	(cd "$work" && timeout -k 2 300 "$bin/quiesce" "$pages" "$ranks" "$INTERVAL" "$mode" \
		"${cuts[$mode]}" "${launch[@]}" sh -c "$rank" - "$pages" "${glue[$kind]}" \
		"$program" >"$work/out" 2>"$work/err") || { cat "$work/err"; return 1; }
	sort "$work/out" | diff "$direct" - || { cat "$work/err"; return 1; }
	grep -q "^# $SAID" "$work/err" || { cat "$work/err"; return 3; }
}

# a program that is too quick is made to last
cut() {
	local CUT_ROUNDS=$CUT_ROUNDS rc=3
	build "$1" "$4" || return
	for _ in 1 2 3; do
		try "$@" && return
		rc=$?
		[ $rc = 3 ] || break
		CUT_ROUNDS=$((CUT_ROUNDS * 5))
	done
	return $rc
}

loses="Open MPI's launcher takes a rank whose library is loaded anew for lost"
for kind in $KINDS; do
	for mode in $MODES; do
		if [ "$kind,$mode" = ompi,restart ]; then
			skip "$kind: $mode" "$loses"
			continue
		fi
		for name in $PROGRAMS; do
			for ranks in $RANKS; do
				some_ok "$kind: $mode: $name with $ranks ranks" \
					cut "$kind" "$mode" "$ranks" "$name"
			done
		done
	done
done

# One rank, which aborts in that state of its page. What it ends with is its own code, wherever it
# was. MPICH's launcher makes 1 of it if it hears of a rank's end before that of its connection;
# others may end the shell first.
aborts() {
	local kind=$1 mode=$2 state=$3 launch rc=0
	# shellcheck disable=SC2016
	local note='sh -c "$1" - "$2" "$3" "$4"; rc=$?; echo $rc >"$2/ended"; exit $rc'
	build "$kind" abort_cut || return
	rm -f "$pages"/*
	launcher "$kind" "$mode" 1
	(cd "$work" && ABORT_AT=$state timeout -k 2 120 "$bin/quiesce" "$pages" 1 5 "$mode" 100000 \
		"${launch[@]}" sh -c "$note" - "$rank" "$pages" "${glue[$kind]}" \
		"$top/build/mpi/programs/$kind/abort_cut") >"$work/out" 2>"$work/err" || rc=$?
	[ "$rc" = 17 ] || rc=$(cat "$pages/ended")
	[ "$rc" = 17 ] && ! grep -q 'before initializing' "$work/err" && return
	echo "exit status $rc"
	cat "$work/out" "$work/err"
	return 1
}

# cuts until it ends; in place few, as each of its rounds waits for two
free_late() {
	local kind=$1 more=$2 ranks
	cuts[go]=100000
	for ranks in $APART; do
		some_ok "$kind: go: free_late with $ranks ranks$more" \
			cut "$kind" go "$ranks" free_late
		[ -n "$more" ] || some_ok "$kind: go: progress with $ranks ranks" \
			cut "$kind" go "$ranks" progress
		[ -n "$more" ] || some_ok "$kind: go: free_unreceived with $ranks ranks" \
			cut "$kind" go "$ranks" free_unreceived
		[ -n "$more" ] || some_ok "$kind: go: free_inited with $ranks ranks" \
			cut "$kind" go "$ranks" free_inited
		[ -n "$more" ] || some_ok "$kind: go: disconnected with $ranks ranks" \
			cut "$kind" go "$ranks" disconnected
		[ -n "$more" ] || some_ok "$kind: go: idup_pending with $ranks ranks" \
			cut "$kind" go "$ranks" idup_pending
		[ -n "$more" ] || INTERVAL=50 some_ok \
			"$kind: go: many_comms_kept with $ranks ranks" \
			cut "$kind" go "$ranks" many_comms_kept
	done
	cuts[go]=${CUTS:-1000}
	[ "$kind" = mpich ] || return
	[[ $MODES = *restart* ]] || return
	cuts[restart]=100000
	[ -n "$more" ] || INTERVAL=100 some_ok "$kind: restart: many_comms_kept with 2 ranks" \
		cut "$kind" restart 2 many_comms_kept
	[ -n "$more" ] || some_ok "$kind: restart: errors_deleted with 2 ranks" \
		cut "$kind" restart 2 errors_deleted
	[ -n "$more" ] || INTERVAL=100 some_ok "$kind: restart: idup_pending with 2 ranks" \
		cut "$kind" restart 2 idup_pending
	[ -n "$more" ] || INTERVAL=100 some_ok "$kind: restart: disconnected with 3 ranks" \
		cut "$kind" restart 3 disconnected
	[ -n "$more" ] || CUT_ROUNDS=4 INTERVAL=100 some_ok \
		"$kind: restart: free_unreceived with 2 ranks" \
		cut "$kind" restart 2 free_unreceived
	[ -n "$more" ] || CUT_ROUNDS=4 INTERVAL=100 some_ok \
		"$kind: restart: free_inited with 2 ranks" \
		cut "$kind" restart 2 free_inited
	CUT_ROUNDS=4 INTERVAL=100 some_ok "$kind: restart: free_late with 3 ranks$more" \
		cut "$kind" restart 3 free_late
	cuts[restart]=${CUTS:-2}
}

# all that a restart of Open MPI can be tried with here
ompi_alone() {
	local name
	[ "$1" = ompi ] || return
	[[ $MODES = *restart* ]] || return
	for name in drained persists type_freed; do
		some_ok "ompi: restart: $name, alone" cut ompi restart 1 "$name"
	done
	some_ok 'ompi: restart: io_collective, alone' cut ompi restart 1 io_collective
	cuts[restart]=100000
	INTERVAL=50 CUT_ROUNDS=50 some_ok 'ompi: restart: long_name, alone' \
		cut ompi restart 1 long_name
	MT_DIR=$work MT_PACE=10000 INTERVAL=100 some_ok 'ompi: restart: group_kept, alone' \
		cut ompi restart 1 group_kept
	OMPI_ARGV='' MT_DIR=$work MT_PACE=10000 INTERVAL=100 some_ok \
		'ompi: restart: info_kept, alone' \
		cut ompi restart 1 info_kept
	INTERVAL=50 some_ok 'ompi: restart: type_contents, alone' cut ompi restart 1 type_contents
	INTERVAL=50 some_ok 'ompi: restart: file_shared, alone' cut ompi restart 1 file_shared
	ASKED_CUTS=12 INTERVAL=50 some_ok 'ompi: restart: library_version, alone' \
		cut ompi restart 1 library_version
	cuts[restart]=${CUTS:-2}
}

for kind in $KINDS; do
	free_late "$kind" ''
	for name in file_shared init_level send_cancelled request_handlers waits_mixed \
		wrong_here; do
		some_ok "$kind: go: $name with 2 ranks" cut "$kind" go 2 "$name"
	done
	FREED_TYPE=contents some_ok "$kind: go: type_freed with 2 ranks, told by another" \
		cut "$kind" go 2 type_freed
	some_ok "$kind: go: long_name with 2 ranks" cut "$kind" go 2 long_name
	SAID='[0-9]* cuts, [1-9].* refused' LONG_AWAY=1 some_ok \
		"$kind: go: long_name with 2 ranks, refused" \
		cut "$kind" go 2 long_name
	CUT_ROUNDS=50 INTERVAL=3 some_ok "$kind: go: file_meets with 3 ranks" \
		cut "$kind" go 3 file_meets
	some_ok "$kind: go: helpers with 2 ranks" cut "$kind" go 2 helpers
	some_ok "$kind: go: message_later with 4 ranks" cut "$kind" go 4 message_later
	some_ok "$kind: go: MPI_Abort while the library is the glue thread's" aborts "$kind" go 3
	some_ok "$kind: go: MPI_Abort at a cut" aborts "$kind" go 4
	ompi_alone "$kind"
	[ "$kind" = mpich ] || continue
	[[ $MODES = *restart* ]] || continue
	cuts[restart]=100000
	# the address of the server is in the environment; one rank needs none
	INTERVAL=100 some_ok "$kind: restart: environ_gone" cut "$kind" restart 1 environ_gone
	INTERVAL=50 CUT_ROUNDS=100 some_ok "$kind: restart: long_name with 2 ranks" \
		cut "$kind" restart 2 long_name
	INTERVAL=100 some_ok "$kind: restart: names_kept with 2 ranks" \
		cut "$kind" restart 2 names_kept
	INTERVAL=50 some_ok "$kind: restart: file_shared with 2 ranks" \
		cut "$kind" restart 2 file_shared
	INTERVAL=50 some_ok "$kind: restart: type_contents with 2 ranks" \
		cut "$kind" restart 2 type_contents
	INTERVAL=50 some_ok "$kind: restart: type_large with 2 ranks" \
		cut "$kind" restart 2 type_large
	INTERVAL=100 CUT_ROUNDS=10 some_ok "$kind: restart: helpers with 2 ranks" \
		cut "$kind" restart 2 helpers
	INTERVAL=20 CUT_ROUNDS=6 some_ok "$kind: restart: stopped_in_call with 2 ranks" \
		cut "$kind" restart 2 stopped_in_call
	INTERVAL=20 some_ok "$kind: restart: wrong_here with 2 ranks" \
		cut "$kind" restart 2 wrong_here
	ABORT_AFTER=20000 some_ok "$kind: restart: MPI_Abort while another library is loaded" \
		aborts "$kind" restart 5
	cuts[restart]=${CUTS:-2}
done

# asked for by many programs in which one thread calls
export MT_THREADS=multiple
for kind in $KINDS; do
	for ranks in $CALLERS_RANKS; do
		SAID='[1-9][0-9]* cuts, 0 refused' CUT_ROUNDS=$((2 * CUT_ROUNDS)) \
			some_ok "$kind: go: callers with $ranks ranks" \
				cut "$kind" go "$ranks" callers
	done
	# three threads that make communicators are too much for Open MPI
	for what in file $([ "$kind" = mpich ] && echo groups); do
		SAID='[0-9]* cuts, [1-9].* refused' CALLERS=$what \
			some_ok "$kind: go: callers with 2 ranks, $what, refused" \
				cut "$kind" go 2 callers
	done
	for name in $MULTIPLE; do
		some_ok "$kind: go: $name with 3 ranks, MPI_THREAD_MULTIPLE" \
			cut "$kind" go 3 "$name"
	done
	free_late "$kind" ', MPI_THREAD_MULTIPLE'
	[ "$kind" = mpich ] || continue
	[[ $MODES = *restart* ]] || continue
	cuts[restart]=${CUTS:-4}
	SAID='[1-9][0-9]* cuts, 0 refused' INTERVAL=100 CUT_ROUNDS=$((4 * CUT_ROUNDS)) \
		some_ok "$kind: restart: callers with 2 ranks" cut "$kind" restart 2 callers
	cuts[restart]=${CUTS:-2}
	for name in drained kept_threads library_version; do
		some_ok "$kind: restart: $name with 3 ranks, MPI_THREAD_MULTIPLE" \
			cut "$kind" restart 3 "$name"
	done
done
unset MT_THREADS

export CKPT_COLLECTIVES=interruptible CUT_DIR=$pages
for kind in $KINDS; do
	free_late "$kind" ', interruptible'
	for ranks in $APART; do
		cuts[go]=100000
		some_ok "$kind: go: apart with $ranks ranks, interruptible" \
			cut "$kind" go "$ranks" apart
	done
	cuts[go]=${CUTS:-1000}
	for name in $APART_PROGRAMS; do
		some_ok "$kind: go: $name with 3 ranks, interruptible" cut "$kind" go 3 "$name"
	done
	[ "$kind" = mpich ] || continue
	[[ $MODES = *restart* ]] || continue
	cuts[restart]=100000
	export CUT_EVERY=9 CUT_FIRST=1
	INTERVAL=100 some_ok "$kind: restart: apart with 2 ranks, interruptible" \
		cut "$kind" restart 2 apart
	unset CUT_EVERY CUT_FIRST
	cuts[restart]=${CUTS:-2}
	some_ok "$kind: restart: colls with 3 ranks, interruptible" cut "$kind" restart 3 colls
done
finish
