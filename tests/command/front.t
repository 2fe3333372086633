#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The functions of bash in front of mpirun: arguments, streams, statuses and signals of the front.
#
# Needs no Slurm. tests/unit/test_spank.c has the variable by which bash gets the functions.

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$top/scheduler/slurm/call" "$work/call"
cat >"$work/mpirun" <<'END'
#!/bin/sh
trap 'echo ended; exit 5' TERM
echo "front $*"
case $1 in
cat) cat ;;
sleep) echo >ready; sleep 100 & wait ;;
esac
exit 7
END
chmod 755 "$work/mpirun"
cd "$work" || exit 1
nr=0

# says WANT NAME: what a script on standard input prints
says() {
	nr=$((nr + 1))
	got=$(env "BASH_FUNC_mpirun%%=() { . '$work/call' mpirun \"\$@\"
}" PATH=/usr/bin:/bin timeout 60 bash "/dev/fd/3" 3<&0 </dev/null 2>&1)
	[ "$got" = "$1" ] && echo "ok $nr - $2" && return
	echo "not ok $nr - $2"
	echo "$got" | sed 's/^/# /'
}

says 'front a b  c
7' 'arguments and status' <<'END'
mpirun a "b  c"; echo $?
END
says 'front cat
in
0 7 0' 'in a pipe' <<'END'
echo in | mpirun cat | cat; echo ${PIPESTATUS[@]}
END
says 'front sleep
ended
5' 'kill $! of a launch in the background reaches the front' <<'END'
mpirun sleep & until [ -e ready ]; do sleep 0.1; done
kill $!; wait $!; echo $?
END
says 'front x
front y
7 mine' 'in a list of commands, of a script with a trap' <<'END'
trap 'echo mine' EXIT
(mpirun x; mpirun y; echo -n "$? ")
END
says 'front q
7
front r' 'with set -eu' <<'END'
set -eu
mpirun q || echo $?
mpirun r
echo not reached
END
echo "1..$nr"
