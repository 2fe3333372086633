#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Jobs that their command recovers: tests/vm/recover.py, which runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
mkdir -p build/examples
for kind in mpich openmpi; do
	ok "$kind: the example is built" "mpicc.$kind" -O2 -o \
		"build/examples/recover.$kind.$KERNEL" examples/poisson.c -lm
done
vm_program recover
finish
