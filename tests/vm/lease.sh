#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Leases, fence commands and spare nodes: jobs over nodes that lose one. Three ckptds on one machine
# stand for nodes; a node is cut off when its ckptd is killed or stopped, while its ranks run on.
# Each job ends with the result of an undisturbed run, and no rank of a lost node is there when the
# job goes on.
#
# As root, with the module: tests/vm/lease.t runs it in a VM, which has built build/lease/KIND.
# ONLY=FUNCTION KINDS=mpich runs one case.

. "$(dirname "$0")/../mpi/lib.sh"
. "$(dirname "$0")/../mpi/nodes.sh"

: "${KINDS:=mpich ompi}"
slow=${VM_SLOW:-1}
# nodes that are one machine must not take each other's memory for their own
export UCX_TLS=tcp,self OMPI_MCA_btl=self,tcp OMPI_MCA_pml=ob1
lease=15
node_options=(--set image_dir="$work/images" --set "lease=${lease}s")
# longer than a lease: half a minute
size=(48 300 100)

run() {
	rm -f "$work/result"
	timeout -k 2 $((400 * slow)) "$top/build/bin/ckptrun" --socket "$work/n1/sock" \
		-o "$work/result" "$@" </dev/null >"$work/run.out" 2>"$work/run.err" &
	run=$!
}

lines() { wc -l <"$work/result" 2>/dev/null || echo 0; }
gets_to() {
	for _ in $(seq $((300 * slow))); do
		[ "$(lines)" -lt "$1" ] || return 0
		kill -0 "$run" 2>/dev/null || break
		sleep 0.2
	done
	echo "it stands at $(lines) instead of $1"
	tail -n 5 "$work/run.err" "$work"/n?/log
	return 1
}

the_job() {
	on 1 ps --json | python3 -c 'import json, sys
print(json.load(sys.stdin)["result"]["jobs"][0]["job"])'
}

# the processes of node $1's part of the job: those below its init
part_of() {
	on "$1" ps --json | python3 -c 'import json, subprocess, sys
jobs = json.load(sys.stdin)["result"]["jobs"]
todo, all = [job["init_pid"] for job in jobs if "init_pid" in job], []
while todo:
    pid = todo.pop()
    all.append(pid)
    for thread in __import__("os").listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children") as f:
            todo += [int(child) for child in f.read().split()]
print(*all)'
}

alive() {
	local pid
	for pid; do
		[[ $(cut -d' ' -f3 "/proc/$pid/stat" 2>/dev/null) = [!Z] ]] && return 0
	done
	return 1
}

# it has said $1, within $2 seconds
has_said() {
	for _ in $(seq $(($2 * slow * 10))); do
		grep -q -- "$1" "$work/run.err" && return 0
		kill -0 "$run" 2>/dev/null || break
		sleep 0.1
	done
	grep -q -- "$1" "$work/run.err" && return 0
	echo "it did not say $1:"
	tail -n 5 "$work/run.err" "$work"/n?/log
	return 1
}

ends_well() {
	local rc=0
	wait "$run" || rc=$?
	[ "$rc" = 0 ] && cmp "$work/want" "$work/result" && return
	echo "status $rc, $(lines) lines"
	tail -n 8 "$work/run.err" "$work"/n?/log
	return 1
}

undisturbed() {
	run -n 4 --hosts n1,n2 "$program" 48 300
	wait "$run" || { cat "$work/run.err"; return 1; }
	mv "$work/result" "$work/want"
	[ "$(wc -l <"$work/want")" -gt 200 ]
}

# begin a job with the options given, and take a checkpoint of it
begin() {
	: >"$work/n1/log"
	run -n 4 --recover auto "$@" "$program" "${size[@]}"
	gets_to 30 && job=$(the_job) && on 1 checkpoint "$job" && gets_to $(($(lines) + 20))
}

