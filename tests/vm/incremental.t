#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Generations that stand on earlier ones, and how they are made whole: tests/vm/incremental.py, which
# runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
vm_program incremental
finish
