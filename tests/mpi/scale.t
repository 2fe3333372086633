#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# 1,024 ranks that do nothing on 64 nodes, which are ckptds on this machine: they start and end;
# where the module is loaded they are checkpointed and restarted as well.
#
#   NODES=8 RANKS=128 tests/mpi/scale.t
#
# As root, because ckptd is. SCALE_S: seconds that a command may take.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nodes.sh"

NODES=${NODES:-64}
RANKS=${RANKS:-1024}
SCALE_S=${SCALE_S:-600}
node_options=(--set image_dir="$work/images")
mkdir "$work/images"
hosts=$(seq -s, -f 'n%g' "$NODES")

ckptrun() {
	timeout -k 2 "$SCALE_S" "$top/build/bin/ckptrun" --socket "$work/n1/sock" -n "$RANKS" \
		--hosts "$hosts" --mpi none "$@"
}

nodes_start() {
	local i
	for ((i = 1; i <= NODES; i++)); do
		start "$i" || return
	done
	meet 1 $(seq 2 "$NODES")
}

# the job's ranks that run
ranks() {
	pgrep -fc "^$work/nothing "
}

has_ranks() {
	local end=$((SECONDS + SCALE_S / 5))
	until [ "$(ranks)" = "$1" ]; do
		[ $SECONDS -lt $end ] || break
		sleep 0.2
	done
	[ "$(ranks)" = "$1" ] && return
	echo "$(ranks) ranks"
	return 1
}

make_keys "$NODES" 2>/dev/null
ln -s "$(type -P sleep)" "$work/nothing"
ok "$NODES nodes know each other" nodes_start
ok "$RANKS ranks start and end" ckptrun true
ok 'each has a number of its own' bash -c "$(declare -f ckptrun)
	top=$top work=$work RANKS=$RANKS SCALE_S=$SCALE_S hosts=$hosts
	ckptrun sh -c 'echo \$STILLPOINT_RANK' | sort -n | cmp - <(seq 0 $((RANKS - 1)))"
job=$(ckptrun -d "$work/nothing" 3600)
ok 'a job that stays' has_ranks "$RANKS"
# ctl CMD ARG...: ckptctl of the home
ctl() { timeout -k 2 "$SCALE_S" "$top/build/bin/ckptctl" --socket "$work/n1/sock" "$@"; }
checkpointed() {
	ctl checkpoint "$job" && return
	for i in 1 2 3 "$NODES"; do
		grep -v ': request ' "$work/n$i/log" | tail -n 12 | sed "s/^/n$i: /"
	done
	return 1
}
if [ -c /dev/ckpt ]; then
	ok 'it is checkpointed' checkpointed
	ok 'and again, and ended' ctl checkpoint --kill "$job"
	ok 'no rank is left' has_ranks 0
	ok 'it is restarted' ctl restart "$job"
	ok 'with all ranks' has_ranks "$RANKS"
fi
ok 'it is ended' on 1 kill "$job"
ok 'on all nodes' has_ranks 0
finish
