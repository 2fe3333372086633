#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# pbs-checkpoint asks as the owner of the job, with the owner's groups alone.
#
# Needs no PBS: what it starts writes down who it is.

top=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP must be root'
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
printf '#!/bin/sh\necho "$(id -ru) $(id -u) $(id -rg) $(id -g) $(id -G) $*"\n' >"$work/ckpt-batch"
chmod 755 "$work/ckpt-batch"
user=$(id -u nobody)
group=$(id -g nobody)

got=$(PATH=$work:$PATH sh "$top/scheduler/batch/pbs-checkpoint" 12 99 "$user")
[ "$got" = "$user $user $group $group $(id -G nobody) save pbs-12" ] || printf 'not '
echo 'ok 1 - user, group and groups are those of the owner'

! PATH=$work:$PATH sh "$top/scheduler/batch/pbs-checkpoint" 12 99 4000000000 \
	>"$work/out" 2>&1 && grep -qx 'pbs-checkpoint: there is no user 4000000000' "$work/out" ||
	printf 'not '
echo 'ok 2 - who is no user is nobody'
echo 1..2
