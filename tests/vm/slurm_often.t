#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Many preemptions in a real Slurm of one machine, and daemons killed in them:
# tests/vm/slurm_often.py, which runs in the VM.
#
#   PREEMPTIONS=20 KILLS=50 SEED=1 tests/vm/slurm_often.t

. "$(dirname "$0")/lib.sh"
if [ ! -x build/slurm/usr/sbin/slurmctld-wlm ]; then
	echo '1..0 # SKIP no slurmctld below build/slurm (scripts/setup)'
	exit 0
fi
PREEMPTIONS=${PREEMPTIONS:-20}
KILLS=${KILLS:-10}
DAEMON_ARGS="${DAEMON_ARGS:-} --preemptions $PREEMPTIONS --kills $KILLS --seed ${SEED:-$RANDOM}"
# half a minute each, and twice that on a busy machine
VM_PROGRAM_S=$((900 + 60 * (2 * PREEMPTIONS + KILLS)))
program=$top/build/examples/poisson.slurm_often.$KERNEL.mpich
mkdir -p build/examples
ok 'the example is built' mpicc.mpich -O2 -o "$program" examples/poisson.c -lm
vm_ready
vm_program slurm_often
finish
