#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Private structures of the kernel: checked against its BTF when the module is inserted, and what
# may not be read is switched off and refused.

. "$(dirname "$0")/lib.sh"
vm_ready || { echo "Bail out! no VM"; exit 1; }

program=build/bin/tests/kselftest/capture_test
[ -x "$program" ] || { echo "Bail out! no $program: run make"; exit 1; }

# insert WHAT [distrust=NAMES]: the module anew; $said is what it says meanwhile
insert() {
	ok_vm "$1" sh -c "dmesg -C; $module_goes"' && insmod "$@" && echo "ckpt: in" >/dev/kmsg' \
		sh "$top/build/kmod/$KERNEL/ckpt.ko" "${@:2}"
	said=$(in_vm dmesg | grep 'ckpt: ')
}

insert "the module goes in"
if in_vm test -e /sys/kernel/btf/vmlinux; then
	is "this kernel's private structures are as expected" "${said#* ckpt: }" in
else
	ok "a kernel without BTF is not checked" grep -q 'are not checked' <<<"$said"
fi
ok_vm "nothing is switched off" "$top/$program" layout
for names in n_tty_data,sem_undo_list landlock_cred_security; do
	insert "the module goes in, distrust=$names" "distrust=$names"
	is "it says which" "$(grep -c 'is distrusted, as asked for' <<<"$said")" \
		"$(wc -w <<<"${names//,/ }")"
	ok_vm "and does without" "$top/$program" layout
done
insert "a name that is none" distrust=nothing
is "is told of" "$(grep -c 'distrust=nothing: the module reads no such' <<<"$said")" 1
insert "the module as it was"
finish
