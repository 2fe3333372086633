#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# One checkpoint of 1,024 nodes with 32 ranks each: it commits, and what it costs in
# messages stays what the design says it costs (shown with TAP_COMMENTS=1).

set -u
cd "$(dirname "$0")/../.." || exit 1
echo 1..2
out=$(build/bin/tests/sim/sim --big --seed 1)
status=$?
[ $status -eq 0 ] || printf 'not '
echo "ok 1 - 1,024 nodes, 32,768 ranks: committed"
printf '# %s\n' "${out//$'\n'/$'\n# '}"
# orders: seven and the answer; a node hears each once when nothing is lost
orders=$(awk '$1 == "ORDER" { print $2 }' <<<"$out")
[ "${orders:-0}" -gt 0 ] && [ "$orders" -le $((10 * 1024)) ] || { printf 'not '; status=1; }
echo "ok 2 - orders: ${orders:-none}"
exit $status
