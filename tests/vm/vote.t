#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Replicas that are compared: tests/vm/vote.py, which runs in the VM. The module
# ckptflip (tests/kselftest/ckptflip) flips them.

. "$(dirname "$0")/lib.sh"
vm_ready
flip=$top/build/kmod/$KERNEL/ckptflip.ko
[ -e "$flip" ] || { echo "Bail out! no $flip: run make"; exit 1; }
ok_vm "ckptflip goes in" insmod "$flip"
vm_program vote
ok_vm "ckptflip goes out" rmmod ckptflip
finish
