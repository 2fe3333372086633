#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Users on another node: two ckptds on this machine, root without root=yes, a user without
# a batch step, credentials of munge, a site's program that says yes, no and nothing, groups from
# the job's record, and a batch step, in which the part of node 2 then stands, under its limits.
#
# As root, because ckptd is. Restarts need the module, steps control groups of v2.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nodes.sh"

user=65534 # nobody, who has no process in a batch step of a machine for tests

ckptrun() {
	timeout -k 2 30 "$top/build/bin/ckptrun" --socket "$work/n1/sock" -n 2 --hosts n1,n2 \
		--mpi none "$@"
}

# as the user, with further groups
as_user() {
	local groups=(--clear-groups)
	[ -z "$1" ] || groups=(--groups "$1")
	shift
	(cd / && setpriv --reuid $user --regid $user "${groups[@]}" timeout -k 2 30 \
		"$top/build/bin/ckptrun" --socket "$work/n1/sock" -n 2 --hosts n1,n2 \
		--mpi "${mpi:-none}" "$@")
}

# step JOB UID OPTION...: a sleeping process of that user in a step of a Slurm job, with limits of
# prlimit(1); its pid is in $sleeper, the directory of its control group in $group
step() {
	local job=$1 uid=$2 dir=$top_group part _
	shift 2
	for part in system.slice slurmstepd.scope "job_$job" step_0 user task_0; do
		[ $part = system.slice ] || echo '+memory +pids' >"$dir/cgroup.subtree_control"
		dir=$dir/$part
		mkdir -p "$dir"
	done
	echo 25 >"$dir/pids.max"
	echo 200M >"$dir/memory.max"
	sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' _ "$dir" prlimit "$@" nice -n 5 \
		setpriv --reuid "$uid" --regid "$uid" --clear-groups sleep 600 &
	sleeper=$!
	for _ in {1..100}; do
		[ "$(cat /proc/$sleeper/comm)" = sleep ] && break
		sleep 0.1
	done
	group=$dir
}

# the process of the step, and all that stand beside it, end
step_over() {
	local _
	echo 1 >"$group/cgroup.kill"
	for _ in {1..100}; do
		[ -z "$(cat "$group/cgroup.procs")" ] && return
		sleep 0.1
	done
	return 1
}

# hook BODY: the site's program of node 2
hook() {
	printf '#!/bin/sh\n%s\n' "$1" >"$work/hook"
	chmod 755 "$work/hook"
}

# the ranks' user, by the command's output
both_run_as() {
	local got
	got=$(tr '\n' ' ')
	echo "got: $got"
	[ "$got" = "$1 $1 " ]
}

# CAP_SYS_RESOURCE, which ckptd needs to see the limits of others, is missing in some containers.
setpriv --reuid $user sleep 600 &
other=$!
sleep 0.2
prlimit --pid $other >/dev/null 2>&1
sees=$?
kill $other
if [ $sees != 0 ]; then
	skip 'who may run on another node' 'root here has no CAP_SYS_RESOURCE'
	finish
fi
node_options=(--set image_dir="$work/images")
mkdir "$work/images"
make_keys 2
chmod 755 "$work" "$work"/n*
sed -i 's/ root=yes$//' "$work/hosts"
start 1
start 2
ok 'the nodes know each other' meet 1 2
meet 2 1
ok 'processes of root' says 1 'n1 may not have processes of root here.*root=yes' ckptrun id -u
ok 'a user without a batch step' says 1 'nobody may not run jobs of n1 here: no batch step' \
	as_user '' id -u
ok 'node 2 logs whom it has not let in' grep -q "job .* of user $user: not run here for n1" \
	"$work/n2/log"
ok 'a user on his own node' bash -c 'cd / && [ "$(setpriv --reuid '$user' --regid '$user' \
	--clear-groups "$1" --socket "$2" -n 1 --mpi none id -u)" = '$user' ]' _ \
	"$top/build/bin/ckptrun" "$work/n1/sock"

stop 2
start 2 --set allow_users=0,$user
meet 1 2
ok 'a user whom the node lists' bash -c "$(declare -f as_user both_run_as)
	top=$top work=$work user=$user; as_user '' id -u | both_run_as $user"
stop 2
start 2 --set allow_users=12345 --set allow_groups=54321
meet 1 2
ok 'a user whom the node does not list' says 1 'no batch step of his' as_user '' true
stop 2
hook 'echo "$@ $CKPT_USER $CKPT_BATCH_JOB" >>'"$work/asked"
start 2 --set may_run="$work/hook"
meet 1 2
ok 'the program of the site says yes' bash -c "$(declare -f as_user both_run_as)
	top=$top work=$work user=$user
	SLURM_JOB_ID=77 as_user '' id -u | both_run_as $user"
ok 'it was told who asks' grep -Eq "^$user [0-9]+ n1 nobody 77$" "$work/asked"
ok 'a group that he has not there' says 1 'nobody is not in group 42 here' as_user 42 id -u
hook 'echo "the node is for others today"; exit 1'
sed -i 's/^/# /' "$work/asked"
stop 2
start 2 --set may_run="$work/hook"
meet 1 2
ok 'the program of the site says no' says 1 'may not run jobs here: the node is for others' \
	as_user '' id -u
