#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptrun --hosts: jobs whose ranks are on two and three nodes. Three ckptds on this machine,
# which know each other by keys and share the image directory, stand for nodes.
#
#   KINDS='mpich ompi' PROGRAMS='collectives p2p_modes' tests/mpi/hosts.t
#
# As root: a job has namespaces of its own. Needs no module: nothing is checkpointed.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nodes.sh"

: "${KINDS:=mpich ompi}" "${RANKS:=4}" "${PROGRAMS:=collectives p2p_modes}"
declare -A cc=([mpich]=mpicc.mpich [ompi]=mpicc.openmpi)
# nodes that are one machine must not take each other's memory for their own
export UCX_TLS=tcp,self OMPI_MCA_btl=self,tcp OMPI_MCA_pml=ob1

node_options=(--set image_dir="$work/images")

ckptrun() {
	timeout -k 2 20 "$top/build/bin/ckptrun" --socket "$work/n1/sock" "$@"
}

ckptctl() {
	timeout -k 2 20 "$top/build/bin/ckptctl" --socket "$work/n1/sock" "$@"
}

build() {
	mkdir -p "$work/$1"
	"${cc[$1]}" -O1 -g -w -pthread -o "$work/$1/$2" "$3"
}

good() {
	[ "$(grep -c "^$RANKS ranks,.* 0 bad" "$work/out")" = 1 ]
}

# The program's own checks hold, and it is one job of as many ranks as were asked for.  MPICH
# 4.0 with UCX hangs in MPI_Finalize over nodes every now and then, under any launcher
# (docs/design/network-jobs.md): that is ended, and counted.
works() {
	local kind=$1 rc=0 id
	shift
	id=$(cd "$work" && ckptrun -d "$@") || return
	if [ "$kind" = mpich ]; then
		for _ in {1..50}; do
			[[ $(state_of "$id") = ended* ]] && break
			sleep 0.1
		done
		if [[ $(state_of "$id") = running* ]] &&
			cat "$work/images/$id"/stdout* >"$work/out" && good; then
			echo . >>"$work/hung"
			ckptctl kill "$id" KILL
			until_state "$id" 'ended 137'
			return
		fi
	fi
	ckptctl wait "$id" >"$work/err" 2>&1 || rc=$?
	cat "$work/images/$id"/stdout* >"$work/out"
	[ "$rc" = 0 ] && good && return
	echo "status $rc"
	cat "$work/out" "$work/err" "$work/images/$id"/stderr*
	return 1
}

# exit status and a text on standard error
ends() {
	local status=$1 text=$2 rc=0
	shift 2
	ckptrun "$@" </dev/null >"$work/out" 2>"$work/err" || rc=$?
	echo "status $rc"
	cat "$work/out" "$work/err"
	[ "$rc" = "$status" ] && grep -q -- "$text" "$work/err" "$work/out"
}

# MPICH's UCX aborts ranks that lose a connection. Where the machine is slow, a rank here aborts
# before the other node has said which rank began it: then ckptrun tells of that abort (KI-216).
ends_first() {
	local tries
	for tries in 1 2 3; do
		ends "$@" && return
		grep -q 'was killed by signal 6' "$work/err" || break
	done
	return 1
}

passes_input() {
	echo hello |
		ckptrun -n "$RANKS" --hosts n1,n2 --label "$1/launch_ends" stdin >"$work/out" &&
		[ "$(sort "$work/out")" = "$(for ((i = 0; i < RANKS; i++)); do
			echo "[$i] rank $i has hello"; done | sort)" ] && return
	cat "$work/out"
	return 1
}

# 2,000 lines of each rank, of either stream, and none in pieces
all_output() {
	# shellcheck disable=SC2016
	ckptrun --map 0,3:n1,1:n2,2:n3 --mpi none --label sh -c '
		for i in $(seq 2000); do echo "out $STILLPOINT_RANK $i"; done
		for i in $(seq 2000); do echo "err $STILLPOINT_RANK $i" >&2; done' \
		</dev/null >"$work/out" 2>"$work/err" || return
	for i in 0 1 2 3; do
		for j in {1..2000}; do
			echo "[$i] out $i $j"
		done
	done | sort >"$work/expected"
	sort "$work/out" | cmp - "$work/expected" || return
	sed -i 's/out/err/' "$work/expected"
	sort "$work/err" | cmp - <(sort "$work/expected")
}

