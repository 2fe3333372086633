#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The shell itself: background jobs, a trap, an array, a here-document held open, a
# coprocess; all as they were.
. "${BASH_SOURCE%/*}/phase.sh"

hits=0
trap 'hits=$((hits + 1))' USR1
declare -A table
for i in {1..300}; do table[key$i]=value$((i * i)); done
exec 7<<<"$(seq 1 500)"
for _ in {1..100}; do read -r -u 7 line; done
coproc upper { while read -r word; do echo "${word^^}"; done; }
( await_go; exit 11 ) &
first=$!
( while :; do sleep 0.05; done ) &
second=$!
sleep 1000 &
third=$!

ready
await_go

wait "$first"
same $? 11 "status of a job"
kill "$second" "$third"
wait "$second"
same $? 143 "status of a killed job"
wait "$third"
kill -USR1 $$
same "$hits" 1 "trap"
same "${table[key299]} ${#table[@]}" "value89401 300" "array"
read -r -u 7 line
same "$line" 101 "here-string"
echo hello >&"${upper[1]}"
read -r answer <&"${upper[0]}"
same "$answer" HELLO "coprocess"
eval "exec ${upper[1]}>&-"
wait "$upper_PID" 2>/dev/null
pass
