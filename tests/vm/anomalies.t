#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Phases of I/O that get slow, and what ckptd says of them: tests/vm/anomalies.py, which runs in a
# VM of its own with one processor, as tests/vm/iotrace.t does, and for the same reason.

. "$(dirname "$0")/lib.sh"
VM=$VM-anomalies
VM_OPTIONS="--kernel $KERNEL --owner $$ --mem 2048 --cpus 1 --quiet --cached
	--disk $top/build/vm/$VM.img,size=4G,mount=/mnt/nvme"
trap 'scripts/vm down "$VM"; rm -rf "build/vm/$VM" "build/vm/$VM.img"' EXIT
vm_ready
VM_PROGRAM_S=1800
vm_program anomalies
finish
