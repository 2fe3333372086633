#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# One preemption in a real Slurm of one machine, and what Slurm accounts for and limits:
# tests/vm/slurm_short.py, which runs in the VM. tests/vm/slurm.t is longer.

. "$(dirname "$0")/lib.sh"
if [ ! -x build/slurm/usr/sbin/mariadbd ]; then
	echo '1..0 # SKIP no slurmctld with slurmdbd below build/slurm (scripts/setup)'
	exit 0
fi
vm_ready
vm_program slurm_short
finish
