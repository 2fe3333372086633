#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Images that another node keeps: three ckptds on this machine that know each other by keys, and
# made-up images. There and back, other readers, limits, strangers, and a partner that
# is killed in the middle.
#
# As root, because ckptd is. Needs no module: nothing is checkpointed.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nodes.sh"

mkimage() {
	"$top/build/bin/tests/tools/mkimage" "$work/$1" "$work/key" "$2" "$3" "$4"
}

same() {
	diff -r "$1" "$2"
}

# nothing but the marker and these names is in what node 2 keeps for node 1
keeps() {
	local have
	have=$(ls -A "$work/n2/store/n1")
	echo "$have"
	[ "$have" = "$(printf '%s\n' .stillpoint-level "$@")" ]
}

# until it is
gone() {
	local _
	for _ in {1..100}; do
		[ -e "$1" ] || return 0
		sleep 0.1
	done
	return 1
}

# wait until it does
comes_to_keep() {
	local _
	for _ in {1..100}; do
		keeps "$@" >/dev/null && return
		sleep 0.1
	done
	keeps "$@"
}

# a copy that takes about 10 s, in the background; returns when some of it is there
slow_copy() {
	"$top/build/bin/ckptctl" --socket "$work/n1/sock" copy --limit 1 --to node:n2 \
		"$work/image" big >"$work/slow" 2>&1 </dev/null &
	copy=$!
	for _ in {1..200}; do
		[ -n "$(find "$work/n2/store/n1/.tmp-big" -size +0 -type f 2>/dev/null)" ] && return
		sleep 0.05
	done
	return 1
}

killed_in_the_middle() {
	local rc=0
	slow_copy || return
	stop 2 KILL
	wait "$copy" || rc=$?
	cat "$work/slow"
	[ "$rc" = 1 ] && grep -q 'n2: the connection was lost' "$work/slow" &&
		! [ -e "$work/n2/store/n1/big" ]
}

interrupted() {
	slow_copy || return
	kill "$copy"
	wait "$copy"
	comes_to_keep j.gen-3
}

# a get of about 12 s: what had come goes as well
get_interrupted() {
	local get _
	"$top/build/bin/ckptctl" --socket "$work/n1/sock" copy --limit 1 --from node:n2 \
		j.gen-3 "$work/slowly" >"$work/slow" 2>&1 </dev/null &
	get=$!
	for _ in {1..200}; do
		[ -n "$(find "$work/.tmp-slowly" -size +0 -type f 2>/dev/null)" ] && break
		sleep 0.05
	done
	[ -d "$work/.tmp-slowly" ] || return
	kill "$get"
	wait "$get"
	for _ in {1..100}; do
		[ -d "$work/.tmp-slowly" ] || break
		sleep 0.05
	done
	! [ -e "$work/.tmp-slowly" ] && ! [ -e "$work/slowly" ] && on 1 store n2
}

# who has no ticket, and more who just sit there than are let in, and do not keep others out
strangers() {
	local port
	port=$(sed -n 's/.*images of other nodes.*port \([0-9]*\)$/\1/p' "$work/n2/log")
	python3 - "$port" "$top/build/bin/ckptctl" --socket "$work/n1/sock" store n2 <<'PY'
import os, socket, subprocess, sys
at = ('127.0.0.1', int(sys.argv[1]))
for text in (os.urandom(96), b'STPTPRT\n\x01\0' + bytes(86), b'GET / HTTP/1.0\r\n\r\n' * 9):
    s = socket.create_connection(at, 20)
    s.settimeout(20)
    try:
        s.sendall(text)
        assert s.recv(1) == b''
    except ConnectionResetError:
        pass
sit = [socket.create_connection(at, 20) for _ in range(40)]
subprocess.run(sys.argv[2:], check=True, timeout=60)
PY
}

head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
make_keys 3
mkimage image job 3 12

start 1
start 2
ok 'the node does not answer' says 1 'n3' on 1 store n3
ok 'a node that is not there' says 1 'no node n7' on 1 store n7
ok 'this node itself' says 1 'is this node' on 1 store n1
meet 1 2
ok 'a node that keeps nothing for others' says 1 'n2.*set store = DIRECTORY' \
	on 1 copy --to node:n2 "$work/image"
