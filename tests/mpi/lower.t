#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The lower half, with both MPI libraries and without the glue above it.

. "$(dirname "$0")/lib.sh"

for kind in mpich ompi; do
	ok "$kind: messages and reductions through the lower half" \
		job $kind 2 "$bin/lower_traffic" "$lower" "$(library $kind)"
done
finish
