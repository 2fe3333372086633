#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptctl diag of a job on two nodes: two ckptds on this machine, which know each other by keys and
# share the image directory, stand for nodes. A node falls silent; another user asks.
#
#   KINDS='mpich ompi' tests/mpi/diagnose_nodes.t
#
# As root: a job has namespaces of its own. Needs no module.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nodes.sh"

: "${KINDS:=mpich ompi}"
# nodes that are one machine must not take each other's memory for their own
export UCX_TLS=tcp,self OMPI_MCA_btl=self,tcp OMPI_MCA_pml=ob1

# for the user who has no right
chmod 755 "$work"
node_options=(--set image_dir="$work/images")
user=65534

# hangs KIND WAY RANK: the job's number in $job
hangs() {
	mkdir -p "$work/$1"
	[ -x "$work/$1/hang" ] ||
		"${cc[$1]}" -O1 -g -w -o "$work/$1/hang" "$top/tests/mpi/hang.c" || return
	job=$(cd "$work" && HANG_RANK=$3 timeout -k 2 20 "$top/build/bin/ckptrun" \
		--socket "$work/n1/sock" -n 4 --hosts n1,n2 -d "$work/$1/hang" "$2" </dev/null)
	for _ in {1..200}; do
		grep -qs begun "$work/images/$job"/stdout* && break
		sleep 0.05
	done
	sleep 3
}

over() {
	on 1 kill "$job" KILL >/dev/null 2>&1
	on 1 wait "$job" >/dev/null 2>&1
}

# says_of VERDICT CAUSE SUSPECTS NODE SILENT: in the report; NODE has the first suspect
says_of() {
	on 1 diag run --json --patience 800ms "$job" >"$work/report" || {
		cat "$work/report"
		return 1
	}
	python3 - "$work/report" "$@" <<'EOF' && return
import json, sys
result = json.load(open(sys.argv[1]))['result']
verdict, cause, suspects, node, silent = sys.argv[2:]
found = (result['verdict'], result['cause'])
assert found == (verdict, cause), found
assert result['suspects'] == json.loads(suspects), result['suspects']
assert result.get('silent_nodes', []) == json.loads(silent), result.get('silent_nodes')
ranks = {row['rank']: row for row in result['mpi_ranks']}
first = result['suspects'][0]
assert ranks[first]['node'] == node if node else first not in ranks, ranks.get(first)
EOF
	cat "$work/report"
	return 1
}

is_refused() {
	local rc=0
	(cd / && setpriv --reuid $user --regid $user --clear-groups "$top/build/bin/ckptctl" \
		--socket "$work/n1/sock" diag run "$job") >"$work/out" 2>&1 || rc=$?
	cat "$work/out"
	[ $rc = 1 ] && grep -q 'belongs to\|not yours\|permi' "$work/out"
}

# ckptd of n2 does not run, as on a node that hangs
while_silent() {
	local pid rc=0
	pid=$(cat "$work/n2/pid")
	kill -STOP "$pid"
	says_of "$@" || rc=$?
	kill -CONT "$pid"
	return $rc
}

head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
mkdir "$work/images"
make_keys 2
start 1 && start 2
ok 'two nodes meet' meet 1 2
for kind in $KINDS; do
	hangs "$kind" stop 2
	ok "$kind: a rank of the other node was stopped" \
		says_of hangs stopped '[2]' n2 '[]'
	ok "$kind: another user is refused" is_refused
	ok "$kind: the node of the suspect is silent, and named" \
		while_silent unknown silent '[2, 3]' '' '["n2"]'
	ok "$kind: it answers again" says_of hangs stopped '[2]' n2 '[]'
	over
	hangs "$kind" miss 3
	ok "$kind: another collective on the other node" says_of hangs differ '[3]' n2 '[]'
	over
done
finish
