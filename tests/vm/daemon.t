#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptd, its shims and ckptctl: tests/vm/daemon.py, which runs in the VM.

. "$(dirname "$0")/lib.sh"
vm_ready

# verdicts of the program, numbered on
relay() {
	while IFS= read -r line; do
		case $line in
		"ok "*|"not ok "*)
			n=$((n + 1))
			echo "${line%% [0-9]*} $n ${line#*ok * }"
			case $line in "not ok "*) failed=$((failed + 1)) ;; esac ;;
		1..*) ;;
		*) echo "$line" ;;
		esac
	done
}

share=build/vm/$VM/share
relay < <(in_vm --timeout $((900 * VM_SLOW)) python3 "$top/tests/vm/daemon.py" \
	--bin "$top/build/bin" --work /mnt/nvme/daemon --slow "$VM_SLOW" \
	${DAEMON_ARGS:-} 2>&1
	echo $? >"$share/daemon.status")
status=$(cat "$share/daemon.status")
[ "$status" = 0 ] || [ "$status" = 1 ] || fail "the program comes to its end" "status $status"
[ $n -gt 0 ] || fail "the program runs" "status $status"
finish
