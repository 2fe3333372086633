#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Rollback of running jobs, in place: tests/vm/rollback.py, which runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
vm_program rollback
finish
