#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A job stands where its caller stands, and some callers are refused: tests/security/confine.py,
# which runs in the VM.

. "$(dirname "$0")/../vm/lib.sh"
vm_ready
vm_program confine security
finish
