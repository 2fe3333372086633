#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptrun in the environment of a Slurm allocation, with Slurm's own scontrol and without
# slurmctld: three ckptds on this machine stand for its nodes.
#
# As root: a job has namespaces of its own. Needs no module: nothing is checkpointed.

. "$(dirname "$0")/lib.sh"
if ! command -v scontrol >/dev/null; then
	echo '1..0 # SKIP scontrol is not there (package slurm-client)'
	exit 0
fi
. "$(dirname "$0")/nodes.sh"

unset "${!SLURM_@}"
# nodes that are one machine must not take each other's memory for their own
export UCX_TLS=tcp,self OMPI_MCA_btl=self,tcp OMPI_MCA_pml=ob1
node_options=(--set image_dir="$work/images")
# scontrol wants one, though it asks nobody
configure() {
	printf 'ClusterName=test\nSlurmctldHost=localhost\n' >"$work/slurm.conf"
}
configure

# srun of this machine: its processes run here, and end with it; $work/srun has how it was called
mkdir "$work/bin-srun"
cat >"$work/bin-srun/srun" <<'END'
#!/bin/bash
log=${0%/*}/../srun
[ ! -e "$log.fails" ] || { echo "srun: error: Requested nodes are busy" >&2; exit 1; }
printf '%s ' "$STILLPOINT_STEP" "$@" | tr '\n' ';' | tee "$log.last" >"$log"
trap 'kill -9 $pids; rm "$log"; exit 143' TERM
for word; do
	[[ $word != --ntasks=* ]] || tasks=${word#*=}
done
for ((i = 0; i < tasks; i++)); do
	"${@: -3}" &
	pids+=" $!"
done
while :; do wait; sleep 1; done
END
chmod 755 "$work/bin-srun/srun"
PATH=$work/bin-srun:$PATH

# allocated NODES TASKS TASKS-PER-NODE ARG...: ckptrun in an allocation, with what sbatch sets in
# a script
allocated() {
	local variables=(SLURM_CONF="$work/slurm.conf" SLURM_JOB_ID=7 SLURM_JOBID=7
		SLURM_JOB_NODELIST="$1"
		SLURM_NODELIST="$1" SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0)
	[ -z "$2" ] || variables+=(SLURM_NTASKS="$2" SLURM_NPROCS="$2")
	[ -z "${STEP:-}" ] || variables+=(SLURM_STEPID=0 SLURM_STEP_NUM_TASKS="$STEP")
	[ -z "$3" ] || variables+=(SLURM_TASKS_PER_NODE="$3")
	shift 3
	env "${variables[@]}" timeout -k 2 60 \
		"$top/build/bin/${COMMAND:-ckptrun}" --socket "$work/n1/sock" "$@"
}

# placed MAP ARG...: which ranks each node has, by its part of the output
placed() {
	local map=$1 id
	shift
	# shellcheck disable=SC2016
	id=$(allocated "$@" --detach --mpi none sh -c 'echo $STILLPOINT_RANK') || return
	on 1 wait "$id" || return
	got=$(cd "$work/images/$id" && for i in stdout stdout.1 stdout.2; do
		[ -e $i ] && sort $i | paste -sd, ; done | paste -sd' ')
	echo "placed: $got"
	[ "$got" = "$map" ]
}

# several: three ranks of two programs, two ranks on the first node
several() {
	local id
	# shellcheck disable=SC2016
	id=$(allocated 'n[1-2]' 3 '2,1' --detach --mpi none -n 1 sh -c 'echo a $STILLPOINT_RANK' : \
		-n 2 sh -c 'echo b $STILLPOINT_RANK') || return
	on 1 wait "$id" || return
	sort "$work/images/$id/stdout" "$work/images/$id/stdout.1"
	[ "$(sort "$work/images/$id/stdout" | paste -sd,)" = 'a 0,b 1' ] &&
		[ "$(cat "$work/images/$id/stdout.1")" = 'b 2' ]
}

# step PATTERN: how srun was called; - none runs. Once it has changed, within some seconds.
step() {
	local _
	for _ in {1..100}; do
		if [ "$1" = - ]; then
			[ -e "$work/srun" ] || return 0
		else
			grep -Eq -- "$1" "$work/srun" 2>/dev/null && return
		fi
		sleep 0.1
	done
	cat "$work/srun"
	return 1
}

# The step of other nodes lives as long as the job, whatever becomes of ckptrun.
outlives() {
	local pid
	rm -f "$work/go"
	allocated 'n[1-3]' 3 '1(x3)' --mpi none sh -c "until [ -e $work/go ]; do sleep 0.1; done" &
	pid=$!
	step 'nodelist n2,n3 --nodes=2 --ntasks=2' || return
	sleep 1
	kill -9 $pid $(pgrep -P $pid)
	sleep 2
	step 'nodelist n2,n3' || return
	touch "$work/go"
	step -
}
detached() {
	rm -f "$work/go"
	allocated 'n[1-3]' 3 '1(x3)' --detach --mpi none \
		sh -c "until [ -e $work/go ]; do sleep 0.1; done" >/dev/null || return
	# a ckptd that is started again is asked again
	stop 1 KILL
	sleep 3
	step 'nodelist n2,n3' || return
	start 1 || return
	sleep 3
	step 'nodelist n2,n3' || return
	touch "$work/go"
	step -
}
# A restart by hand asks for the nodes of the allocation, with a step there. Nothing was saved here.
by_hand() {
	local id
	id=$(allocated 'n[1-2]' 2 '1(x2)' --detach --mpi none true) || return
	on 1 wait "$id" && step - || return
	rm "$work/srun.last"
	COMMAND=ckptctl says 1 'no checkpoint to restart from' allocated 'n[1,3]' 2 '1(x2)' \
		restart "$id" || return
	step - && cat "$work/srun.last" &&
		grep "^job $id .* --nodelist n3 --nodes=1 " "$work/srun.last"
}
# the step has the name that the job's environment has
named() {
	local key
	# shellcheck disable=SC2016
	key=$(allocated 'n[1-2]' 2 '1(x2)' --mpi none \
		sh -c 'echo "$STILLPOINT_STEP" "$(cat '"$work"'/srun)"' </dev/null) || return
	step - && awk '$1 != $2 { bad = 1 } END { exit bad || NR != 2 }' <<<"$key"
}
# srun fails: the user is told, and the nodes decide
refused_step() {
	local rc
	touch "$work/srun.fails"
	says 0 'no step on n2.*Requested nodes are busy' allocated 'n[1-2]' 2 '1(x2)' --mpi none \
		true
	rc=$?
	rm "$work/srun.fails"
	return $rc
}
# no_step ARG...: srun is not called
no_step() {
	touch "$work/srun.fails"
	says 0 done allocated "$@" --mpi none echo done && ! grep 'no step' "$work/out"
}

# ends STATUS TEXT ARG...: no job comes of it
ends() {
	says "$1" "$2" allocated "${@:3}" --mpi none true
}

without_scontrol() {
	mkdir -p "$work/bin"
	ln -sf "$(command -v timeout)" "$(command -v env)" "$(command -v cat)" \
		"$(command -v grep)" "$work/bin"
	PATH=$work/bin ends 1 'scontrol.*not in PATH.*--hosts' "$@"
}

bad_conf() {
	local rc
	: >"$work/slurm.conf"
	ends 1 'scontrol show hostnames.*--no-slurm' "$@"
	rc=$?
	configure
	return $rc
}

# Its own checks hold. MPICH's MPI_Finalize may hang (hosts.t), which is not looked at here.
program() {
	local id good _
	build "$1" collectives || return
	id=$(cd "$work" && allocated 'n[1-2]' 4 '2(x2)' \
		--detach "$top/build/mpi/programs/$1/collectives") || return
	for _ in {1..150}; do
		good=$(grep '^4 ranks,.* 0 bad' "$work/images/$id/stdout") && break
		sleep 0.1
	done
	on 1 kill "$id" KILL
	on 1 wait "$id" >/dev/null	# its shim stays until all have ended
	cat "$work/images/$id"/std*
	[ -n "$good" ]
}

head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
mkdir "$work/images"
make_keys 3 2>/dev/null
for i in 1 2 3; do
	start $i
done
meet 1 2 3

ok 'as many ranks as tasks, where Slurm has these' placed '0 1,2 3' 'n[1-3]' 4 '1,2,1'
ok 'its short form' placed '0,1 2,3 4' 'n[1-3]' 5 '2(x2),1'
ok 'names in any order of the list' placed '0,1 2 3' 'n1,n3,n2' 4 '2,1(x2)'
ok 'even blocks of another number of ranks' placed '0,1,2 3,4' 'n[1-2]' 4 '1,3' -n 5
ok 'even blocks without a number for each node' placed '0,1 2,3' 'n[1-2]' 4 ''
ok 'even blocks where the numbers cannot be read' placed '0,1 2,3' 'n[1-2]' 4 '1(x,3'
ok 'one node' placed '0,1' n1 2 2
ok '--hosts says otherwise' placed '0 1' 'n[1-3]' 4 '1,2,1' -n 2 --hosts n1,n2
ok '--map, too' placed '0 1,2' 'n[1-3]' 4 '1,2,1' --map 0:n1,1-2:n3
ok '--no-slurm: all are here' placed '0,1' 'n[1-3]' 4 '1,2,1' -n 2 --no-slurm
ok 'several programs' several
ok '--dry-run says where' says 0 'on n1,n2,n3$' allocated 'n[1-3]' 4 '1,2,1' --dry-run \
	--mpi none true
ok 'the step of the other nodes outlives ckptrun, and ends with the job' outlives
ok 'it outlives ckptd, too' detached
ok 'a restart by hand is one on the nodes of the allocation, and has a step' by_hand
ok 'it has the name that is in the environment of the job' named
ok 'srun fails: the user is told, and the nodes decide' refused_step
ok 'no step for one node' no_step n1 2 2
ok 'no step with --no-slurm' no_step 'n[1-2]' 2 '1(x2)' -n 2 --hosts n1,n2 \
	--no-slurm
ok 'no step of nodes that the allocation has not' no_step 'n[1-2]' 2 '1(x2)' -n 2 \
	--hosts n1,n3
rm "$work/srun.fails"
ok 'nobody says how many' ends 2 'how many ranks.*SLURM_NTASKS' 'n[1-3]' '' ''
ok 'fewer ranks than nodes' ends 2 '2 ranks are fewer than the 3 nodes.*--hosts' 'n[1-3]' 2 ''
ok 'a node that ckptd does not know' ends 1 'no node n9' 'n[1,9]' 2 ''
ok 'and what can be done' ends 1 'by whose names ckptd must know them.*--hosts' 'n[1,9]' 2 ''
ok 'an allocation that begins with another node' ends 2 'this one is n1, not n2' 'n[2-3]' 2 ''
STEP=1 ok 'one task of srun says no number of ranks' ends 2 'say how many ranks with -n' \
	'n[1-3]' 1 1
STEP=1 ok 'and is told it' placed '0 1,2 3' 'n[1-3]' 1 '1,2,1' -n 4
STEP=2 ok 'several tasks of srun start nothing' ends 2 'each would start the whole job' 'n[1-3]' 3 1
ok 'without scontrol' without_scontrol 'n[1-3]' 3 ''
ok 'scontrol without its configuration' bad_conf 'n[1-3]' 3 ''
launcher=$top/build/bin/ckpt-slurm-run
ok 'ckpt-slurm-run outside of Slurm' says 2 'no job of Slurm.*ckptctl resume' "$launcher" true
ok 'a step that is no name' says 2 'letters, digits' "$launcher" --step a/b true
ok 'a margin that is no duration' says 2 'margin is a duration' "$launcher" --margin soon true
ok 'without a command' says 2 'which command' "$launcher"
drain=$top/build/bin/ckpt-slurm-drain
ok 'ckpt-slurm-drain without nodes' says 2 'which nodes' "$drain" --resume
ok 'with a reason that is too long' says 2 'too long' "$drain" -r "$(printf %300s)" n1
move=$top/build/bin/ckpt-slurm-move
ok 'ckpt-slurm-move without nodes' says 2 usage "$move" 7
ok 'of what is no job' says 2 'number of a batch job' "$move" 7x n1
ok 'with a wait that is no duration' says 2 'is a duration' "$move" --wait soon 7 n1
for kind in mpich ompi; do
	ok "$kind: a program" program $kind
done
finish
