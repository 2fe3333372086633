#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Who is attached to a job: tests/command/attached.py, with ckptds on this machine.
#
#   tests/command/attached.t [--only WORD,...]
#
# As root: a job has namespaces of its own. Needs no module: nothing is checkpointed.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP must be root'
	exit 0
fi
work=$(mktemp -d) || exit 1
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
python3 -B "$top/tests/command/attached.py" --bin "$top/build/bin" --work "$work" "$@"
