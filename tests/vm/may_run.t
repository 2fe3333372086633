#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Users who may run on another node: tests/mpi/may_run.t in the VM, where root has all capabilities.

. "$(dirname "$0")/lib.sh"
vm_ready
vm_relay < <(in_vm --timeout $((300 * VM_SLOW)) bash "$top/tests/mpi/may_run.t" 2>&1)
finish
