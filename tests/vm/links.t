#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Jobs over nodes that speak TCP among themselves: tests/vm/links.py, which runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
vm_program links
finish
