#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Bad input and bad luck: tests/cr/badluck in a VM. CR_SUBSET=long, as in
# `make check-long`, tries more random moments.

. "$(dirname "$0")/lib.sh"
vm_ready
in_vm mkdir -p /mnt/nvme/badluck-work

rounds=3
[ "${CR_SUBSET:-ci}" != long ] || rounds=30
while IFS= read -r line; do
	case $line in
	"ok "*|"not ok "*)
		n=$((n + 1))
		case $line in "not ok "*) failed=$((failed + 1)) ;; esac
		echo "$line" ;;
	1..*) ;;
	*) echo "$line" ;;
	esac
done < <(in_vm --timeout $((1800 * VM_SLOW)) "$top/tests/cr/badluck" --rounds "$rounds" \
	--slow "$VM_SLOW" --slice "${TEST_SHARE:-0/1}" --work /mnt/nvme/badluck-work \
	--images /mnt/nvme ${BADLUCK_ARGS:-} 2>&1
	echo "# status $?")
[ $n -gt 0 ] || fail "the tests run" "none did"
finish
