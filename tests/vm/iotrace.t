#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The I/O of jobs as ckptd counts it, and its reports: tests/vm/iotrace.py, which runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready
vm_program iotrace
finish
