#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptd in the sandbox of its unit, started by a real systemd, and the sandbox's score:
# tests/security/unit.py, which runs in the VM.

. "$(dirname "$0")/../vm/lib.sh"

score=$(cd build/gen && systemd-analyze security --offline=true --no-pager ./ckptd.service 2>&1 |
	sed -n 's/.*exposure level for ckptd.service: \([0-9.]*\) \(OK\|SAFE\|PERFECT\).*/\1/p')
ok "systemd-analyze security says OK or better of ckptd.service (exposure $score)" \
	test -n "$score"
vm_ready
unset VM_SLICE	# all tests in the one machine
vm_program unit security
finish
