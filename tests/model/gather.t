#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The Spin model of interruptible collectives: every interleaving of three ranks and two
# checkpoints, restarts included. That the rules it has are needed, and that it comes to an end,
# is tested with it.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
model=$top/tests/model/gather.pml
command -v spin >/dev/null || { echo "1..0 # SKIP spin is not installed (scripts/setup)"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
echo 1..8
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
	timeout 300 ./pan -m100000 >pan.out 2>&1 || { sed 's/^/# /' pan.out; return 1; }
	grep -E 'errors:|states, stored|assertion violated|invalid end state ' pan.out |
		sed 's/^/# /'
}

holds() { verify "$@" && grep -q 'errors: 0$' pan.out &&
	! grep -q 'max search depth too small' pan.out; }
fails() { verify "$@" && grep -q "$pattern" pan.out; }

holds
result $? "all members or none, and nobody waits for ever"
holds -DSTILL
result $? "a checkpoint needs no rank that computes"
holds -DNONBLOCKING -DL=2 -DCUTS=1
result $? "nobody waits for ever with non-blocking collectives between"
holds -DCHAIN -DCUTS=1 -DPATIENT
result $? "who is behind is waited for by none that it waits for"
pattern='invalid end state (' fails -DREMEMBER
result $? "a gathering that is remembered over a restart is found out"
pattern='invalid end state (' fails -DNONBLOCKING -DL=2 -DSTILL
result $? "non-blocking collectives do need ranks that compute"
pattern='invalid end state (' fails -DCHAIN -DCUTS=1 -DPATIENT -DNOT_EARLY
result $? "ranks that are behind and do not raise others are found out"
pattern='assertion violated (half<2)' fails -DREACH
result $? "both checkpoints can be restarted from"
exit $failed
