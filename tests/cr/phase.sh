# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What shell programs need to meet the runner; see phase.h. Source it with the
# program's own arguments: DIR [WAIT_MS [load]].

dir=$1
export dir
cd "$dir" || exit 2

ready() { : >"$dir/ready"; }
await_go() { while [ ! -e "$dir/go" ]; do sleep 0.02; done; }
# in the middle of a stream: the rest comes after the wait
hold() { ready; await_go; }

verdict() {
	echo "$1" >"$dir/result.$$" && mv "$dir/result.$$" "$dir/result"
}
skip() { verdict "SKIP $*"; exit 77; }
fail() { verdict "FAIL ${0##*/}: $*"; exit 1; }
pass() { verdict PASS; exit 0; }
same() { [ "$1" = "$2" ] || fail "$3: '$1', not '$2'"; }
