#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A VM with two NUMA nodes: the programs of tests/cr about policies and placement, checkpointed and
# restored, and an image restored in a VM that lacks the NUMA node of its policies.

. "$(dirname "$0")/lib.sh"
vm_ready
numa=$VM-numa
disk=build/vm/$numa.img
# shellcheck disable=SC2064
trap "scripts/vm down $numa; rm -f $disk" EXIT
ctl="$top/build/bin/ckptctl --standalone --key /host/numa.key"
in_numa() { scripts/vm exec "$numa" --timeout $((600 * VM_SLOW)) -- "$@"; }

ok "a machine of two nodes" scripts/vm up "$numa" --kernel "$KERNEL" --owner $$ --mem 2048 \
	--numa 2 \
	--quiet --cached --module --disk "$disk,size=4G,mount=/mnt/nvme"
# which would move pages to where they belong, after some seconds
in_numa sh -c '[ ! -e /proc/sys/kernel/numa_balancing ] || echo 0 >/proc/sys/kernel/numa_balancing'
vm_relay < <(in_numa "$top/tests/cr/run" --flavours "${FLAVOURS:-CE}" --work /tmp/cr \
	--images /mnt/nvme/cr --copy --tolerance $((700 * VM_SLOW)) --timeout $((60 * VM_SLOW)) \
	numa_mbind numa_placed numa_threads 2>&1)

ok "an image of a process that may use node 1 only" in_numa sh -c "
	head -c 32 /dev/urandom >/host/numa.key
	chmod 600 /host/numa.key
	setsid numactl --membind=1 sleep 100000 </dev/null >/dev/null 2>&1 &
	until [ \"\$(cat /proc/\$!/comm)\" = sleep ]; do sleep 0.1; done
	exec $ctl dump --pid \$! --dir /host/numa.image --kill"
ok "is the same where there are two" in_numa sh -c "
	$ctl restore --dir /host/numa.image --detach --pidns new &&
		grep -q 'bind:1' /proc/\$(pgrep -nx sleep)/numa_maps"
ok "the image goes to a machine of one" cp -a build/vm/"$numa"/share/numa.{image,key} \
	"build/vm/$VM/share"
ok_vm "and is restored there, without the policy" sh -c "
	$ctl restore --dir /host/numa.image --detach --pidns new &&
		grep -q default /proc/\$(pgrep -nx sleep)/numa_maps &&
		pkill -TERM -x sleep"
ok "the other kernel did not complain" scripts/vm check "$numa"
in_vm rm -rf /host/numa.image /host/numa.key
finish
