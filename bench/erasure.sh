#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench/erasure.sh [K M MIB RUNS]: erasure coding beside ISA-L's own figure, on this
# machine (no VM: an emulated CPU has other vector units), in memory.

set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d /dev/shm/erasure.XXXXXX)
trap 'rm -rf "$dir"' EXIT

[ $# -eq 4 ] || set -- 4 2 64 7
grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //'
echo "load before $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) CPUs"
"$top/build/bin/bench/erasure" "$dir" "$@"
echo "load after $(cut -d' ' -f1-3 /proc/loadavg)"
