#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# 256 ranks that do nothing on 16 nodes, checkpointed and restarted: tests/mpi/scale.t in a VM of
# its own, with the module and room for so many processes. With 64 nodes two emulated processors are
# not enough: nodes are silent for the ten seconds that make them count as gone.
#
#   KERNEL=6.1 NODES=8 RANKS=512 tests/vm/scale.t

unset VM
VM_MEM=8192
. "$(dirname "$0")/lib.sh"
vm_ready
vm_relay < <(in_vm --timeout $((3600 * VM_SLOW)) --env TMPDIR=/mnt/nvme \
	--env NODES="${NODES:-16}" --env RANKS="${RANKS:-256}" \
	--env SCALE_S=$((900 * VM_SLOW)) "$top/tests/mpi/scale.t" 2>&1 ||
	echo "not ok 0 - the script comes to its end")
finish
