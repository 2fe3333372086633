#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# ckptctl io report of a job on two nodes: two ckptds on this machine, which know each other by keys
# and share the image directory, stand for nodes. Each has a collector and a record of its own. A
# node falls silent, another user asks, and a new image directory begins with the same job number.
#
# As root: a job has namespaces of its own. Needs no module; where the kernel takes no BPF programs,
# calls and bytes are counted by /proc/PID/io, and the part about files is skipped.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nodes.sh"

# for the user who has no right
chmod 755 "$work"
mkdir "$work/images" "$work/data"
node_options=(--set image_dir="$work/images" --set io_trace=on)
user=65534

# Each rank waits until it is watched, writes into one file and one of its own, and waits.
cat >"$work/program" <<'PROGRAM'
import os, sys, time
d, rank = sys.argv[1], int(os.environ['STILLPOINT_RANK'])
while not os.path.exists(f'{d}/go'):
    time.sleep(0.05)
fd = os.open(f'{d}/one', os.O_WRONLY | os.O_CREAT, 0o600)
for i in range(50):
    os.pwrite(fd, bytes(65536), (i * 4 + rank) * 65536)
own = os.open(f'{d}/own{rank}', os.O_WRONLY | os.O_CREAT, 0o600)
os.write(own, bytes(100000))
os.close(os.open(f'{d}/done{rank}', os.O_WRONLY | os.O_CREAT))
while not os.path.exists(f'{d}/end'):
    time.sleep(0.05)
PROGRAM

# report NODE: to $work/report. What is tested runs in subshells, so the job's number is in a file.
report() {
	local job
	job=$(cat "$work/job")
	on "$1" io report --json "$job" >"$work/report" 2>&1
}

# wants CONDITION...: python's, of the report r
wants() {
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))["result"]
for condition in sys.argv[2:]:
    assert eval(condition), (condition, r)' "$work/report" "$@"
}

# until NODE CONDITION...: its report says so within a while
until_says() {
	local node=$1 _
	shift
	for _ in {1..60}; do
		report "$node" && wants "$@" 2>/dev/null && return
		sleep 0.5
	done
	cat "$work/report"
	tail -n 3 "$work"/n?/log
	return 1
}

starts() {
	rm -rf "$work/data"
	mkdir "$work/data"
	timeout -k 2 20 "$top/build/bin/ckptrun" --socket "$work/n1/sock" -n 4 --hosts n1,n2 \
		--mpi none -d python3 -B "$work/program" "$work/data" </dev/null >"$work/job" ||
		return
	until_says 1 'sorted(n["node"] for n in r["nodes"]) == ["n1", "n2"]'
}

steps() {
	touch "$work/data/go"
	for _ in {1..200}; do
		[ -e "$work/data/done0" ] && [ -e "$work/data/done1" ] &&
			[ -e "$work/data/done2" ] && [ -e "$work/data/done3" ] && return
		sleep 0.1
	done
	return 1
}

ends() {
	touch "$work/data/end"
	on 1 wait "$(cat "$work/job")"
}

# what 4 ranks have written, on two nodes; /proc/PID/io has a few other writes, too
bytes=$((4 * (50 * 65536 + 100000)))
whole() {
	until_says "$1" "$bytes <= r['operations']['write']['bytes'] <= $bytes + 40000" \
		'r["silent_nodes"] == r["unwatched_nodes"] == [] and r["failed_nodes"] == {}' \
		"all($bytes / 2 <= n['write_bytes'] <= $bytes / 2 + 20000 for n in r['nodes'])" \
		'sorted(s["node"] for s in r["spans"]) == ["n1", "n2"]'
}

text() {
	local job
	job=$(cat "$work/job")
	on "$1" io report "$job" >"$work/out" 2>&1
	cat "$work/out"
	grep -q "job $job on 2 nodes, watched for" "$work/out" &&
		grep -q '^n1 ' "$work/out" && grep -q '^n2 ' "$work/out"
}

