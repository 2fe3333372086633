#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A sort that spills to temporary files, held while some are there and in use.
. "${BASH_SOURCE%/*}/phase.sh"

mkdir "$dir/spill"
produce() { seq 60000 -1 30001; hold; seq 30000 -1 1; }

want=$(seq 1 60000 | md5sum)
got=$(produce | LC_ALL=C sort -n -S 200k -T "$dir/spill" --parallel=2 | md5sum)
same "$got" "$want" order
same "$(ls "$dir/spill")" "" "temporary files left"
pass
