#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# How soon a preempted job of a real Slurm releases its node, with and without us:
# tests/vm/slurm_release.py, which runs in the VM and prints the times.
#
#   RUNS=5 KERNEL=6.1 tests/vm/slurm_release.t

. "$(dirname "$0")/lib.sh"
if [ ! -x build/slurm/usr/sbin/slurmctld-wlm ]; then
	echo '1..0 # SKIP no slurmctld below build/slurm (scripts/setup)'
	exit 0
fi
RUNS=${RUNS:-3}
DAEMON_ARGS="${DAEMON_ARGS:-} --runs $RUNS"
VM_PROGRAM_S=$((600 + 240 * RUNS))
vm_ready
vm_program slurm_release
finish
