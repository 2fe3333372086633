#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Jobs with keys of their own: four ckptds on this machine with all levels, and made-up images of a
# job over two of them. The other nodes keep, check and rebuild images that they can neither read
# nor make; a node that gets the key, by a restart that a node of the job begins, by hand, or out
# of an image with the site's secret key, can do so.
#
# As root, because ckptd is. Needs no module: what is fetched is not restored here.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nodes.sh"

# groups of 2+2 are n1, n3 and n2, n4, each held by the other two; the partner is the next node
node_options=(--set image_dir_shared=no --set store=%n/store --set level.partner=partner
	--set level.group=erasure:2+2 --set "level.disk=posix:$work/disk" --set job_keys=on)

states() {
	on "$1" list --json "$job" >"$work/list" || return
	python3 - "$work/list" "$2" <<'PY'
import json, sys
for row in json.load(open(sys.argv[1]))['result']['jobs'][0]['generations']:
    if row['generation'] == int(sys.argv[2]):
        print(', '.join(level['level'] + ' ' + level['state'] for level in row['levels']))
PY
}

comes_to() {
	local _
	for _ in {1..300}; do
		[ "$(states "$1" "$2")" = "$3" ] && return
		sleep 0.2
	done
	states "$1" "$2"
	tail -n 20 "$work"/n?/log
	return 1
}

know() {
	local i
	for i; do
		# shellcheck disable=SC2068
		meet "$i" ${@/$i/} || return
	done
}

# image DIRECTORY LABEL GENERATION [SECRET]: an image of the job, with the key of its node
image() {
	"$top/build/bin/tests/tools/mkimage" "$1" "$work/key" "$2" "$3" 2 "$record" \
		${4:+"$4"}
}

# a generation of images of nodes 1 and 3
make_generation() {
	local part=0 i dir
	for i in 1 3; do
		dir=$work/n$i/images/$job/gen-$1/node-$part
		mkdir -p "$dir"
		image "$dir/image" "$label" "$1" "jobs:$work/n$i/jobs/keys"
		"$top/build/bin/tests/tools/mkparts" "$work/n$i/images" "$work/key" "$job" "$1" \
			"$ranks" "$record"
		part=$((part + 1))
	done
}

key_on() {
	[ -e "$work/n$1/jobs/keys/$job" ]
}

# only these nodes have the job's key
keys_on() {
	local i has=''
	for i in 1 2 3 4; do
		key_on "$i" && has+=" $i"
	done
	echo "on:$has"
	[ "$has" = " $*" ]
}

# wrap JOB FOR ON: for a node, made on another
wrap() {
	on "$3" keys wrap "$1" --node "n$2"
}

# take WRAP FROM ON: on a node, as made by another
take() {
	on "$3" keys take "$job" --node "n$2" <<<"$1"
}

# whole STATUS TEXT NODE GENERATION: verify's exit status and words
whole() {
	says "$1" "$2" on "$3" verify --deep "$job:$4"
}

# begins NODE NODES TEXT: a restart there, which cannot go on to its end here, and its words
begins() {
	says 1 "$3" on "$1" restart --node-lost --nodes "$2" "$job:2"
}

head -c 32 /dev/urandom >"$work/key"
chmod 600 "$work/key"
mkdir -m 700 "$work/disk" "$work/site"
"$top/build/bin/ckptctl" keygen --dir "$work/site" --node site >"$work/site/line" 2>/dev/null
node_options+=(--set "job_keys_recovery=$(cut -d' ' -f3 "$work/site/line")")
make_keys 4
for i in 1 2 3 4; do
	start $i
done
know 1 2 3 4

# ---- the key comes with the job

job=$("$top/build/bin/ckptrun" --socket "$work/n1/sock" -d -n 2 --hosts n1,n3 --mpi none \
	sleep 600)
ok 'nodes that run the job have its key' keys_on 1 3
ok 'the same' cmp "$work/n1/jobs/keys/$job" "$work/n3/jobs/keys/$job"
ok 'for root alone' test "$(stat -c %a "$work/n3/jobs/keys" "$work/n3/jobs/keys/$job" | xargs)" = \
	'700 600'
ok 'it is listed' says 0 "$job [0-9a-f]\{32\}" on 3 keys list "$job"
ok 'and not where it is not' says 0 "^ *JOB KEY\$" on 2 keys list "$job"
ok 'a job that runs keeps it' says 1 'runs, and could not be checkpointed' on 1 keys remove \
	--force "$job"
ok 'its command line is not in its record' \
	sh -c "! grep -q argv '$work/n1/images/$job/job.json'"
