#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The plan of a recovery: four ckptds on this machine, each with an image directory of its own, with
# a store and all levels, and made-up images of a job over two of them. For each set of lost nodes:
# which generation, which level for each node's image, and why; and a restart then takes the same.
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

# a generation of images of nodes 1 and 3, each in its node's own directory
make_generation() {
	local part=0 i dir
	for i in 1 3; do
		dir=$work/n$i/images/$job/gen-$1/node-$part
		mkdir -p "$dir"
		"$top/build/bin/tests/tools/mkimage" "$dir/image" "$work/key" "$label" "$1" \
			$((i + 1)) "$record"
		"$top/build/bin/tests/tools/mkparts" "$work/n$i/images" "$work/key" "$job" "$1" \
			"$ranks" "$record"
		part=$((part + 1))
	done
}

know() {
	local i
	for i; do
		# shellcheck disable=SC2068
		meet "$i" ${@/$i/} || return
	done
}

# the plan of node $1 if the nodes $2 ("": none) are lost: "GENERATION NODE=LEVEL NODE=LEVEL"
plan() {
	local lost=()
	[ -z "$2" ] || lost=(--lost "$2")
	on "$1" recover --dry-run --json "${lost[@]}" "$job" >"$work/plan"
	python3 - "$work/plan" <<'PY'
import json, sys
result = json.load(open(sys.argv[1])).get('result')
print(*([result['generation']] + [f"{group['node']}={group['level']}"
                                  for group in result['groups']] if result else ['none']))
PY
}

plans() {
	local is
	is=$(plan "$1" "$2")
	[ "$is" = "$3" ] || {
		echo "$is instead of $3"
		cat "$work/plan"
		return 1
	}
}

# the text that the plan has for a level that does not work: node $1, level $2, of the last plan
why() {
	python3 - "$work/plan" "$1" "$2" <<'PY'
import json, sys
path, node, name = sys.argv[1:]
outcome = json.load(open(path))
groups = outcome['result']['groups']
print(*[level.get('why', 'it works') for group in groups if group['node'] == node
        for level in group['levels'] if level['level'] == name])
PY
}

because() {
	local is
	is=$(why "$1" "$2")
	echo "$is"
	[ "$is" = "$3" ]
}

# a restart on nodes 1 and 2, which cannot go on to its end here, has the image of node 3 from there
fetches() {
	on 1 restart "$job:2" --node-lost --nodes n1,n2 >"$work/out" 2>&1
	cat "$work/out"
	grep -q "image of node n3: fetched from level $1\$" "$work/out"
}

head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
mkdir -m 700 "$work/disk"
make_keys 4
for i in 1 2 3 4; do
	start $i
done
know 1 2 3 4

job=$(on 1 run --detach -- /bin/true)
on 1 wait "$job" >/dev/null 2>&1
ok 'without a generation there is no plan' \
	says 1 "job $job has no generation to recover from" on 1 recover --dry-run "$job"
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
for g in 1 2; do
	ok "generation $g is on all levels" \
		comes_to 1 $g 'L1 here, partner here, group here, disk here'
done

# ---- what if

ok 'nothing is lost' plans 1 '' '2 n1=L1 n3=L1'
ok 'a node that has nothing is lost' plans 1 n2 '2 n1=L1 n3=L1'
ok 'then its partner has no partner copy' because n1 partner 'node n2 is lost'
ok 'one is lost: its image comes from its partner, the other stays' \
	plans 1 n3 '2 n1=L1 n3=partner'
ok 'that is said' because n3 L1 'node n3 is lost'
ok 'it and its partner: parity' plans 1 n3,n4 '2 n1=L1 n3=group'
ok 'both of its own, and a holder: two pieces are left of four' because n3 group 'it works'
ok 'three of four: the directory' plans 1 n2,n3,n4 '2 n1=L1 n3=disk'
ok 'parity is said to have too little' because n3 group \
	'1 of 4 pieces are left, 2 are needed: nodes n3, n2, n4 are lost'
ok 'all: each image from the directory' plans 1 n1,n2,n3,n4 '2 n1=disk n3=disk'
ok 'both nodes of the job: two levels at once' plans 1 n1,n3 '2 n1=partner n3=partner'
ok 'the other node plans the same' plans 3 n1 '2 n1=partner n3=L1'

rm -r "$work/disk/n3/$label.gen-2.node-1"
ok 'the newest that all have' plans 1 n2,n3,n4 '1 n1=L1 n3=disk'
ok 'why not the newer one' says 0 \
	'not generation 2: image of node n3: L1: node n3 is lost; partner: node n4 is lost; ' \
	on 1 recover --dry-run --lost n2,n3 --lost n4 "$job"
ok 'the table' grep -q '^n3  *disk  *L1: node n3 is lost; partner: node n4 is lost; group: 1 of 4' \
	"$work/out"
ok 'and how to do it' grep -q "ckptctl restart --node-lost $job:1" "$work/out"
mv "$work/disk/n3/$label.gen-1.node-1" "$work/away"
ok 'nothing is left' says 1 'no generation is left that all its nodes can provide' \
	on 1 recover --dry-run --lost n2,n3,n4 "$job"
ok 'with each reason' grep -q 'not generation 1: image of node n3: L1: node n3 is lost' "$work/out"
mv "$work/away" "$work/disk/n3/$label.gen-1.node-1"

# ---- requests that are refused

ok 'a node that nobody knows' says 1 'node n9 is neither in the hosts file nor' \
	on 1 recover --dry-run --lost n9 "$job"
ok 'it acts on nothing' says 1 "ckptctl restart --node-lost $job restarts the job" \
	on 1 recover --lost n3 "$job"
ok 'no list' says 2 'list of nodes' on 1 recover --dry-run --lost n1,,n2 "$job"

# ---- and so it is

stop 3 KILL
stop 4 KILL
ok 'nodes are lost: what cannot be asked counts as lost' plans 1 n3 '2 n1=L1 n3=group'
ok 'whether it is named or not' plans 1 '' '2 n1=L1 n3=group'
ok 'it does not answer' because n3 L1 'node n3 does not answer'
ok 'that is said, too' grep -q 'it could not be asked' <(why n3 partner)
ok 'a restart takes what was planned' fetches group
finish
