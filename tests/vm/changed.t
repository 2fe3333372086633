#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Files that a job first changes after a checkpoint: tests/vm/changed.py, which runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
vm_program changed
finish
