# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What ckptctl diag says of a job with a fault, for the matrices of faults: to be sourced by bash.
#
#   comes_to WANTED...     one of these verdicts, soon; writes into $work/took when it came
#   loops RANK NODE        the same of a rank that runs: only the module sees that it stays
#   never [PATIENCE]       no question of some is answered with a hang
#   tells PATTERN          a line of the text of a report is like that, soon
#   reach_is NODE WHAT     what the last report says of a node that does not answer
#   pid_of RANK            the process's number on its node
#
# A verdict is "VERDICT CAUSE SUSPECTS SILENT NODE": numbers of ranks, nodes that do not answer,
# the node of the first suspect; "-" for none.
#
# The caller has the function home ARG..., ckptctl on the node that is the job's home, and the
# variables $job; $fault, the time of the fault (seconds); $work, a directory; $SLOW, a factor;
# $module, "true" where the kernel module is; $output, the files of the job's output.

seconds() { date +%s.%N; }

pid_of() {
	home diag run --json "$job" | python3 -c 'import json, sys
rows = json.load(sys.stdin)["result"]["mpi_ranks"]
print([row["thread"]["pid"] for row in rows if row["rank"] == int(sys.argv[1])][0])' "$1"
}

# the verdict on the job now, and its report
verdict() {
	home diag run --json --patience 1s "$job" >"$work/report" 2>&1 || return
	python3 - "$work/report" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))['result']
suspects = result['suspects']
node = {row['rank']: row['node'] for row in result['mpi_ranks']}
print(result['verdict'], result['cause'], ','.join(map(str, suspects)) or '-',
      ','.join(result.get('silent_nodes', [])) or '-',
      node.get(suspects[0], '-') if suspects else '-')
PYTHON
}

comes_to() {
	local said asked wanted _
	for _ in {1..20}; do
		asked=$(seconds)
		said=$(verdict)
		for wanted; do
			[ "$said" = "$wanted" ] || continue
			python3 -c 'import sys; a, b, c = map(float, sys.argv[1:])
print(f"{c - a:.1f} s after the fault, {c - b:.1f} s after the question")' \
				"$fault" "$asked" "$(seconds)" >>"$work/took"
			return 0
		done
		sleep 0.3
	done
	echo "the verdict is $said, not $1"
	cat "$work/report"
	# shellcheck disable=SC2086
	tail -n 5 $output
	return 1
}

# text: of the last report
text() {
	python3 -c 'import json, sys
print(*json.load(open(sys.argv[1]))["result"]["text"], sep="\n")' "$work/report"
}

tells() {
	local _
	for _ in {1..10}; do
		! text | grep -q -- "$1" || return 0
		sleep 1
		verdict >/dev/null
	done
	echo "no report tells of $1"
	text
	return 1
}

reach_is() {
	python3 - "$work/report" "$@" <<'PYTHON' && return
import json, sys
result = json.load(open(sys.argv[1]))['result']
assert {one['node']: one['is'] for one in result['reach']} == {sys.argv[2]: sys.argv[3]}
PYTHON
	text
	return 1
}

loops() {
	if [ "$module" = true ]; then
		comes_to "hangs loops $1 - $2"
	else
		comes_to "unknown unseen $1 - $2"
	fi
}

never() {
	local said i
	for ((i = 0; i < ${NEVER:-15}; i++)); do
		home diag run --json ${1:+--patience "$1"} "$job" >"$work/report" || return
		said=$(python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["result"]["verdict"])' "$work/report")
		[ "$said" != hangs ] || { cat "$work/report"; return 1; }
	done
	echo "not in $i questions" >"$work/took"
}