hook 'sleep 60'
ok 'it does not answer' says 1 'it did not end in time' as_user '' id -u
chmod 777 "$work/hook"
ok 'others can write it' says 1 'others than root can write it' as_user '' id -u
rm "$work/hook"
ok 'it is gone' says 1 'may_run .*No such file' as_user '' id -u

# ------------------------------------------------------------ credentials

# On the usual socket: another test's munged in a namespace with a socket of its own is none.
munged_answers() {
	munge -n >/dev/null 2>&1
}
# a munged of our own, if none answers here
munged_start() {
	local dir=$work/munged
	munged_answers && return
	mkdir -p "$dir" /run/munge
	chown munge: "$dir" /run/munge
	setpriv --reuid munge --regid munge --clear-groups munged --pid-file "$dir/pid" \
		--log-file "$dir/log" --seed-file "$dir/seed"
}
munged_stop() {
	[ ! -e "$work/munged/pid" ] || kill "$(cat "$work/munged/pid")"
}
trap 'munged_stop; for n in "$work"/n*; do stop "${n##*/n}"; done; rm -rf "$work"' EXIT
# forged CREDENTIAL: the start of `true` as ckptrun asks for it, by the user, with that credential
forged() {
	(cd / && setpriv --reuid $user --regid $user --clear-groups /usr/bin/python3 - "$1" \
		"$work/n1/sock" "$top/build/bin/ckptrun" <<-'END'
		import json, socket, struct, subprocess, sys
		command = [sys.argv[3], '--dry-run', '--json', '-n', '2', '--hosts', 'n1,n2',
		           '--mpi', 'none', 'true']
		args = json.loads(subprocess.run(command, capture_output=True).stdout)['result']
		args.update(env=[], credential=sys.argv[1], attach=False, stdin='null')
		body = json.dumps({'verb': 'run', 'args': args}).encode()
		with socket.socket(socket.AF_UNIX) as s:
		    s.connect(sys.argv[2])
		    s.sendall(struct.pack('<IHHI', 0x54504b43, 1, 0, len(body)) + body)
		    answers = ''
		    while '"ok"' not in answers:
		        answers += s.recv(65536)[12:].decode()
		print(answers)
		sys.exit('"ok":true' not in answers.replace(' ', ''))
	END
	)
}

stop 2
start 2 --set allow_users=0,$user --set munge=yes
meet 1 2
if ! command -v munged >/dev/null; then
	skip 'a node that wants credentials' 'no munge'
else
	munged_answers || ok 'a credential is missing' says 1 \
		'node n2 wants a munge credential of user nobody, and none came' as_user '' true
	ok 'munged starts' munged_start
	ok 'the user who asks has a credential' bash -c "$(declare -f as_user both_run_as)
		top=$top work=$work user=$user; as_user '' id -u | both_run_as $user"
	ok 'no credential' says 1 'the munge credential cannot be checked' forged nonsense
	ok "somebody else's credential" says 1 'credential is of user 0, and the job of user' \
		forged "$(munge -t -1 -s 'stillpoint start 00')"
	ok 'a credential for another command' says 1 'credential is for .*and this is' \
		forged "$(setpriv --reuid $user --regid $user --clear-groups \
			munge -t -1 -s 'stillpoint start 00')"
	brief=$(setpriv --reuid $user --regid $user --clear-groups munge -t 1 -s 'stillpoint')
	sleep 2.5
	ok 'a credential that has expired' says 1 'credential has expired: ask again' \
		forged "$brief"
fi

stop 1
stop 2
sed -i '/^n1 /s/$/ root=yes/' "$work/hosts"
start 1
start 2
meet 1 2
meet 2 1
ok 'root of a node that may be root here' bash -c "$(declare -f ckptrun both_run_as)
	top=$top work=$work; ckptrun id -u | both_run_as 0"
ok 'root of the other node' says 1 'n2 may not have processes of root here' \
	timeout -k 2 30 "$top/build/bin/ckptrun" --socket "$work/n2/sock" -n 2 --hosts n2,n1 \
	--mpi none true

# ------------------------------------------------------------ batch steps

top_group=/sys/fs/cgroup
if ! grep -qw pids $top_group/cgroup.subtree_control 2>/dev/null; then
	skip 'a part stands in a batch step' 'no control groups of v2 with pids'
	finish
fi
sed -i 's/ root=yes$//' "$work/hosts"
again() {
	stop 1
	stop 2
	start 1 --set image_dir="$work/images"
	start 2 --set image_dir="$work/images" "$@"
	meet 1 2
	meet 2 1
}
again
step 6 65533 --nofile=300:400
ok "another user's process in a step" says 1 'nobody may not run jobs of n1 here: no batch step' \
	as_user '' id -u
step 7 $user --nofile=300:400
ok 'the user has a process in a step' says 0 slurmstepd.scope/job_7/step_0/user/task_0 \
	as_user '' cat /proc/self/cgroup
