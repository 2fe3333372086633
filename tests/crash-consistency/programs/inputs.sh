#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Inputs that were there before the job: each step reads one, and uses it up in its own way. The
# journal begins with the first step, and is appended to.
echo begin
sum=
for step in 1 2 3 4 5 6 7 8; do
	sum=$( (echo "$sum" && cat "in.$step") | cksum)
	echo "step $step: $sum"
	echo "$step" >>journal
	sleep 0.2
	case $((step % 4)) in
	0) echo used >"in.$step" ;;
	1) rm "in.$step" ;;
	2) mv "in.$step" "used.$step" ;;
	3) echo used >>"in.$step" ;;
	esac
	sleep 0.2
done
cat journal
