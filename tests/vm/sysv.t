#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# System V objects in the namespace that a tree shares with everybody: its own refuse a
# checkpoint, those of others do not.
#
# The tree and its neighbours are sysv.pl: each tells its pid and its object's id in a file.

. "$(dirname "$0")/lib.sh"

ckptctl=$top/build/bin/ckptctl
work=/tmp/sysv
# start NAME KIND: as a session of its own; its pid is $pid then, its object $id
start() {
	in_vm sh -c "rm -f $work/$1*; cd /; setsid perl $top/tests/vm/sysv.pl $2 $work/$1 \
		>$work/$1.log 2>&1 </dev/null & i=0
		until [ -e $work/$1 ] || [ \$i -gt 600 ]; do sleep 0.05; i=\$((i+1)); done
		cat $work/$1 || cat $work/$1.log"
}
started() {
	local text
	text=$(start "$@")
	read -r pid id <<<"$text"
	[ "${id:-x}" = "${id//[!-0-9]/}" ] || fail "$1 is started" "$text"
}
stop() {
	in_vm sh -c "touch $work/$1.end; while kill -0 $2 2>/dev/null; do sleep 0.05; done"
}
allowed() { ok_vm "$1" "$ckptctl" doctor --standalone --pid "$2"; }
# refused WHAT PID KIND ID WHY: for that object and no other
refused() {
	fails_vm "$1" 3 "$ckptctl" doctor --standalone --pid "$2"
	is "$1: the reason and the object" "$(sed -n 's/ (key 0x[0-9a-f]*)//
		s/^  pid.*: \(\(message\|sem\|shared\).*\)/\1/p' <<<"$out")" "$3 $4: $5"
}

vm_ready
in_vm mkdir -p "$work"

# somebody's objects: before the tree began, unused; by one who lives, before and after
in_vm ipcmk -Q >/dev/null
in_vm ipcmk -S 3 >/dev/null
in_vm ipcmk -M 4096 >/dev/null
started before queue_used; before=$pid
in_vm sleep 3
started tree none; tree=$pid
allowed "a tree without objects, where others have some" "$tree"
started beside sem_used; beside=$pid sem=$id
started shared shm; shared=$pid
allowed "others make some while the tree runs" "$tree"
stop tree "$tree"

# the tree's own
for kind in queue queue_used sem sem_used shm; do
	case $kind in
	queue*) what="message queue" ;;
	sem*) what="semaphore set" ;;
	shm*) what="shared memory" ;;
	esac
	case $kind in
	queue|sem) why="made by its user since it began, and no other process is known" ;;
	*) why="used by the process" ;;
	esac
	started own "$kind"
	refused "its own object, $kind" "$pid" "$what" "$id" "$why"
	stop own "$pid"
	case $kind in
	queue*) in_vm ipcrm -q "$id" ;;
	sem*) in_vm ipcrm -s "$id" ;;
	shm*) in_vm ipcrm -m "$id" ;;
	esac
done

# what others made, and the tree uses: by an operation, and waiting
started uses "use_sem_$sem"
refused "a semaphore of another, that it used last" "$pid" "semaphore set" "$sem" \
	"used by the process"
stop uses "$pid"
queue=$(in_vm sh -c "awk 'NR > 1 { print \$2; exit }' /proc/sysvipc/msg")
in_vm sleep 2
started waits "wait_$queue"
in_vm sleep 1
refused "a queue of another, that it waits for" "$pid" "message queue" "$queue" \
	"a thread waits for it"
in_vm kill "$pid"

stop before "$before"
stop beside "$beside"
stop shared "$shared"
in_vm ipcrm -a
finish
