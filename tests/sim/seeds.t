#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The coordinator in a simulated world, a seed after the other: SIM_SEEDS of them (200,
# with sanitizers; more without, in which 10,000 take minutes).
#
#   build/bin/tests/sim/sim --seed N --trace	one that failed

set -u
cd "$(dirname "$0")/../.." || exit 1
seeds=${SIM_SEEDS:-200}
sim=build/san/bin/tests/sim/sim
[ "$seeds" -le 200 ] || sim=build/bin/tests/sim/sim
echo 1..1
out=$($sim --seeds "$seeds")
status=$?
[ $status -eq 0 ] || printf 'not '
echo "ok 1 - $seeds seeds: every rule holds after every step"
printf '# %s\n' "${out//$'\n'/$'\n# '}"
exit $status
