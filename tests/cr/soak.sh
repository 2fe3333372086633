#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Many dump-kill-restore cycles of one program in one VM (run it there, as root):
#
#   tests/cr/soak.sh [CYCLES] [PROGRAM]        1000, subject
#
# Ends with "soak: PASS" and 0 if every cycle worked, the program's own answer is
# right, the kernel did not complain and nothing leaks: kernel memory and processes
# over the cycles, available memory from before the program to after it (how much of
# its own it has mapped differs from cycle to cycle), references to the module. A
# line every 50 cycles shows how it goes. Variables: CKPTCTL, BIN, WORK, IMAGES.

set -u
cycles=${1:-1000}
program=${2:-subject}
top=$(cd "${BASH_SOURCE%/*}/../.." && pwd)
ckptctl=${CKPTCTL:-$top/build/bin/ckptctl}
work=${WORK:-/tmp/soak}
images=${IMAGES:-$work/images}

fail() {
	echo "soak: FAIL in cycle ${i:-0}: $*"
	tail -5 "$work"/*.log 2>/dev/null
	dmesg | tail -30
	[ -z "${pid:-}" ] || kill -9 "$pid" 2>/dev/null
	exit 1
}
field() { awk -v f="$1:" '$1 == f { print $2 }' /proc/meminfo; }
# free pages on the lists of the processors count as used elsewhere
available() {
	local lists
	lists=$(awk '$1 == "count:" { n += $2 } END { print n * 4 }' /proc/zoneinfo)
	echo $(($(field MemAvailable) + lists))
}
processes() { find /proc -maxdepth 1 -name '[0-9]*' | wc -l; }
complaints() {
	dmesg | grep -cE 'BUG:|WARNING:|Oops|KASAN:|Call Trace:|INFO: task|stall|lockup|refcount_t:'
}
settle() { sync; echo 3 >/proc/sys/vm/drop_caches; sleep 0.3; }
gone() {
	local n
	for ((n = 0; n < 1000; n++)); do
		[ -e "/proc/$1" ] || return 0
		sleep 0.01
	done
	return 1
}

rm -rf "$work" "$images"
mkdir -p "$work/dir" "$images" || exit 2
cp "${BIN:-$top/build/bin/tests/cr}/$program" "$work/program" || exit 2
complaints_before=$(complaints)
# KASAN keeps what was freed from being used again, as much as a 32nd of all memory; what
# nobody frees is told by kmemleak there.
bound=8192
! grep -q ' kasan_report$' /proc/kallsyms || bound=$(($(field MemTotal) / 32))
settle
available_before=$(available)

setsid "$work/program" "$work/dir" 100 </dev/null >>"$work/out.log" 2>&1 &
pid=$!
disown
for ((i = 0; i < 500; i++)); do
	[ ! -e "$work/dir/ready" ] || break
	sleep 0.02
done
[ -e "$work/dir/ready" ] || fail "the program does not start"

start=$SECONDS
warm=$((cycles / 10 < 50 ? cycles / 10 + 1 : 50))
for ((i = 1; i <= cycles; i++)); do
	"$ckptctl" --standalone dump --pid "$pid" --dir "$images/i" --kill \
		>"$work/dump.log" 2>&1 || fail "dump: status $?"
	gone "$pid" || fail "it survived its kill"
	"$ckptctl" --standalone restore --dir "$images/i" --detach \
		>"$work/restore.log" 2>&1 || fail "restore: status $?"
	[ ! -e "$work/dir/result" ] || fail "the program says $(cat "$work/dir/result")"
	rm -rf "$images/i"
	if ((i == warm || i % 50 == 0 || i == cycles)); then
		settle
		now="$(available) $(field SUnreclaim) $(field KernelStack) \
$(field PageTables) $(field Percpu) $(processes)"
		((i != warm)) || base=$now
		echo "soak: cycle $i, $((SECONDS - start)) s: available, slab, stacks," \
			"page tables, per cpu KiB, processes: $now"
		[ "$(complaints)" = "$complaints_before" ] || fail "the kernel complains"
	fi
done

: >"$work/dir/go"
for ((n = 0; n < 3000; n++)); do
	[ ! -e "$work/dir/result" ] || break
	sleep 0.02
done
[ "$(cat "$work/dir/result" 2>/dev/null)" = PASS ] ||
	fail "the answer: $(cat "$work/dir/result" 2>/dev/null || echo none)"
gone "$pid" || fail "the program does not exit"
pid=
for ((n = 0; n < 300; n++)); do
	refs=$(cat /sys/module/ckpt/refcnt)
	[ "$refs" != 0 ] || break
	sleep 0.01
done
[ "$refs" = 0 ] || fail "the module has $refs users"

settle
lost=$((available_before - $(available)))
read -r _ slab stacks _ _ count <<<"$now"
read -r _ slab0 stacks0 _ _ count0 <<<"$base"
((slab - slab0 < 6144)) || fail "kernel memory grew by $((slab - slab0)) KiB"
((stacks - stacks0 < 256)) || fail "kernel stacks grew by $((stacks - stacks0)) KiB"
((lost < bound)) || fail "$lost KiB of memory are lost"
((count - count0 < 6)) || fail "$((count - count0)) processes more"
rm -rf "$work" "$images"
echo "soak: PASS, $cycles cycles in $((SECONDS - start)) s, $lost KiB of available memory less"
