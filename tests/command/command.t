#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptctl and ckptrun as commands: tests/command/command.py, with ckptds on this machine.
#
#   tests/command/command.t [--only WORD,...]
#   COMMAND_TESTS=attached    those of tests/command/attached.py
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
# files of batch jobs are not the machine's: /var/spool is the tests' own
unshare --mount sh -c 'mount -t tmpfs spool /var/spool && exec "$@"' - \
	python3 -B "$top/tests/command/${COMMAND_TESTS:-command}.py" --bin "$top/build/bin" \
	--work "$work" "$@"
