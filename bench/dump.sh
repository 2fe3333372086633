#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# From the request until the image is durable (CRIU: and a sync), and how that
# grows with threads, mappings, processes and files.

. "$(dirname "$0")/lib.sh"

bench_dump '1 GiB' --mem 1024
bench_dump '1 GiB that does not compress' --mem 1024 --fill random
bench_dump '1 GiB of a solver' --mem 1024 --fill heap
bench_dump '256 threads' --threads 256
bench_dump '10,000 mappings' --vmas 10000
bench_dump '16 x 64 MiB' --procs 16 --mem 64
bench_dump '1,000 files' --files 1000
