#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptd, its shims and ckptctl: tests/vm/daemon.py, which runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
vm_program daemon
finish
