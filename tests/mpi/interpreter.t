#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptrun finds the MPI library of programs in Python (mpi4py) and R (Rmpi) without being told,
# where the interpreter has such a module, and else asks for --mpi.
#
# As root: a job has namespaces of its own. Needs no module: nothing is checkpointed.

. "$(dirname "$0")/lib.sh"

python=/usr/bin/python3
if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP must be root'
	exit 0
fi
if ! $python -c 'import mpi4py' 2>/dev/null; then
	echo '1..0 # SKIP mpi4py is missing: run scripts/setup'
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
	timeout -k 2 60 "$top/build/bin/ckptrun" --socket "$work/sock" -n 2 "$@" </dev/null
}

# sums OPTION...: two ranks of one world
sums() {
	ckptrun --label "$@" >"$work/out" || return
	cat "$work/out"
	[ "$(sort "$work/out")" = $'[0] rank 0 of 2, sum 1\n[1] rank 1 of 2, sum 1' ]
}

# plans TEXT OPTION...: the library that would be used
plans() {
	local text=$1 said
	shift
	said=$(ckptrun --dry-run "$@" 2>&1)
	echo "$said"
	grep -qF -- "$text" <<<"$said"
}


cat >"$work/sum.py" <<PY
#!$python
from mpi4py import MPI
world = MPI.COMM_WORLD
print(f'rank {world.rank} of {world.size}, sum {world.allreduce(world.rank)}', flush=True)
PY
cat >"$work/sum.R" <<'R'
#!/usr/bin/Rscript
cat("sum\n")
R
printf '#!/bin/sh\nexec %s "$@"\n' "$python" >"$work/shell"
chmod +x "$work/sum.py" "$work/sum.R" "$work/shell"

ok 'python with a script' sums $python "$work/sum.py"
ok 'a script in Python' sums "$work/sum.py"
ok 'python behind another program' sums env A=b $python "$work/sum.py"
ok 'as was said' sums --mpi ompi $python "$work/sum.py"
ok 'another library than was said' plans '--mpi=mpich is for another library' --mpi mpich \
	"$work/sum.py"

# another mpi4py, on PYTHONPATH, with an MPICH
mkdir -p "$work/site/mpi4py" "$work/none/mpi4py"
touch "$work/site/mpi4py/__init__.py" "$work/none/mpi4py/__init__.py"
cc -w -shared -fPIC -I/usr/include/x86_64-linux-gnu/mpich -xc - -xnone \
	-o "$work/site/mpi4py/MPI.cpython-311.so" /usr/lib/x86_64-linux-gnu/libmpich.so.12 \
	<<<'#include <mpi.h>
int begin(void) { return MPI_Init(0, 0); }' || exit
export PYTHONPATH=$work/site
ok 'the module of PYTHONPATH' plans 'MPI library: mpich (' $python x.py
export PYTHONPATH=$work/none
ok 'python without such a module' plans '--mpi=none' $python x.py
unset PYTHONPATH
ok 'a shell script' plans '--mpi=none' "$work/shell"
# a module in the working directory is not what a script elsewhere imports
mkdir "$work/at"
cp -r "$work/site/mpi4py" "$work/at"
ok 'the working directory does not count' plans 'MPI library: ompi (' -C "$work/at" $python x.py
if Rscript -e 'q(status = !nzchar(system.file(package = "Rmpi")))' 2>/dev/null; then
	ok 'Rscript' plans 'MPI library: ompi (' Rscript "$work/sum.R"
	ok 'a script in R' plans 'MPI library: ompi (' "$work/sum.R"
	ok 'R' plans 'MPI library: ompi (' R --no-echo -f "$work/sum.R"
else
	skip 'R' 'Rmpi is missing (package r-cran-rmpi)'
fi
finish
