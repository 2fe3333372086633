#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench/proxies.sh: what the glue costs real codes between checkpoints, on this machine, no VM:
# molecular dynamics with neighbours only (LAMMPS, Lennard-Jones) and with FFTs (GROMACS, water with
# PME), and HPC Challenge (linear algebra, transposes, FFT, random access), Debian's packages of
# Open MPI. Each alone and through the glue in turn; the ratio is the median of the pairs'.
#
# Times are what the programs say themselves (HPCC: from start to end). Results are compared
# where they do not depend on timing: LAMMPS' thermodynamic output.
#
# Environment: RUNS (5), RANKS (2), CASES ('lammps gromacs hpcc').

set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
RUNS=${RUNS:-5}
RANKS=${RANKS:-2}
CASES=${CASES:-lammps gromacs hpcc}
glue=$top/build/lib/mpi/ompi/libmpi.so.40
declare -A program=([lammps]=lmp [gromacs]=gmx_mpi [hpcc]=hpcc)
for case in $CASES; do
	command -v "${program[$case]}" >/dev/null || {
		echo >&2 "proxies: ${program[$case]} is missing:" \
			"apt-get install lammps gromacs hpcc"
		exit 1
	}
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

prepare_lammps() {
	cat >in.lj <<-'IN'
		units lj
		atom_style atomic
		lattice fcc 0.8442
		region box block 0 16 0 16 0 16
		create_box 1 box
		create_atoms 1 box
		mass 1 1.0
		velocity all create 1.44 87287 loop geom
		pair_style lj/cut 2.5
		pair_coeff 1 1 1.0 1.0 2.5
		neighbor 0.3 bin
		neigh_modify delay 0 every 20 check no
		fix 1 all nve
		thermo 100
		run 400
	IN
}
run_lammps() { # WAY COMMAND-PREFIX…
	local way=$1
	shift
	"$@" lmp -in in.lj -log none >"out.$way"
	sed -n '/^Step/,/^Loop/p' "out.$way" | grep -v Loop >"thermo.$way"
	[ ! -e thermo.direct ] || cmp thermo.direct "thermo.$way" >&2
	sed -n 's/^Loop time of \([0-9.]*\) .*/\1/p' "out.$way"
}

prepare_gromacs() { # twice GROMACS' box of water in each direction, without seams
	cat >md.mdp <<-'IN'
		integrator = md
		dt = 0.002
		nsteps = 600
		nstlog = 1000
		cutoff-scheme = Verlet
		coulombtype = PME
		rcoulomb = 0.9
		rvdw = 0.9
		gen-vel = yes
		gen-seed = 42
	IN
	printf '%s\n' '#include "oplsaa.ff/forcefield.itp"' '#include "oplsaa.ff/spce.itp"' \
		'[ system ]' water '[ molecules ]' >topol.top
	{
		gmx solvate -cs spc216 -box 3.72412 3.72412 3.72412 -o conf.gro -p topol.top
		gmx grompp -f md.mdp -c conf.gro -p topol.top -maxwarn 5 -o topol.tpr
	} >prepare.log 2>&1 || { tail prepare.log >&2; return 1; }
}
run_gromacs() {
	local way=$1
	shift
	"$@" gmx_mpi mdrun -s topol.tpr -g "$way.log" -ntomp 1 -pin off -dlb no -notunepme \
		-o "$way" -c "$way" -e "$way" -cpo "$way" >"out.$way" 2>&1
	awk '$1 == "Time:" { print $3 }' "$way.log"
	rm -f "$way".log
}

prepare_hpcc() {
	sed -e '/Ns$/s/^[0-9 ]*/1500 /' -e '/Ps$/s/^[0-9 ]*/1 /' -e "/Qs\$/s/^[0-9 ]*/$RANKS /" \
		/usr/share/doc/hpcc/examples/_hpccinf.txt >hpccinf.txt
}
run_hpcc() {
	local way=$1 began
	shift
	rm -f hpccoutf.txt
	began=$(date +%s%N)
	"$@" hpcc
	grep -q '^Success=1' hpccoutf.txt
	echo "$((($(date +%s%N) - began) / 1000000))e-3"
}

for case in $CASES; do
	mkdir "$work/$case"
	cd "$work/$case"
	"prepare_$case"
	for ((run = 1; run <= RUNS; run++)); do
		ways=(direct glue)
		((run % 2)) || ways=(glue direct)
		for way in "${ways[@]}"; do
			preload=
			[ "$way" = direct ] || preload=$glue
			echo "$case $run $way $("run_$case" "$way" timeout 300 mpirun.openmpi \
				-n "$RANKS" --bind-to none env LD_PRELOAD="$preload")"
		done
	done
done >"$work/rows"
echo "load $(cut -d' ' -f1-3 /proc/loadavg), $(env -u OMP_NUM_THREADS nproc) CPUs"
python3 - "$work/rows" <<'PYTHON'
import statistics
import sys
rows = {}
for line in open(sys.argv[1]):
    case, run, way, value = line.split()
    rows.setdefault(case, {}).setdefault(way, {})[run] = float(value)
print('| program | runs | direct, s | glue, s | ratio (median of pairs) | ratio (of the least) |\n'
      '|---|---|---|---|---|---|')
for case, ways in rows.items():
    direct, glue = ways['direct'], ways['glue']
    print(f'| {case} | {len(glue)} | {statistics.median(direct.values()):.2f} | '
          f'{statistics.median(glue.values()):.2f} | '
          f'{statistics.median(glue[r] / direct[r] for r in direct):.3f} | '
          f'{min(glue.values()) / min(direct.values()):.3f} |')
PYTHON
