#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# An erasure group as a level of ckptd: five ckptds on this machine, each with an image directory
# and a store of its own, 3+2, and made-up images of a job over three nodes. Coded, and rebuilt
# where nodes are lost with their images: one, two, and one too many.
#
# As root, because ckptd is. Needs no module: what is rebuilt is not restored here.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nodes.sh"

nodes=(1 2 3 4 5)
node_options=(--set level.group=erasure:3+2 --set store=%n/store)

# the state of generation $2 on node $1's erasure level, and how many images it has if it is not
# "here"
state() {
	on "$1" list --json "$job" >"$work/list" || return
	python3 - "$work/list" "$2" <<'PY'
import json, sys
for row in json.load(open(sys.argv[1]))['result']['jobs'][0]['generations']:
    if row['generation'] == int(sys.argv[2]):
        print(*[' '.join([level['state'], str(level.get('have', ''))]).strip()
                for level in row['levels'] if level['level'] == 'group'])
PY
}

# until it is so
comes_to() {
	local _
	for _ in {1..300}; do
		[ "$(state "$1" "$2")" = "$3" ] && return
		sleep 0.2
	done
	state "$1" "$2"
	cat "$work/out" "$work/n$1/log"
	return 1
}

# nothing but these is in what node $1 keeps of node 1
keeps() {
	local have
	have=$(ls "$work/n$1/store/n1")
	echo "$have"
	[ "$have" = "$(printf '%s\n' "${@:2}")" ]
}

comes_to_keep() {
	local _
	for _ in {1..300}; do
		keeps "$@" >/dev/null && return
		sleep 0.2
	done
	keeps "$@"
	cat "$work/n1/log"
	return 1
}

