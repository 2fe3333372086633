#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A partner as a level of ckptd: three ckptds on this machine, each with an image directory and a
# store of its own, and made-up images. Copied, found again where the node has lost them, on
# another node, and on the partner itself.
#
# As root, because ckptd is. Needs no module: what is fetched is not restored here.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nodes.sh"

node_options=(--set level.partner=partner)

# the state of a generation on node N: "here missing", L1 and partner
states() {
	on "$1" list --json "$job" >"$work/list" || return
	python3 - "$work/list" "$2" <<'PY'
import json, sys
for row in json.load(open(sys.argv[1]))['result']['jobs'][0]['generations']:
    if row['generation'] == int(sys.argv[2]):
        print(' '.join(level['state'] for level in row['levels']))
PY
}

# until it is so
comes_to() {
	local _
	for _ in {1..150}; do
		[ "$(states "$1" "$2")" = "$3" ] && return
		sleep 0.2
	done
	states "$1" "$2"
	cat "$work/n$1/log"
	return 1
}

# a restart cannot go on to its end here; what it says, and what L1 has then
fetches() {
	on "$1" restart "${@:3}" "$job" >"$work/out" 2>&1
	cat "$work/out"
	grep -q -- "$2" "$work/out" "$work/n$1/log" &&
		diff -r "$work/kept" "$work/n$1/images/$job/gen-2"
}

dry() {
	on "$1" restart --dry-run "${@:3}" "$job" >"$work/out" 2>&1
	cat "$work/out"
	grep -q -- "$2" "$work/out"
}

# nothing but these is in what node 2 keeps for node 1
store_has() {
	[ "$(cd "$work/n2/store/n1" && echo *)" = "$*" ]
}

# node 1 has a worker that copies
copies() {
	local _
	for _ in {1..100}; do
		pgrep -P "$(cat "$work/n1/pid")" ckptd-flush >/dev/null && sleep 0.5 &&
			pgrep -P "$(cat "$work/n1/pid")" ckptd-flush && return
		sleep 0.1
	done
	cat "$work/n1/log"
	return 1
}

comes_to_store() {
	local _
	for _ in {1..200}; do
		store_has "$@" && return
		sleep 0.2
	done
	ls "$work/n2/store/n1"
	cat "$work/n1/log"
	return 1
}

mkimage() {
	"$top/build/bin/tests/tools/mkimage" "$work/n1/images/$job/gen-$1" "$work/key" "$label" \
		"$1" 3 \
		"$record"
}

head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
make_keys 3
for i in 1 2 3; do
	start $i --set store="$work/n$i/store"
done
meet 1 2
meet 2 1
meet 3 2

job=$(on 1 run --detach -- /bin/true)
on 1 wait "$job" >/dev/null 2>&1
record=$(python3 -c 'import json, sys
print(json.dumps(json.load(open(sys.argv[1]))["sealed"]))' "$work/n1/images/$job/job.json")
label=$job-$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["uuid"])' "$record")
stop 1
mkimage 1
mkimage 2
cp -r "$work/n1/images/$job/gen-2" "$work/kept"
start 1 --set store="$work/n1/store"
ok 'copied, when the partner can be reached' comes_to 1 2 'here here'
ok 'the older one, too' comes_to 1 1 'here here'
ok 'to the next node' store_has "$label.gen-1" "$label.gen-2"
ok 'the list has it' \
	sh -c "'$top/build/bin/ckptctl' --socket '$work/n1/sock' list | grep -q 'L1 partner'"
ok 'the doctor has looked' sh -c "'$top/build/bin/ckptctl' --socket '$work/n1/sock' doctor |
	grep -q 'ok   partner: partner'"

rm -r "$work/n1/images/$job/gen-2"
ok 'lost here, which is seen' comes_to 1 2 'missing here'
ok 'it would be fetched' dry 1 'would be fetched from level partner'
ok 'and is' fetches 1 'fetched from level partner'

stop 1 KILL
ok 'another node finds the job by its number' dry 3 'would be fetched from level partner'
ok 'and has it then' fetches 3 'fetched from level partner' --node-lost
ok 'with its record' says 0 '"name": "true"' on 3 list --json "$job"
ok 'so does the partner itself' fetches 2 'fetched from level partner' --node-lost

stop 2
rm -rf "$work/n3/images/$job"
ok 'without the partner there is nothing' says 1 "there is no job $job" on 3 restart "$job"
start 2 --set store="$work/n2/store"
start 1 --set store="$work/n1/store"
meet 1 2
stop 2
ok 'what rm cannot remove now is said' says 1 'on level partner was not removed' on 1 rm "$job:2"
start 2 --set store="$work/n2/store"
meet 1 2
ok 'it goes when the partner is back' comes_to_store "$label.gen-1"
stop 1
mkimage 3
start 1 --set store="$work/n1/store" --set level.partner.limit=1K
ok 'a copy that takes long' copies
ok 'rm ends it' timeout 8 "$top/build/bin/ckptctl" --socket "$work/n1/sock" rm "$job:3"
ok 'and nothing of it is there' comes_to_store "$label.gen-1"
ok 'rm removes the copies' on 1 rm "$job"
ok 'all of them' store_has '*'
ok 'no token is in any log' sh -c "! grep -E '[0-9a-f]{64}' '$work'/n?/log"
finish
