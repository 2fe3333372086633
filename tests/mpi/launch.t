#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptrun with a ckptd of its own on this machine: MPI programs with both libraries, through the
# glue and without it, and ranks that end as they should not.
#
#   KINDS='mpich ompi' PROGRAMS='waits types' RANKS=4 tests/mpi/launch.t
#
# As root: a job has namespaces of its own. Needs no module: nothing is checkpointed.

. "$(dirname "$0")/lib.sh"

: "${KINDS:=mpich ompi}" "${RANKS:=4}" "${PROGRAMS:=collectives p2p_modes fortran_f08}"
if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP must be root'
	exit 0
fi

work=$(mktemp -d)
head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
mkdir "$work/jobs" "$work/images"
# with fewer descriptors than many ranks need: more are allowed, if a shim asks
(ulimit -Sn 256
exec "$top/build/bin/ckptd" --config /dev/null --set socket="$work/sock" \
	--set state_dir="$work/jobs" --set image_dir="$work/images" --set key="$work/key" \
	--set node=n1 2>"$work/log") &
daemon=$!
trap 'kill $daemon; wait $daemon; rm -rf "$work"' EXIT
for _ in {1..100}; do
	[ -S "$work/sock" ] && break
	sleep 0.05
done

ckptrun() {
	timeout -k 2 60 "$top/build/bin/ckptrun" --socket "$work/sock" "$@"
}

# of tests/mpi/programs, or one that is for this test
own() {
	local kind=$1 name=$2
	mkdir -p "$work/$kind"
	if [ -e "$top/tests/mpi/$name.c" ]; then
		"${cc[$kind]}" -O1 -g -w -pthread -o "$work/$kind/$name" "$top/tests/mpi/$name.c"
	else
		build "$kind" "$name" && cp "$top/build/mpi/programs/$kind/$name" "$work/$kind/"
	fi
}

# the program's own checks hold, and it is one job of as many ranks as were asked for
one_job() {
	"$@" >"$work/out" && [ "$(grep -c "^$RANKS ranks,.* 0 bad" "$work/out")" = 1 ] && return
	cat "$work/out"
	return 1
}

works() {
	local kind=$1 name=$2
	shift 2
	own "$kind" "$name" && (cd "$work" &&
		one_job ckptrun -n "$RANKS" "$@" "$work/$kind/$name") </dev/null
}

