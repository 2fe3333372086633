#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# An image holds exactly the memory that the tree had in the pause, no page more
# and none less, with a snapshot and read in place.

. "$(dirname "$0")/lib.sh"
vm_ready

programs=(mem_private mem_pages mem_thp mem_zero mem_file_private mem_file_deleted
	mem_shm_tree mem_shm_twice mem_dontfork mem_wipeonfork mem_many_vmas mem_stack
	mem_cow_grandchild mem_hugetlb_private memfd_mapped memfd_unmapped fd_deleted
	py_threads.py)
python='SH:touch ready; exec python3 -c "
import threading, time, random
def work(n):
	x = [random.random() for i in range(20000)]
	while True:
		x.sort(); x[n] += 1
for n in range(6):
	threading.Thread(target=work, args=(n,)).start()"'
pipeline='SH:(sleep 1.5; touch ready) & while :; do cat /usr/bin/*-linux-gnu-* /usr/bin/git; done \
	2>/dev/null | xz -T2 -1 | tee out | md5sum'

some=()
for program in "${programs[@]}" "$python" "$pipeline"; do
	! in_share || some+=("$program")
done

# khugepaged fills what was absent with zeros, also in a pause
khugepaged=/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs
in_vm sh -c "echo 32 >/proc/sys/vm/nr_hugepages; echo 3600000 >$khugepaged"
while IFS= read -r line; do
	case $line in
	'ok '*) pass "${line#ok * - }" ;;
	'not ok '*) fail "${line#not ok * - }" ;;
	'#'*) echo "$line" ;;
	esac
done < <(in_vm --timeout $((900 * VM_SLOW)) "$top/tests/tools/dumpcheck-all" "$top" /mnt/nvme \
	"${some[@]}" 2>&1)
in_vm sh -c "echo 0 >/proc/sys/vm/nr_hugepages; echo 10000 >$khugepaged"
finish
