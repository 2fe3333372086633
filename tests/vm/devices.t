#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Devices that get slow, and what ckptd makes of it: tests/vm/devices.py, which runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
VM_PROGRAM_S=1800
vm_program devices
finish
