#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The lower half, with both MPI libraries and without the glue above it.

. "$(dirname "$0")/lib.sh"

# what runs in place of system calls may need nothing of any libc
hooks_are_alone() {
	local o imports
	for o in fd patch range syscall; do
		imports=$(nm -u "$top/build/pic/mpi-glue/lower/lower_$o.o" |
			grep -vw -e _GLOBAL_OFFSET_TABLE_ -e 'U lower_[a-z_]*')
		[ -z "$imports" ] || { echo "lower_$o.o: $imports"; return 1; }
		! objdump -d "$top/build/pic/mpi-glue/lower/lower_$o.o" |
			grep -E '%(xmm|ymm|zmm|mm|st|fs)' || return 1
	done
}

err=$(mktemp)
file=$(mktemp -u)
trap 'rm -f "$err" "$file".*' EXIT

ok "code that runs in place of system calls is self-contained" hooks_are_alone
for kind in mpich ompi; do
	run() { job $kind 2 "$bin/lower_$1" "$lower" "$(library $kind)"; }
	ok "$kind: messages and reductions, all mappings and descriptors accounted for" \
		run traffic
	ok "$kind: threads borrow the lower half's and give them back" run threads
	ok "$kind: handlers of signals that interrupt calls" run signals
	ok "$kind: what the kernel keeps per thread stays the application's" run kept
	ok "$kind: windows, files and a large heap are in the range" \
		job $kind 2 "$bin/lower_wide" "$lower" "$(library $kind)" "$file.$kind"
done

# ends KIND N CASE STATUS OUTPUT: how a process with a lower half ends
ends() {
	local out status
	out=$(job "$1" "$2" "$bin/lower_ends" "$lower" "$(library "$1")" "$3" 2>"$err")
	status=$?
	# launchers add what they think of it
	[ $status = "$4" ] && [[ $out == "$5"* ]] && return
	echo "status $status, output: $out"
	cat "$err"
	return 1
}

for kind in mpich ompi; do
	ok "$kind: what the library prints is out at once" ends $kind 1 stdout \
		$([ $kind = mpich ] && echo 9 || echo 137) "from below"
	ok "$kind: each half has an environment of its own" ends $kind 2 environment 0 ""
	ok "$kind: a child of fork() has no lower half" ends $kind 2 fork 0 ""
	ok "$kind: system() and popen()" ends $kind 2 system 0 ""
	ok "$kind: the library cancels threads of its own" ends $kind 2 cancel 0 ""
	ok "$kind: so does the application" ends $kind 2 cancel_both 0 ""
done
ok "ompi: exit() flushes and runs handlers" ends ompi 1 exit 3 "buffered;at exit;"
# MPICH's launcher kills a process from outside while it ends, with or without us: none here
job() {
	timeout 30 "${@:3}"
}
ok "mpich: exit() flushes and runs handlers" ends mpich 1 exit 3 "buffered;at exit;"
ok "mpich: MPI_Abort() flushes and runs handlers" ends mpich 1 abort 7 "buffered;at exit;"
ok "mpich: so does an error that is fatal" ends mpich 1 fatal 6 "buffered;at exit;"
for kind in mpich ompi; do
	ok "$kind: abort() is SIGABRT, also when a handler returns" \
		ends $kind 1 abort_handled 134 "handled;"
done
ok "mpich: over sockets alone" env UCX_TLS=tcp,self MPIR_CVAR_NOLOCAL=1 \
	timeout 60 mpiexec.mpich -n 2 "$bin/lower_traffic" "$lower" "$(library mpich)"
ok "ompi: over sockets alone" env OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self \
	timeout 60 mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 \
	"$bin/lower_traffic" "$lower" "$(library ompi)"
ok "mpich: twelve lower halves in one process leave nothing" \
	timeout 60 "$bin/lower_reload" "$lower" "$(library mpich)" 12
ok "mpich: two ranks and their threads, eight lower halves" \
	timeout 60 "$top/tests/mpi/pmi1" 2 "$bin/lower_reload" "$lower" "$(library mpich)" 8
ok "mpich: a process restored without its lower half loads another" \
	timeout 60 "$bin/lower_forget" "$lower" "$(library mpich)"
finish