# Of two ranks, the one of this node has all of the caller's scheduling; the other has no CPUs of
# it, and no NUMA policy: their numbers mean something else there.
scheduled() {
	local all last
	all=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
	last=${all##*[,-]}
	# shellcheck disable=SC2016
	taskset -c "$last" nice -n 5 ionice -c 3 numactl --interleave=0 "$top/build/bin/ckptrun" \
		--socket "$work/n1/sock" -n 2 --hosts n1,n2 --mpi none --label sh -c '
		cpus=$(sed -n "s/^Cpus_allowed_list:\t//p" /proc/self/status)
		echo "$cpus $(nice) $(ionice) $(cut -d" " -f2 /proc/self/numa_maps | head -n 1)"' \
		</dev/null >"$work/out" 2>"$work/err"
	cat "$work/out" "$work/err"
	[ "$(sort "$work/out")" = "[0] $last 5 idle interleave:0
[1] $all 5 idle default" ]
}

state_of() {
	ckptctl ps --all --json | python3 -c 'import json, sys
job = [j for j in json.load(sys.stdin)["result"]["jobs"] if j["job"] == int(sys.argv[1])][0]
print(job["state"], job.get("exit_status", "-"), *job.get("silent_nodes", []))' "$1"
}

until_state() {
	local _
	for _ in {1..150}; do
		[ "$(state_of "$1")" = "$2" ] && return
		sleep 0.1
	done
	state_of "$1"
	return 1
}

# --node-lost ends what is left of a job; not of one that could not be restarted afterwards
stays() {
	local id
	id=$(ckptrun --detach --json -n 2 --hosts n1,n2 --mpi none sleep 600 |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["result"]["job"])') ||
		return
	ckptctl restart --node-lost "$id" >"$work/out" 2>&1
	cat "$work/out"
	grep -q 'no checkpoint to restart from' "$work/out" && until_state "$id" 'running -' &&
		ckptctl kill "$id" KILL && until_state "$id" 'ended 137'
}

# on a node that has not heard yet that the job has ended everywhere; it ends, and its home is
# slow to say so
restarted_early() {
	local id home end=$work/early _
	home=$(cat "$work/n1/pid")
	# shellcheck disable=SC2016
	id=$(ckptrun -d -n 2 --hosts n1,n2 --mpi none sh -c '
		until [ -e "$0" ]; do sleep 0.1; done; : >"$0.$STILLPOINT_RANK"' "$end") || return
	until_state "$id" 'running -' || return
	kill -STOP "$home"
	touch "$end"
	for _ in {1..300}; do
		[ -e "$end.0" ] && [ -e "$end.1" ] && break
		sleep 0.1
	done
	sleep 1
	(sleep 1; kill -CONT "$home") &
	on 2 restart "$id" >"$work/out" 2>&1
	wait $!
	cat "$work/out"
	grep -q 'no checkpoint to restart from' "$work/out" && until_state "$id" 'ended 0'
}

# the order to start is in the socket of a ckptd that is killed before it reads it, and started anew
lost_order() {
	local id away job
	away=$(cat "$work/n2/pid")
	kill -STOP "$away"
	(ckptrun -d -n 2 --hosts n1,n2 --mpi none sleep 1 >"$work/id" 2>"$work/err") &
	job=$!
	sleep 1
	stop 2 KILL
	start 2 && wait $job || { cat "$work/err"; return 1; }
	id=$(cat "$work/id")
	until_state "$id" 'ended 0'
}

# one ckptd dies while the job runs and another comes; what the ranks then do arrives
survives() {
	local node=$1 id
	shift
	rm -f "$work/go"
	id=$(ckptrun -d "$@") || return
	until_state "$id" 'running -' || return
	sleep 0.5
	stop "$node" KILL
	[ "$node" = 1 ] || [ "$(state_of "$id")" = 'running -' ] || return
	touch "$work/go"
	sleep 0.3
	start "$node"
	until_state "$id" 'ended 9'
}

# A checkpoint that never came to be frozen holds the ranks of n2; ckptd of n1 dies, and nobody
# asks the next one for anything.
lets_go() {
	local id init rank
	rm -f "$work/go"
	id=$(ckptrun -d "$@") || return
	until_state "$id" 'running -' || return
	sleep 1
	init=$(ckptctl ps --json | python3 -c 'import json, sys
jobs = json.load(sys.stdin)["result"]["jobs"]
print([j for j in jobs if j["job"] == int(sys.argv[1])][0]["init_pid"])' "$id")
	rank=$(pgrep -P "$init") || return
	kill -STOP "$rank"
	ckptctl checkpoint "$id" >"$work/out" 2>&1 &
	sleep 2
	stop 1 KILL
	wait $!
	start 1 && meet 1 2 3
	kill -CONT "$rank"
	touch "$work/go"
	until_state "$id" 'ended 9' && return
	cat "$work/out"
	tail "$work/n1/log" "$work/n2/log"
	return 1
}

# ckptd of a node comes back without what it needs to know the job: its ranks run on everywhere, and
# so does the job, when the next one has that.
unknown() {
	local node=$1 id other
	shift
	rm -f "$work"/alive.*
	# shellcheck disable=SC2016
	id=$(ckptrun -d -n 3 --hosts n1,n2,n3 --mpi none sh -c \
		"while :; do date +%s%N >$work/alive.\$STILLPOINT_RANK; sleep 0.1; done") || return
	until_state "$id" 'running -' || return
	stop "$node" KILL
	start "$node" "$@" || return
	sleep 6
	if [ "$node" = 1 ]; then
		ckptctl restart --node-lost "$id" && return 1
	else
		ckptctl kill "$id" TERM
		sleep 3
		[[ $(state_of "$id") = running* ]] || return
	fi
	if [ "$node" = 1 ]; then
		all_live || return
	fi
	stop "$node"
	start "$node" && meet 1 2 3 || return
	if [ "$node" = 1 ]; then
		until_state "$id" 'running -' && all_live && ckptctl kill "$id" KILL || return
		other='ended 137'
	else
		other='ended 143'
	fi
	until_state "$id" "$other"
}

# each rank has written anew; on a machine with more to do than it can that may take a while
all_live() {
	local i before _
	for i in 0 1 2; do
		before=$(cat "$work/alive.$i")
		for _ in {1..10}; do
			sleep 1
			[ "$(cat "$work/alive.$i")" = "$before" ] || break
		done
		[ "$(cat "$work/alive.$i")" != "$before" ] || {
			echo "rank $i does not run"
			tail "$work"/n?/log
			return 1
		}
	done
}

signals() {
	local id
	# shellcheck disable=SC2016
	id=$(ckptrun -d -n 3 --hosts n1,n2,n3 --mpi none \
		sh -c "trap 'touch $work/sig.\$STILLPOINT_RANK; exit 0' USR1
		touch $work/up.\$STILLPOINT_RANK; while :; do sleep 0.1; done") || return
	for _ in {1..100}; do
		[ "$(echo "$work"/up.*)" = "$work/up.0 $work/up.1 $work/up.2" ] && break
		sleep 0.1
	done
	ckptctl kill "$id" USR1 && until_state "$id" 'ended 0' &&
		[ "$(echo "$work"/sig.*)" = "$work/sig.0 $work/sig.1 $work/sig.2" ]
}

# a node that does not answer leaves the job running, and is named
silent() {
	local id
	id=$(ckptrun -d -n 2 --hosts n1,n3 --mpi none sh -c 'while :; do sleep 0.2; done') || return
	stop 3
	until_state "$id" 'running - n3' || return
	ckptctl ps | grep -q 'n3 silent' || return
	start 3
	until_state "$id" 'running -' && ckptctl kill "$id" KILL && until_state "$id" 'ended 137'
}

# Without a module none comes about; who tries is the home, also after it died, and nobody else.
by_itself() {
	local id i
	id=$(ckptrun -d -n 2 --hosts n1,n2 --mpi none --every 300ms \
		sh -c 'while :; do sleep 0.2; done') || return
	for i in 1 2; do
		for _ in {1..100}; do
			ckptctl auto "$id" | grep -q 'failed: .*module is not loaded' && break
			sleep 0.1
		done
		ckptctl auto "$id" | grep -q 'failed: .*module is not loaded' || return
		[ $i = 2 ] && break
		stop 1 KILL
		start 1 && meet 1 2 3 || return
	done
	until_state "$id" 'running -' || return
	"$top/build/bin/ckptctl" --socket "$work/n2/sock" auto "$id" off && return 1
	"$top/build/bin/ckptctl" --socket "$work/n2/sock" auto "$id" off 2>&1 |
		grep -q 'on node n1: ask' || return
	! grep -q 'automatic checkpoint' "$work/n2/log" || return
	ckptctl auto "$id" off && ckptctl auto "$id" | grep -q 'off$' || return
	ckptctl kill "$id" KILL && until_state "$id" 'ended 137'
}

# The image directory is full when the job ends, with the status $1 of a rank of n2, and until
# ckptd of the home has been killed, if $2 says so.
full_at_end() {
	local status=$1 id rc=0 _
	rm -f "$work/go"
	# shellcheck disable=SC2016
	id=$(ckptrun -d -n 2 --hosts n1,n2 --mpi none sh -c 'while ! [ -e "$1" ]; do sleep 0.1; done
		exit $((STILLPOINT_RANK * $2))' sh "$work/go" "$status") || return
	until_state "$id" 'running -' || return
	dd if=/dev/zero of="$work/small/filler" bs=4k 2>/dev/null
	touch "$work/go"
	for _ in {1..100}; do
		grep -q "job $id has ended, but.*No space" "$work/n1/log" && break
		sleep 0.1
	done
	sleep 3
	[ "$(state_of "$id")" = 'running -' ] ||
		echo "its state, while that is not written: $(state_of "$id")"
	[ "$2" != killed ] || stop 1 KILL
	rm "$work/small/filler"
	[ "$2" != killed ] || start 1 || return
	ckptctl wait "$id" >"$work/out" 2>&1 || rc=$?
	[ $rc = "$status" ] && until_state "$id" "ended $status" && return
	echo "status $rc"
	cat "$work/out"
	tail -n 5 "$work/n1/log"
	return 1
}

# What somebody has removed under the job has no place for its end, and is not waited for.
removed_at_end() {
	local id waiter rc=0
	rm -f "$work/go"
	# shellcheck disable=SC2016
	id=$(ckptrun -d -n 2 --hosts n1,n2 --mpi none sh -c 'while ! [ -e "$1" ]; do sleep 0.1; done
		exit $((STILLPOINT_RANK * 7))' sh "$work/go") || return
	until_state "$id" 'running -' || return
	ckptctl wait "$id" >"$work/out" 2>&1 &
	waiter=$!
	sleep 0.5
	rm -r "$work/images/${id:?}"
	touch "$work/go"
	wait $waiter || rc=$?
	# the end, which no record could take, stays in the state directory
	[ $rc = 7 ] && ! ckptctl ps | grep -q "^ *$id " && rm -r "$work/n1/jobs/${id:?}" && return
	echo "status $rc"
	cat "$work/out"
	ckptctl ps
	return 1
}

# nodes 1 and 2 have their images in directory $1
with_images() {
	local i
	node_options=(--set image_dir="$1")
	for i in 1 2; do
		stop $i
		start $i || return
	done
	meet 1 2 3 && meet 2 1
}

# a shim that begins late, or says that the system has no room for another process
slow_shim() {
	printf '#!/bin/sh\nsleep %s\nexec %s "$@"\n' "$1" "$top/build/bin/ckpt-shim" >"$work/shim"
	chmod +x "$work/shim"
}
full_shim() {
	cat >"$work/shim" <<-'SHIM'
		#!/usr/bin/python3
		import json, os, struct, sys
		error = {"errno": -11, "name": "EAGAIN", "text": "no room"}
		said = json.dumps({"ok": False, "error": error}).encode()
		os.write(int(sys.argv[4]), struct.pack("<IHHI", 0x54504b43, 1, 0, len(said)) + said)
	SHIM
	chmod +x "$work/shim"
}

# KILL ends what is still starting, on all nodes
kills_start() {
	local id nap=600.$$$RANDOM	# other tests of this machine sleep, too
	ckptrun -n 2 --hosts n1,n3 --mpi none sleep $nap </dev/null >"$work/out" 2>&1 &
	for _ in {1..50}; do
		id=$(ckptctl ps --json | python3 -c 'import json, sys
print(*[j["job"] for j in json.load(sys.stdin)["result"]["jobs"] if j["state"] == "starting"])')
		[ -z "$id" ] || break
		sleep 0.1
	done
	ckptctl kill "$id" KILL || return
	wait $! && return 1
	cat "$work/out"
	grep -q 'killed while it was being started' "$work/out" && ! pgrep -fx "sleep $nap"
}

# The same; and n2, which had started its part, is cut off: it is not waited for longer than for a
# start, and its part ends when it is back.
kills_start_without() {
	local id client away rc=0 _
	away=$(cat "$work/n2/pid")
	timeout -k 2 80 "$top/build/bin/ckptrun" --socket "$work/n1/sock" -n 3 --hosts n1,n2,n3 \
		--mpi none \
		sleep 600 </dev/null >"$work/out" 2>&1 &
	client=$!
	for _ in {1..50}; do
		id=$(ckptctl ps --json | python3 -c 'import json, sys
print(*[j["job"] for j in json.load(sys.stdin)["result"]["jobs"] if j["state"] == "starting"])')
		[ -n "$id" ] && grep -q "job $id .*part 1 started" "$work/n2/log" && break
		sleep 0.1
	done
	kill -STOP "$away"
	ckptctl kill "$id" KILL
	wait $client || rc=$?
	cat "$work/out"
	kill -CONT "$away"
	[ $rc != 124 ] && grep -q 'killed while it was being started' "$work/out" || return
	for _ in {1..200}; do
		[ -e "$work/n2/jobs/$id" ] || return 0
		sleep 0.1
	done
	tail -n 5 "$work/n2/log"
	return 1
}

nothing_left() {
	for _ in {1..80}; do
		! ls -d "$work"/n?/jobs/[0-9]* >/dev/null 2>&1 && return
		sleep 0.1
	done
	ls -R "$work"/n?/jobs
	return 1
}

head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
mkdir "$work/images"
make_keys 3 2>/dev/null
for i in 1 2 3; do
	start $i
done

ok 'output of all nodes is whole, lines too' all_output
ok 'signals reach all nodes' signals
ok 'all ranks have the nice value of the caller, those of its node its CPUs too' scheduled
ok 'a status of another node' ends 7 'rank 2 ended with exit status 7' -n 3 --hosts n1,n2,n3 \
	--mpi none sh -c '[ $STILLPOINT_RANK = 2 ] && exit 7; sleep 30'
ok 'with --keep-going the others go on' ends 7 'late 1' -n 2 --hosts n1,n2 --keep-going \
	--mpi none sh -c '[ $STILLPOINT_RANK = 0 ] && exit 7; sleep 1; echo late $STILLPOINT_RANK'
ok 'a node that is not in the hosts file' ends 1 'no node n9' -n 2 --hosts n1,n9 --mpi none true
ok 'not started on the first node' ends 2 'this one is n1, not n2' -n 2 --hosts n2,n1 \
	--mpi none true
ok 'a map with a hole' ends 2 'does not give each' --map 0:n1,2:n2 -n 2 --mpi none true
ok 'a node that does not answer leaves the job running' silent
grep -v '^n3' "$work/hosts" >"$work/hosts2"
mkdir "$work/away"
ok 'a home without one of its nodes in the hosts file ends nothing' unknown 1 \
	--set hosts="$work/hosts2"
ok 'a home without its image directory ends nothing' unknown 1 --set image_dir="$work/away"
ok 'a node without its image directory does not say that nothing is there' unknown 2 \
	--set image_dir="$work/away"
ok 'a job without a checkpoint is not ended for a restart' stays
ok 'a restart waits for word that the job has ended everywhere' restarted_early
ok 'an order to start that is lost is given again' lost_order
ok 'a job whose directory was removed ends' removed_at_end
mkdir "$work/small"
mount -t tmpfs -o size=512k none "$work/small"
with_images "$work/small"
ok 'an end that cannot be written is, when there is room' full_at_end 7
ok 'also if no rank failed' full_at_end 0
ok 'and by the next ckptd' full_at_end 7 killed
with_images "$work/images"
umount "$work/small"
stop 3
ok 'nor is a job started there' ends 1 'node n3: .*not answer' -n 3 --hosts n1,n2,n3 --mpi none \
	sleep 30
start 3 --set mpi_dir=/nonexistent
meet 1 3
ok 'a node without the library' ends 1 'node n3: .*/nonexistent.*installed' -n 2 --hosts n1,n3 \
	--mpi mpich sleep 30
stop 3
head -c 32 /dev/urandom >"$work/key3"
chmod 600 "$work/key3"
start 3 --set key="$work/key3"
meet 1 3
ok 'a node whose key is another' ends 1 'node n3: its key is another.*copy' -n 2 --hosts n1,n3 \
	--mpi none sleep 30
ok 'which the list of nodes says' says 0 'its key is not the one here.*copy' on 1 nodes
stop 3
full_shim
start 3 --set shim="$work/shim"
meet 1 3
ok 'a node where no process can be made' ends 1 'node n3: no room' -n 2 --hosts n1,n3 --mpi none \
	sleep 600
slow_shim 6
ok 'a start that takes long is killed' kills_start
slow_shim 12
ok 'also if a node goes off meanwhile' kills_start_without
stop 3
start 3
meet 1 3
for kind in $KINDS; do
	for name in $PROGRAMS; do
		build "$kind" "$name" "$top/tests/mpi/programs/$name.c"
		ok "$kind: $name on two nodes" works "$kind" -n "$RANKS" --hosts n1,n2 \
			"$work/$kind/$name"
		ok "$kind: $name on three nodes, other order" works "$kind" --map 0,3:n1,1:n3,2:n2 \
			"$work/$kind/$name"
	done
	build "$kind" launch_ends "$top/tests/mpi/launch_ends.c"
	build "$kind" abort_code "$top/tests/mpi/programs/abort_code.c"
	p=$work/$kind
	ok "$kind: without the glue" works "$kind" -n "$RANKS" --hosts n1,n2 \
		--direct "$p/collectives"
	ok "$kind: MPI_Abort" ends 17 'about to abort' -n "$RANKS" --hosts n1,n2 "$p/abort_code"
	ok "$kind: a rank of another node fails" ends_first 7 'rank 3 ended with exit status 7' \
		-n "$RANKS" --hosts n1,n2 "$p/launch_ends" status 3 7
	ok "$kind: a rank of ours is killed" ends 139 'rank 1 was killed by signal 11' \
		-n "$RANKS" --hosts n1,n2 "$p/launch_ends" kill 1 11
	ok "$kind: a node's ranks leave before MPI_Init" ends 1 'others wait for them in MPI_Init' \
		-n 2 --hosts n1,n2 "$p/launch_ends" never 1
	[ "$kind" = ompi ] || continue
	for i in 1 2; do
		ok "$kind: ckptd of n$i dies and comes back" survives "$i" -n "$RANKS" \
			--hosts n1,n2 "$p/launch_ends" wait 3 9 "$work/go"
	done
	ok "$kind: who was held for a checkpoint runs on when ckptd of the home is back" \
		lets_go -n 2 \
		--hosts n1,n2 "$p/launch_ends" wait 1 9 "$work/go"
	ok "$kind: input goes to rank 0, output has labels" passes_input "$p"
done
ok 'ckptd of the home alone tries to take checkpoints by itself' by_itself
ok 'nothing is left of the jobs' nothing_left
[ ! -e "$work/hung" ] || echo "# MPICH's MPI_Finalize did not return in $(wc -l <"$work/hung") jobs"
finish
