#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# An image is restored only on a node whose CPU has the features of the old one: a second VM of this
# suite has another CPU model.

. "$(dirname "$0")/lib.sh"
vm_ready
other=$VM-cpu
# shellcheck disable=SC2064
trap "scripts/vm down $other" EXIT
ctl="$top/build/bin/ckptctl --standalone --key /host/cpu.key"

ok_vm "an image of a CPU with AVX2 and BMI2" sh -c "
	grep -qw avx2 /proc/cpuinfo || exit 1
	rm -rf /host/cpu.image
	head -c 32 /dev/urandom >/host/cpu.key
	chmod 600 /host/cpu.key
	setsid sleep 100000 </dev/null >/dev/null 2>&1 &
	until [ \"\$(cat /proc/\$!/comm)\" = sleep ]; do sleep 0.1; done
	exec $ctl dump --pid \$! --dir /host/cpu.image --kill"
ok "a machine without" scripts/vm up "$other" --kernel "$KERNEL" --owner $$ --mem 1024 \
	--quiet --module --cpu max,-erms,-fsrm,-avx2,-bmi2
ok "the image goes there" cp -a build/vm/"$VM"/share/cpu.{image,key} "build/vm/$other/share"
out=$(scripts/vm exec "$other" --timeout $((120 * VM_SLOW)) -- \
	$ctl restore --dir /host/cpu.image --detach 2>&1)
is "it is not restored there" $? 3
case $out in
*"it lacks avx2 bmi2"*CPU_FEATURES*) pass "and what is missing is named" ;;
*) fail "and what is missing is named" "$out" ;;
esac
fails_vm "but where it comes from, it is" 143 sh -c "
	$ctl restore --dir /host/cpu.image &
	p=\$!
	while kill -0 \$p 2>/dev/null; do pkill -TERM -fx 'sleep 100000'; sleep 0.2; done
	wait \$p"
ok "the other kernel did not complain" scripts/vm check "$other"
in_vm rm -rf /host/cpu.image /host/cpu.key
finish