files() {
	until_says 1 'r["files"]["write"]["pattern"] == "N-1"' \
		'r["files"]["write"]["processes"] == 4 and r["files"]["write"]["files"] == 9' \
		'r["files"]["list"][0]["path"].endswith("/one")' \
		'r["files"]["list"][0]["nodes"] == 2 and r["files"]["list"][0]["writes"] == 200' \
		'r["files"]["list"][1]["nodes"] == 1 and not r["files"]["list"][1]["shared_write"]'
}

# ckptd of n2 does not run, as on a node that hangs; the answer comes, and names it
silent() {
	local pid job rc=0 begin=$SECONDS
	job=$(cat "$work/job")
	pid=$(cat "$work/n2/pid")
	kill -STOP "$pid"
	report 1 && wants 'r["silent_nodes"] == ["n2"]' \
		'[n["node"] for n in r["nodes"]] == ["n1"]' \
		"$bytes / 2 <= r['operations']['write']['bytes'] <= $bytes / 2 + 20000" || rc=$?
	on 1 io report "$job" >"$work/out" 2>&1 || rc=1
	kill -CONT "$pid"
	cat "$work/out"
	[ $rc = 0 ] && grep -q 'without node n2, which did not answer in time' "$work/out" &&
		[ $((SECONDS - begin)) -lt 60 ] && whole 1
}

refused() {
	local node job rc
	job=$(cat "$work/job")
	for node in 1 2; do
		rc=0
		(cd / && setpriv --reuid $user --regid $user --clear-groups \
			"$top/build/bin/ckptctl" --socket "$work/n$node/sock" io report "$job") \
			>"$work/out" 2>&1 || rc=$?
		cat "$work/out"
		[ $rc = 1 ] && grep -q 'belongs to\|not yours\|permi' "$work/out" || return 1
	done
}

# history NODE SECONDS NEIGHBOUR: what eleven earlier runs of the job's program did on the node, and
# a phase of the job itself that took SECONDS; beside it a job of the user NEIGHBOUR, if any
history() {
	python3 - "$work/n$1/jobs/io.db" "$(cat "$work/job")" "$2" "${3:-}" <<'PYTHON'
import array, sqlite3, sys, time
path, job, seconds, neighbour = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
db = sqlite3.connect(path, timeout=30)
key, uid, program, ranks = db.execute(
    'SELECT key, uid, program, ranks FROM job WHERE number = ?', (job,)).fetchone()
assert program == 'python3 program' and ranks == 4, (program, ranks)
now = int(time.time())
def run(key, began, seconds):
    rates = array.array('f', sorted(2e9 / seconds * (1 + i % 7 / 100) for i in range(seconds)))
    db.execute('INSERT INTO phase VALUES (?, ?, ?, 1, 0, 2000, 0, 2000000000, ?)',
               (key, began, seconds, rates.tobytes()))
for i in range(11):
    db.execute('INSERT INTO job (key, number, uid, uuid, name, nodes, program, ranks) '
               "VALUES (?, ?, ?, 'x', 'earlier', '', ?, ?)", (i + 1, 1000 + i, uid, program, ranks))
    db.execute("INSERT INTO span (job, span, source, why) VALUES (?, ?, 'bpf', '')",
               (i + 1, (now - 20000) * 1000))
    run(i + 1, now - 20000 + 1000 * i, 20 + i % 2)
run(key, now - 1000, seconds)
if neighbour:
    db.execute('INSERT INTO job (key, number, uid, uuid, name, nodes, program, ranks) '
               "VALUES (99, 99, ?, 'x', 'beside', '', 'x', 1)", (int(neighbour),))
    db.executemany('INSERT INTO sample VALUES (1, ?, 99, 0, 60, 0, 60000000, 0)',
                   [(now - 1000 + i,) for i in range(seconds)])
db.commit()
PYTHON
}

# anomalies NODE ARG...: to $work/report
anomalies() {
	on "$1" io anomalies --json "${@:2}" >"$work/report" 2>&1
}

