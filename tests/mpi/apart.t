#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Nodes whose image directories are not shared: four ckptds on this machine with directories,
# stores and all levels, and made-up images of a job over two of them. Each node copies its own
# part; where nodes are lost, others get what they need from the cheapest place that is left.
#
# As root, because ckptd is. Needs no module: what is fetched is not restored here.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nodes.sh"

# groups of 2+2 are n1, n3 and n2, n4, each held by the other two; the partner is the next node
node_options=(--set image_dir_shared=no --set store=%n/store --set level.partner=partner
	--set level.group=erasure:2+2 --set "level.disk=posix:$work/disk")

# what levels have of generation $2, as node $1 lists it: "partner here, ..."
states() {
	on "$1" list --json "$job" >"$work/list" || return
	python3 - "$work/list" "$2" <<'PY'
import json, sys
for row in json.load(open(sys.argv[1]))['result']['jobs'][0]['generations']:
    if row['generation'] == int(sys.argv[2]):
        print(', '.join(level['level'] + ' ' + level['state'] for level in row['levels']))
PY
}

comes_to() {
	local _
	for _ in {1..300}; do
		[ "$(states "$1" "$2")" = "$3" ] && return
		sleep 0.2
	done
	states "$1" "$2"
	tail -n 20 "$work"/n?/log
	return 1
}

# a generation of images of nodes 1 and 3, each in its node's own directory, with all that node has
make_generation() {
	local part=0 i dir
	for i in 1 3; do
		dir=$work/n$i/images/$job/gen-$1/node-$part
		mkdir -p "$dir"
		"$top/build/bin/tests/tools/mkimage" "$dir/image" "$work/key" "$label" "$1" \
			$((i + 1)) \
			"$record"
		"$top/build/bin/tests/tools/mkparts" "$work/n$i/images" "$work/key" "$job" "$1" \
			"$ranks" \
			"$record"
		mkdir -p "$work/kept/$1"
		cp -r "$dir/image" "$work/kept/$1/node-$part"
		part=$((part + 1))
	done
}

# A restart from generation 2 cannot go on to its end here. On nodes $1 and $2, which say in it
# where image 0 and 1 are had from ("": it is there), and have these and no others then, but for
# $5 on the first.
fetches() {
	local home=$1 other=$2 zero=$3 one=$4 has=${5:-node-0}
	on "$home" restart "$job:2" --node-lost --nodes "n$home,n$other" >"$work/out" 2>&1
	cat "$work/out"
	[ -z "$zero" ] || grep -q "image \(0\|of node n1\): fetched from $zero\$" "$work/out" ||
		return
	[ -z "$one" ] || grep -q "node n$other: .*image of node n3: fetched from $one\$" \
		"$work/out" || return
	diff -r "$work/kept/2/node-0" "$work/n$home/images/$job/gen-2/node-0/image" &&
		diff -r "$work/kept/2/node-1" "$work/n$other/images/$job/gen-2/node-1/image" &&
		[ "$(cd "$work/n$home/images/$job/gen-2" && echo node-*)" = "$has" ] &&
		[ ! -e "$work/n$other/images/$job/gen-2/node-0" ]
}

# nodes that have never seen the job
forget() {
	local i
	for i; do
		rm -rf "$work/n$i/images/$job"
	done
}

# all of them have found each other
know() {
	local i
	for i; do
		# shellcheck disable=SC2068
		meet "$i" ${@/$i/} || return
	done
}

head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
mkdir -m 700 "$work/disk"
make_keys 4
for i in 1 2 3 4; do
	start $i
done
know 1 2 3 4

job=$(on 2 run --detach -- /bin/true)
ok 'no two nodes give one number' test "$((job % 4))" = 2
on 2 wait "$job" >/dev/null 2>&1
job=$(on 1 run --detach -- /bin/true)
ok 'nor does the first of them' test "$((job % 4))" = 1
on 1 wait "$job" >/dev/null 2>&1

# ---- restarted on a node that none of theirs heard then, and all of them hear each other

# node 2 has the record of a later run of it
restarted_on_2() {
	mkdir -p "$work/n2/images/$1"
	"$top/build/bin/tests/tools/mkparts" "$work/n2/images" "$work/key" "$1" 0 '{}' \
		"$(python3 -c 'import json, sys
record = json.load(open(sys.argv[1]))["sealed"]
record["run"] = record.get("run", 0) + 100
print(json.dumps(record))' "$work/n1/images/$1/job.json")"
}

ends_here() {
	timeout -k 2 60 "$top/build/bin/ckptctl" --socket "$work/n1/sock" wait "$1" >"$work/out" \
		2>&1
	cat "$work/out"
	grep "job $1: restarted on other nodes" "$work/n1/log" &&
		! grep -q "^ *$1 .*running" <(on 1 ps)
}

no_part() {
	local _
	for _ in {1..100}; do
		[ -e "$work/n3/jobs/$1" ] || return 0
		sleep 0.1
	done
	return 1
}

