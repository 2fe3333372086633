#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The Spin model of the coordinator: its rows are those of the shipping table, and it
# holds for every interleaving of three nodes and two failures, checkpoint and restart.
# That the model can fail, and that it comes to an end at all, is tested with it.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
model=$top/tests/model/coord.pml
command -v spin >/dev/null || { echo "1..0 # SKIP spin is not installed (scripts/setup)"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
echo 1..6
n=0
failed=0

result() { # STATUS NAME
	n=$((n + 1))
	[ "$1" -eq 0 ] || { printf 'not '; failed=1; }
	echo "ok $n - $2"
}

# verify OPTIONS...: prints what pan says; status of running it to the end
verify() {
	spin "$@" -a "$model" >spin.out 2>&1 || { sed 's/^/# /' spin.out; return 1; }
	gcc -O2 -w -DSAFETY -DCOLLAPSE -DNOFAIR -DMEMLIM=1024 -o pan pan.c || return 1
	timeout 300 ./pan -E -m100000 >pan.out 2>&1 || { sed 's/^/# /' pan.out; return 1; }
	grep -E 'errors:|states, stored|assertion violated' pan.out | sed 's/^/# /'
}

holds() { verify "$@" && grep -q 'errors: 0$' pan.out &&
	! grep -q 'max search depth too small' pan.out; }
fails() { verify "$@" && grep -q "assertion violated.*$pattern" pan.out; }

rows() { grep -oE '^[[:space:]]*(STEP|BARRIER)\([A-Z_a-z, ]*\)' | tr -d '[:space:]' | sort; }
rows <"$model" | grep -v '(from,\|(o,' >model.rows
"$top/build/bin/tests/sim/sim" --table | rows >table.rows
diff -u table.rows model.rows >diff.out && [ -s table.rows ]
result $? "rows of the model are those of coord/coord_table.c"
sed 's/^/# /' diff.out

holds -DFAILURES=2
result $? "checkpoint: every rule holds with two failures"
holds -DFAILURES=2 -DRESTART
result $? "restart: every rule holds with two failures"
pattern='committed' fails -DFAILURES=2 -DFORGET
result $? "a recovery that forgets a commit record is found out"
pattern='out_good' fails -DFAILURES=0 -DREACH
result $? "a checkpoint can be committed at all"
pattern='out_good' fails -DFAILURES=0 -DREACH -DRESTART
result $? "a restart can come to its end at all"
exit $failed
