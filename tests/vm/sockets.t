#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Clients of the node's services: an idle one comes back as one whose service has gone, and
# connects again; others are refused.

. "$(dirname "$0")/lib.sh"

ckptctl=$top/build/bin/ckptctl
py=$top/tests/vm/sockets.py
work=/mnt/nvme/sockets
nscd=/run/nscd/socket

# background ARG...: a program as a session of its own
background() {
	in_vm sh -c "cd / && setsid $* >>$work/log 2>&1 </dev/null &"
}
serve() {
	background python3 "$py" serve "$1" "$2"
	in_vm sh -c "i=0; until [ -S $1 ] || [ \$i -gt 600 ]; do sleep 0.05; i=\$((i+1)); done"
}
# client NAME TYPE MODE: its pid is $pid then
client() {
	in_vm sh -c "rm -rf $work/c*"
	background python3 "$py" client "$work/c" "$@"
	pid=$(in_vm sh -c "i=0; until [ -e $work/c.pid ] || [ \$i -gt 600 ]; do
		sleep 0.05; i=\$((i+1)); done; cat $work/c.pid || cat $work/log")
}
said() {
	in_vm sh -c "touch $work/c.go; i=0; until [ -e $work/c.out ] || [ \$i -gt 600 ]; do
		sleep 0.05; i=\$((i+1)); done; cat $work/c.out || cat $work/log"
}
# restored WHAT SAID: the client is dumped, killed and restored
restored() {
	ok_vm "$1: saved" "$ckptctl" dump --standalone --pid "$pid" --dir "$work/c.image" --kill
	ok_vm "$1: restored" "$ckptctl" restore --standalone --dir "$work/c.image" --detach
	is "$1: connects again" "$(said)" "$2"
}
refused() {
	fails_vm "$1: refused" 3 "$ckptctl" dump --standalone --pid "$pid" --dir "$work/c.image"
	is "$1: the reason" "$(grep -o -e FD_SOCKET -e "$2" <<<"$out" | sort -u | tr '\n' ' ')" \
		"FD_SOCKET $2 "
	in_vm kill -9 "$pid"
}

vm_ready
in_vm mkdir -p "$work" /run/systemd/journal
serve "$nscd" stream
serve /run/nslcd/packets seqpacket
serve /run/systemd/journal/dev-log dgram
serve /run/other stream

client "$nscd" stream idle
ok_vm "a client that runs on: saved" "$ckptctl" dump --standalone --pid "$pid" --dir "$work/c.image"
is "a client that runs on: keeps its connection" "$(said)" "open, name 3"

client "$nscd" stream idle
restored "a client of a stream" "hangup, BrokenPipeError, name 4"
client /run/nslcd/packets seqpacket idle
restored "a client of packets" "hangup, BrokenPipeError, name 4"
client /run/systemd/journal/dev-log dgram idle
restored "a client of datagrams" "ConnectionRefusedError, sent"
is "a client of datagrams: nothing is lost or sent twice" \
	"$(in_vm sh -c 'tr "\n" " " </run/systemd/journal/dev-log.log')" "ask 1 ask 4 "

for mode in unread poll read unheard; do
	case $mode in
	unread) why="an answer that is not read" ;;
	unheard) why="a question that is not read" ;;
	*) why="a thread waits on" ;;
	esac
	client "$nscd" stream $mode
	refused "a client that is busy ($mode)" "$why: client of $nscd"
done
client /run/other stream idle
refused "a client of another service" "client of /run/other"
background python3 "$py" serve 127.0.0.1:4711 tcp
# 0A: it listens
in_vm sh -c "i=0; until grep -q ': 0100007F:1267 00000000:0000 0A ' /proc/net/tcp ||
	[ \$i -gt 600 ]; do sleep 0.05; i=\$((i+1)); done"
client 127.0.0.1:4711 tcp idle
fails_vm "a client of TCP: refused" 3 "$ckptctl" dump --standalone --pid "$pid" \
	--dir "$work/c.image"
is "a client of TCP: the reason, and the option that would save it" \
	"$(grep -o -e FD_SOCKET -e "to 127.0.0.1:4711" -e "--sockets=reset" <<<"$out" |
		LC_ALL=C sort -u | tr '\n' ' ')" "--sockets=reset FD_SOCKET to 127.0.0.1:4711 "
fails_vm "a client of TCP: another rule" 3 "$ckptctl" dump --standalone --pid "$pid" \
	--dir "$work/c.image" "--sockets=127.0.0.1:80=close"
ok_vm "a client that runs on: saved" "$ckptctl" dump --standalone --pid "$pid" \
	--dir "$work/c.image" --sockets=reset
is "a client that runs on: keeps its connection" "$(said)" "open, name 3"
for action in reset close; do
	client 127.0.0.1:4711 tcp idle
	ok_vm "a client of TCP ($action): saved" "$ckptctl" dump --standalone --pid "$pid" \
		--dir "$work/c.image" --kill "--sockets=127.0.0.*:4711=$action"
	ok_vm "a client of TCP ($action): restored" "$ckptctl" restore --standalone \
		--dir "$work/c.image" --detach
	case $action in
	reset) is "a client of TCP (reset): connects again" "$(said)" \
		"hangup, ConnectionResetError, name 4" ;;
	# it is told the end as an answer, as of any peer that has closed
	close) is "a client of TCP (close): reads the end" "$(said)" "open, end" ;;
	esac
done
in_vm sh -c "kill \$(ps -eo pid,args | awk '/sockets.py [s]erve/ { print \$1 }')"
finish
