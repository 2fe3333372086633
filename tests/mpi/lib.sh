# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# For the tests of tests/mpi: source it, call ok, end with finish.
#
#   ok NAME CMD...              the command succeeds; its output is shown if not
#   some_ok NAME CMD...         the same for one of many cases: if it is of TEST_SHARE
#   skip NAME WHY               it was not run
#   job LIBRARY N CMD...        run N ranks with that library's launcher, mpich or ompi
#   library LIBRARY             path of the real library
#   build LIBRARY NAME          a program of programs/ or cuts/, to build/mpi/programs/LIBRARY/NAME

top=$(cd "$(dirname "$0")/../.." && pwd)
lower=$top/build/libexec/ckpt-lower
bin=$top/build/bin/tests/mpi
number=0
bad=0
. "$top/tests/share.sh"

ok() {
	local name=$1 out
	shift
	number=$((number + 1))
	if out=$("$@" 2>&1); then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		bad=$((bad + 1))
		printf '%s\n' "$out" | sed 's/^/# /'
	fi
}

some_ok() {
	! in_share || ok "$@"
}

# skip NAME WHY
skip() {
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

finish() {
	echo "1..$number"
	[ "$bad" -eq 0 ]
	exit
}

library() {
	case $1 in
	mpich) echo /usr/lib/x86_64-linux-gnu/libmpich.so.12 ;;
	ompi) echo /usr/lib/x86_64-linux-gnu/libmpi.so.40 ;;
	esac
}

# nothing that hangs may hang the suite
job() {
	local kind=$1 ranks=$2
	shift 2
	case $kind in
	mpich) timeout -k 2 180 mpiexec.mpich -n "$ranks" "$@" ;;
	ompi) timeout -k 2 180 mpirun.openmpi --allow-run-as-root --oversubscribe \
		-n "$ranks" "$@" ;;
	esac
}

declare -A cc=([mpich]=mpicc.mpich [ompi]=mpicc.openmpi)
declare -A cxx=([mpich]=mpicxx.mpich [ompi]=mpicxx.openmpi)
declare -A fc=([mpich]=mpif90.mpich [ompi]=mpif90.openmpi)

# is FILE newer than all of those
newer() {
	local file=$1 other
	shift
	for other; do
		[ "$file" -nt "$other" ] || return
	done
}

# In a directory of its own: Fortran's modules are written where the compiler stands, and tests
# beside this one may build or run the same program.
build() {
	local kind=$1 name=$2 out=$top/build/mpi/programs/$1/$2 tests=$top/tests/mpi src scratch rc
	src=$(ls "$tests/programs/$name".* "$tests/cuts/$name".* 2>/dev/null)
	newer "$out" "$src" "$tests"/programs/mt.h "$tests"/cuts/cut.h "$tests"/step* && return
	mkdir -p "${out%/*}"
	scratch=$(mktemp -d "${out%/*}/.build.XXXXXX")
	(cd "$scratch" && case $src in
	*.c) "${cc[$kind]}" -O1 -g -w -pthread -I "$top" -o program "$src" ;;
	*.cc) "${cxx[$kind]}" -O1 -g -w -o program "$src" ;;
	*) "${cc[$kind]}" -O1 -g -c "$tests/step_fortran.c" &&
		"${fc[$kind]}" -O1 -g -w -fallow-argument-mismatch -o program "$src" \
			step_fortran.o ;;
	esac && mv program "$out")
	rc=$?
	rm -rf "$scratch"
	return $rc
}
