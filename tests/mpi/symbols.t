#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The glue exports the interface of the real libraries: MPI_ and PMPI_ functions, the symbols that
# the Fortran and C++ libraries import, data symbols with their sizes. Exceptions stand here with
# their reason.

. "$(dirname "$0")/lib.sh"

lib=/usr/lib/x86_64-linux-gnu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# QMPI_: tools that stack under the profiling interface, inside the library.
# MPI_..._F90, ompi_..._f: Open MPI's Fortran library's own, reached through it.
# OMPI_TEST_...: Open MPI's own test of its Fortran constants.
left_out='^(QMPI_|MPI_[A-Z0-9_]*_F90$|OMPI_TEST_)'

functions() {
	nm -D --defined-only "$1" | awk '$2 ~ /[TW]/ { print $3 }' | sort -u
}

# name and size; kind of section does not matter
data() {
	nm -D -S --defined-only "$1" | awk '$3 ~ /[BDR]/ { print $4, $2 }' | sort
}

exported() {
	functions "$1" | grep -E '^(MPI_|PMPI_|MPIX_|PMPIX_|MPII_|MPIR_(Dup|Err)|OMPI_)' |
		grep -vE "$left_out" >"$work/wanted"
	functions "$2" >"$work/ours"
	comm -23 "$work/wanted" "$work/ours" | sed 's/^/missing: /' | tee "$work/missing"
	[ ! -s "$work/missing" ]
}

# Data that programs may hold a copy of; the table says which those are.
sizes() {
	data "$1" >"$work/wanted"
	data "$2" >"$work/ours"
	join "$work/wanted" "$work/ours" | awk '$2 != $3 { print "size of", $0; bad = 1 }
		END { exit bad }' || return
	sed -n "s/^DATA(\([A-Za-z0-9_]*\), $3,.*/\1/p" "$top/mpi-glue/mpi_calls.def" | sort |
		comm -23 - <(cut -d' ' -f1 "$work/ours") | sed 's/^/missing: /' |
			tee "$work/missing"
	[ ! -s "$work/missing" ]
}

# What the Fortran and C++ libraries of the upper half import from it.
imported() {
	local ours=$1 user
	shift
	nm -D --defined-only "$ours" | awk '{ print $3 }' | sort -u >"$work/ours"
	for user in "$@"; do
		[ -e "$user" ] || continue
		nm -D --undefined-only "$user" | awk '$1 == "U" { print $2 }' |
			grep -E '^(P?MPI|OMPI_|ompi_|mpi_fortran|MPII_|MPIR_)' |
				grep -v '^ompi_.*_f$' |
			sort -u | comm -23 - "$work/ours"
	done | sed 's/^/missing: /' | tee "$work/missing"
	[ ! -s "$work/missing" ]
}

# A procedure of Fortran's that is replaced is so under each name that the library has it by.
spellings() {
	nm -D --defined-only "$1" | awk '{ print $3 }' | sort -u >"$work/ours"
	sed -n 's/^\(mpix*_[a-z0-9_]*[a-z0-9]\)_$/\1/p' "$work/ours" |
		sed 's/.*/^p?&_{0,2}$/' >"$work/replaced"
	functions "$2" | grep -iEf "$work/replaced" | comm -23 - "$work/ours" |
		sed 's/^/missing: /' | tee "$work/missing"
	[ -s "$work/replaced" ] && [ ! -s "$work/missing" ]
}

glue=$top/build/lib/mpi/mpich/libmpich.so.12
ok "mpich: functions" exported $lib/libmpich.so.12 "$glue"
ok "mpich: data" sizes $lib/libmpich.so.12 "$glue" mpich
ok "mpich: imports of Fortran and C++" imported "$glue" $lib/libmpichfort.so.12 \
	$lib/libmpichcxx.so.12
glue=$top/build/lib/mpi/ompi/libmpi.so.40
if [ -e "$glue" ]; then
	ok "ompi: functions" exported $lib/libmpi.so.40 "$glue"
	ok "ompi: data" sizes $lib/libmpi.so.40 "$glue" ompi
	ok "ompi: imports of Fortran and C++" imported "$glue" $lib/libmpi_mpifh.so.40 \
		$lib/libmpi_cxx.so.40
	[ ! -e $lib/libmpi_mpifh.so.40 ] ||
		ok "ompi: Fortran by any spelling" spellings "$glue" $lib/libmpi_mpifh.so.40
fi
finish