# one node was slow, the other was not
slow_node() {
	local job
	job=$(cat "$work/job")
	history 1 40 && history 2 20 && anomalies 1 "$job" || return
	wants 'len(r["anomalies"]["list"]) == 1 and r["anomalies"]["judged"] == 2' \
		'r["anomalies"]["list"][0]["node"] == "n1"' \
		'r["anomalies"]["list"][0]["cause"] == "degraded_node"' \
		'r["anomalies"]["list"][0]["compared"] == 11' \
		'48e6 < r["anomalies"]["list"][0]["rate"] < 52e6' \
		'94e6 < r["anomalies"]["list"][0]["usual"] < 101e6' 'r["silent_nodes"] == []' &&
		anomalies 2 "$job" && wants 'r["anomalies"]["list"][0]["node"] == "n1"' || return
	# of this node alone, for all jobs: nothing tells which of the two it was
	anomalies 1 && wants 'sum(len(j["anomalies"]["list"]) for j in r["jobs"]) == 1' \
		'r["jobs"][0]["anomalies"]["list"][0]["cause"] == "configuration_or_device"' &&
		anomalies 1 --since 1s && wants 'r["jobs"] == []' || return
	on 1 io report "$job" >"$work/out" && grep -q '1 of 2 phases were slower' "$work/out" &&
		on 1 io anomalies "$job" >"$work/out" || return
	cat "$work/out"
	grep -q '^ *JOB  *NODE' "$work/out" && grep -q "n1 .*other nodes were as fast" "$work/out"
}

# A job of another user is named to root, on the node that is asked; nobody's figures are told.
interfered() {
	local job
	job=$(cat "$work/job")
	python3 - "$work/n1/jobs/io.db" <<'PYTHON'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=30)
db.execute("DELETE FROM phase")
db.execute("DELETE FROM job WHERE key < 20")
db.commit()
PYTHON
	history 1 40 $user && anomalies 1 "$job" &&
		wants 'r["anomalies"]["list"][0]["cause"] == "interference"' \
			'r["anomalies"]["list"][0]["by"] == 99' || return
	anomalies 2 "$job" && wants 'r["anomalies"]["list"][0]["cause"] == "interference"' \
		'"by" not in r["anomalies"]["list"][0]' || return
	! grep -q '"by"\|beside\|60000000' "$work/report" || return
	on 2 io anomalies "$job" | grep -q "another user's job" || return
	(cd / && setpriv --reuid $user --regid $user --clear-groups \
		"$top/build/bin/ckptctl" --socket "$work/n1/sock" io anomalies --json) \
		>"$work/report" && wants 'r["jobs"] == []' || return
	(cd / && ! setpriv --reuid $user --regid $user --clear-groups \
		"$top/build/bin/ckptctl" --socket "$work/n1/sock" io anomalies "$job")
}

# A new image directory begins with the same number; its job has nothing of the older one's.
other_job() {
	local old i
	old=$(cat "$work/job")
	mkdir "$work/images2"
	node_options=(--set image_dir="$work/images2" --set io_trace=on)
	for i in 1 2; do
		stop $i
		start $i || return
	done
	meet 1 2 || return
	starts && [ "$(cat "$work/job")" = "$old" ] || return
	until_says 1 "r['operations']['write']['bytes'] < 40000" 'len(r["spans"]) == 2' \
		'not any("own" in f.get("path", "") for f in r["files"]["list"])' || return
	steps && whole 1 && ends
}

head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
make_keys 2
start 1 && start 2
ok 'two nodes meet' meet 1 2
ok 'a job on two nodes is watched on both' starts
ok 'it writes on both' steps
ok 'the report has what both nodes counted' whole 1
ok 'so has that of the node that is not the home' whole 2
ok 'the text names the nodes' text 1
if wants 'all(n["source"] == "bpf" for n in r["nodes"])' 2>/dev/null; then
	ok 'one file of all ranks is N-1' files
else
	skip 'one file of all ranks is N-1' 'this kernel takes no BPF programs'
fi
ok 'another user is refused on both nodes' refused
ok 'a node that is silent is named, and not waited for' silent
ok 'the job ends' ends
ok 'its report is the same then' whole 1
ok 'a slow node is known by its history and by the others' slow_node
ok 'interference is found, and jobs of other users are not named' interfered
ok 'a job of the same number in another image directory has a report of its own' other_job
finish
