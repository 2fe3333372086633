#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Generations on other levels (flush, restart from a level, rules): tests/vm/levels.py, which runs
# in the VM.

. "$(dirname "$0")/lib.sh"
# the others wait for retries, and are for the long run
[ "${CR_SUBSET:-}" = long ] || : "${DAEMON_ARGS:=--only promoted,empty,killed}"
vm_ready
vm_program levels
finish
