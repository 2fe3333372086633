#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# 1,024 ranks that do nothing on 64 nodes, checkpointed and restarted: tests/mpi/scale.t in a VM
# of its own, with the module and room for so many processes.
#
#   KERNEL=6.1 NODES=8 RANKS=128 tests/vm/scale.t

unset VM
VM_MEM=8192
. "$(dirname "$0")/lib.sh"
vm_ready
vm_relay < <(in_vm --timeout $((3600 * VM_SLOW)) --env TMPDIR=/mnt/nvme \
	--env NODES="${NODES:-64}" --env RANKS="${RANKS:-1024}" \
	--env SCALE_S=$((900 * VM_SLOW)) "$top/tests/mpi/scale.t" 2>&1 ||
	echo "not ok 0 - the script comes to its end")
finish