renewed() {
	local pids size=(48 3000 100)
	begin --hosts n1,n2 || return
	pids=$(part_of 2)
	# shellcheck disable=SC2086
	sleep $((lease + 3)) && alive $pids || return
	# a ckptd that is away for less than the lease
	stop 2 KILL && sleep 3 && start 2 && meet 1 2 && sleep "$lease" || return
	# shellcheck disable=SC2086
	kill -0 "$run" && alive $pids && ! grep -q lost "$work/n1/log" || return
	on 1 kill "$job" KILL
	wait "$run"
	true
}

spare_is_taken() {
	local pids
	begin --hosts n1,n2,n3 --spares 1 || return
	pids=$(part_of 2)
	[ -n "$pids" ] || return
	stop 2 KILL
	# its ranks run on without it
	# shellcheck disable=SC2086
	sleep 2 && alive $pids || return
	has_said 'goes on on nodes n1,n3' $((lease * 4)) || return
	# shellcheck disable=SC2086
	! alive $pids || { echo "ranks of n2 run"; return 1; }
	has_said 'goes on after' 60 && ends_well &&
		grep -q "node n2 is lost: it is silent, and its lease has run out" "$work/n1/log" ||
		return
	start 2 && meet 1 2 && meet 3 2
}

# nobody has a spare: it waits until the node is back
waits() {
	begin --hosts n1,n2 || return
	stop 2 KILL
	has_said 'waits: node n2 does not answer' $((lease * 4)) || return
	sleep 3
	start 2 && has_said 'goes on after' 90 && ends_well
}

oversubscribes() {
	begin --recover oversubscribe --hosts n1,n2 || return
	stop 2 KILL
	has_said 'goes on on nodes n1$' $((lease * 4)) && ends_well || return
	start 2 && meet 1 2
}

# The fence command ends the ranks, as switching the node off would, before the lease does.
fenced() {
	stop 1 && start 1 --set lease=40s --set fence_command="$work/fence" && meet 1 2 3 &&
		meet 2 1 || return
	begin --hosts n1,n2,n3 --spares 1 || return
	printf '#!/bin/sh\necho "$@" >>%s\nkill -KILL %s\n' "$work/fenced" "$(part_of 2)" \
		>"$work/fence"
	chmod 755 "$work/fence"
	# a lease of this length is held by now
	sleep 5
	stop 2 KILL
	has_said 'goes on on nodes n1,n3' 60 && ends_well || return
	cat "$work/fenced"
	[ "$(cat "$work/fenced")" = "n2 job $job is cut off from it" ] &&
		grep -q "node n2 is lost: the fence command says that it is off" "$work/n1/log" &&
		start 2 && meet 1 2
}

# A home whose ckptd stood still for more than half of the lease takes no node for silent.
home_stands_still() {
	stop 1 && start 1 --set lease=40s --set fence_command="$work/fence" && meet 1 2 3 &&
		meet 2 1 || return
	begin --hosts n1,n2 || return
	rm -f "$work/fenced"
	printf '#!/bin/sh\necho "$@" >>%s\n' "$work/fenced" >"$work/fence"
	chmod 755 "$work/fence"
	sleep 5
	kill -STOP "$(cat "$work/n1/pid")"
	sleep 25
	kill -CONT "$(cat "$work/n1/pid")"
	ends_well && [ ! -e "$work/fenced" ]
}

make_keys 3
for i in 1 2 3; do
	ok "node n$i" start "$i" || exit 1
done
for i in 1 2 3; do
	meet "$i" 1 2 3
done
for kind in $KINDS; do
	program=$top/build/lease/$kind
	if [ -n "${ONLY:-}" ]; then
		ok "$kind: an undisturbed run" undisturbed
		ok "$kind: $ONLY" "$ONLY"
		continue
	fi
	ok "$kind: an undisturbed run" undisturbed
	ok "$kind: a lease is renewed, also by a ckptd that was away" renewed
	ok "$kind: a node is cut off, its ranks end, a spare takes its place" spare_is_taken
	[ "$kind" = "${KINDS%% *}" ] || continue
	ok "$kind: without a spare it waits for the node" waits
	ok "$kind: or goes on with more ranks on fewer nodes" oversubscribes
	ok "$kind: a fence command shortens the wait" fenced
	ok "$kind: a home that stood still has nobody fenced" home_stands_still
done
finish
