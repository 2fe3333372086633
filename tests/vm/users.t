#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Limits of one user: tests/vm/users.py, which runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
vm_program users
finish