# no node has anything of what it has fetched to code or to rebuild
comes_clean() {
	local left _
	for _ in {1..100}; do
		left=$(shopt -s nullglob; echo "$work"/{n?/,}images/.erasure-*/*)
		[ -z "$left" ] && return
		sleep 0.2
	done
	echo "$left"
	return 1
}

# node 1 copies nothing, and prunes nothing on its levels
comes_to_rest() {
	local _
	for _ in {1..200}; do
		pgrep -P "$(cat "$work/n1/pid")" ckptd-flush >/dev/null || return 0
		sleep 0.1
	done
	return 1
}

# a generation of images of nodes 1, 3 and 5, each in its node's own directory
make_generation() {
	local part=0 i dir
	for i in 1 3 5; do
		dir=$work/n$i/images/$job/gen-$1/node-$part
		mkdir -p "$dir"
		"$top/build/bin/tests/tools/mkimage" "$dir/image" "$work/key" "$label" "$1" \
			$((i + 1)) "$record"
		mkdir -p "$work/kept/$1"
		cp -r "$dir/image" "$work/kept/$1/node-$part"
		part=$((part + 1))
	done
	"$top/build/bin/tests/tools/mkparts" "$work/n1/images" "$work/key" "$job" "$1" "$ranks"
}

# a restart cannot go on to its end here; what it says, and what L1 has then: parts $3 of
# generation $2
rebuilds() {
	local node=$1 part
	on "$node" restart "${@:4}" "$job:$2" >"$work/out" 2>&1
	cat "$work/out"
	grep -q 'fetched from level group' "$work/out" "$work/n$node/log" || return
	for part in $3; do
		diff -r "$work/kept/$2/node-$part" \
			"$work/n$node/images/$job/gen-$2/node-$part/image" || return
	done
}

refuses() {
	local node=$1 text=$2 rc=0
	on "$node" restart "${@:3}" >"$work/out" 2>&1 || rc=$?
	cat "$work/out"
	[ "$rc" != 0 ] && grep -q -- "$text" "$work/out"
}

# two generations in the common directory; node 1 is stopped then
make_shared() {
	local g part
	read_record "$work/images"
	stop 1
	for g in 1 2; do
		for part in 0 1 2; do
			mkdir -p "$work/images/$job/gen-$g/node-$part"
			"$top/build/bin/tests/tools/mkimage" \
				"$work/images/$job/gen-$g/node-$part/image" \
				"$work/key" "$label" "$g" $((part + 1)) "$record"
		done
		"$top/build/bin/tests/tools/mkparts" "$work/images" "$work/key" "$job" "$g" "$ranks"
	done
	rm -rf "$work/kept"
	cp -r "$work/images/$job" "$work/kept"
}

rebuilds_shared() {
	on 1 restart "$job:$1" >"$work/out" 2>&1
	cat "$work/out"
	grep -q 'fetched from level group' "$work/out" "$work/n1/log" &&
		diff -r "$work/kept/gen-$1/node-$2/image" "$work/images/$job/gen-$1/node-$2/image"
}

falls_through() {
	: >"$work/n1/log"
	on 1 restart "$job:$1" >"$work/out" 2>&1
	cat "$work/out" "$work/n1/log"
	grep -q 'fetched from level disk' "$work/out" "$work/n1/log" &&
		diff -r "$work/kept/gen-$1/node-$2/image" "$work/images/$job/gen-$1/node-$2/image"
}

# nodes 3 and 5 have both of theirs on the level that is a directory
copied_by_others() {
	local _
	for _ in {1..200}; do
		[ "$(cd "$work/disk" && echo n[35]/*.gen-*)" = \
			"$(echo n3/"$label".gen-{1,2}.node-1 n5/"$label".gen-{1,2}.node-2)" ] &&
			return
		sleep 0.2
	done
	ls "$work"/disk/*
	return 1
}

# node 1 has these there, and no others
keeps_on_disk() {
	local have _
	for _ in {1..50}; do
		have=$(cd "$work/disk/n1" && echo *.gen-*)
		[ "$have" = "$*" ] && return
		sleep 0.2
	done
	echo "$have"
	cat "$work/n1/log"
	return 1
}

# a generation of one image; node 1 is stopped
make_single() {
	record=$(python3 -c 'import json, sys
print(json.dumps(json.load(open(sys.argv[1]))["sealed"]))' "$work/images/$job/job.json")
	label=$job-$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["uuid"])' \
		"$record")
	"$top/build/bin/tests/tools/mkimage" "$work/images/$job/gen-$1" "$work/key" "$label" "$1" \
		3 "$record"
	rm -rf "$work/kept"
	cp -r "$work/images/$job/gen-$1" "$work/kept"
}

rebuilds_single() {
	on 1 restart "$job:$1" >"$work/out" 2>&1
	cat "$work/out"
	grep -q 'fetched from level group' "$work/out" "$work/n1/log" &&
		diff -r "$work/kept" "$work/images/$job/gen-$1"
}

# node 1 has something in hand to code
comes_to_work() {
	local _
	for _ in {1..300}; do
		compgen -G "$work/images/.erasure-n1/*/.tmp-parity-*" >/dev/null && return
		sleep 0.1
	done
	cat "$work/n1/log"
	return 1
}

# record and label of the job, as one over nodes
read_record() {
	ranks='{"nodes": ["n1", "n3", "n5"], "map": ["0", "1", "2"]}'
	record=$(python3 -c 'import json, sys
record = json.load(open(sys.argv[1]))["sealed"]
record["ranks"] = json.loads(sys.argv[2])
print(json.dumps(record))' "$1/$job/job.json" "$ranks")
	label=$job-$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["uuid"])' \
		"$record")
}

head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
make_keys 5
for i in "${nodes[@]}"; do
	start "$i"
done
meet 1 2 3 4 5

job=$(on 1 run --detach -- /bin/true)
on 1 wait "$job" >/dev/null 2>&1
read_record "$work/n1/images"
ok 'the doctor has looked' sh -c "'$top/build/bin/ckptctl' --socket '$work/n1/sock' doctor |
	grep 'ok   group: erasure:3+2'"
stop 1
make_generation 1
make_generation 2
start 1
meet 1 2 3 4 5
ok 'the pieces are at the nodes outside the group' comes_to_keep 2 "$label.gen-1.parity-0" \
	"$label.gen-2.parity-0"
ok 'one at each' comes_to_keep 4 "$label.gen-1.parity-1" "$label.gen-2.parity-1"
# of images that are elsewhere it is not known here of how many a generation is
ok 'the list has all three images' comes_to 1 2 'partial 3'
ok 'of both generations' comes_to 1 1 'partial 3'
ok 'nothing is left over' comes_clean

rm -r "$work/n4/store/n1/$label.gen-1.parity-1"
ok 'a piece that is lost is seen' comes_to 1 1 'partial 0'
stop 1
start 1
meet 1 2 3 4 5
ok 'and made again' comes_to 1 1 'partial 3'

stop 3 KILL
rm -r "$work/n3/images"
ok 'a node is lost with its image: it would be rebuilt' \
	says 0 'image of node n3: would be fetched from level group' on 1 restart --dry-run "$job:2"
ok 'and is, to the last bit' rebuilds 1 2 '1 2'

stop 1 KILL
ok 'two are lost: another node has all of it' rebuilds 2 2 '0 1 2' --node-lost
ok 'with its record' says 0 '"name": "true"' on 2 list --json "$job"
stop 5 KILL
ok 'three are lost, of 3+2: that is said' refuses 4 \
	'at most 2 can be made up for.*image of node n' --node-lost "$job:1"
ok 'and nothing is made of it' test ! -e "$work/n4/images/$job/gen-1/node-0/image"
ok 'nothing is left over of all that' comes_clean

# the same with one image directory, as jobs over nodes have it; node 1 is a single node's as well
for i in "${nodes[@]}"; do
	stop "$i"
	rm -rf "$work/n$i/images" "$work/n$i/store" "$work/n$i/jobs"
done
mkdir -p -m 711 "$work/images"
mkdir -m 700 "$work/disk"
shared=(--set image_dir="$work/images" --set level.disk="posix:$work/disk")
for i in "${nodes[@]}"; do
	start "$i" "${shared[@]}"
done
meet 1 2 3 4 5
job=$(on 1 run --detach -- /bin/true)
on 1 wait "$job" >/dev/null 2>&1
make_shared
start 1 "${shared[@]}"
meet 1 2 3 4 5
ok 'one directory for all: coded from there' comes_to 1 2 here
ok 'the older one, too' comes_to 1 1 here
ok 'and the other level has them' comes_to_rest
ok 'by one node alone' sh -c "! ls -d '$work'/n?/store/n3 '$work'/n?/store/n5"
rm -r "$work/images/$job/gen-2/node-1/image"
ok 'what is lost is rebuilt' rebuilds_shared 2 1
rm -r "$work/images/$job/gen-2/node-0/image" "$work/n2/store/n1" "$work/n4/store/n1"
ok 'without parity the next level is asked' falls_through 2 0
stop 1
start 1 "${shared[@]}"
meet 1 2 3 4 5
ok 'parity that was lost is made again' comes_to 1 2 here
ok 'of the older one, too' comes_to 1 1 here
ok 'nobody reads it any more' comes_to_rest
"$top/build/bin/tests/tools/mkparts" "$work/images" "$work/key" "$job" 2 "$ranks" "$record"
for i in 3 5; do
	stop $i
	start $i "${shared[@]}"
done
ok 'the other nodes copy theirs' copied_by_others
ok 'L1 is pruned' on 1 prune "$job" --keep 1
stop 1
start 1 "${shared[@]}" --set level.disk.keep=1
meet 1 2 3 4 5
ok 'parity of what has gone goes' comes_to_keep 2 "$label.gen-2.parity-0"
ok 'everywhere' comes_to_keep 4 "$label.gen-2.parity-1"
ok 'the other level keeps one of its node, by its rule' keeps_on_disk "$label.gen-2.node-0"
ok 'and works' sh -c "! grep 'level disk does not work' '$work/n1/log'"
ok 'rm removes it' on 1 rm --force "$job:2"
ok 'all of it' comes_to_keep 2 ''

# a job on one node is a group of one: each piece is worth a copy, and is kept by the rule
stop 1
start 1 "${shared[@]}" --set level.group.keep=1 --set level.group.limit=1K
meet 1 2 3 4 5
job=$(on 1 run --detach -- /bin/true)
on 1 wait "$job" >/dev/null 2>&1
stop 1
make_single 1
start 1 "${shared[@]}" --set level.group.keep=1 --set level.group.limit=1K
meet 1 2 3 4 5
ok 'coding that takes long' comes_to_work
stop 1 KILL
make_single 2
start 1 "${shared[@]}" --set level.group.keep=1
meet 1 2 3 4 5
ok 'and is killed, is done again' comes_to 1 2 here
ok 'of what is kept alone' comes_to_keep 2 "$label.gen-2.parity-0"
ok 'nothing is left over of that' comes_clean
rm -r "$work/images/$job/gen-2" "$work/disk/n1"
ok 'one image, from a piece' rebuilds_single 2

stop 2
stop 4
node_options=(--set level.group=erasure:4+2 --set store=%n/store)
start 2
ok 'too few nodes: the log says it' grep -q 'groups of 4+2 need 6 nodes, there are 5' "$work/n2/log"
ok 'and the doctor' sh -c "'$top/build/bin/ckptctl' --socket '$work/n2/sock' doctor |
	grep 'group: groups of 4+2 need 6 nodes, there are 5'"
finish
