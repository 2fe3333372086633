#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Power cuts at any instant, disks that are full or fail: tests/vm/powercut.py in a VM. CRASH_SEED and
# CRASH_CUTS choose others; CR_SUBSET=long, as in `make check-long`, takes 240 cuts, and a
# writer that does not sync directories.

. "$(dirname "$0")/lib.sh"

seed=${CRASH_SEED:-1}

crash() {
	DAEMON_ARGS="--seed $seed --keep /host/powercut $*" vm_program powercut
}

vm_ready
if [ "$KERNEL" != 6.1 ] && [ -z "${CRASH_CUTS:-}" ]; then
	skip "power cuts" "tried on 6.1 alone so far; CRASH_CUTS=24 tries it here"
elif [ "${CR_SUBSET:-ci}" = long ]; then
	crash --cuts "${CRASH_CUTS:-240}"
	crash --tests does_not_sync --nosync dirs
else
	crash --cuts "${CRASH_CUTS:-24}"
fi
kept=build/vm/$VM/share/powercut
if [ -d "$kept" ]; then
	rm -rf "build/powercut-$KERNEL"
	mv "$kept" "build/powercut-$KERNEL"
	diag "what was logged is in build/powercut-$KERNEL; see HACKING.md for how to cut it again"
fi
finish
