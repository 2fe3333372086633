#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# gzip | tee | gunzip, held in the middle, with a copy of the compressed stream.
. "${BASH_SOURCE%/*}/phase.sh"

produce() { seq 1 40000; hold; seq 40001 70000; }

want=$(seq 1 70000 | md5sum)
got=$(produce | gzip -6 | tee "$dir/copy.gz" | gunzip | md5sum)
same "$got" "$want" stream
same "$(gunzip <"$dir/copy.gz" | md5sum)" "$want" copy
pass