over=$("$top/build/bin/ckptrun" --socket "$work/n1/sock" -d -n 2 --hosts n1,n3 --mpi none sleep 600)
one=$(on 1 run --detach -- sleep 600)
restarted_on_2 "$over"
restarted_on_2 "$one"
ok 'a job over nodes that are all well ends where it was restarted elsewhere' ends_here "$over"
ok 'its other node ends it, too' no_part "$over"
ok 'so does a job of one node' ends_here "$one"
for id in "$over" "$one"; do
	on 1 kill "$id" KILL >"$work/out" 2>&1
done

ranks='{"nodes": ["n1", "n3"], "map": ["0", "1"], "mpi": "none", "apart": true}'
record=$(python3 -c 'import json, sys
record = json.load(open(sys.argv[1]))["sealed"]
record["ranks"] = json.loads(sys.argv[2])
record["run"] = 3
record["state"] = "running"
print(json.dumps(record))' "$work/n1/images/$job/job.json" "$ranks")
label=$job-$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["uuid"])' "$record")
stop 1
stop 3
make_generation 1
make_generation 2
start 1
start 3
know 1 2 3 4
ok 'each node copies its part' comes_to 1 2 'L1 here, partner here, group here, disk here'
ok 'of the older one, too' comes_to 1 1 'L1 here, partner here, group here, disk here'
ok 'the other node says the same' comes_to 3 2 'L1 here, partner here, group here, disk here'

# ---- pins

pinned_on() {
	local i
	for i in 1 2 3 4; do
		[ -e "$work/n$i/images/$job/pin-2.json" ] && echo "$i"
	done
}

pinned() {
	[ "$(pinned_on | xargs)" = "$1" ]
}

ok 'a pin is set on each node of the generation' says 0 'on node n3 as well' on 1 pin "$job:2"
ok 'and on no other' pinned '1 3'
ok 'it is taken away on each, from any of them' says 0 'on node n1 as well' on 3 unpin "$job:2"
ok 'and is nowhere then' pinned ''
ok 'what is pinned nowhere' says 1 'is not pinned' on 1 unpin "$job:2"
rm "$work/n3/images/$job/gen-2/parts.json"
ok 'a node that lost its part' says 0 'not pinned on node n3, which has nothing' on 1 pin "$job:2"
"$top/build/bin/tests/tools/mkparts" "$work/n3/images" "$work/key" "$job" 2 "$ranks" "$record"
stop 3
ok 'a node that does not answer is named' says 1 'but it is not known of node n3' on 1 pin "$job:2"
ok 'the others have it' pinned 1
start 3
know 1 2 3 4
ok 'asking again is enough' says 0 'on node n3 as well' on 1 pin "$job:2"
ok 'it is everywhere then' pinned '1 3'
on 1 unpin "$job:2" >"$work/out" 2>&1

on 1 rm "$job:1" >"$work/out" 2>&1
ok 'what is removed goes from the other node as well' comes_to 3 1 ''
ok 'and from what others keep for it' test ! -e "$work/n4/store/n3/$label.gen-1.node-1"

stays_on_3() {
	local _
	for _ in {1..100}; do
		grep -q 'what node n3 has of what was removed stays there: .*no image of this job' \
			"$work/n1/log" &&
			[ -e "$work/n3/images/$job/gen-3/node-1/image" ] && return
		sleep 0.2
	done
	tail -n 5 "$work/n1/log"
	return 1
}

make_generation 3
rm -r "$work/n3/images/$job/gen-3/node-1/image"
"$top/build/bin/tests/tools/mkimage" "$work/n3/images/$job/gen-3/node-1/image" "$work/key" \
	"$((job + 4))-${label#*-}" 3 4 "$record"
on 1 rm "$job:3" >"$work/out" 2>&1
ok 'what is not the job'"'"'s stays where it is' stays_on_3
rm -r "$work/n3/images/$job/gen-3"

# ---- from one level only

# node 1 has answered before node 3 is asked
comes_true() {
	local _
	for _ in {1..300}; do
		"$@" && return
		sleep 0.2
	done
	echo "does not come: $*"
	tail -n 5 "$work/n1/log" "$work/n3/log"
	return 1
}

gone() {
	[ ! -e "$1" ]
}

stop 1
stop 3
make_generation 4
make_generation 5
start 1
start 3
know 1 2 3 4
ok 'each node copies two more' comes_to 3 5 "L1 here, partner here, group here, disk here"
ok 'the older one, too' comes_to 3 4 "L1 here, partner here, group here, disk here"
ok 'it is removed from a level' says 0 '' on 1 rm --level partner "$job:4"
ok 'the other node removes its own from it' comes_true gone "$work/n4/store/n3/$label.gen-4.node-1"
stop 3
start 3
know 1 2 3 4
sleep 3
ok 'and does not copy it there again' comes_to 3 4 "L1 here, partner missing, group here, disk here"
ok 'it is removed from L1' says 0 '' on 1 rm --level L1 "$job:4"
ok 'the other node removes its own there' comes_true gone "$work/n3/images/$job/gen-4"
sleep 2
ok 'copies stay where they are' ls -d "$work/disk/n1/$label.gen-4.node-0" \
	"$work/disk/n3/$label.gen-4.node-1"
