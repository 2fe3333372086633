#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Jobs of several ranks: tests/vm/ranks.py, which runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
vm_program ranks
finish
