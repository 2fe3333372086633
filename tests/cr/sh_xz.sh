#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A pipeline with xz -T2, held in the middle: the checksum is that of the data.
. "${BASH_SOURCE%/*}/phase.sh"

produce() { seq 1 30000; hold; seq 30001 60000; }

want=$(seq 1 60000 | sha256sum)
got=$(produce | xz -1 -T2 --block-size=32KiB | xz -dc -T2 | sha256sum)
same "$got" "$want" checksum
pass
