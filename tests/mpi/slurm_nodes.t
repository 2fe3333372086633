#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Batch jobs of a real slurmctld, slurmd and munged on three nodes that are namespaces of this
# machine, each with its ckptd: steps, launches, scripts that are jobs, drained nodes, and a
# preemption in which nothing can be saved.
#
# As root. No module is used, so nothing is checkpointed: tests/vm/slurm*.t and
# tests/cluster/slurm.t do that. Nothing of the machine's own Slurm is touched. Jobs are those of
# the user alice, or of root where root may not read another user's limits, which ckptd does.
#
# TREE: the root directory of another system, with another version of Slurm, and PLUGINS, the
# directory of what was built for that (tests/cluster/slurm_versions.t): without ranks of MPI.

. "$(dirname "$0")/lib.sh"
cd "$top" || exit 1
if [ ! -x build/slurm/usr/sbin/slurmctld-wlm ]; then
	echo '1..0 # SKIP no slurmctld below build/slurm (scripts/setup)'
	exit 0
fi
if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP must be root'
	exit 0
fi
if [ "${1:-}" != inside ]; then
	own=$(mktemp -d)
	trap 'rm -rf "$own"' EXIT
	unshare --mount --net --uts --ipc --pid --fork --kill-child --mount-proc "$0" inside "$own"
	exit
fi
# the first process of the namespace: nothing of this machine is touched by mistake
[ $$ = 1 ] || { echo "Bail out! $0 takes no argument"; exit 1; }
own=$2

# The tree becomes the root directory; this project is in it, at the same path.
enter_tree() {
	local path
	mount --make-rprivate /
	mount --bind "$TREE" "$TREE"
	for path in "$top" /proc /sys /dev; do
		mkdir -p "$TREE$path"
		mount --rbind "$path" "$TREE$path"
	done
	mount -t tmpfs tree "$TREE/tmp"
	mkdir -p "$TREE$own"
	cd "$TREE" && pivot_root . mnt && cd "$top" && umount -l /mnt &&
		exec tests/mpi/slurm_nodes.t inside "$own" rooted
	exit 1
}
[ -z "${TREE:-}" ] || [ "${3:-}" = rooted ] || enter_tree
. scripts/cluster.sh
. tests/slurm/jobs.sh
export UCX_TLS=tcp,self OMPI_MCA_btl=self,tcp OMPI_MCA_pml=ob1
nodes='n1=10.77.0.1 n2=10.77.0.2 n3=10.77.0.3'
here=$own/work
programs=${PLUGINS:+$PLUGINS/bin:}
drain=${PLUGINS:-$top/build}/bin/ckpt-slurm-drain
move=${PLUGINS:-$top/build}/bin/ckpt-slurm-move
accounts=yes kinds='mpich openmpi'
[ -z "${TREE:-}" ] || accounts=no kinds=
# CAP_SYS_RESOURCE
if (( 0x$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status) >> 24 & 1 )); then
	uid=4242
else
	uid=0
fi

# ---- three nodes

# This machine's directories that Slurm writes into are our own.
own_directories() {
	local path
	mount --make-rprivate /
	mount -t tmpfs nodes "$own"
	chmod 755 "$own"
	for path in /etc /usr/sbin; do
		mkdir -p "$own/root$path"
		cp -a "$path/." "$own/root$path"
		mount --bind "$own/root$path" $path
	done
	mkdir -p "$own/root/home" "$here" /etc/stillpoint
	mount --bind "$own/root/home" /home
}
# node_make K: a node on the bridge, with directories of its own; its holder is in $own/nK/holder
node_make() {
	local k=$1 path
	mkdir -p "$own/n$k"
	unshare --mount --net --uts sleep infinity &
	echo $! >"$own/n$k/holder"
	until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
	ip link add "v$k" type veth peer name eth0 netns $!
	ip link set "v$k" master bridge up
	on "$k" ip addr add "10.77.0.$k/24" dev eth0
	on "$k" ip link set eth0 up
	on "$k" ip link set lo up
	on "$k" hostname "n$k"
	for path in /run /var/log /var/lib/munge /var/lib/stillpoint /var/spool /var/tmp \
		/etc/stillpoint; do
		mkdir -p "$own/n$k/root$path" $path
		on "$k" mount --bind "$own/n$k/root$path" $path
	done
}
on() { nsenter -t "$(cat "$own/n$1/holder")" --mount --net --uts -- "${@:2}"; }
node_daemon() {
	local k=$1 conf=$own/n$1/root/etc/stillpoint
	cp "$own/hosts" "$own/key" "$own/n$k/node.key" "$conf"
	printf '%s\n' "image_dir = $own/images" "node = n$k" 'allow_users = alice,root' \
		>"$conf/ckptd.conf"
	mkdir -p -m 700 "$own/n$k/root/var/lib/stillpoint/store"
	on "$k" "$top/build/bin/ckptd" </dev/null >"$own/n$k/log" 2>&1 &
	until_so 20 "ckptd of n$k" test -S "$own/n$k/root/run/stillpoint/ckptd.sock"
}
bed() {
	on "$1" env BED_NODES="$nodes" BED_ME="n$1" BED_KEY="$own/munge.key" BED_GROUPS=no \
		BED_ACCOUNTS="$accounts" BED_PLUGINS="${PLUGINS:+$PLUGINS/lib/slurm}" BED_GRACE=12 \
		"$top/tests/slurm/bed" start /var/tmp/bed
}
alice() {
	on 1 setpriv --reuid $uid --regid $uid --clear-groups env -C "$here" HOME="$here" \
		TMPDIR="$here" PATH="$programs$top/build/bin:/usr/bin:/bin:/usr/sbin" "$@"
}

