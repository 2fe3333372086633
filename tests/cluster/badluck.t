#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Bad luck of an MPI job over nodes, of its checkpoints and of its restarts: daemons that die, nodes
# that are cut off or lose power, incomplete images, nodes that lack a module, a key or a library.
# Every time the job runs on or the last generation stays whole, and the message says which node.
# In the end the residuals are those of an uninterrupted run.
#
#   KERNEL=6.1 MPI=ompi tests/cluster/badluck.t

. "$(dirname "$0")/../vm/lib.sh"
. "$top/scripts/cluster.sh"
CLUSTER=badluck
MPI=${MPI:-ompi}
trap cluster_end EXIT
dir=$top/build/cluster-badluck
iterations=2000 done_at=0

declare -A compiler=([ompi]=mpicc.openmpi [mpich]=mpicc.mpich)
rm -rf "$dir"
cluster_make "$dir" 3 || exit 1
"${compiler[$MPI]}" -O2 -o "$dir/shared/poisson" "$top/examples/poisson.c" -lm || exit 1
"${compiler[$MPI]}" -O2 -o "$dir/shared/badluck" "$top/tests/mpi/badluck/badluck.c" || exit 1
declare -A library=([ompi]=libmpi.so.40 [mpich]=libmpich.so.12)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
case $MPI in
ompi) mpiexec.openmpi --oversubscribe -n 4 "$dir/shared/poisson" 64 $iterations ;;
mpich) mpiexec.mpich -n 4 "$dir/shared/poisson" 64 $iterations ;;
esac >"$dir/want" 2>"$dir/want.err" || exit 1

lines() { wc -l <"$dir/shared/images/1/stdout" 2>/dev/null || echo 0; }
# It gets on, from wherever it is.
gets_on() {
	local seen to
	seen=$(lines) to=$((seen + 8))
	for _ in $(seq $((300 * VM_SLOW))); do
		done_at=$(lines)
		[ "$done_at" -lt $to ] && [ "$done_at" -ge "$seen" ] || return 0
		sleep 0.2
	done
	echo "it stands still at $done_at"
	tail -n 8 "$dir"/shared/n*.log
	return 1
}
logs() { tail -n 12 "$dir"/shared/n?.log; }
# NODE PATTERN COMMAND...: fails, and says so
says() {
	local node=$1 pattern=$2
	shift 2
	if out=$(on "$node" "$@" 2>&1); then
		echo "it succeeded: $out"
		return 1
	fi
	grep -Eq -- "$pattern" <<<"$out" || { echo "$out"; return 1; }
}
# NODE COMMAND...: succeeds within some tries, as an admin would try again
again() {
	local node=$1
	shift
	for _ in 1 2 3 4 5 6; do
		out=$(on "$node" "$@" 2>&1) && return
		sleep 2
	done
	echo "$out"
	logs
	return 1
}
generations() { on "$1" ckptctl list 1 --json | python3 -c 'import json, sys
print(*[g["generation"] for g in json.load(sys.stdin)["result"]["jobs"][0]["generations"]])'; }
last() { generations "$1" | sed 's/.* //'; }
daemon_off() {
	on "$1" sh -c 'pkill -9 -x ckptd; while pgrep -x ckptd >/dev/null; do sleep 0.1; done'
}

for k in 1 2 3; do
	ok "node $k boots" node_up $k
done
ok "a job of four ranks starts on n1 and n2" on 1 ckptrun -n 4 --hosts n1,n2 --detach \
	$cluster_mnt/poisson 64 $iterations 100
ok "it computes" gets_on
ok "a checkpoint" again 1 ckptctl checkpoint 1
first=$(last 1)

# ---- where ranks are

# By the library that a rank has now, written since.
named() {
	local want="$1 $2" have i
	rm -f "$dir"/shared/work/name.*
	for i in $(seq $((100 * VM_SLOW))); do
		have=$(cat "$dir"/shared/work/name.0 "$dir"/shared/work/name.1 2>/dev/null |
			paste -sd' ')
		[ "$have" != "$want" ] || return 0
		sleep 0.2
	done
	echo "not $want: $have"
	return 1
}
ok "another job, of two ranks, starts on n2 and n3" on 2 ckptrun -n 2 --hosts n2,n3 --detach \
	$cluster_mnt/badluck name $cluster_mnt/work
ok "their processors are n2 and n3" named n2 n3
ok "a checkpoint ends it" again 2 ckptctl checkpoint 2 --kill
ok "more nodes than ranks: refused" says 3 'of them on 3 nodes' ckptctl restart 2 --nodes n3,n1,n2
ok "it is restarted on n3 and n1" again 3 ckptctl restart 2 --nodes n3,n1
ok "their processors are n3 and n1" named n3 n1
touch "$dir/shared/work/go"
ok "it ends well" on 3 ckptctl wait 2

# ---- who has to do with it dies

for node in 1 2; do
	for after in 0.3 1.5; do
		on 1 ckptctl checkpoint 1 >"$dir/try" 2>&1 & try=$!
		sleep $after
		daemon_off $node
		wait $try
		ok "ckptd of n$node is killed $after s into a checkpoint: the job runs on" gets_on
		ok "it is started again" node_daemon $node
		ok "and the next checkpoint succeeds" again 1 ckptctl checkpoint 1
	done
done

# ---- what lacks something

on 2 rmmod ckpt
ok "no module on n2: the checkpoint says so" says 1 'node n2.*module' ckptctl checkpoint 1
ok "the job runs on" gets_on
ok "the module is back" on 2 insmod "$top/build/kmod/$KERNEL/ckpt.ko"
ok "and the next checkpoint succeeds" again 1 ckptctl checkpoint 1

on 1 ckptctl checkpoint 1 --dry-run >/dev/null 2>&1
on 1 ckptctl checkpoint 1 >"$dir/try" 2>&1 & try=$!
sleep 0.2
out=$(on 1 ckptctl checkpoint 1 2>&1)
wait $try
case $out in
*'under way'*|*'job 1 generation'*) pass "two checkpoints at once: one, or one after the other" ;;
*) fail "two checkpoints at once: one, or one after the other" "$out" ;;
esac
ok "the job runs on" gets_on

