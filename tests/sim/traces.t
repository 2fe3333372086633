#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Canonical traces: what three nodes say and do in one checkpoint is written down in
# tests/sim/traces/, event by event, and a change of it is a change of the protocol.
#
#   tests/sim/traces.t --write	accept what the simulator does now

set -u
cd "$(dirname "$0")/../.." || exit 1
sim=build/bin/tests/sim/sim
declare -A runs=(
	[checkpoint]="--calm --seed 1 --nodes 3 --ranks 2 --arity 2"
	[chain]="--calm --seed 2 --nodes 3 --ranks 1 --arity 1"
	[daemon-dies]="--calm --seed 3 --nodes 3 --ranks 1 --arity 2 --die 1:DUMP"
	[root-dies-deciding]="--calm --seed 4 --nodes 3 --ranks 1 --arity 2 --die 0:COMMIT"
)
mapfile -t names < <(printf '%s\n' "${!runs[@]}" | sort)
echo "1..$((${#names[@]} + 1))"
n=0
failed=0
for name in "${names[@]}"; do
	n=$((n + 1))
	file=tests/sim/traces/$name
	# shellcheck disable=SC2086
	trace=$($sim ${runs[$name]} --trace)
	[ "${1-}" != --write ] || printf '%s\n' "$trace" >"$file"
	if ! diff -u "$file" - <<<"$trace" >build/check-trace 2>&1; then
		printf 'not '
		failed=1
	fi
	echo "ok $n - $name"
	sed 's/^/# /' build/check-trace
done
rm -f build/check-trace

# the same number, the same run
n=$((n + 1))
if [ "$($sim --seed 42 --trace | cksum)" != "$($sim --seed 42 --trace | cksum)" ]; then
	printf 'not '
	failed=1
fi
echo "ok $n - a seed reproduces its run"
exit $failed
