#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The web pages of real jobs, with checkpoints, levels, restarts and ranks: tests/vm/pages.py, which
# runs in the VM. tests/command/web.t has the pages without the module.

. "$(dirname "$0")/lib.sh"
vm_ready
to=build/examples/pages.$KERNEL
mkdir -p "$to"
ok 'a program is built' mpicc.mpich -O2 -o "$to/poisson" examples/poisson.c -lm
vm_program pages
finish
