#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Incremental generations and their merging: tests/vm/incremental.py, which runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
vm_program incremental
finish
