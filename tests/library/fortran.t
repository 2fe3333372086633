#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The library's Fortran interface, compiled as a user would: its module with the program,
# linked with the shared library.

set -u
cd "$(dirname "$0")/../.." || exit 1
lib=$PWD/build/lib
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

echo 1..2
compile() {
	gfortran -Wall -Werror -J "$dir" -o "$dir/exclude" libckptctl/ckptctl.f90 \
		tests/library/exclude.f90 -L "$lib" -Wl,-rpath,"$lib" -lckptctl
}
if said=$(compile 2>&1); then
	echo 'ok 1 - a Fortran program compiles with the module'
else
	echo 'not ok 1 - a Fortran program compiles with the module'
	echo "$said" | sed 's/^/# /'
	exit 1
fi
"$dir/exclude"
status=$?
if [ $status -eq 0 ]; then
	echo 'ok 2 - its calls do what they say'
else
	echo "not ok 2 - its calls do what they say: status $status"
fi
[ $status -eq 0 ]
