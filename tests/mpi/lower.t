#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The lower half, with both MPI libraries and without the glue above it.

. "$(dirname "$0")/lib.sh"

# what runs in place of system calls may need nothing of any libc
hooks_are_alone() {
	local o imports
	for o in fd patch range syscall; do
		imports=$(nm -u "$top/build/pic/mpi-glue/lower_$o.o" |
			grep -vw -e _GLOBAL_OFFSET_TABLE_ -e 'U lower_[a-z_]*')
		[ -z "$imports" ] || { echo "lower_$o.o: $imports"; return 1; }
		! objdump -d "$top/build/pic/mpi-glue/lower_$o.o" |
			grep -E '%(xmm|ymm|zmm|mm|st|fs)' || return 1
	done
}

ok "code that runs in place of system calls is self-contained" hooks_are_alone
for kind in mpich ompi; do
	run() { job $kind 2 "$bin/lower_$1" "$lower" "$(library $kind)"; }
	ok "$kind: messages and reductions, all mappings and descriptors accounted for" \
		run traffic
	ok "$kind: threads borrow the lower half's and give them back" run threads
	ok "$kind: handlers of signals that interrupt calls" run signals
done
ok "mpich: twelve lower halves, one after the other, leave nothing" \
	timeout 60 "$bin/lower_reload" "$lower" "$(library mpich)" 12
finish
