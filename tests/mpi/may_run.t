#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Who may run on another node: two ckptds on this machine, root without root=yes, a user without
# a batch step, a site's program that says yes, no and nothing, and groups from the job's record.
#
# As root, because ckptd is. Needs no module: nothing is checkpointed.

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
		--mpi none "$@")
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
finish
