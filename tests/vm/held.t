#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Restarts over two nodes that end while the parts are held: tests/vm/held.py, which runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
vm_program held
finish