# ---- a node is cut off for a while

on 1 ckptctl checkpoint 1 >"$dir/try" 2>&1 & try=$!
sleep 0.5
on 2 ip link set eth0 down
sleep 12
out=$(on 1 ckptctl ps)
case $out in
*'n2 silent'*) pass "n2 is cut off in a checkpoint: ps names it" ;;
*) fail "n2 is cut off in a checkpoint: ps names it" "$out" ;;
esac
on 2 ip link set eth0 up
wait $try
ok "n2 is back: the job runs on" gets_on
ok "and the next checkpoint succeeds" again 1 ckptctl checkpoint 1
good=$(last 1)

# ---- restarts that cannot be

ok "restart while it runs is refused" says 1 'job 1 on this node' ckptctl restart 1 --nodes n1,n3
ok "checkpoint that ends it" again 1 ckptctl checkpoint 1 --kill
saved=$(last 1)
ok "an unknown node" says 1 'n9' ckptctl restart 1 --nodes n1,n9
ok "another node's start" says 1 'first of its nodes' ckptctl restart 1 --nodes n2,n3
ok "the same node twice" says 1 'twice' ckptctl restart 1 --nodes n1,n1
mv "$dir/shared/images/1/gen-$saved/node-1/image/manifest" "$dir/manifest"
ok "the image of n2 is missing" says 1 'node n3' ckptctl restart 1 --nodes n1,n3
cp "$dir/shared/images/1/gen-$good/node-1/image/manifest" \
	"$dir/shared/images/1/gen-$saved/node-1/image/manifest"
ok "it is of another generation" says 1 'node n3' ckptctl restart 1 --nodes n1,n3
mv "$dir/manifest" "$dir/shared/images/1/gen-$saved/node-1/image/manifest"
on 3 sh -c 'mv /etc/stillpoint/key /etc/stillpoint/key.good
	head -c 32 /dev/urandom >/etc/stillpoint/key
	chmod 600 /etc/stillpoint/key'
ok "n3 has another key" says 1 'node n3' ckptctl restart 1 --nodes n1,n3
on 3 mv /etc/stillpoint/key.good /etc/stillpoint/key
on 3 rmmod ckpt
ok "n3 has no module" says 1 'node n3.*module' ckptctl restart 1 --nodes n1,n3
on 3 insmod "$top/build/kmod/$KERNEL/ckpt.ko"
real=$(realpath "/usr/lib/x86_64-linux-gnu/${library[$MPI]}")
on 3 mount --bind /dev/null "$real"
ok "n3 has no MPI library" says 1 "node n3.*${library[$MPI]%%.*}" ckptctl restart 1 --nodes n1,n3
on 3 umount "$real"
for k in 1 3; do
	out=$(on $k pgrep -x poisson)
	is "nothing of it is left on n$k" "$out" ""
