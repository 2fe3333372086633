#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptctl diag on images of jobs that hung: tests/vm/image_hang.sh, with one library on each kernel.
#
#   KERNEL=6.1 KINDS='mpich ompi' tests/vm/image_hang.t

. "$(dirname "$0")/lib.sh"

case $KERNEL in
6.12) : "${KINDS:=mpich}" ;;
*) : "${KINDS:=ompi}" ;;
esac
vm_ready
for kind in $KINDS; do
	declare -A cc=([mpich]=mpicc.mpich [ompi]=mpicc.openmpi)
	mkdir -p "build/mpi/diagnose/$kind"
	ok "$kind: the program is built" "${cc[$kind]}" -O1 -g -w \
		-o "build/mpi/diagnose/$kind/hang" tests/mpi/hang.c
	status=build/vm/$VM/share/image_hang.status
	vm_relay < <(in_vm --timeout $((900 * VM_SLOW)) --env VM_SLOW="$VM_SLOW" \
		"$top/tests/vm/image_hang.sh" "$kind" /mnt/nvme/image_hang 2>&1
		echo $? >"$status")
	[ "$(cat "$status")" = 0 ] || fail "$kind: the test comes to its end" "$(cat "$status")"
done
finish
