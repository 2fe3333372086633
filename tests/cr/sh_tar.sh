#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tar | tar over a FIFO, with a slow middle: the copy of the directory is the same.
. "${BASH_SOURCE%/*}/phase.sh"

mkdir "$dir/from" "$dir/to"
for i in {1..200}; do echo "file $i" >"$dir/from/$i"; done
ln -s 1 "$dir/from/link"
mkfifo "$dir/from.fifo"
tar -C "$dir/from" -cf "$dir/from.fifo" . &
{ head -c 30000; hold; cat; } <"$dir/from.fifo" | tar -C "$dir/to" -xf -
wait
diff -r "$dir/from" "$dir/to" >/dev/null || fail "the copies differ"
same "$(readlink "$dir/to/link")" 1 link
pass
