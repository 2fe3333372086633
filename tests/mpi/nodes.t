#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Three ckptds on this machine that know each other by keys: `ckptctl keygen`, `nodes` and
# `doctor`; one that goes away and comes back, one with another key, mistakes in the files.
#
# As root, because ckptd is. Needs no module: nothing is checkpointed.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nodes.sh"

ckptctl() {
	timeout -k 2 60 "$top/build/bin/ckptctl" "$@"
}

# the node's state as another sees it; other daemons get time to connect again
sees() {
	local from=$1 name=$2 state=$3 _
	for _ in {1..20}; do
		on "$from" nodes --json >"$work/out" 2>&1
		python3 - "$work/out" "$name" "$state" <<'EOF' && return
import json, sys
nodes = {n['name']: n for n in json.load(open(sys.argv[1]))['result']['nodes']}
sys.exit(nodes[sys.argv[2]]['state'] != sys.argv[3])
EOF
		sleep 0.5
	done
	cat "$work/out"
	return 1
}

keys_are_made() {
	make_keys 3 || return
	for i in 1 2 3; do
		[ "$(stat -c %a "$work/n$i/node.key")" = 600 ] || return
	done
	[ "$(wc -l <"$work/hosts")" = 3 ]
}

shows_key() {
	local line
	line=$(ckptctl keygen --show --dir "$work/n2" --node n2 --address a)
	[ "${line##* }" = "$(awk '$1 == "n2" { print $3 }' "$work/hosts")" ]
}

# every figure of a node that answers
whole_row() {
	on 1 nodes --json >"$work/out" || { cat "$work/out"; return 1; }
	python3 - "$work/out" <<'EOF'
import json, sys
result = json.load(open(sys.argv[1]))['result']
assert result['node'] == 'n1'
for node in result['nodes'][1:]:
    assert node['state'] == 'answers' and node['api'] >= 1 and node['ckptd'], node
    assert 0 < node['rtt_ns'] < 3e9 and abs(node['clock_ns']) < 3e9, node
    assert node['since'] and node['heard'] >= node['since'], node
EOF
}

head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"

start 1
ok 'no hosts file: a node on its own' says 1 'on its own.*ckptctl keygen' on 1 nodes
stop 1
ok 'keys, and their lines' keys_are_made
ok 'a key is not replaced by accident' says 1 'exists.*--show.*--force' \
	ckptctl keygen --dir "$work/n1"
ok 'its line again' shows_key
ok 'a directory that is not there' says 1 'does not exist' ckptctl keygen --dir "$work/none"
ok 'no name of a node' says 2 'no name of a node' ckptctl keygen --dir "$work" --node a/b

start 1
start 2
ok 'one of two others does not answer' sees 1 n3 'does not answer'
ok 'the other does' sees 1 n2 answers
ok 'and it sees us' sees 2 n1 answers
ok 'status 1, as one is missing' says 1 'does not answer' on 1 nodes
start 3
ok 'one comes later' sees 1 n3 answers
ok 'what there is to know of a node' whole_row
ok 'doctor has a line for it' says 3 'n2 answers in .* ms, ckptd .*, API 1' on 1 doctor
stop 2
ok 'one goes' sees 1 n2 'does not answer'
start 2
ok 'and comes back' sees 1 n2 answers

stop 2
cp "$work/hosts" "$work/hosts.old"
ckptctl keygen --force --dir "$work/n2" --node n2 \
	--address "$(awk '$1 == "n2" { print $2 }' "$work/hosts")" >"$work/line" 2>/dev/null
sed -i "s|^n2 .*|$(cat "$work/line")|" "$work/hosts"
start 2
ok 'a new key that the others do not have' sees 2 n1 'key refused'
ok 'they refuse it as well' sees 1 n2 'key refused'
ok 'and log whom' \
	grep -q "refused: a ckptd at 127.0.0.1.* has the public key $(cut -d' ' -f3 "$work/line")" \
	"$work/n1/log"
ok 'once a minute' test "$(grep -c 'refused: a ckptd' "$work/n1/log")" = 1
ok 'the one with the new key has noticed them' grep -q 'somebody who connected was refused' \
	"$work/n2/log"
ok 'the doctor says what to do' says 3 'copy the same file to all nodes' on 1 doctor
stop 1
start 1
ok 'the new file, and all is well' sees 1 n2 answers
ok 'with the one that was refused' sees 2 n1 answers
stop 2
cp "$work/hosts" "$work/hosts.new"
cp "$work/hosts.old" "$work/hosts"
start 2
ok 'a key other than in the hosts file' says 1 'another public key for this node' on 2 nodes
stop 2
echo 'n4 10.0.0.4 abc' >>"$work/hosts"
start 2
ok 'a mistake in the hosts file' says 1 'hosts: line 4: abc is no public key' on 2 nodes
ok 'the doctor says it, too' says 3 'hosts: line 4' on 2 doctor
stop 2
cp "$work/hosts.new" "$work/hosts"
start 2 --set node=n9
ok 'a name that is not in it' says 1 'has no node n9' on 2 nodes
stop 2
chmod 644 "$work/n2/node.key"
start 2
ok 'a key that others may read' says 1 'must be 0600' on 2 nodes
stop 2
chmod 600 "$work/n2/node.key"
start 2 --set listen=192.0.2.1
ok 'an address that is not ours' says 1 'cannot listen for other nodes on 192.0.2.1' on 2 nodes
finish