done

# ---- a ckptd dies in a restart: it comes to an end all the same, and the job is here or as it was

for after in 1 2.5 4; do
	(ON_TIMEOUT=$((120 * VM_SLOW)) on 1 ckptctl restart 1 --nodes n1,n3) >"$dir/try" 2>&1 &
	try=$!
	sleep $after
	daemon_off 3
	ok "ckptd of n3 is killed $after s into a restart, and started again" node_daemon 3
	wait $try
	case $? in
	0) ok "the restart succeeds: the job gets on" gets_on
		ok "and a checkpoint ends it again" again 1 ckptctl checkpoint 1 --kill ;;
	1) pass "the restart says that it failed" ;;
	*) fail "the restart comes to an end" "$(cat "$dir/try")" ;;
	esac
done

ok "restart, all being well, on n1 and n3" again 1 ckptctl restart 1 --nodes n1,n3
ok "it gets on" gets_on

# ---- a node is cut off, its part restarted elsewhere, and it comes back

ok "a checkpoint" again 1 ckptctl checkpoint 1
on 3 ip link set eth0 down
sleep 10
ok "n3 is cut off: restart on n1 and n2" on 1 ckptctl restart 1 --nodes n1,n2 --node-lost
ok "it gets on" gets_on
on 3 ip link set eth0 up
left=x
for _ in $(seq $((100 * VM_SLOW))); do
	left=$(on 3 pgrep -x poisson)
	[ -n "$left" ] || break
	sleep 0.3
done
is "n3 is back: what it had of the job ends" "$left" ""
ok "and the job gets on" gets_on

# ---- its home is cut off, all of it restarted elsewhere, and the home comes back

ok "a checkpoint" again 1 ckptctl checkpoint 1
on 1 ip link set eth0 down
sleep 10
ok "the home is cut off: restart on n2 and n3" on 2 ckptctl restart 1 --nodes n2,n3 --node-lost
ok "it gets on" gets_on
on 1 ip link set eth0 up
left=x
for _ in $(seq $((100 * VM_SLOW))); do
	left=$(on 1 pgrep -x poisson)
	[ -n "$left" ] || break
	sleep 0.3
done
is "n1 is back: what it had of the job ends" "$left" ""
sleep 2
case $(on 2 ckptctl ps) in
*running*) pass "the record is that of the job as it runs" ;;
*) fail "the record is that of the job as it runs" "$(on 2 ckptctl ps --all)" ;;
esac
ok "the job gets on, and a checkpoint ends it" again 2 ckptctl checkpoint 1 --kill
ok "n1 has it again" again 1 ckptctl restart 1 --nodes n1,n2
ok "it gets on" gets_on

# ---- the home loses power in the middle of a checkpoint

before=$(generations 1)
on 1 ckptctl checkpoint 1 >"$dir/try" 2>&1 & try=$!
sleep 0.7
node_off 1
wait $try
after=$(generations 2)
case $after in
"$before"|"$before "*)
	pass "the home loses power in a checkpoint: the generations before are there" ;;
*)
	fail "the home loses power in a checkpoint: the generations before are there" \
		"$before; $after" ;;
esac
ok "n2 and n3 restart it" on 2 ckptctl restart 1 --nodes n2,n3 --node-lost
ok "it gets on" gets_on
ok "a checkpoint of it there" again 2 ckptctl checkpoint 1
ok "restart from the first of all generations is refused while it runs" \
	says 2 'on this node' ckptctl restart "1:$first"
ON_TIMEOUT=$((900 * VM_SLOW))
ok "it ends well" on 2 ckptctl wait 1
ok "the residuals are those of an uninterrupted run" cmp "$dir/want" "$dir/shared/images/1/stdout"
for k in 2 3; do
	ok "n$k: the kernel has nothing to say" node_check $k
done
[ $failed -eq 0 ] || logs | sed 's/^/# /'
echo "1..$n"
[ $failed -eq 0 ]
