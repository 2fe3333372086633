#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The testbed itself: the VM is what the other tests believe it to be, the
# module goes in and out.

. "$(dirname "$0")/lib.sh"
vm_up || { echo "Bail out! no VM"; exit 1; }

# shellcheck source=/dev/null
. "build/kernels/$KERNEL/env"

ok_vm "a command runs" uname -r
is "the kernel is the one asked for" "$out" "$KVER"
fails_vm "an exit status comes back" 42 sh -c 'exit 42'
fails_vm "a signal comes back as 128+n" 137 sh -c 'kill -9 $$'
fails_vm "a missing command is 127" 127 /no/such/command
fails_vm "a deadline ends a command" 124 --timeout 1 sleep 1000
fails_vm "and leaves nothing behind" 1 pgrep -x sleep
ok_vm "a daemon does not hold the command up" --timeout 30 sh -c \
	'setsid sleep 987 >/dev/null 2>&1 & echo started'
ok_vm "and lives on" pkill -f 'sleep 987'

t=$(mktemp -d)
for i in 1 2 3 4; do
	in_vm sh -c "sleep 1; echo $i" >"$t/$i" &
done
# shellcheck disable=SC2046
wait $(jobs -p)
is "commands run at the same time" "$(cat "$t"/[1-4] | tr '\n' ' ')" "1 2 3 4 "
head -c 3000000 /dev/urandom >"$t/data"
want=$(sha256sum <"$t/data")
is "stdin and stdout carry data" \
	"$(scripts/vm exec "$VM" -i -- cat <"$t/data" | sha256sum)" "$want"
rm -rf "$t"

for d in /proc /sys /dev /dev/pts /dev/shm /run /tmp /sys/fs/cgroup /mnt/nvme; do
	ok_vm "$d is mounted" mountpoint -q "$d"
done
fails_vm "the project is read-only" 1 touch "$top/nothing"
ok_vm "the root can be written" sh -c 'echo x >/etc/vm-test && rm /etc/vm-test'
ok_vm "and so can the disk" sh -c 'echo x >/mnt/nvme/x && sync && rm /mnt/nvme/x'
ok_vm "a file goes to the host" sh -c 'echo hello >/host/smoke'
is "and is there" "$(cat "build/vm/$VM/share/smoke")" hello
for c in memory pids cpu; do
	ok_vm "cgroup controller $c is enabled" \
		grep -qw "$c" /sys/fs/cgroup/cgroup.subtree_control
done
ok_vm "loopback is up" python3 -c 'import socket as s
a = s.create_server(("127.0.0.1", 0)); s.create_connection(a.getsockname())'
ok_vm "huge pages can be had" sh -c \
	'echo 4 >/proc/sys/vm/nr_hugepages; n=$(cat /proc/sys/vm/nr_hugepages)
	echo 0 >/proc/sys/vm/nr_hugepages; [ $n = 4 ]'
ok_vm "python3 runs" python3 -c 'print(6 * 7)'
is "and is right" "$out" 42

if [ -f "build/kmod/$KERNEL/ckpt.ko" ]; then
	in_vm rmmod ckpt 2>/dev/null
	ok "the module goes in" scripts/vm insmod "$VM"
	ok_vm "/dev/ckpt is there" test -c /dev/ckpt
	ok_vm "and is root's alone" sh -c '[ "$(stat -c "%a %U" /dev/ckpt)" = "600 root" ]'
	ok_vm "the module goes out" rmmod ckpt
	fails_vm "/dev/ckpt is gone" 1 test -e /dev/ckpt
	ok "the module goes in again" scripts/vm insmod "$VM"
else
	fail "the module is built" "no build/kmod/$KERNEL/ckpt.ko"
fi

# the check that ends each test of the suite
say='WARNING: possible circular locking dependency, says smoke.t'
ok_vm "the kernel's log takes a line" sh -c "echo '$say' >/dev/kmsg"
out=$(scripts/vm check "$VM")
is "a complaint in the log is found" "$?,$(sed 's/\[[^]]*\] //' <<<"$out")" "1,vm: $VM: $say"
ok "and is not found again" scripts/vm check "$VM"
if [ "$KERNEL" = debug ]; then
	for f in /sys/kernel/debug/kmemleak /proc/lockdep_stats; do
		ok_vm "$f is there" test -e $f
	done
fi
finish
