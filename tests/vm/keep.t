#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What stays of a job's generations (pin, prune, fsck, the index of list): tests/vm/keep.py, which
# runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
vm_program keep
finish
