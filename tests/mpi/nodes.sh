# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Nodes that are ckptds on this machine, which know each other by keys. To be sourced after lib.sh,
# as root (else the test is skipped):
#
#   make_keys COUNT            keys and hosts file for the nodes n1 to nCOUNT
#   start NODE [OPTION...]     its ckptd runs, with the options of $node_options and these
#   stop NODE [SIGNAL]         it has ended
#   on NODE CMD ARG...         ckptctl there
#   meet FROM TO...            node FROM is connected to the others
#   says STATUS TEXT CMD...    the exit status of a command, and a text in what it says
#
# With node_prefix=(COMMAND ARG...) each ckptd is started by that command, which must be replaced by
# it; %i in an argument is the node's number. $address has nodes' addresses, by number.
#
# Each has $work/nN: sock, log, jobs, images, store. In an option, %n stands for that directory.
# What is left at the end of the test is stopped and removed.

if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP must be root'
	exit 0
fi

work=$(mktemp -d)
node_options=()
node_prefix=()
address=()
trap 'for n in "$work"/n*; do stop "${n##*/n}"; done; rm -rf "$work"' EXIT

# what is tested runs in subshells, so pids are in files
stop() {
	local pid _
	pid=$(cat "$work/n$1/pid" 2>/dev/null) || return 0
	rm "$work/n$1/pid"
	kill -"${2:-TERM}" "$pid"
	for _ in {1..200}; do
		kill -0 "$pid" 2>/dev/null || return 0
		[[ $(cut -d' ' -f3 "/proc/$pid/stat" 2>/dev/null) = Z ]] && return
		sleep 0.05
	done
}

start() {
	local i=$1 n=$work/n$1 options _
	shift
	options=("${node_options[@]}" "$@")
	mkdir -p "$n/jobs" "$n/images" "$n/store"
	chmod 700 "$n/store"
	rm -f "$n/sock"
	"${node_prefix[@]//%i/$i}" "$top/build/bin/ckptd" --config /dev/null \
		--set socket="$n/sock" --set state_dir="$n/jobs" \
		--set image_dir="$n/images" --set key="$work/key" --set node="n$i" \
		--set hosts="$work/hosts" --set node_key="$n/node.key" \
		--set listen="${address[i]:-127.0.0.1}" \
		"${options[@]//%n/$n}" >>"$n/log" 2>&1 </dev/null &
	echo $! >"$n/pid"
	for _ in {1..400}; do
		[ -S "$n/sock" ] && return
		# its pid may be another's soon
		kill -0 $! 2>/dev/null || { rm "$n/pid" && break; }
		sleep 0.05
	done
	echo "ckptd of n$i does not start: $(tail -n 1 "$n/log")"
	return 1
}

on() {
	timeout -k 2 200 "$top/build/bin/ckptctl" --socket "$work/n$1/sock" "${@:2}"
}

meet() {
	local from=$1 to _
	shift
	for to; do
		for _ in {1..150}; do
			on "$from" nodes | grep -q "^n$to .*answers" && continue 2
			sleep 0.2
		done
		return 1
	done
}

# Ports that nobody has. Not of those that the kernel gives to who asks for any: between stop and
# start of a ckptd, a connection of another test would take its port.
ports() {
	python3 -c 'import random, socket, sys
first = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
held = []
for port in random.sample(range(max(1024, first - 16384), max(first, 17408)), 1000):
    if len(held) == int(sys.argv[1]):
        break
    s = socket.socket()
    try:
        s.bind(("127.0.0.1", port))
        held.append(s)
    except OSError:
        pass
print(*[s.getsockname()[1] for s in held])' "$1"
}

make_keys() {
	local i port
	read -ra port <<<"$(ports "$1")"
	for ((i = 1; i <= $1; i++)); do
		mkdir -p "$work/n$i"
		"$top/build/bin/ckptctl" keygen --dir "$work/n$i" --node "n$i" --address \
			"${address[i]:-127.0.0.1}:${port[i - 1]}" >>"$work/hosts" || return
	done
	sed -i 's/$/ root=yes/' "$work/hosts"
}

says() {
	local status=$1 text=$2 rc=0
	shift 2
	"$@" >"$work/out" 2>&1 || rc=$?
	cat "$work/out"
	[ "$rc" = "$status" ] && grep -q -- "$text" "$work/out"
}
