#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs of other people, each saved five times and restarted twice: tests/vm/real_programs.py,
# which runs in the VM.

. "$(dirname "$0")/lib.sh"
programs=$top/build/real/programs
if [ ! -e build/real/complete ]; then
	echo '1..0 # SKIP no programs (scripts/setup --real)'
	exit 0
fi
VM_PROGRAM_S=3600
mkdir -p "$programs"
ok "Java: the program is built" javac -d "$programs" tests/vm/real/Work.java
ok "Go: the program is built" env CGO_ENABLED=0 GOCACHE="$top/build/real/go" GOFLAGS=-mod=mod \
	go build -o "$programs/work" tests/vm/real/work.go
vm_ready
vm_program real_programs
finish
