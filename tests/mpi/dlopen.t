#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# dlopen() of the MPI library gives the glue, under any of the library's names. Every other
# library is found as before, by the program's RUNPATH too, also one that only has an MPI
# library's name.

. "$(dirname "$0")/lib.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
declare -A glue=([mpich]=$top/build/lib/mpi/mpich/libmpich.so.12
	[ompi]=$top/build/lib/mpi/ompi/libmpi.so.40)
declare -A other=([mpich]=libmpi.so.99 [ompi]=libmpich.so.99)

# opens what it is told to, and says in which file the function is then
cat >"$work/opens.c" <<'EOF'
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *handle = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL), *function;
	Dl_info info;

	if (!handle)
		return fputs(dlerror(), stderr), 1;
	function = dlsym(handle, argv[2]);
	if (!function || !dladdr(function, &info))
		return 2;
	puts(info.dli_fname);
	return 0;
}
EOF
echo 'int beside(void); int beside(void) { return 1; }' >"$work/beside.c"

# FILE FUNCTION WHERE
opens() {
	local said
	said=$(LD_PRELOAD=${glue[$kind]} "$work/opens" "$1" "$2") || return
	[ "$(realpath "$said")" = "$(realpath "$3")" ] || { echo "$1: $said"; return 1; }
}

# The real dlopen() must see who called ours.
jumps() {
	objdump -d --no-show-raw-insn --disassemble=dlopen "$1" |
		sed -n '/<dlopen>:/,$p' >"$work/code"
	grep -q 'jmp  *\*' "$work/code" && ! grep -q 'call  *\*' "$work/code"
}

cc -w -D_GNU_SOURCE -o "$work/opens" "$work/opens.c" -Wl,--enable-new-dtags,-rpath,'$ORIGIN' || exit
for file in libbeside.so libmpi.so.99 libmpich.so.99; do
	cc -shared -fPIC -o "$work/$file" "$work/beside.c" || exit
done
for kind in mpich ompi; do
	[ -e "${glue[$kind]}" ] || continue
	real=$(library $kind)
	link=${real%.so*}.so
	for name in "${real##*/}" "${link##*/}" "$real" "$link" "$(realpath "$real")"; do
		ok "$kind: $name is ours" opens "$name" MPI_Init "${glue[$kind]}"
	done
	ok "$kind: beside the program" opens libbeside.so beside "$work/libbeside.so"
	ok "$kind: called like one" opens "${other[$kind]}" beside "$work/${other[$kind]}"
	ok "$kind: by its path" opens "$work/${other[$kind]}" beside "$work/${other[$kind]}"
	ok "$kind: the caller is seen" jumps "${glue[$kind]}"
done
finish
