#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptrun with MPI libraries that are not the system's: own copies of MPICH, under the SONAME that
# MPICH's makefile and vendors give it, and of Open MPI, found by RPATH, by LD_LIBRARY_PATH, and by
# a script's program; libraries that are unknown, of another version, missing, or inside of the
# program. The ranks must have exactly the library that the program would load, in the lower half,
# or the job must be refused.
#
# As root: a job has namespaces of its own. Needs no module: nothing is checkpointed.

. "$(dirname "$0")/lib.sh"

if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP must be root'
	exit 0
fi
if ! command -v patchelf >/dev/null; then
	echo '1..0 # SKIP patchelf is missing: run scripts/setup'
	exit 0
fi

work=$(mktemp -d)
head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
mkdir "$work/jobs" "$work/images"
"$top/build/bin/ckptd" --config /dev/null --set socket="$work/sock" \
	--set state_dir="$work/jobs" --set image_dir="$work/images" --set key="$work/key" \
	--set node=n1 2>"$work/log" &
daemon=$!
trap 'kill $daemon; wait $daemon; rm -rf "$work"' EXIT
for _ in {1..100}; do
	[ -S "$work/sock" ] && break
	sleep 0.05
done

ckptrun() {
	timeout -k 2 60 "$top/build/bin/ckptrun" --socket "$work/sock" "$@" </dev/null
}

# own_library KIND SONAME DIRECTORY: a copy of the system's library
own_library() {
	mkdir -p "$3" && cp "$(realpath "$(library "$1")")" "$3/$2" &&
		patchelf --set-soname "$2" "$3/$2"
}

# versioned FILE FROM TO: another version in the library, of the same length
versioned() {
	python3 - "$@" <<'PY'
import sys
name, old, new = sys.argv[1], sys.argv[2].encode() + b'\0', sys.argv[3].encode() + b'\0'
data = open(name, 'rb').read()
assert b'\0' + old in data and len(old) == len(new)
open(name, 'wb').write(data.replace(b'\0' + old, b'\0' + new))
PY
}

# program KIND OUT LIBRARY [FLAG...]
program() {
	local kind=$1 out=$2 real=$3
	shift 3
	cc -w -I"${include[$kind]}" -o "$out" "$top/tests/mpi/own_which.c" "$real" "$@"
}

# has FILE OPTION...: two ranks of one world, the file below and nothing but the glue above
has() {
	local file=$1
	shift
	ckptrun -n 2 "$@" >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err"; return 1; }
	cat "$work/out" "$work/err"
	[ "$(grep '^rank' "$work/out" | sort)" = "$(printf 'rank 0 of 2\nrank 1 of 2')" ] &&
		[ "$(grep -c " below $file$" "$work/out")" = 2 ] &&
		! grep ' below ' "$work/out" | grep -qv " $file$" &&
		! grep ' above ' "$work/out" | grep -qv " above $top/build/lib/mpi/"
}

# refuses STATUS TEXT OPTION...: no rank is started
refuses() {
	local status=$1 text=$2 rc=0
	shift 2
	ckptrun -n 2 "$@" >"$work/out" 2>"$work/err" || rc=$?
	cat "$work/out" "$work/err"
	[ "$rc" = "$status" ] && grep -qF -- "$text" "$work/err" && ! grep -q '^rank' "$work/out"
}

# runs TEXT OPTION...: it runs, and the text is on standard error
runs() {
	local text=$1
	shift
	ckptrun -n 2 "$@" >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err"; return 1; }
	cat "$work/out" "$work/err"
	[ -z "$text" ] || grep -qF -- "$text" "$work/err"
}

with_path() {
	local path=$1
	shift
	LD_LIBRARY_PATH=$path "$@"
}

with_preload() {
	local library=$1
	shift
	LD_PRELOAD=$library "$@"
}

declare -A include=([mpich]=/usr/include/x86_64-linux-gnu/mpich
	[ompi]=/usr/lib/x86_64-linux-gnu/openmpi/include)
