# SPDX-License-Identifier: GPL-2.0-only
#
# Helpers of the VM tests (tests/vm/*.t), to be sourced by bash.
#
#   #!/bin/bash
#   . "$(dirname "$0")/lib.sh"
#   vm_ready                      the VM is up, the module inserted
#   ok "what" CMD ARG...          passes if CMD does (on the host)
#   ok_vm "what" CMD ARG...       the same in the VM; $out has its output
#   fails_vm "what" STATUS CMD..  passes if CMD exits with STATUS
#   is "what" "$got" "$want"
#   skip "what" "why"
#   in_vm CMD ARG...              run in the VM, no verdict
#   finish                        last line: kernel log clean, plan; a VM that complained ends
#
# Environment (set by scripts/check-vm): KERNEL, VM, VM_OPTIONS, VM_SLOW (factor
# for deadlines), VM_SLICE (K/N: case K, K+N, ... of many), TEST_SHARE (the same, of what runs
# on each kernel).
# Run alone, `KERNEL=6.1 tests/vm/x.t` makes its own VM.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$top" || exit 1
. tests/share.sh
KERNEL=${KERNEL:-6.12}
VM_SLOW=${VM_SLOW:-1}
if [ -z "${VM:-}" ]; then
	VM=test-$KERNEL-$$
	VM_OPTIONS="--kernel $KERNEL --owner $$ --mem ${VM_MEM:-2048} --quiet --cached
		--disk $top/build/vm/$VM.img,size=16G,mount=/mnt/nvme"
	trap 'scripts/vm down "$VM"; rm -rf "build/vm/$VM" "build/vm/$VM.img"' EXIT
fi
export KERNEL VM VM_SLOW
# For a shell in the VM: the module goes out. What is queued or armed keeps the module, and nothing
# keeps it in the end.
module_goes="i=0; until rmmod ckpt; do
	i=\$((i + 1)); [ \$i -lt $((10 * VM_SLOW)) ] || exit 1; sleep 1; done"

n=0
plan=
out=
failed=0

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }
pass() { n=$((n + 1)); echo "ok $n - $1"; }
fail() {
	n=$((n + 1))
	failed=$((failed + 1))
	echo "not ok $n - $1"
	[ -z "${2:-}" ] || diag "$2"
}
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
is() {
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "got '$2', want '$3'"; fi
}
ok() {
	local what=$1
	shift
	if out=$("$@" 2>&1); then pass "$what"; else fail "$what" "status $?: $out"; fi
}

# in_vm [--timeout S | --cwd D | --env K=V ...] CMD ARG...
in_vm() {
	local opts=()
	while :; do
		case ${1:-} in
		--timeout|--cwd|--env) opts+=("$1" "$2"); shift 2 ;;
		*) break ;;
		esac
	done
	scripts/vm exec "$VM" --timeout $((120 * VM_SLOW)) "${opts[@]}" -- "$@"
}
ok_vm() {
	local what=$1
	shift
	ok "$what" in_vm "$@"
}
fails_vm() {
	local what=$1 want=$2 rc
	shift 2
	out=$(in_vm "$@" 2>&1)
	rc=$?
	if [ $rc = "$want" ]; then
		pass "$what"
	else
		fail "$what" "status $rc, want $want: $out"
	fi
}

vm_up() {
	# shellcheck disable=SC2086
	in_vm true >/dev/null 2>&1 || { scripts/vm down "$VM"; scripts/vm up "$VM" $VM_OPTIONS; }
}
# What was built, on the VM's own disk: a program that is begun from a directory of the host is
# read from there each time, which costs more than what it does.
vm_local() {
	# shellcheck disable=SC2016
	in_vm sh -c '[ -d /mnt/nvme/.build ] || mkdir /mnt/nvme/.build || exit 1
		for d in bin lib; do
			[ -d "$1/$d" ] || continue
			! mountpoint -q "$1/$d" || continue
			rm -rf "/mnt/nvme/.build/$d"
			cp -a "$1/$d" /mnt/nvme/.build/ &&
				mount --bind "/mnt/nvme/.build/$d" "$1/$d" || exit 1
		done' sh "$top/build"
}
vm_ready() {
	vm_up || { echo "Bail out! no VM"; exit 1; }
	vm_local || { echo "Bail out! no room for what was built in the VM"; exit 1; }
	in_vm grep -q '^ckpt ' /proc/modules || scripts/vm insmod "$VM" ||
		{ echo "Bail out! the module cannot be inserted"; exit 1; }
}
# verdicts of a program, numbered on
vm_relay() {
	local line
	while IFS= read -r line; do
		case $line in
		"ok "*|"not ok "*)
			n=$((n + 1))
			echo "${line%% [0-9]*} $n ${line#*ok * }"
			case $line in "not ok "*) failed=$((failed + 1)) ;; esac ;;
		1..*) plan=${line#1..} ;;
		*) echo "$line" ;;
		esac
	done
}

# vm_program NAME [DIR]: tests/DIR/NAME.py (DIR: vm) with a ckptd in the VM; VM_PROGRAM_S: seconds
# at most
vm_program() {
	local share=build/vm/$VM/share status
	# shellcheck disable=SC2086
	vm_relay < <(in_vm --timeout $((${VM_PROGRAM_S:-900} * VM_SLOW)) \
		python3 "$top/tests/${2:-vm}/$1.py" --bin "$top/build/bin" --work "/mnt/nvme/$1" \
		--slow "$VM_SLOW" ${DAEMON_ARGS:---slice ${VM_SLICE:-0/1}} 2>&1
		echo $? >"$share/$1.status")
	status=$(cat "$share/$1.status")
	[ "$status" = 0 ] || [ "$status" = 1 ] ||
		fail "the program comes to its end" "status $status"
	# a slice may have no case of a program with few
	[ $n -gt 0 ] || [ "$plan,${DAEMON_ARGS:-}" = 0, ] ||
		fail "the program runs" "status $status"
}
finish() {
	local log
	if log=$(scripts/vm check "$VM" 2>&1); then
		pass "the kernel did not complain"
	else
		fail "the kernel did not complain" "$log"
		diag "the console's end:"
		diag "$(scripts/vm console "$VM" 2>/dev/null | tail -40)"
		# lockdep and KASAN are silent after their first report: the next test boots anew
		log=build/vm/complaints-$KERNEL-$(basename "$0" .t).log
		scripts/vm console "$VM" >"$log" 2>/dev/null && diag "all of it: $log"
		scripts/vm down "$VM"
	fi
	echo "1..$n"
	[ $failed -eq 0 ]
}