one=$(on 1 run --detach -- sleep 600)
ok 'two jobs have two keys' sh -c "! cmp -s '$work/n1/jobs/keys/$job' '$work/n1/jobs/keys/$one'"
on 1 kill "$one" KILL
on 1 wait "$one" >/dev/null 2>&1
ok 'it goes with the job' on 1 rm "$one"
ok 'from the directory, too' test ! -e "$work/n1/jobs/keys/$one"
on 1 kill "$job" KILL
on 1 wait "$job" >/dev/null 2>&1

# a record that names another owner, sealed with the common key, which every node has
forged_owner() {
	local was
	was=$(python3 -c 'import json, sys
record = json.load(open(sys.argv[1]))["sealed"]
record.update(uid=4711, user="mallory")
print(json.dumps(record))' "$work/n1/images/$job/job.json")
	cp "$work/n1/images/$job/job.json" "$work/job.json"
	"$top/build/bin/tests/tools/mkparts" "$work/n1/images" "$work/key" "$job" 0 '{}' "$was"
	on 1 ps --all >"$work/out" 2>&1
	cat "$work/out"
	cp "$work/job.json" "$work/n1/images/$job/job.json"
	grep "^ *$job .* mallory " "$work/out" && ! grep "^ *$job .*sleep 600" "$work/out"
}

ok 'the command line is shown' says 0 'sleep 600' on 1 ps --all
ok 'but not to an owner who was put in' forged_owner
ok 'it is shown as before' says 0 'sleep 600' on 1 ps --all

# ---- images

ranks='{"nodes": ["n1", "n3"], "map": ["0", "1"], "mpi": "none", "apart": true}'
record=$(python3 -c 'import json, sys
record = json.load(open(sys.argv[1]))["sealed"]
record["ranks"] = json.loads(sys.argv[2])
record["run"] = 3
record["state"] = "running"
print(json.dumps(record))' "$work/n1/images/$job/job.json" "$ranks")
label=$job-$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["uuid"])' "$record")
stop 1
stop 3
make_generation 1
make_generation 2
start 1
start 3
know 1 2 3 4
ok 'nodes without the key keep copies and parity' comes_to 1 2 \
	'L1 here, partner here, group here, disk here'
ok 'of the older one, too' comes_to 1 1 'L1 here, partner here, group here, disk here'
ok 'of the other part' comes_to 3 2 'L1 here, partner here, group here, disk here'
ok 'and have no key' keys_on 1 3
ok 'a node of the job reads its images' whole 0 '' 1 2

# what node 2 keeps for node 1, with all that node 2 has
copy=$work/n2/store/n1/$label.gen-2.node-0
ok 'a copy is whole for who keeps it' says 0 '' "$top/build/bin/ckptctl" --standalone --key \
	"$work/key" verify --deep "$copy"
ok 'and locked' sh -c "'$top/build/bin/ckptctl' --standalone --key '$work/key' show --json \
	'$copy' | grep -q '\"locked\": true'"
ok 'another key does not open it' says 0 'locked: true' "$top/build/bin/ckptctl" \
	--standalone --key "$work/key" --encryption-key "$work/key" show --records "$copy"
ok 'the job'"'"'s does' says 0 'locked: false' "$top/build/bin/ckptctl" --standalone --key \
	"$work/key" --encryption-key "$work/n1/jobs/keys/$job" show --records "$copy"

# ---- forged with the common key, by a node that never had the job

stop 1
mv "$work/n1/images/$job/gen-2/node-0/image" "$work/good"
image "$work/n1/images/$job/gen-2/node-0/image" "$label" 2
start 1
know 1 2 3 4
ok 'a plain image in its place is refused' whole 1 "not sealed with the key of job $label" 1 2
ok 'no restart takes it' begins 1 n1,n3 'not sealed with the key\|fetched from'
stop 1
rm -r "$work/n1/images/$job/gen-2/node-0/image"
# with a key of its own, as that of the job
mkdir -m 700 "$work/his"
head -c 32 /dev/urandom >"$work/his/$job"
chmod 600 "$work/his/$job"
image "$work/n1/images/$job/gen-2/node-0/image" "$label" 2 "jobs:$work/his"
start 1
know 1 2 3 4
ok 'so is one with another key' whole 1 "not sealed with the key of job $label" 1 2
stop 1
rm -r "$work/n1/images/$job/gen-2/node-0/image"
mv "$work/good" "$work/n1/images/$job/gen-2/node-0/image"
start 1
know 1 2 3 4
ok 'the good one is as before' whole 0 '' 1 2

# ---- a restart elsewhere

ok 'a node without the key cannot begin it' begins 2 n2,n4 'not on this node: ckptctl keys wrap'
ok 'nor has it the key then' keys_on 1 3
on 1 restart --dry-run --nodes n1,n4 "$job:2" >"$work/out" 2>&1
ok 'one with the key gives it to the others' keys_on 1 3 4
ok 'which then have what it has' cmp "$work/n1/jobs/keys/$job" "$work/n4/jobs/keys/$job"
stop 4
rm -r "$work/n4/jobs/keys"
start 4 --set job_keys=off
know 1 2 3 4
ok 'a node that keeps none refuses its part' \
	says 1 'n4.*set job_keys = on' on 1 restart --dry-run --nodes n1,n4 "$job:2"
ok 'and has none' keys_on 1 3
stop 4
start 4
know 1 2 3 4

# ---- by hand

text=$(wrap "$job" 2 1)
ok 'a wrap is one line' test "$(wc -l <<<"$text") ${#text}" = '1 140'
ok 'it opens on its node alone' says 1 'no wrap that node n1 made' take "$text" 1 4
ok 'as of its maker alone' says 1 'no wrap that node n3 made' take "$text" 3 2
ok 'not where it was made' says 1 'no wrap' take "$text" 2 1
ok 'for its job alone' says 1 'no wrap' on 2 keys take $((job + 1)) --node n1 <<<"$text"
ok 'and not when it is damaged' says 1 'no wrap' take "${text/[a-m]/Z}" 1 2
ok 'who has no key makes none' says 1 "has no key of job $job" wrap "$job" 4 2
ok 'a node that nobody knows' says 1 'there is no node n9' on 1 keys wrap "$job" --node n9
ok 'nothing was kept' keys_on 1 3
ok 'taken' says 0 "has the key of job $job" take "$text" 1 2
ok 'once more' says 0 "has the key of job $job" take "$text" 1 2
ok 'it is there' keys_on 1 2 3
ok 'that node can begin a restart' begins 2 n2,n4 'was not taken of a job'
ok 'and gives the key on' keys_on 1 2 3 4
cp "$work/his/$job" "$work/n3/jobs/keys/$job"
text=$(wrap "$job" 3 1)
ok 'another key is not replaced' says 1 'another key here, which stays' take "$text" 1 3
cp "$work/n1/jobs/keys/$job" "$work/n3/jobs/keys/$job"
ok 'one is removed' says 1 'force removes it all the same' on 2 keys remove "$job"
ok 'by force' says 0 'no key of job' on 2 keys remove --force "$job"
ok 'there is none to remove' says 1 'has no key' on 2 keys remove --force "$job"

# ---- all nodes of the job are lost

stop 1
stop 3
on 4 keys remove --force "$job" >"$work/out" 2>&1
ok 'nobody has it' keys_on 1 3
recover() {
	on 2 keys recover "$job" --image "$1" --secret "$2"
}
copy=$work/n2/store/n1/$label.gen-2.node-0
ok 'not with a node'"'"'s key' says 1 'made for another key of the site' recover "$copy" \
	"$work/n2/node.key"
ok 'not from an image of another job' says 1 "not of job $((job + 1))" on 2 keys recover \
	$((job + 1)) --image "$copy" --secret "$work/site/node.key"
ok 'with the site'"'"'s' says 0 "has the key of job $job" recover "$copy" "$work/site/node.key"
ok 'the same key' cmp "$work/n1/jobs/keys/$job" "$work/n2/jobs/keys/$job"
ok 'a restart begins with it' begins 2 n2,n4 'was not taken of a job'

# ---- strict nodes

stop 4
start 4 --set job_keys=only
plain=$work/n4/images/900/gen-1
mkdir -p "${plain%/*}"
image "$plain" "900-0123456789abcdef" 1
"$top/build/bin/tests/tools/mkparts" "$work/n4/images" "$work/key" 900 0 '{}' \
	"$(python3 -c 'import json, sys
record = json.loads(sys.argv[1])
for name in "job_key", "private", "ranks":
    record.pop(name, None)
record.update(job=900, uuid="0123456789abcdef", state="saved")
print(json.dumps(record))' "$record")"
ok 'job_keys = only takes no image without a key' says 1 'as job_keys = only demands' \
	on 4 verify 900:1
stop 4
start 4
ok 'job_keys = on takes it' says 0 '' on 4 verify 900:1
stop 4
start 4 --set job_keys=off
ok 'so does off' says 0 '' on 4 verify 900:1

# ---- what is wrong is said

ok 'no action' says 2 'say what' on 1 keys
ok 'another one' says 2 'say what' on 1 keys show
ok 'no node' says 2 'needs --node' on 1 keys wrap 1
ok 'no job' says 2 'takes one job' on 1 keys wrap --node n2
ok 'an option of another' says 2 'not for keys list' on 1 keys list --node n2
ok 'no image' says 2 'needs --image and --secret' on 1 keys recover 1
ok 'no wrap' says 2 'wrap is needed' on 1 keys take 1 --node n2 </dev/null
ok 'no key is in any log' sh -c "! grep -F '$text' '$work'/n?/log"
finish