declare -A soname=([mpich]=libmpi.so.12 [ompi]=libmpi.so.40)
declare -A other=([mpich]=ompi [ompi]=mpich)
declare -A version=([mpich]='4.0.2 3.4.2' [ompi]='4.1.4 5.0.4')
declare -A says=([mpich]='MPICH 3.4.2' [ompi]='Open MPI 5.0.4')

for kind in mpich ompi; do
	dir=$work/$kind
	name=${soname[$kind]}
	own_library $kind "$name" "$dir/own" || exit
	program $kind "$dir/rpath" "$dir/own/$name" -Wl,-rpath,"$dir/own" || exit
	program $kind "$dir/bare" "$dir/own/$name" || exit
	# shellcheck disable=SC2016
	program $kind "$dir/origin" "$dir/own/$name" -Wl,-rpath,'$ORIGIN/own' || exit
	printf '#!/bin/sh\nexec "%s/rpath"\n' "$dir" >"$dir/script"
	printf '#!/bin/sh\nLD_LIBRARY_PATH=%s/own exec "%s/bare"\n' "$dir" "$dir" >"$dir/module"
	printf '#!/bin/sh\nprogram=rpath\nexec "%s/$program"\n' "$dir" >"$dir/unclear"
	printf '#!/bin/sh\nmpirun -n 2 "%s/rpath"\n' "$dir" >"$dir/launches"
	chmod +x "$dir/script" "$dir/module" "$dir/unclear" "$dir/launches"
	ln -s ../origin "$dir/own/link"

	ok "$kind: own library by RPATH" has "$dir/own/$name" "$dir/rpath"
	ok "$kind: by RPATH and \$ORIGIN, through a link" has "$dir/own/$name" "$dir/own/link"
	ok "$kind: by LD_LIBRARY_PATH" with_path "$dir/own" has "$dir/own/$name" "$dir/bare"
	ok "$kind: by a relative LD_LIBRARY_PATH" with_path own \
		has "$dir/own/$name" -C "$dir" ./bare
	ok "$kind: its name is told" has "$dir/own/$name" --mpi $kind "$dir/rpath"
	ok "$kind: in a script" has "$dir/own/$name" --mpi $kind "$dir/unclear"
	ok "$kind: in a script that names the program" has "$dir/own/$name" "$dir/script"
	ok "$kind: in a script that sets LD_LIBRARY_PATH" \
		has "$dir/own/$name" --mpi $kind "$dir/module"
	ok "$kind: behind another program" has "$dir/own/$name" env A=b "$dir/rpath"
	ok "$kind: a script's library cannot be told" refuses 2 --mpi=mpich "$dir/unclear"
	ok "$kind: a script that starts a launcher" refuses 2 --mpi=mpich "$dir/launches"
	ok "$kind: another library than was said of a script" refuses 1 \
		"another kind: $dir/own/$name" --mpi ${other[$kind]} "$dir/unclear"
	ok "$kind: another library than was said" refuses 2 "--mpi=${other[$kind]} is for another" \
		--mpi ${other[$kind]} "$dir/rpath"

	own_library $kind "$name" "$dir/old" || exit
	# shellcheck disable=SC2086
	versioned "$dir/old/$name" ${version[$kind]} || exit
	ok "$kind: another version" with_path "$dir/old" \
		refuses 1 "loads ${says[$kind]} ($dir/old/$name)" "$dir/bare"
	ok "$kind: another version, as was said" with_path "$dir/old" \
		runs "${says[$kind]}, which Stillpoint" --mpi $kind "$dir/bare"
	own_library $kind libmpi_vendor.so.12 "$dir/vendor" || exit
	program $kind "$dir/vendors" "$dir/vendor/libmpi_vendor.so.12" \
		-Wl,-rpath,"$dir/vendor" || exit
	ok "$kind: under a name of a vendor's own" refuses 1 'as libmpi_vendor.so.12' "$dir/vendors"
	ok "$kind: such a name, without checkpoints" runs '' --direct "$dir/vendors"
	ok "$kind: preloaded by the user" with_preload "$dir/own/$name" refuses 1 \
		'take it out of LD_PRELOAD' "$dir/rpath"
done

