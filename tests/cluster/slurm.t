#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Batch jobs over several nodes of a real Slurm, three VMs with the Slurm of tests/slurm/bed: ranks
# stand in a step of their own, jobs are preempted, lose a node, and go on elsewhere; so do scripts
# that are jobs, and arrays.
#
#   KERNEL=6.1 KINDS='mpich openmpi' tests/cluster/slurm.t
#   KERNEL=6.1 ONLY='an array*' tests/cluster/slurm.t        cases whose names match

. "$(dirname "$0")/../vm/lib.sh"
. "$top/scripts/cluster.sh"
. "$top/tests/slurm/jobs.sh"
if [ ! -x build/slurm/usr/sbin/slurmctld-wlm ]; then
	echo '1..0 # SKIP no slurmctld below build/slurm (scripts/setup)'
	exit 0
fi
CLUSTER=slurm-$$
KINDS=${KINDS:-mpich openmpi}
nodes='n1=10.77.0.1 n2=10.77.0.2 n3=10.77.0.3'
dir=$top/build/cluster/$CLUSTER
trap 'cluster_end; rm -rf "$dir" "$top/build/vm/$CLUSTER"-n*' EXIT
# where alice's scripts and their output are, here and in the VMs
here=$dir/shared/work
there=$cluster_mnt/work

