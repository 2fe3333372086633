#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A user gets no more than he has, by checkpoint, restart or show: tests/security/users.py, which
# runs in the VM.

. "$(dirname "$0")/../vm/lib.sh"
vm_ready
vm_program users security
finish
