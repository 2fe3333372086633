#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Pins, pruning, fsck, the index of generations, encryption: tests/vm/keep.py, which runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
vm_program keep
finish