stop 2
start 2 --set store="$work/n2/store"
start 3 --set store="$work/n3/store" --set store_max=20M
meet 1 2
meet 1 3
meet 3 2

ok 'nothing is there' says 1 'has no images of n1' on 1 store n2
ok 'a copy' says 0 'checked: job.gen-3, node n2' on 1 copy --to node:n2 "$work/image"
ok 'it is the image' same "$work/image" "$work/n2/store/n1/job.gen-3"
ok 'once more is harmless' on 1 copy --to node:n2 "$work/image"
ok 'under a name of its own' on 1 copy --to node:n2 "$work/image" j.gen-3
ok 'list' says 0 '^job.gen-3 .*12.* MiB' on 1 store n2
ok 'space' says 0 'n2: .* free of' on 1 store n2 space
ok 'verify' says 0 'is whole' on 1 store n2 verify --deep job.gen-3
mkimage other job 3 1
ok 'another image does not replace it' says 1 'name taken, by another image' \
	on 1 copy --to node:n2 "$work/other"
ok 'back' on 1 copy --from node:n2 job.gen-3 "$work/back"
ok 'it is the image still' same "$work/image" "$work/back"
ok 'never over another' says 1 'there already' on 1 copy --from node:n2 j.gen-3 "$work/back"

ok 'another node reads it' on 3 copy --from node:n2 --owner n1 job.gen-3 "$work/back3"
ok 'and gets the same' same "$work/image" "$work/back3"
ok 'but does not remove it' says 1 'for reading only' on 3 store --owner n1 n2 rm job.gen-3
ok 'remove' on 1 store n2 rm job.gen-3
ok 'it is gone, the other one is not' keeps j.gen-3
ok 'no name leads out of it' says 2 'is no name' on 1 store n2 rm ../n1

ok 'strangers get nothing' strangers
ok 'and are in nobody'\''s way' on 1 store n2 verify j.gen-3
ok 'up to the limit of the store' on 1 copy --to node:n3 "$work/image"
ok 'and not beyond' says 1 'n3.*store_max' on 1 copy --to node:n3 "$work/image" b

ok 'the partner is killed in the middle' killed_in_the_middle
start 2 --set store="$work/n2/store"
meet 1 2
ok 'it is there again, with what it had' says 0 '^j.gen-3 ' on 1 store n2
ok 'the copy again' on 1 copy --to node:n2 "$work/image" big
ok 'nothing is left over' keeps big j.gen-3
ok 'which is whole' on 1 store n2 verify --deep big
on 1 store n2 rm big >"$work/out" 2>&1
ok 'who asked goes: so does what was begun' interrupted
ok 'on this side, too' get_interrupted

flip() {
	python3 -c 'import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(5 << 20)
    b = f.read(1)[0]
    f.seek(5 << 20)
    f.write(bytes([b ^ 1]))' "$work/n2/store/n1/j.gen-3/pages"
}
flip
ok 'a copy that went bad is found' says 1 'n2: ' on 1 store n2 verify --deep j.gen-3
ok 'and not handed out' says 1 'n2' on 1 copy --from node:n2 j.gen-3 "$work/bad"
ok 'nor left behind' test ! -e "$work/bad"

stop 3
head -c 32 /dev/urandom >"$work/key3"
chmod 600 "$work/key3"
start 3 --set key="$work/key3" --set store="$work/n3/store"
meet 1 3
ok 'another key of images' says 1 'all nodes must have the same file' \
	on 1 copy --to node:n3 "$work/image" c

ok 'the partner is the next node' says 0 '"partner": "n2"' on 1 nodes --json
stop 1
stop 2
sed -i '/^n[12] /s/$/ domain=rack1/' "$work/hosts"
mkdir "$work/n2/store/n1/.tmp-left"
start 1 --set store_encrypt=no
start 2 --set store="$work/n2/store" --set store_encrypt=no
meet 1 2
ok 'or one of another domain' says 0 '"partner": "n3"' on 1 nodes --json
ok 'a killed session leaves nothing for ever' gone "$work/n2/store/n1/.tmp-left"
ok 'unencrypted, where both want that' on 1 copy --to node:n2 "$work/image" plain
ok 'and whole' same "$work/image" "$work/n2/store/n1/plain"
ok 'no token is in any log' sh -c "! grep -E '[0-9a-f]{64}' '$work'/n?/log"
finish
