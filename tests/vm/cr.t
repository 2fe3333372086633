#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The checkpoint test programs (tests/cr/programs) under the flavours of a
# checkpoint (tests/cr/run). CR_SUBSET=long, as in `make check-long`, takes all
# flavours, CR_ARGS anything else that the runner knows.
#
# A test that takes the VM down fails, and the rest goes on in a new VM.

. "$(dirname "$0")/lib.sh"

subset=${CR_SUBSET:-ci}
share=build/vm/$VM/share
n=0

prepare() {
	vm_ready
	rm -f "$share/cr.progress"
	in_vm sh -c 'echo 12 >/proc/sys/vm/nr_hugepages; mkdir -p /mnt/nvme/cr'
}

# verdicts of the runner, numbered on
relay() {
	while IFS= read -r line; do
		case $line in
		"ok "*|"not ok "*)
			n=$((n + 1))
			echo "${line%% [0-9]*} $n ${line#*ok * }"
			case $line in
			"not ok "*"# TODO"*) ;;
			"not ok "*) failed=$((failed + 1)) ;;
			esac ;;
		1..*) ;;
		*) echo "$line" ;;
		esac
	done
}

after=()
for _ in 1 2 3 4 5 6; do
	prepare
	# shellcheck disable=SC2086
	relay < <(in_vm --timeout $((3000 * VM_SLOW)) "$top/tests/cr/run" --subset "$subset" \
		--work /tmp/cr --images /mnt/nvme/cr --copy --progress /host/cr.progress \
		--tolerance $((700 * VM_SLOW)) --timeout $((60 * VM_SLOW)) \
		--slice "${VM_SLICE:-0/1}" "${after[@]}" ${CR_ARGS:-} 2>&1
		echo $? >"$share/cr.status")
	status=$(cat "$share/cr.status")
	[ "$status" -ge 124 ] || break
	last=$(tail -1 "$share/cr.progress" 2>/dev/null)
	fail "the VM survives ${last:-the start}" \
		"$(scripts/vm console "$VM" 2>/dev/null | tail -60)"
	scripts/vm poweroff-hard "$VM" 2>/dev/null
	[ -n "$last" ] || break
	after=(--after "$last")
done
if [ $n -eq 0 ]; then
	fail "the programs run" "status $status"
fi
in_vm sh -c 'echo 0 >/proc/sys/vm/nr_hugepages' || true
finish
