#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Replicas of an MPI job that are compared: tests/vm/vote_mpi.py, which runs in the VM. The module
# ckptflip (tests/kselftest/ckptflip) flips bits of them.
#
#   KINDS='mpich openmpi' DAEMON_ARGS='--only flipped_one' tests/vm/vote_mpi.t
#
# One library on each kernel; MPI_SUBSET=all: both.

. "$(dirname "$0")/lib.sh"
case ${MPI_SUBSET:-},$KERNEL in
all,*) : "${KINDS:=mpich openmpi}" ;;
*,6.12) : "${KINDS:=openmpi}" ;;
*) : "${KINDS:=mpich}" ;;
esac
vm_ready
flip=$top/build/kmod/$KERNEL/ckptflip.ko
[ -e "$flip" ] || { echo "Bail out! no $flip: run make"; exit 1; }
ok_vm "ckptflip goes in" insmod "$flip"
rm -f build/vote/ranks."$KERNEL".*
mkdir -p build/vote
for kind in $KINDS; do
	ok "$kind: the program is built" "mpicc.$kind" -O2 -I . \
		-o "build/vote/ranks.$KERNEL.$kind" tests/vote/ranks.c \
		build/lib/libckptctl.a -ljansson
done
VM_PROGRAM_S=2700
vm_program vote_mpi
ok_vm "ckptflip goes out" rmmod ckptflip
finish
