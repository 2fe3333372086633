#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Writing an image with io_uring and with plain writes, in turn, on this machine's
# disk (or in a VM: then DIR is on its NVMe disk); with and without looking for
# pages that are the same; what does compress beside libzstd alone, there without a disk (in
# /dev/shm).
#
# Environment: RUNS (5), MIB (1024), DIR (build/bench), CASES.

set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
dir=${DIR:-$top/build/bench}

mkdir -p "$dir"
echo "# $(uname -r), $(nproc) CPUs, load $(cut -d' ' -f1-3 /proc/loadavg), $(stat -f -c %T "$dir")"
echo "# case, run, writer, ms until durable, CPU ms, MiB stored"
# shellcheck disable=SC2086
"$top/build/bin/bench/image" "$dir" "${MIB:-1024}" "${RUNS:-5}" \
	${CASES:-random heap zero twice random-same twice-same}
if [ -z "${CASES:-}" ]; then
	memory=$(mktemp -d /dev/shm/bench-image.XXXXXX)
	trap 'rm -rf "$memory"' EXIT
	"$top/build/bin/bench/image" "$memory" "${MIB:-1024}" "${RUNS:-5}" heap/zstd
fi
echo "# load $(cut -d' ' -f1-3 /proc/loadavg)"
