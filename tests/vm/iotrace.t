#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The I/O of jobs as ckptd counts it, and its reports: tests/vm/iotrace.py, which runs in a VM of
# its own with one processor. Attaching BPF programs changes the kernel's text, and QEMU's software
# emulation of several processors may run an instruction that was changed back already (Oops: int3;
# the same happens at boots without BPF, see boot-failures.log of a VM).

. "$(dirname "$0")/lib.sh"
VM=$VM-io
VM_OPTIONS="--kernel $KERNEL --owner $$ --mem 2048 --cpus 1 --quiet --cached
	--disk $top/build/vm/$VM.img,size=4G,mount=/mnt/nvme"
trap 'scripts/vm down "$VM"; rm -rf "build/vm/$VM" "build/vm/$VM.img"' EXIT
vm_ready
VM_PROGRAM_S=1800
if ! in_vm test -e /sys/kernel/btf/vmlinux; then	# as on the debug kernel
	skip "what BPF programs count" "the kernel has no BTF"
	DAEMON_ARGS=${DAEMON_ARGS:---only without_bpf}
fi
vm_program iotrace
finish
