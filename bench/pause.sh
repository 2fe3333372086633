#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the job notices: how long it stands still, how long the freeze itself
# takes, and that neither depends on file cache or reserved address space.

. "$(dirname "$0")/lib.sh"

bench_dump '1 GiB, default huge pages' --mem 1024
bench_dump '1 GiB, 4 KiB pages' --mem 1024 --no-thp
bench_dump '64 threads' --mem 16 --threads 64
bench_dump '64 MiB' --mem 64
dd if=/dev/zero of="$work/cached" bs=1M count=512 status=none
bench_dump '64 MiB + 512 MiB file mapped' --mem 64 --map "$work/cached"
rm -f "$work/cached"
# CRIU 3.17.1 cannot dump that much address space at all
bench_ours '64 MiB + 1 TiB reserved' --mem 64 --reserve 1024