ok 'the rank of node 1 is not in it' grep -qv slurmstepd "$work/out"
ok 'the rank of node 2 has the limits of that process' says 0 '^400 5$' \
	as_user '' bash -c 'echo "$(ulimit -Hn) $(nice)"'
ok 'the rank of node 1 has its own' grep -q ' 0$' "$work/out"
ok 'node 2 logs beside which process' grep -q "stands beside process $sleeper of the user" \
	"$work/n2/log"
ok 'node 2 logs what was lowered' grep -q 'lowered to what .*open files.*nice value' "$work/n2/log"
as_user '' sh -c 'for i in 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0; do
	sleep 3 & done; wait' >"$work/out" 2>&1
ok 'it has no more processes than the step' grep -q '^max [1-9]' "$group/pids.events"
ok 'the Slurm job of the environment' bash -c "$(declare -f as_user both_run_as)
	top=$top work=$work user=$user
	SLURM_JOB_ID=7 as_user '' id -u | both_run_as $user"
slurm_job() {
	SLURM_JOB_ID=$1 as_user '' id -u
}
ok 'another Slurm job than that of the step' says 1 'of other Slurm jobs than SLURM_JOB_ID=8' \
	slurm_job 8
ok 'the processes of the step end' step_over
ok 'without them' says 1 'no batch step of his' as_user '' true

# the hard limit of open files of the rank in the step
nofile() {
	local pid
	while read -r pid; do
		[ "$(cat "/proc/$pid/comm")" = beat ] &&
			awk '/^Max open files/ { print $5 }' "/proc/$pid/limits"
	done <"$group/cgroup.procs"
}
ctl() {
	(cd / && setpriv --reuid $user --regid $user --clear-groups timeout -k 2 60 \
		"$top/build/bin/ckptctl" --socket "$work/n1/sock" "$@")
}
# a checkpoint, once the ranks have called MPI_Init
saved() {
	local _
	for _ in {1..60}; do
		out=$(ctl checkpoint --kill "$1" 2>&1) && return
		[[ $out = *MPI_Init* ]] || break
		sleep 0.5
	done
	echo "$out"
	return 1
}
if [ -e /dev/ckpt ]; then
	again
	step 7 $user --nofile=1000:1000
	mpicc.mpich -x c -o "$work/beat" - <<-'END'
		#include <mpi.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			for (MPI_Init(&argc, &argv);; usleep(100000))
				MPI_Barrier(MPI_COMM_WORLD);
		}
	END
	id=$(mpi=mpich SLURM_JOB_ID=7 as_user '' -d -- "$work/beat")
	ok 'the rank of node 2 is in the step' test "$(nofile)" = 1000
	ok 'a checkpoint that ends the job' saved "$id"
	ok 'the step ends' step_over
	ok 'a dry run of a restart without a step' says 1 'no batch step of his' \
		ctl restart --dry-run "$id"
	ok 'a restart without a step' says 1 'no batch step of his' ctl restart "$id"
	step 8 $user --nofile=300:400
	ok 'a dry run with a step of another Slurm job' ctl restart --dry-run "$id"
	ok 'nothing was started there' test "$(cat "$group/cgroup.procs")" = "$sleeper"
	ok 'a restart' ctl restart "$id"
	ok 'the rank is in that step, under its limits' test "$(nofile)" = 400
	ok 'another checkpoint' saved "$id"
	again --set munge=yes
	if munged_answers; then
		ok 'a node that wants credentials: a dry run' ctl restart --dry-run "$id"
		ok 'a restart by root, who is not the owner' says 1 \
			'credential is of user 0, and the job of user' on 1 restart "$id"
		ok 'a restart by the owner' ctl restart "$id"
	else
		skip 'a restart with a credential' 'no munged'
		ok 'a restart' ctl restart "$id"
	fi
	ok 'another checkpoint' saved "$id"
	again
	ok 'a restart by root of a node that may not be root here' on 1 restart "$id"
	ok 'has the rights of the owner' test "$(nofile)" = 400
	ok 'the end of the step ends the job' bash -c "$(declare -f step_over ctl)
		top=$top work=$work user=$user group=$group
		step_over && ctl wait $id; [ \$? != 0 ]"
else
	skip 'a restart stands in a batch step' 'no module'
fi

again --set allow_users=$user
privileged() {
	(cd / && timeout -k 2 30 prlimit --rtprio=50:50 --memlock=unlimited nice -n -5 setpriv \
		--reuid $user --regid $user --clear-groups "$top/build/bin/ckptrun" \
		--socket "$work/n1/sock" -n 2 --hosts n1,n2 --mpi none \
		bash -c 'echo "$(ulimit -Hr) $(nice)"')
}
ok 'without a step: no rights from the other node' says 0 '^0 0$' privileged
ok 'on the node that the user is on: his' grep -q '^50 -5$' "$work/out"
sed -i '/^n1 /s/$/ root=yes/' "$work/hosts"
again --set allow_users=$user
ok 'from a node that may be root here: what it says' says 0 '^50 -5$' privileged
ok 'on both nodes' test "$(grep -c '^50 -5$' "$work/out")" = 2
finish
