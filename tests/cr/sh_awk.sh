#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An awk job with big associative arrays, fed by a pipe that is held in the middle.
. "${BASH_SOURCE%/*}/phase.sh"

produce() { seq 1 20000; hold; seq 20001 40000; }

# shellcheck disable=SC2016
program='{ n[$1 % 997] += $1; last = $1 }
	END { for (i in n) { s += n[i]; k++ } printf "%d %d %d\n", k, s, last }'
same "$(produce | awk "$program")" "997 800020000 40000" sums
pass