# several KIND OPTION...: three ranks of two programs
several() {
	local kind=$1
	shift
	own "$kind" launch_apps && own "$kind" collectives || return
	cp "$work/$kind/launch_apps" "$work/$kind/second"
	ckptrun "$@" -n 1 "$work/$kind/launch_apps" one : -env WHICH this -np 2 \
		"$work/$kind/second" two >"$work/out" || return
	sort "$work/out"
	[ "$(sort "$work/out")" = 'rank 0 of 3 app 0 one -
rank 1 of 3 app 1 two this
rank 2 of 3 app 1 two this' ]
}

# as NAME EXPECTED OPTION...: the rank of a job of one says so, with options of a launcher
as() {
	local kind=$1 expected=$2
	shift 2
	ckptrun "$@" "$work/$kind/launch_apps" x >"$work/out" 2>"$work/err"
	cat "$work/out" "$work/err"
	[ "$(cat "$work/out")" = "$expected" ]
}

# exit status and a text on standard error
ends() {
	local kind=$1 status=$2 text=$3 rc=0
	shift 3
	ckptrun -n "$RANKS" "$@" </dev/null >"$work/out" 2>"$work/err" || rc=$?
	cat "$work/out" "$work/err"
	[ "$rc" = "$status" ] && grep -q -- "$text" "$work/err"
}

aborts() {
	local rc=0
	own "$1" abort_code || return
	ckptrun -n "$RANKS" "$work/$1/abort_code" </dev/null >"$work/out" 2>"$work/err" || rc=$?
	cat "$work/out" "$work/err"
	[ "$rc" = 17 ] && grep -q 'about to abort' "$work/out"
}

passes_input() {
	echo hello | ckptrun -n "$RANKS" --label "$work/$1/launch_ends" stdin >"$work/out" &&
		[ "$(sort "$work/out")" = "$(for ((i = 0; i < RANKS; i++)); do
			echo "[$i] rank $i has hello"; done | sort)" ]
}

# standard error is a file, and standard output has nothing but what the job wrote
only_its_own() {
	local rc=0
	# shellcheck disable=SC2016
	ckptrun -n 2 --mpi none -e "$work/file" \
		sh -c 'echo data; [ $STILLPOINT_RANK = 0 ] || kill -SEGV $$
		sleep 10' </dev/null >"$work/out" 2>"$work/err" || rc=$?
	cat "$work/out" "$work/err"
	[ $rc = 139 ] && [ "$(sort -u "$work/out")" = data ] &&
		grep -q 'rank 1 was killed by signal 11' "$work/log"
}

many() {
	# shellcheck disable=SC2016
	ckptrun -n 200 --mpi none --label sh -c 'echo $STILLPOINT_RANK' </dev/null >"$work/out" &&
		[ "$(sort "$work/out")" = "$(for i in {0..199}; do echo "[$i] $i"; done | sort)" ]
}

# nr_children PID
nr_children() {
	local pids=()
	read -r -a pids 2>/dev/null <"/proc/$1/task/$1/children"
	echo ${#pids[@]}
}

# more than a socket has room for by default, and the last of them fails, while the shim does not
# read
many_ends() {
	local n=330 client i shim='' init='' rc=0
	mkfifo "$work/go" "$work/last"
	# shellcheck disable=SC2016
	ckptrun -n $n --mpi none --keep-going sh -c '
		[ $STILLPOINT_RANK = $2 ] && : <$1/last && exit 3; : <$1/go' sh "$work" $((n - 1)) \
		</dev/null >"$work/out" 2>"$work/err" &
	client=$!
	for ((i = 0; i < 300; i++)); do
		read -r shim init < <(cat "$work"/jobs/[0-9]*/shim.json 2>/dev/null | tr -d '\n' |
			sed 's/.*"shim": *\([0-9]*\).*"init": *\([0-9]*\).*/\1 \2/')
		[ -n "$init" ] && [ "$(nr_children "$init")" = $n ] && break
		sleep 0.1
	done
	# what init has said of their start is read
	sleep 1
	kill -STOP "$shim" || return
	exec 7<>"$work/go"
	for ((i = 0; i < 300 && $(nr_children "$init") > 1; i++)); do
		sleep 0.1
	done
	exec 8<>"$work/last"
	for ((i = 0; i < 300 && $(nr_children "$init") > 0; i++)); do
		sleep 0.1
	done
	sleep 0.2
	kill -CONT "$shim"
	wait "$client" || rc=$?
	cat "$work/err"
	[ $rc = 3 ] && grep -q "rank $((n - 1)) ended with exit status 3" "$work/err"
}

# as after a restart: the server is new, and ranks have inherited nothing from it
late() {
	local kind=$1 which=mpich
	[ "$kind" = mpich ] || which=$top/build/lib/libckpt-pmix.so
	(cd "$work" && one_job timeout -k 2 60 "$bin/pm_late" "$which" "$RANKS" \
		"$work/$kind/collectives")
}

# as after a rollback: the server loses its ranks without a word, and others come to it
renewed() {
	local kind=$1 which=mpich
	[ "$kind" = mpich ] || which=$top/build/lib/libckpt-pmix.so
	"${cc[$kind]}" -O2 -o "$work/$kind/poisson" "$top/examples/poisson.c" -lm || return
	(cd "$work" && PM_LATE_LOST=3 timeout -k 2 90 "$bin/pm_late" "$which" "$RANKS" \
		"$work/$kind/poisson" 32 60 80 >"$work/out") || return
	grep -q '^norm of the solution' "$work/out" && [ "$(grep -c '^1 ' "$work/out")" = 2 ]
}

# oversubscribed RANKS EXPECTED [VARIABLE]: what ranks have that were told so on the node before;
# of the user's own if a variable is given
oversubscribed() {
	local ranks=$1 expected=$2
	# shellcheck disable=SC2016
	OMPI_MCA_mpi_oversubscribe=1 PM_LATE_USERS=${3:-A=b} timeout -k 2 60 "$bin/pm_late" \
		"$top/build/lib/libckpt-pmix.so" "$ranks" \
			sh -c 'echo "${OMPI_MCA_mpi_oversubscribe-none}"' >"$work/out" || return
	cat "$work/out"
	[ "$(uniq "$work/out")" = "$expected" ]
}

# bound KIND RANKS OPTION...: processors of each rank are those that the library's launcher gives
bound() {
	local kind=$1 n=$2
	shift 2
	# shellcheck disable=SC2016
	local say='echo "${OMPI_COMM_WORLD_RANK-$PMI_RANK}" \
		$(grep Cpus_allowed_list /proc/self/status)'
	job "$kind" "$n" "$@" sh -c "$say" | sort >"$work/launcher" &&
		ckptrun -n "$n" --mpi "$kind" "$@" sh -c "$say" </dev/null |
			sort >"$work/ours" || return
	diff "$work/launcher" "$work/ours" && [ "$(wc -l <"$work/ours")" = "$n" ]
}

nothing_left() {
	local i
	for i in {1..40}; do
		! ls -d "$work/jobs"/[0-9]* >/dev/null 2>&1 &&
			[ "$(pgrep -lP "$daemon" | cut -d' ' -f2)" = ckpt-launch ] && return
		sleep 0.1
	done
	ls -R "$work/jobs"
	return 1
}

cores=$(cat /sys/devices/system/cpu/cpu[0-9]*/topology/core_cpus_list | sort -u | wc -l)
for kind in $KINDS; do
	for name in $PROGRAMS; do
		ok "$kind: $name" works "$kind" "$name"
	done
	ok "$kind: without the glue" works "$kind" collectives --direct
	ok "$kind: in the namespaces of the host" works "$kind" collectives --host-ns
	ok "$kind: MPI_Abort" aborts "$kind"
	ok "$kind: ranks that inherit nothing" late "$kind"
	ok "$kind: a server that is renewed" renewed "$kind"
	if [ "$kind" = ompi ]; then
		ok "$kind: a processor for each rank after a restart" oversubscribed 1 none
		ok "$kind: more ranks than processors after a restart" oversubscribed \
			$(($(nproc) + 1)) 1
		ok "$kind: what the user has set stays" oversubscribed 1 1 \
			OMPI_MCA_mpi_oversubscribe=1
	fi
	ok "$kind: several programs" several "$kind"
	ok "$kind: several programs without the glue" several "$kind" --direct
	ok "$kind: options of mpirun" as "$kind" 'rank 0 of 1 app 0 x a=b' -np 1 -x WHICH=a=b \
		--bind-to none --map-by slot --oversubscribe --mca btl self,vader
	ok "$kind: options of mpiexec" as "$kind" 'rank 0 of 1 app 0 x c' -genv WHICH c -n 1 \
		-bind-to none
	ok "$kind: a core for each rank" bound "$kind" "$cores" --bind-to core
	ok "$kind: a package for each rank" bound "$kind" "$cores" -bind-to socket
	if [ "$kind" = mpich ]; then
		ok "$kind: more ranks than cores" bound "$kind" $((cores + 1)) -bind-to core
	else
		ok "$kind: mapped by packages" bound "$kind" "$cores" --map-by socket
		ok "$kind: more ranks than cores" ends "$kind" 1 'core:overload-allowed' \
			-n $((cores + 1)) --mpi ompi --bind-to core true
	fi
	own "$kind" launch_ends
	p=$work/$kind/launch_ends
	ok "$kind: a rank's status is the job's" ends "$kind" 7 'rank 1 ended with exit status 7' \
		"$p" status 1 7
	ok "$kind: and so is its signal" ends "$kind" 139 'rank 2 was killed by signal 11' \
		"$p" kill 2 11
	ok "$kind: a rank leaves before MPI_Finalize" ends "$kind" 1 \
		'rank 1 ended without MPI_Finalize' "$p" early 1
	ok "$kind: a rank leaves before MPI_Init" ends "$kind" 1 'have ended\|others wait' \
		"$p" never 1
	ok "$kind: input goes to rank 0, output has labels" passes_input "$kind"
done
ok 'what we say of ranks is not in their output' only_its_own
ok '200 ranks with labels' many
ok '330 ranks end while the shim is stopped' many_ends
ok 'nothing is left of the jobs' nothing_left
finish
