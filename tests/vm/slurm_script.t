#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Batch scripts that are jobs, in a real Slurm of one machine: tests/vm/slurm_script.py, which runs
# in the VM.

. "$(dirname "$0")/lib.sh"
if [ ! -x build/slurm/usr/sbin/slurmctld-wlm ]; then
	echo '1..0 # SKIP no slurmctld below build/slurm (scripts/setup)'
	exit 0
fi
VM_PROGRAM_S=1200
mkdir -p build/examples
for kind in mpich openmpi; do
	program=$top/build/examples/poisson.slurm_script.$KERNEL.$kind
	ok "$kind: the example is built" "mpicc.$kind" -O2 -o "$program" examples/poisson.c -lm
done
vm_ready
vm_program slurm_script
finish