on 1 rm "$job:4" >"$work/out" 2>&1
ok 'until they are removed' comes_to 3 4 ''

# node 4, which keeps what node 3 has copied, is off
stop 4
ok 'what is not there stays, by force' says 0 '' on 1 rm --force "$job:5"
ok 'that of the other node as well, which is said' comes_true \
	grep -q 'what node n3 has of what was removed stays there: .*level' "$work/n1/log"
start 4
know 1 2 3 4
ok 'until it can go' comes_true gone "$work/n4/store/n3/$label.gen-5.node-1"

# ---- without levels; and a run that only another node knows

again() {
	local i
	for i in 1 2 3 4; do
		stop $i
	done
	for i in 1 2 3 4; do
		start $i "$@" || return
	done
	know 1 2 3 4
}

with_levels=("${node_options[@]}")
node_options=(--set image_dir_shared=no --set store=%n/store)
again
ok 'no level has it: it comes from the node that made it' fetches 1 2 '' 'L1 of node n3'

"$top/build/bin/tests/tools/mkparts" "$work/n3/images" "$work/key" "$job" 2 "$ranks" \
	"${record/\"run\": 3/\"run\": 7}"
ok 'a restart that fails' says 1 '' on 1 restart "$job:2" --node-lost --nodes n1,n3
ok 'makes no other node forget a later run' says 0 '"run": 7' cat "$work/n3/images/$job/job.json"

# as it was
"$top/build/bin/tests/tools/mkparts" "$work/n3/images" "$work/key" "$job" 2 "$ranks" "$record"
forget 2
node_options=("${with_levels[@]}")
again

# ---- an answer that does not come

# Node 2 is fetching when its ckptd is killed, and is there again later.
fetches_again() {
	{
		for _ in {1..2000}; do
			pkill -STOP -P "$(cat "$work/n2/pid")" ckptd-fetch && break
			sleep 0.01
		done
		sleep 1
		stop 2 KILL
		sleep 10
		start 2
	} &
	fetches 1 2 '' 'L1 of node n3' && wait $!
}

ok 'a node that begins anew in the middle is asked again' fetches_again
"$top/build/bin/tests/tools/mkparts" "$work/n3/images" "$work/key" "$job" 2 "$ranks" "$record"
forget 2
again

# ---- one node is lost

stop 1 KILL
ok 'a node is lost: another one sees what would be fetched' \
	says 0 'would be fetched' on 4 restart "$job:2" --dry-run --node-lost --nodes n4,n2
ok 'and has nothing of it' test ! -e "$work/n4/images/$job"
ok 'without a word on the node it is refused' \
	says 3 'if that is off, use --node-lost' on 3 restart "$job:2" --nodes n3,n4
ok 'L2: one from its partner, one from the node that made it' \
	fetches 4 2 'level partner' 'L1 of node n3'
forget 2 4
ok 'or it is there already' fetches 4 3 'level partner' ''

# ---- it and its partner

forget 4
stop 2 KILL
ok 'L3: that and its partner are lost' fetches 4 3 'level group' ''
forget 4
rm -rf "$work/n3/images/$job"
mv "$work/disk" "$work/away"
ok 'what parity needs may be on another level' fetches 4 3 'level group' 'L1 of node n4' \
	'node-0 node-1'
mv "$work/away" "$work/disk"

# ---- m + 1 of the group

stop 3 KILL
forget 3 4
for i in 1 2; do
	rm -rf "$work/n$i/images" "$work/n$i/store" "$work/n$i/jobs"
done
start 1
know 1 4
ok 'L4: three of four are lost, one is replaced' fetches 4 1 'level disk' 'level partner'
ok 'what it had before is known' says 0 '"run": 3' cat "$work/n1/images/$job/job.json"

# ---- what cannot be

forget 1 4
other=${record/\"uuid\": \"/\"uuid\": \"f}
mkdir -p "$work/n1/images/$job/gen-1"
"$top/build/bin/tests/tools/mkparts" "$work/n1/images" "$work/key" "$job" 1 "$ranks" "$other"
ok 'another job has that number there' \
	says 1 "node n1: another job has the number $job here" on 4 restart "$job:2" \
		--node-lost --nodes n4,n1
forget 1
stop 1
node_options+=(--set image_dir_shared=yes)
start 1
meet 4 1
ok 'not all of one mind whether directories are shared' \
	says 1 'node n1: image_dir_shared is "yes" here' on 4 restart "$job:2" \
		--node-lost --nodes n4,n1
rm -rf "$work/disk" "$work/n4/store/"*
forget 4
ok 'nothing is left of it' says 1 "there is no job $job" on 4 restart "$job:2" \
	--node-lost --nodes n4,n1
finish