bed() {
	on "$1" env BED_NODES="$nodes" BED_ME="n$1" BED_KEY=$cluster_mnt/munge.key \
		BED_GRACE=$((60 * VM_SLOW)) BED_TIMEOUT=20 "$top/tests/slurm/bed" start /var/tmp/bed
}
# Munge wants the same time on all nodes. A VM that boots on a busy machine may take its TSC to be
# slower than it is, and its clock then runs ahead.
same_time() {
	# shellcheck disable=SC2016
	on "$1" sh -c 'cd /sys/devices/system/clocksource/clocksource0 &&
		echo hpet >current_clocksource && date -s "@$1"' sh "$(date +%s)"
}
boot() { node_up "$1" && same_time "$1"; }
alice() {
	on 1 setpriv --reuid 4242 --regid 4242 --clear-groups env -C $there HOME=$there \
		TMPDIR=/tmp PATH="$top/build/bin:/usr/bin:/bin:/usr/sbin" "$@"
}
# until SECONDS WHAT COMMAND...: until it succeeds
until_so() {
	local end=$(($(date +%s) + $1 * VM_SLOW)) what=$2
	shift 2
	until "$@"; do
		[ "$(date +%s)" -lt $end ] || {
			echo "not in time: $what"
			alice squeue -a
			tail -n 5 "$here"/*.err "$dir"/shared/n?.log
			return 1
		}
		sleep 1
	done
}
lines() { cat "$here/$1" 2>/dev/null | wc -l; }
has_lines() { [ "$(lines "$1")" -ge "$2" ]; }
# grows NAME [LINES]
grows() { until_so 120 "output $1" has_lines "$1" $(($(lines "$1") + ${2:-15})); }
state_is() { [ "$(alice squeue -h -a -o %T -j "$1" 2>/dev/null)" = "$2" ]; }
on_nodes() { state_is "$1" RUNNING && [ "$(alice squeue -h -o %N -j "$1")" = "$2" ]; }
idle() { [ "$(on 1 sinfo -h -n "$1" -o %T | sort -u)" = idle ]; }
over() { ! alice squeue -h -j "$1" 2>/dev/null | grep -q .; }
# how many processes of alice's a node has
processes() { on "$1" pgrep -c -u 4242; }
nothing_left() { [ "$(processes 1) $(processes 2) $(processes 3)" = '0 0 0' ]; }
# the number of the newest job of ckptd, which node K has
newest() { on "$1" ckptctl ps --all --json | python3 -c 'import json, sys
print(max(j["job"] for j in json.load(sys.stdin)["result"]["jobs"]))'; }

# want KIND RANKS ITERATIONS: the output of an undisturbed run
want() {
	local options=()
	[ "$1" = mpich ] || options=(--oversubscribe --allow-run-as-root)
	"mpiexec.$1" "${options[@]}" -n "$2" "$dir/shared/poisson.$1" 64 "$3" >"$dir/want"
}
# Each iteration, with all bits of the residual; the last line is written by MPI_Finalize.
same() {
	if [ "$1" = openmpi ]; then
		cmp "$dir/want" "$2"
	else
		cmp <(grep -v norm "$dir/want") <(grep -v norm "$2")
	fi
}
# ended KIND FILE: all of the output is there, and then the job ends. MPICH does not always return
# from MPI_Finalize over nodes, also without us (KI-32).
ended() {
	until_so 300 'all of the output' same "$1" "$2" >"$dir/compared" 2>&1 ||
		{ tail -n 30 "$dir/compared"; return 1; }
	[ "$1" = openmpi ] || sleep 10
	[ "$1" = openmpi ] || over "$job" || alice scancel "$job"
	until_so 60 'the end' over "$job"
}
# As ok; after a failure the next case finds the nodes as after a success.
apart() {
	local before=$failed k
	# shellcheck disable=SC2053
	[[ $1 = ${ONLY:-*} ]] || return 0
	ok "$@"
	[ "$failed" != "$before" ] || return
	touch "$here/go"
	alice scancel -u alice
	for k in 1 2 3; do
		on 1 scontrol update NodeName=n$k State=RESUME >>"$dir/resumed" 2>&1
	done
	until_so 60 'the end of all' nothing_left | sed "s|^|# |"
}

# poisson KIND ITERATIONS: a script
poisson() { echo "mpirun -n \$SLURM_NTASKS $cluster_mnt/poisson.$1 64 $2 40"; }

# ---- start

[ "$(id -u)" = 0 ] || { echo '1..0 # SKIP must be root'; exit 0; }
mkdir -p "$dir"
cluster_make "$dir" 3 || exit 1
head -c 1024 /dev/urandom >"$dir/shared/munge.key"
chown 4242:4242 "$here"
for kind in $KINDS; do
	"mpicc.$kind" -O2 -o "$dir/shared/poisson.$kind" examples/poisson.c -lm || exit 1
done
boots=()
for k in 1 2 3; do
	boot $k >"$dir/boot.$k" 2>&1 & boots+=($!)
done
for k in 1 2 3; do
	wait "${boots[k - 1]}"
	is "node $k boots" "$?" 0
done
for k in 1 2 3; do
	ok "Slurm starts on node $k" bed $k
done

# ---- where the ranks stand

# shellcheck disable=SC2016
count='i=0; while ! [ -e stop ]; do echo $STILLPOINT_RANK n$i; i=$((i+1)); sleep 0.3; done'
# in_steps JOB: the shims of the other nodes are in the control group of its step
in_steps() {
	for k in 2 3; do
		on $k sh -c 'cat /proc/$(pgrep -u 4242 -x ckpt-shim | head -n 1)/cgroup' |
			grep "/job_$1/step_" || return
	done
}
in_the_step() {
	submit stand -N3 -n3 <<-END || return
	srun --overlap -N3 sleep 20 &
	sleep 2
	ckptrun --mpi none sh -c '$count'
	echo status \$? >&2
	touch over
	until [ -e end ]; do sleep 0.5; done
	END
	until_so 60 'ranks of all nodes' rank_lines stand || return
	step_is 'n[2-3]' && in_steps "$job" || { our_step; return 1; }
}
rank_lines() { for k in 0 1 2; do grep -q "^$k n3" "$here/$1" || return; done; }
stands() { ! alice squeue -h -s -o %j | grep -qx sleep; }
runs_on() {
	until_so 60 'end of the other step' stands || return
	grows stand 20 && [ ! -s "$here/stand.err" ] || { cat "$here/stand.err"; return 1; }
}
ends_with_job() {
	touch "$here/stop"
	until_so 60 'end of the job' test -e "$here/over" || return
	until_so 20 'end of the step' step_is '' || return
	grep -qx 'status 0' "$here/stand.err" && state_is "$job" RUNNING && touch "$here/end"
}
apart 'ranks of other nodes stand in a step that ckptrun has started there' in_the_step
job=$(cat "$here/job" 2>/dev/null || :)
apart 'another step of the user ends, and the ranks run on' runs_on
apart 'the step ends with the job, while the batch script goes on' ends_with_job
apart 'the batch job ends' until_so 60 'its end' over "$job"
rm -f "$here/stop" "$here/end"
cancelled() {
	submit cancel -N3 -n3 <<<"ckptrun --mpi none sh -c '$count'" || return
	until_so 60 'ranks of all nodes' rank_lines cancel || return
	alice scancel "$job" && until_so 60 'the end of all' nothing_left
}
apart 'scancel ends ranks on all nodes, and nothing is left' cancelled
detached() {
	submit detach -N3 -n3 <<-END || return
	ckptrun --detach -o detach.log --mpi none sh -c '$count' && sleep 600
	END
	until_so 60 'a job' has_lines detach 1 && until_so 60 'the step' step_is 'n[2-3]' &&
		sleep 5 && step_is 'n[2-3]' && [ "$(processes 2)" -gt 2 ] || return
	on 1 ckptctl kill "$(newest 1)" KILL &&
		until_so 30 'end of the step' step_is '' && alice scancel "$job"
}
apart 'ckptrun --detach: the step stays, and ends with the job' detached
recovered() {
	submit recover -N3 -n3 <<<"ckptrun --recover auto $cluster_mnt/poisson.$1 64 900 40" ||
		return
	grows recover || return
	on 1 ckptctl checkpoint "$(newest 1)" || return
	on 2 pkill -KILL -u 4242 -x "poisson.$1" || return
	until_so 120 'the recovery' grep 'goes on after' "$here/recover.err" &&
		grows recover && step_is 'n[2-3]' && in_steps "$job" || return
	alice scancel "$job"
}
apart 'a rank is killed, and --recover auto: the ranks of other nodes have a step again' \
	recovered "${KINDS##* }"
apart 'nothing is left' until_so 60 'the end of all' nothing_left

# ---- drained

drain() { on 1 ckpt-slurm-drain "$@"; }
fails() { ! "$@"; }
# Our launch looks at its nodes once in a minute; the job takes longer on any machine.
drained() {
	want "$1" 2 2500 && submit out --ckpt=yes -N2 -n2 < <(poisson "$1" 2500) || return
	until_so 60 'the first nodes' on_nodes "$job" 'n[1-2]' && grows out || return
	drain --reason 'new disk' n1 || return
	[ "$(on 1 sinfo -h -n n1 -o %E | sort -u)" = 'CKPT: new disk' ] || return
	until_so 180 'the restart' on_nodes "$job" 'n[2-3]' && grows out 5 || return
	ended "$1" "$here/out" && grep 'node n1 is drained' "$here/out.err"
}
# Each run may take two minutes, more on a slow machine; the last quarter is for the checkpoint.
limited() {
	local steps=$((3000 * VM_SLOW))
	want "$1" 2 $steps && submit out --ckpt=yes -t $((2 * VM_SLOW)) -N2 -n2 \
		< <(poisson "$1" $steps) || return
	grows out && until_so 180 'the requeue' grep "batch job $job requeued" "$here/out.err" &&
		until_so 120 'the restart' state_is "$job" RUNNING && grows out 5 || return
	# only an operator may lengthen it
	on 1 scontrol update JobId="$job" TimeLimit=UNLIMITED || return
	ended "$1" "$here/out" && grep 'the time limit is near' "$here/out.err"
}
not_ours() {
	on 1 scontrol update NodeName=n2 State=DRAIN Reason=theirs || return
	fails drain n[2-3] && fails drain --resume n[1-2] && fails drain n9 || return
	[ "$(on 1 sinfo -h -N -p low -o '%N %T' | paste -sd, -)" = \
		'n1 drained,n2 drained,n3 idle' ] && on 1 scontrol update NodeName=n2 State=RESUME
}
apart 'a node is drained: its job goes on on others, with the output of an undisturbed run' \
	drained "${KINDS%% *}"
apart 'a job reaches its time limit and goes on, with the output of an undisturbed run' \
	limited "${KINDS%% *}"
apart 'nodes that others have drained are neither drained nor put to use' not_ours
apart 'the node is put to use again' drain --resume n1
apart 'and Slurm uses it' until_so 60 'use of n1' idle n1

# ---- preempted

# A job takes all three nodes for a moment.
preempted() {
	want "$1" 3 300 && submit out --ckpt=yes -N3 -n3 < <(poisson "$1" 300) || return
	grows out || return
	low=$job
	submit high -p high -N3 --exclusive <<<'sleep 1' || return
	until_so 120 'the high job' over "$job" || return
	job=$low
	until_so 120 'the restart' state_is "$job" RUNNING && grows out 5 || return
	ended "$1" "$here/out"
}
# A job takes n1 until there is a file "go": the low one goes on elsewhere.
moved() {
	rm -f "$here/go"
	want "$1" 2 300 && submit out --ckpt=yes -N2 -n2 < <(poisson "$1" 300) || return
	until_so 60 'the first nodes' on_nodes "$job" 'n[1-2]' && grows out || return
	low=$job
	submit high -p high -w n1 --exclusive <<<'until [ -e go ]; do sleep 0.5; done' || return
	until_so 120 'the high job' on_nodes "$job" n1 || return
	job=$low
	until_so 120 'the restart' on_nodes "$job" 'n[2-3]' && grows out 5 || return
	ended "$1" "$here/out" || return
	touch "$here/go"
}
# The user moves it to other nodes.
wished() {
	want "$1" 2 300 && submit out --ckpt=yes -N2 -n2 < <(poisson "$1" 300) || return
	until_so 60 'the first nodes' on_nodes "$job" 'n[1-2]' && grows out || return
	alice ckpt-slurm-move "$job" n[2-3] | grep "batch job $job runs on n\[2-3\]" || return
	on_nodes "$job" 'n[2-3]' && grows out 5 && ended "$1" "$here/out"
}
apart 'a user moves a job to other nodes; output as undisturbed' wished "${KINDS%% *}"
for kind in $KINDS; do
	apart "$kind: three nodes are preempted; the output is that of an undisturbed run" \
		preempted "$kind"
	apart "$kind: preempted on n1 and n2, the job goes on on n2 and n3; output as undisturbed" \
		moved "$kind"
done
apart 'nothing is left' until_so 60 'the end of all' nothing_left

# ---- scripts that are jobs, arrays

# shellcheck disable=SC2016
some='i=0; while [ $i -lt 60 ]; do echo $0 $i; i=$((i+1)); sleep 0.2; done'
# three_steps KIND: a script with a pipeline, ranks on all nodes, a step of srun, and a variable
three_steps() {
	cat <<-END
	told=kept
	sh -c '$some' one | sed -u s/one/two/ | cat
	mpirun -n \$SLURM_NTASKS $cluster_mnt/poisson.$1 64 200 40 | sed -u s/^/:/
	told=\$told-\${PIPESTATUS[*]}
	srun -n1 sh -c '$some' three
	echo \$told
	END
}
has_line() { grep -q "$2" "$here/$1"; }
script_moves() {
	rm -f "$here/go"
	submit alone --ckpt=script -N2 -n2 < <(three_steps "$1") &&
		until_so 300 'the undisturbed run' over "$job" &&
		[ "$(tail -n 1 "$here/alone")" = 'kept-0 0' ] || { tail "$here"/alone*; return 1; }
	submit out --ckpt=script -N2 -n2 < <(three_steps "$1") || return
	until_so 60 'the first nodes' on_nodes "$job" 'n[1-2]' &&
		until_so 120 'the ranks' has_line out '^:' && grows out 5 || return
	low=$job
	submit high -p high -w n1 --exclusive <<<'until [ -e go ]; do sleep 0.5; done' || return
	until_so 180 'the high job' on_nodes "$job" n1 || return
	job=$low
	until_so 180 'the restart' on_nodes "$job" 'n[2-3]' && grows out 5 || return
	touch "$here/go"
	until_so 300 'the end' over "$job" && cmp "$here/alone" "$here/out"
}
# All jobs of an array are preempted at once, long before they end.
array_preempted() {
	rm -f "$here"/out.[012]
	submit out --array=0-2 -N1 --exclusive -o out.%a <<-END || return
	ckpt-slurm-run --look 1s ckptctl run -- sh -c '${some/60/400}' \$SLURM_ARRAY_TASK_ID
	END
	low=$job
	grows out.0 && grows out.1 && grows out.2 || return
	submit high -p high -N3 --exclusive <<<'sleep 1' || return
	until_so 120 'the high job' over "$job" || return
	until_so 300 'the end' over "$low" || return
	for k in 0 1 2; do
		cmp <(seq -f "$k %g" 0 399) "$here/out.$k" || return
	done
	[ "$(grep -c 'and batch job .* requeued' "$here/out.err")" = 3 ]
}
apart 'a script of three steps is preempted and goes on on other nodes; output as undisturbed' \
	script_moves "${KINDS##* }"
apart 'an array over three nodes is preempted; each output is that of an undisturbed run' \
	array_preempted
apart 'nothing is left' until_so 60 'the end of all' nothing_left

# ---- a node is lost

# Output after the checkpoint is in the file of Slurm twice; the job's own log has it once.
lost() {
	local kind=$1 hold=$2 from=$3 home=$4 id
	rm -f "$here/go"
	want "$kind" 2 300 || return
	if [ -n "$hold" ]; then
		submit high -p high -w n1 --exclusive <<<'until [ -e go ]; do sleep 0.5; done' &&
			until_so 60 'n1 is taken' on_nodes "$job" n1 || return
	fi
	submit out --ckpt=yes -N2 -n2 < <(poisson "$kind" 300) || return
	until_so 60 'the first nodes' on_nodes "$job" "$from" && grows out || return
	id=$(newest "$home")
	on "$home" ckptctl checkpoint "$id" || return
	grows out 3 || return
	touch "$here/go"
	node_off 2
	until_so 180 'the requeue' on_nodes "$job" 'n[1,3]' && grows out 5 || return
	ended "$kind" "$dir/shared/images/$id/stdout" || return
	grep 'ran on nodes that are off' "$here/out.err"
}
apart 'a node loses power: the job goes on with another one, from its newest generation' \
	lost "${KINDS##* }" '' 'n[1-2]' 1
node_back() { boot 2 && bed 2; }
apart 'the node is back' node_back
apart 'the first node of a job loses power: the job goes on on others' \
	lost "${KINDS%% *}" hold 'n[2-3]' 2

for k in 1 3; do
	apart "node $k: the kernel did not complain" node_check $k
done
echo "1..$n"
[ $failed -eq 0 ]
