#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The srun in front of Slurm's takes its slots in a directory of its user alone.
#
# Needs no Slurm: what the front starts writes down that it was started. The directory that root
# makes is another one here.

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
front=$work/front/srun
slots=$work/tmp/stillpoint-slurm-$(id -u)
given=$work/run/$(id -u)
mkdir "$work/bin" "$work/tmp" "$work/front" "$work/run"
sed "s|/var/spool/stillpoint-slurm/|$work/run/|" "$top/scheduler/slurm/srun" >"$front"
chmod 755 "$front"
cp "$top/scheduler/slurm/front" "$work/front/front"
printf '#!/bin/sh\necho "started: $*"\n' >"$work/bin/ckpt-slurm-run"
chmod 755 "$work/bin/ckpt-slurm-run"
nr=0
restarts=0

# report STATUS NAME: one line of TAP
report() {
	nr=$((nr + 1))
	[ "$1" = 0 ] || printf 'not '
	echo "ok $nr - $2"
}

front() {
	env -u STILLPOINT_SCRIPT -u STILLPOINT_JOB -u SLURM_NTASKS PATH="$work/bin:$PATH" \
		SLURM_RESTART_COUNT="$restarts" TMPDIR="$work/tmp" STILLPOINT_CKPT=yes \
		SLURM_JOB_ID=77 "$front" "$@" >"$work/out" 2>&1
}

# refused NAME: nothing was started, and the file behind the link is whole
refused() {
	local status
	front -n 1 prog
	status=$?
	[ $status = 1 ] && grep -q 'not a directory that only you may use' "$work/out" &&
		[ "$(cat "$work/file")" = precious ]
	report $? "$1"
	rm -rf "$slots"
}

front -n 1 prog one
grep -qx 'started: -- prog one' "$work/out"
report $? 'one task is started under ckpt-slurm-run'
[ "$(stat -c '%a %F' "$slots")" = '700 directory' ]
report $? 'the directory of the slots is the user'"'"'s alone'
rm -rf "$slots"

chmod g+s "$work/tmp"
front -n 1 prog two
grep -qx 'started: -- prog two' "$work/out"
report $? 'the directory may have the group of the one above it'
rm -rf "$slots"
chmod g-s "$work/tmp"

echo precious >"$work/file"
mkdir -m 755 "$slots" && ln -s "$work/file" "$slots/77-1.slot"
refused 'a directory that others may read is not taken'

mkdir -m 700 "$work/elsewhere" && ln -s "$work/file" "$work/elsewhere/77-1.slot"
ln -s "$work/elsewhere" "$slots"
refused 'a link to a directory is not taken'

if [ "$(id -u)" = 0 ]; then
	mkdir -m 700 "$slots" && ln -s "$work/file" "$slots/77-1.slot" && chown 65534 "$slots"
	refused 'a directory of somebody else is not taken'
fi
mkdir -m 755 "$slots"
restarts=1
front -n 1 prog three
grep -qx 'started: -- prog three' "$work/out"
report $? 'of a requeued job ckpt-slurm-run finds that out, and has it held'
restarts=0

mkdir -m 700 "$given"
front -n 1 prog four
grep -qx 'started: -- prog four' "$work/out" && [ -e "$given/77-1.slot" ]
report $? 'the directory that root has made is taken, whatever there is in TMPDIR'
echo "1..$nr"