# until_so SECONDS WHAT COMMAND...: until it succeeds
until_so() {
	local end=$(($(date +%s) + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt $end ] || {
			echo "not in time: $what"
			alice squeue -a
			tail -n 5 "$here"/*.err "$own"/n?/log
			return 1
		}
		sleep 0.3
	done
}
field() { alice scontrol -o show job "$1" | grep -o " $2=[^ ]*" | cut -d= -f2; }
state_is() { [ "$(field "$1" JobState)" = "$2" ]; }
# over JOB: it has ended, with status 0
over() { state_is "$1" COMPLETED; }
has_line() { grep -qx -- "$2" "$here/$1"; }
# No process is left that Slurm has started, or that has come of one.
nothing_left() {
	local p
	for p in /proc/[0-9]*; do
		! grep -qz '^SLURM_JOB_ID=' "$p/environ" 2>/dev/null ||
			echo "${p##*/} $(tr '\0' ' ' <"$p/cmdline")"
	done >"$own/left"
	cat "$own/left"
	[ ! -s "$own/left" ]
}
reason_is() {
	local reason
	reason=$(on 1 sinfo -h -n "$1" -o %E | sort -u)
	[ "$reason" = "$2" ] || { echo "reason of $1: $reason"; return 1; }
}

# ---- tests

# shellcheck disable=SC2016
count='i=0; while ! [ -e stop ]; do echo $STILLPOINT_RANK n$i; i=$((i+1)); sleep 0.2; done'
options() {
	local said
	said=$(alice sbatch --ckpt=maybe --wrap true 2>&1) && return 1
	grep 'yes, no, auto or script' <<<"$said" || { echo "$said"; return 1; }
}
# Reasons against checkpoints are told at submission, to those who want checkpoints.
doubts() {
	local said
	said=$(alice sbatch --ckpt=yes --no-requeue -H --wrap true 2>&1)
	grep 'goes on by hand only' <<<"$said" || { echo "$said"; return 1; }
	said=$(alice sbatch --no-requeue -H --wrap true 2>&1;
		alice sbatch --ckpt=no --no-requeue -H --wrap true 2>&1;
		alice sbatch --ckpt=yes -H --wrap true 2>&1)
	[ "$(grep -c '^Submitted batch job' <<<"$said")" = 3 ] && ! grep ckpt <<<"$said" ||
		{ echo "$said"; return 1; }
	alice scancel -t PD -u "$uid"
}
steps_of_srun() {
	[ "$(alice srun -N3 hostname | sort | paste -sd,)" = n1,n2,n3 ] &&
		[ "$(alice srun --ckpt=yes -n1 echo one)" = one ]
}
# The names of launches stand on this (scheduler/slurm/launch.c).
first_process() {
	# shellcheck disable=SC2016
	submit first <<<'echo "${SLURM_STEP_ID-none} $((SLURM_TASK_PID - $$))"' || return
	until_so 30 'the end' over "$job" || return
	has_line first 'none 0' || { cat "$here/first"; return 1; }
	# shellcheck disable=SC2016
	[ "$(alice srun -n1 sh -c 'echo ${SLURM_STEP_ID-none}')" = 0 ]
}
ranks_stand() {
	rm -f "$here/stop"
	submit stand -N3 -n3 <<<"ckptrun --mpi none sh -c '$count'; echo status \$?" || return
	for k in 0 1 2; do
		until_so 40 "rank $k" has_line stand "$k n3" || return
	done
	step_is 'n[2-3]' || { our_step; return 1; }
	touch "$here/stop"
	until_so 40 'the end' over "$job" && until_so 20 'end of the step' step_is '' &&
		has_line stand 'status 0' && until_so 20 'the account' accounted "$job"
}
# accounted JOB: batch step and the step of the other nodes, and what they used
accounted() {
	[ $accounts = yes ] || return 0
	alice sacct -n -P -j "$1" -o JobName,State,NNodes,TotalCPU >"$own/sacct"
	cat "$own/sacct"
	grep -q '^batch|COMPLETED|1|' "$own/sacct" && grep -q '^stillpoint|.*|2|' "$own/sacct"
}
cancelled() {
	rm -f "$here/stop"
	submit cancel -N3 -n3 <<<"ckptrun --mpi none sh -c '$count'" || return
	for k in 0 1 2; do
		until_so 40 "rank $k" has_line cancel "$k n3" || return
	done
	alice scancel "$job" && until_so 40 'the end of all' nothing_left
}
# poisson KIND: each iteration, with all bits of the residual
poisson() {
	local want options=() program=$own/poisson.$1
	"mpicc.$1" -O2 -o "$program" examples/poisson.c -lm || return
	[ "$1" = mpich ] || options=(--oversubscribe --allow-run-as-root)
	# on one node: through memory, since MPICH's end may hang over TCP
	want=$(env -u OMPI_MCA_btl -u UCX_TLS timeout -k 2 60 "mpiexec.$1" "${options[@]}" -n 3 \
		"$program" 64 60 | grep -v norm)
	[ -n "$want" ] || return
	submit out --ckpt=yes -N3 -n3 <<<"mpirun -n \$SLURM_NTASKS $program 64 60" || return
	# MPICH does not always return from MPI_Finalize over nodes (KI-32)
	# shellcheck disable=SC2016
	until_so 60 'all of the output' sh -c '[ "$(grep -v norm "$1")" = "$2" ]' sh "$here/out" \
		"$want" || return
	[ "$1" = openmpi ] || over "$job" || alice scancel "$job"
}
script_is_job() {
	# shellcheck disable=SC2016
	submit script --ckpt=script -n2 --comment=mine <<-'END' || return
	told=kept
	seq 5 | sed s/^/:/ | tail -n 1; told=$told-${PIPESTATUS[*]}
	srun -n1 sh -c 'echo "${STILLPOINT_JOB:+job} $SLURM_PROCID"; exit 3'; told=$told-$?
	ckpt-slurm-run ckptrun -n 2 --mpi none sh -c 'exit 4'; told=$told-$?
	echo "$told"
	END
	until_so 60 'the end' over "$job" || return
	diff - "$here/script" <<<$':5\njob 0\nkept-0 0 0-3-4' && cat "$here/script.err"
}
array() {
	# shellcheck disable=SC2016
	submit array --array=0-2 -n1 -o array.%a <<-'END' || return
	ckpt-slurm-run ckptctl run -- sh -c 'echo "$0"' "$SLURM_ARRAY_TASK_ID"
	squeue -h -j ${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID -o %k >>array.comments
	END
	until_so 60 'three comments' sh -c "[ \$(wc -l <$here/array.comments) = 3 ]" || return
	[ "$(cat "$here"/array.[012] | paste -sd,)" = 0,1,2 ] &&
		[ "$(grep -c '^stillpoint: started as slurm-bed-' "$here/array.comments")" = 3 ]
}
idle() { [ "$(on 1 sinfo -h -n "$1" -o %T | sort -u)" = idle ]; }
drained() {
	on 1 "$drain" --reason 'new disk' n3 || return
	reason_is n3 'CKPT: new disk' || return
	on 1 scontrol update NodeName=n2 State=DRAIN Reason=theirs || return
	! on 1 "$drain" n2 || return
	! on 1 "$drain" --resume n2 || return
	reason_is n2 theirs && on 1 scontrol update NodeName=n2 State=RESUME || return
	on 1 "$drain" --resume n3 &&
		until_so 10 'use of n3' idle n3 || { on 1 sinfo -N -o '%N %T %E'; return 1; }
}
# A write to slurmctld or munged that has hung up brings SIGPIPE. The launcher stays, and what it
# launches has the signal as it was.
hung_up() {
	rm -f "$here/stop"
	submit hangs -n1 -w n1 <<-END || return
	ckpt-slurm-run --look 0.2s ckptctl run -- sh -c 'grep SigIgn /proc/self/status; $count'
	echo status \$?
	END
	until_so 40 'the job' has_line hangs n3 || return
	on 1 pkill -PIPE -x ckpt-slurm-run || return
	until_so 20 'what it writes later' has_line hangs n20 && touch "$here/stop" &&
		until_so 40 'the end' has_line hangs 'status 0' || return
	# not SIGPIPE, the 13th; a shell in the background has others ignored
	grep -Eqx $'SigIgn:\t[0-9a-f]{12}[02468ace][0-9a-f]{3}' "$here/hangs"
}
refused() { local why=$1; shift; "$@" 2>&1 | grep -- "$why"; }
# Without the module nothing can be saved: the job stays, and whoever moves it reads why.
stays() {
	rm -f "$here/stop"
	submit plain -n1 <<<'until [ -e stop ]; do sleep 0.2; done' &&
		until_so 30 'the job' state_is "$job" RUNNING || return
	refused 'comment is not of ckpt-slurm-run' alice "$move" "$job" n2 || return
	touch "$here/stop" && until_so 30 'the end' over "$job" || return
	refused 'does not run' alice "$move" "$job" n2 || return
	rm -f "$here/stop"
	submit stays -w n1 <<<"ckpt-slurm-run --look 0.5s ckptctl run -- sh -c '$count'" &&
		until_so 30 'the job' has_line stays n3 || return
	refused 'of the 1 nodes n9 Slurm knows 0' alice "$move" "$job" n9 || return
	refused "$job: .*/dev/ckpt" alice "$move" "$job" n2 || return
	state_is "$job" RUNNING && touch "$here/stop" && until_so 30 'the end' over "$job" &&
		grep 'is not moved: ' "$here/stays.err"
}
# Without the module a checkpoint fails: the job is left to Slurm, which warns the script alone,
# and requeues the job after the grace time.
left_to_slurm() {
	submit low -N3 -n3 <<-END || return
	trap 'echo warned' URG
	echo run \${SLURM_RESTART_COUNT:-0}
	[ -z "\${SLURM_RESTART_COUNT:-}" ] || exit 0
	srun --overlap -N3 -n3 sh -c 'trap "echo term" TERM; while :; do sleep 0.2; done' &
	ckpt-slurm-run --look 0.5s ckptctl run -- sh -c 'while :; do echo runs; sleep 0.2; done' &
	wait; wait; wait
	END
	until_so 30 'the job' has_line low runs || return
	low=$job
	submit high -p high -N3 --exclusive <<<'echo high' || return
	until_so 30 'the warning' has_line low warned || return
	until_so 30 'the record' grep 'is not saved: .*as without a checkpoint' "$here/low.err" ||
		return
	! has_line low term || { echo 'the step was told to end at once'; return 1; }
	until_so 60 'the high job' over "$job" && until_so 60 'the requeue' has_line low 'run 1' &&
		until_so 30 'the end' over "$low" || return
	# 24.11 counts a preemption twice
	[[ "$(field "$low" Restarts)" = [12] ]] || { alice scontrol show job "$low"; return 1; }
}

own_directories
ip link add bridge type bridge && ip link set bridge up && ip link set lo up
cluster_make "$own" 3 || exit 1
mkdir -p "$own/images"
head -c 1024 /dev/urandom >"$own/munge.key"
for k in 1 2 3; do
	node_make $k
done
for k in 1 2 3; do
	ok "Slurm starts on n$k" bed $k
done
chown $uid:$uid "$here"
for k in 1 2 3; do
	ok "ckptd starts on n$k" node_daemon $k
done
ok 'sbatch refuses a wrong option of the plugin' options
ok 'sbatch says what tells against checkpoints, where they are wanted' doubts
ok 'srun works as before, on three nodes and with the front' steps_of_srun
ok 'a batch script is told from a step, and has its first process in the environment' first_process
ok 'ranks of other nodes stand in a step of Slurm, ended with the job, and known to sacct' \
	ranks_stand
ok 'scancel ends ranks on all nodes, and nothing is left' cancelled
for kind in $kinds; do
	ok "$kind: mpirun of a script over three nodes; output as by the library's own" \
		poisson $kind
done
ok 'nothing is left' until_so 40 'the end of all' nothing_left
ok 'a script that is a job: pipeline, step, launch, variables and exit statuses' script_is_job
ok 'an array, and the comments of its jobs' array
ok 'a node is drained and put to use again, others of the site are not touched' drained
ok 'slurmctld or munged hangs up: the launcher stays, and its job ends as it should' hung_up
ok 'a job that cannot be saved is not moved to another node, and it is said why' stays
ok 'preempted without a checkpoint: Slurm alone decides, and there is a record why' left_to_slurm
ok 'nothing is left' until_so 40 'the end of all' nothing_left
finish