# Fortran: the program asks for the Fortran library alone, and that one for libmpi.so.12
fortran() {
	local dir=$work/fortran programs=$top/tests/mpi
	own_library mpich libmpi.so.12 "$dir" &&
		cp "$(realpath /usr/lib/x86_64-linux-gnu/libmpichfort.so.12)" \
			"$dir/libmpifort.so.12" || return
	for change in '--replace-needed libmpich.so.12 libmpi.so.12' '--set-rpath $ORIGIN' \
		'--set-soname libmpifort.so.12'; do
		# shellcheck disable=SC2086
		patchelf $change "$dir/libmpifort.so.12" || return
	done
	(cd "$dir" && mpicc.mpich -O1 -c "$programs/step_fortran.c" &&
		mpif90.mpich -O1 -w -c "$programs/programs/fortran_f08.f90" &&
		gfortran -o f08 fortran_f08.o step_fortran.o libmpifort.so.12 libmpi.so.12 \
			-Wl,-rpath,"$dir") || return
	ckptrun -n 2 "$dir/f08" | tee "$work/out" && grep -q '^2 ranks,.* 0 bad' "$work/out" &&
		plans "(${dir}/libmpi.so.12)" "$dir/f08"
}
plans() {
	ckptrun --dry-run -n 2 "$2" | tee "$work/out" && grep -qF "$1" "$work/out"
}
ok 'mpich: Fortran with own libraries' fortran
ok 'each rank on its own, as was said' runs 'each rank is an MPI job of its own' --mpi none \
	"$work/mpich/rpath"

# it does not ask for its ranks, as if it were built for another launcher
mkdir "$work/alone"
cp "$work/mpich/own/libmpi.so.12" "$work/alone"
versioned "$work/alone/libmpi.so.12" PMI_FD XMI_FD || exit
ok 'a library that does not use our process management' with_path "$work/alone" refuses 1 \
	'MPI_COMM_WORLD has 1 ranks and the job 2' "$work/mpich/bare"

# libraries with nothing in them but the names
fake() {
	cc -w -shared -fPIC -xc -o "$work/$1" -Wl,-soname,"$1" - &&
		cc -w -xc -o "$work/${1%%.*}" - -xnone "$work/$1" -Wl,-rpath,"$work" \
			<<<'int MPI_Init(void); int main(void) { return MPI_Init(); }'
}
fake libstranger.so.1 <<<'int MPI_Init(void) { return 0; }
int PMPI_Init(void) { return 0; }' || exit
fake libstandin.so.1 <<<'int MPI_Init(void) { return 0; }' || exit
cc -xc -o "$work/inside" - <<<'const char MPII_Version_string[] = "4.0.2";
int PMPI_Init(void) { return 0; } int main(void) { return 0; }' || exit
cc -static -s -xc -o "$work/stripped" - <<<'#include <stdio.h>
int main(int argc, char **argv)
{ return argc > 5 && printf("MPICH Version:\t%s", argv[0]); }' || exit
cc -w -I"${include[mpich]}" -o "$work/both" "$top/tests/mpi/own_which.c" -Wl,--no-as-needed \
	"$work/mpich/own/libmpi.so.12" "$work/ompi/own/libmpi.so.40" \
	-Wl,-rpath,"$work/mpich/own:$work/ompi/own" || exit

cc -xc -o "$work/opens" - <<<'#include <dlfcn.h>
int main(void) { return !dlopen("libmpi.so.40", RTLD_NOW); }' || exit
ok 'a library that is opened later cannot be told' refuses 2 --mpi=mpich "$work/opens"
ok 'a library that is not known' refuses 1 'loads an MPI library not known here' "$work/libstranger"
ok 'a stand-in for MPI' refuses 1 'say --mpi=none' "$work/libstandin"
ok 'a stand-in, as was said' runs '' --mpi none "$work/libstandin"
ok 'the library is inside of the program' refuses 1 'linked into itself' "$work/inside"
ok 'the library is inside, and the symbols are gone' refuses 1 'linked into itself' \
	"$work/stripped"
ok 'two libraries' refuses 1 'it loads two MPI libraries' "$work/both"
ok 'a library that is not found' refuses 1 'does not find its MPI library, libmpi.so.12' \
	"$work/mpich/bare"
finish
