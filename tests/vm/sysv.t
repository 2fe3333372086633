#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# System V objects in the namespace that a tree shares with everybody: its own are saved, those of
# others are not looked at, those of both are refused.  A restart makes them anew under their ids,
# finds those that its former run left, and touches nobody else's.
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

# made anew, found again, and in the way: kind letter-of-ipcrm
image() {
	in_vm rm -rf "$work/image"
	ok_vm "$1" "$ckptctl" dump --standalone --pid "$2" --dir "$work/image" --kill
}
restored() {
	ok_vm "$1" "$ckptctl" restore --standalone --dir "$work/image" --detach
	pid=$(sed -n 's/.*; pid \([0-9]*\).*/\1/p' <<<"$out")
}
for kind in queue queue_used sem sem_used shm; do
	case $kind in
	queue*) letter=q what="message queue" make="-Q" ;;
	sem*) letter=s what="semaphore set" make="-S 3" ;;
	shm*) letter=m what="shared memory" make="-M 100" ;;
	esac
	started own "$kind"
	allowed "its own object, $kind" "$pid"
	image "$kind: a checkpoint kills it" "$pid"
	restored "$kind: a restart finds what is left"
	in_vm kill -9 "$pid"
	in_vm ipcrm "-$letter" "$id"
	restored "$kind: a restart makes it anew"
	ok_vm "$kind: under its number" ipcs "-$letter" -i "$id"
	in_vm kill -9 "$pid"
	in_vm ipcrm "-$letter" "$id"
	setting=$(sed 's/queue/msg/' <<<"${kind%%_*}")_next_id
	in_vm sh -c "echo $id >/proc/sys/kernel/$setting; ipcmk $make >/dev/null"
	fails_vm "$kind: a restart touches nobody else's" 3 "$ckptctl" restore --standalone \
		--dir "$work/image" --detach
	is "$kind: the reason and the object" \
		"$(grep -o "$what $id (key 0x[0-9a-f]*): .*" <<<"$out" | tail -1 |
		sed 's/ (key 0x[0-9a-f]*)//')" "$what $id: its number belongs to another object"
	ok_vm "$kind: that is still there" ipcs "-$letter" -i "$id"
	in_vm ipcrm "-$letter" "$id"
done

# what others made, and the tree uses: by an operation, and waiting
started uses "use_sem_$sem"
refused "a semaphore of another, that it used last" "$pid" "semaphore set" "$sem" \
	"the tree uses it, and it is older than the tree"
stop uses "$pid"
queue=$(in_vm sh -c "awk 'NR > 1 { print \$2; exit }' /proc/sysvipc/msg")
in_vm sleep 2
started waits "wait_$queue"
in_vm sleep 1
refused "a queue of another, that it waits for" "$pid" "message queue" "$queue" \
	"the tree uses it, and it is older than the tree"
in_vm kill "$pid"

stop before "$before"
stop beside "$beside"
stop shared "$shared"
in_vm ipcrm -a
finish
