# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Batch jobs of alice's in a Slurm of tests/slurm/bed, for tests of several nodes; to be sourced.
#
#   submit NAME OPTION... <SCRIPT     $job has the number; output is in NAME and NAME.err
#   our_step                          nodes of the step that ckptrun has started, "n[2-3]"
#   step_is NODES                     that step has these nodes; '': there is none
#
# The test has set $here, a directory of alice's that all nodes see, and alice(), which runs a
# command as she does on the first node. The number is in the file $here/job as well, for commands
# that a subshell runs.

submit() {
	local name=$1
	shift
	rm -f "$here/$name" "$here/$name.err"
	{ echo '#!/bin/bash'; cat; } >"$here/$name.sh"
	job=$(alice sbatch --parsable -o "$name" -e "$name.err" --open-mode=append "$@" "$name.sh")
	[ -n "$job" ] && echo "$job" >"$here/job"
}
our_step() { alice squeue -h -s -o '%j %N' | sed -n 's/^stillpoint //p'; }
step_is() { [ "$(our_step)" = "$1" ]; }
