#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Dump and restore again and again: tests/cr/soak.sh in a VM, SOAK_CYCLES times
# (default 20; 1,000 in `make check-long`).

. "$(dirname "$0")/lib.sh"
vm_ready
default=20
[ "${CR_SUBSET:-ci}" != long ] || default=1000
cycles=${SOAK_CYCLES:-$default}
if out=$(in_vm --timeout $((cycles * 6 * VM_SLOW + 120)) --env IMAGES=/mnt/nvme/soak \
	"$top/tests/cr/soak.sh" "$cycles" 2>&1); then
	pass "$cycles dump-restore cycles"
	diag "$out"
else
	fail "$cycles dump-restore cycles" "$out"
fi
finish
