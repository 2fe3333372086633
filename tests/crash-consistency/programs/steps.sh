#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Steps of a script: each writes to a temporary name, renames, and reads the step before.
echo begin >out.0
for step in 1 2 3 4 5 6; do
	last=out.$((step - 1))
	for line in 1 2 3 4; do
		echo "step $step line $line, last one: $(cksum <"$last")"
		sleep 0.1
	done >out.tmp
	mv out.tmp "out.$step"
	sleep 0.1
done
cat out.*
