#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Recall and precision of the verdicts on slow I/O, over many runs of each kind of slowness.
# tests/vm/io_recall.py runs in a VM of its own with one processor, as tests/vm/iotrace.t does, and
# for the same reason. With 30 runs it takes about an hour, and is a part of `make check-long`
# (check-recall-long).
#
#   RUNS=3 KINDS='slow 50 %,clean' LANES=4 HISTORY=9 PHASE_S=10 KERNEL=6.1 tests/vm/io_recall.t

. "$(dirname "$0")/lib.sh"
VM=$VM-recall
VM_OPTIONS="--kernel $KERNEL --owner $$ --mem 2048 --cpus 1 --quiet --cached
	--disk $top/build/vm/$VM.img,size=4G,mount=/mnt/nvme"
trap 'scripts/vm down "$VM"; rm -rf "build/vm/$VM" "build/vm/$VM.img"' EXIT
RUNS=${RUNS:-30}
LANES=${LANES:-4}
KINDS=${KINDS:-all}
# a blank would make two words of it
DAEMON_ARGS="${DAEMON_ARGS:-} --runs $RUNS --lanes $LANES --history ${HISTORY:-12}
	--seconds ${PHASE_S:-16} --kinds ${KINDS// /_}"
# seven kinds of less than a minute and a half each, and the history before
VM_PROGRAM_S=$((900 + 7 * 90 * RUNS / LANES))
vm_ready
vm_program io_recall
finish
