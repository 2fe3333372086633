#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Jobs over nodes that lose one: tests/vm/lease.sh in the VM, with the module.

. "$(dirname "$0")/lib.sh"
vm_ready
mkdir -p build/lease
ok "mpich: the example is built" mpicc.mpich -O2 -o build/lease/mpich examples/poisson.c -lm
ok "ompi: the example is built" mpicc.openmpi -O2 -o build/lease/ompi examples/poisson.c -lm
vm_relay < <(in_vm --timeout $((900 * VM_SLOW)) --env VM_SLOW="$VM_SLOW" \
	--env TMPDIR=/mnt/nvme --env ONLY="${ONLY:-}" --env KINDS="${KINDS:-mpich ompi}" \
	bash "$top/tests/vm/lease.sh" 2>&1)
finish
