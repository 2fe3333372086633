#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Files and memory of one moment, a slice: tests/crash-consistency/run with some of its programs.
# `make check-crash-consistency` has all of them, on four file systems and with power cuts.
#
# CRASH_CONSISTENCY=off leaves all out; CRASH_RUNS (1) and CRASH_SEED (1) choose how many runs of
# each and which.

. "$(dirname "$0")/lib.sh"
programs='inplace mapping holes regrow sparse pair log sqlite-delete sqlite-wal direct steps
	inplace-closed replace links latest log-rotate inputs'
ranks='mpiio ranks-closed ranks-held ranks-output ranks-alone'

# some NAME...: those of this share, with commas
some() {
	share "$@" | paste -sd,
}
run() {
	tests/crash-consistency/run --vm "$VM" --kernel "$KERNEL" --seed "${CRASH_SEED:-1}" "$@"
}
slice() {
	# shellcheck disable=SC2086
	run --fs ext4,tmpfs --programs "$(some $programs)" --runs "${CRASH_RUNS:-1}"
}
# a part of an export, as homes are: the files are closed, and known by their paths alone
part() {
	run --fs nfs --programs "$(some inplace-closed replace log-rotate)" \
		--runs "${CRASH_RUNS:-1}"
}
# four ranks over two nodes; on one tmpfs of both nodes the file would not be of one moment
nodes() {
	# shellcheck disable=SC2086
	run --fs ext4,nfs --programs "$(some $ranks)" --runs "${CRASH_RUNS:-1}"
}
# equal is no matter of course
spoilt() {
	local said rc=0
	said=$(run --fs tmpfs --programs log,mapping --spoil) || rc=$?
	echo "$said"
	[ $rc = 1 ] && [[ $said = *": 0 equal, 0 refused, 2 wrong"* ]]
}

if [ "${CRASH_CONSISTENCY:-on}" = off ]; then
	skip "jobs restarted after a kill end as undisturbed ones" "CRASH_CONSISTENCY=off"
	echo "1..$n"
	exit 0
elif [ "$KERNEL" != 6.1 ] && [ "${CR_SUBSET:-ci}" != long ] && [ -z "${CRASH_CONSISTENCY:-}" ]; then
	skip "jobs restarted after a kill end as undisturbed ones" \
		"on 6.1 alone; CRASH_CONSISTENCY=on tries it here"
	echo "1..$n"
	exit 0
fi
vm_ready
ok "jobs restarted after a kill end as undisturbed ones" slice
diag "$out"
ok "files below a part of an NFS export that are closed are as they were" part
diag "$out"
ok "a job over two nodes is not restarted with other files than it had" nodes
diag "$out"
ok "files that are changed behind a restart are noticed" spoilt
finish
