# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Scripts with many cases run part K of N of them if TEST_SHARE=K/N says so: one of each N cases,
# in turn the first, second, ... of them, as N may be the length of an inner loop. `make check`
# takes 0/3, SHARE=1/3 and SHARE=2/3 are the rest. For the lib.sh of the rooms.
#
#   share WORD...           prints those of this part
#   in_share                whether the next case is of this part

share_turn=0
in_share() {
	local share=${TEST_SHARE:-0/1} turn=$((share_turn++))
	local parts=${share#*/}
	[ $(((turn + turn / parts) % parts)) = "${share%/*}" ]
}
share() {
	local share_turn=0 word
	for word; do
		! in_share || echo "$word"
	done
}
