#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptctl diag with the kernel module's samples: tests/mpi/diagnose.t in the VM, with one library on
# each kernel.
#
#   KERNEL=6.1 KINDS='mpich ompi' WAYS='loop operation' tests/vm/diagnose.t

. "$(dirname "$0")/lib.sh"

case $KERNEL in
6.12) : "${KINDS:=mpich}" ;;
*) : "${KINDS:=ompi}" ;;
esac
: "${WAYS:=stop sleep loop operation miss receive circle uneven}"
vm_ready
for kind in $KINDS; do
	declare -A cc=([mpich]=mpicc.mpich [ompi]=mpicc.openmpi)
	mkdir -p "build/mpi/diagnose/$kind"
	ok "$kind: the program is built" "${cc[$kind]}" -O1 -g -w \
		-o "build/mpi/diagnose/$kind/hang" tests/mpi/hang.c
done
share=build/vm/$VM/share
vm_relay < <(in_vm --timeout $((1200 * VM_SLOW)) --env KINDS="$KINDS" --env WAYS="$WAYS" \
	--env SLOW=$((3 * VM_SLOW)) "$top/tests/mpi/diagnose.t" 2>&1
	echo $? >"$share/diagnose.status")
status=$(cat "$share/diagnose.status")
[ "$status" -le 1 ] || fail "the test comes to its end" "status $status"
finish
