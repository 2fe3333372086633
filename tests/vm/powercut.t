#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Power cuts at any instant, disks that are full or fail: tests/vm/powercut.py in a VM.
# CRASH_SEED and CRASH_CUTS choose others, CRASH_FS=xfs another file system, CRASH_TESTS
# some tests by words of their names, with commas; CR_SUBSET=long, as in `make check-long`,
# takes 240 cuts, and 60 of XFS.

. "$(dirname "$0")/lib.sh"

seed=${CRASH_SEED:-1} fs=${CRASH_FS:-ext4}

crash() {
	DAEMON_ARGS="--tests=${CRASH_TESTS:-} --fs $fs --seed $seed --keep /host/powercut $*" \
		vm_program powercut
}

vm_ready
if [ "$KERNEL" != 6.1 ] && [ -z "${CRASH_CUTS:-}" ] && [ "${CR_SUBSET:-ci}" != long ]; then
	skip "power cuts" "of each check on 6.1 alone; CRASH_CUTS=24 tries it here"
elif [ "${CR_SUBSET:-ci}" = long ]; then
	crash --cuts "${CRASH_CUTS:-240}"
	[ "$fs" != ext4 ] || crash --tests nothing_committed --fs xfs --cuts 60
else
	crash --cuts "${CRASH_CUTS:-24}"
fi
kept=build/vm/$VM/share/powercut
if [ -d "$kept" ]; then
	rm -rf "build/powercut-$KERNEL"
	mv "$kept" "build/powercut-$KERNEL"
	diag "what was logged is in build/powercut-$KERNEL; see docs/dev/testing.md for" \
		"how to cut it again"
fi
finish
