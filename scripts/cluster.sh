# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Nodes that are VMs on one network, each with its ckptd, to be sourced by bash:
#
#   cluster_make DIR COUNT    keys, hosts file, images: what all nodes have in common
#   node_up K [OPTION...]     boot node K (n1, n2, ...; options of scripts/vm up); its ckptd runs
#   node_off K                cut its power
#   node_knows K OTHER...     node K hears of nodes OTHER within a minute (times VM_SLOW)
#   node_check K              fails if its kernel complained
#   on K CMD ARG...           run CMD there
#   cluster_end               cut the power of all
#
# Variables: KERNEL; CLUSTER, the name of the VMs' network and the beginning of their names;
# CLUSTER_CONF, an array of lines for each ckptd.conf behind ours; CLUSTER_IMAGES, their
# image_dir; CLUSTER_NETEM, what netem (tc-netem(8)) does to what a node sends, as 'delay 20ms
# 10ms loss 0.5%'. All nodes see $cluster_mnt, which is DIR/shared here, and have their images
# there. Root only.

cluster_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cluster_mnt=/srv/stillpoint
CLUSTER=${CLUSTER:-cluster}
[ -v CLUSTER_CONF ] || CLUSTER_CONF=()

cluster_make() {
	local i
	cluster_dir=$1 cluster_count=$2
	mkdir -p "$cluster_dir/shared/images" "$cluster_dir/shared/work"
	: >"$cluster_dir/hosts"
	(umask 077; head -c 32 /dev/urandom >"$cluster_dir/key")
	for i in $(seq "$cluster_count"); do
		mkdir -p "$cluster_dir/n$i"
		"$cluster_top/build/bin/ckptctl" keygen --dir "$cluster_dir/n$i" --node "n$i" \
			--address "10.77.0.$i" >>"$cluster_dir/hosts" \
			2>"$cluster_dir/keygen.log" || {
			cat "$cluster_dir/keygen.log" >&2
			return 1
		}
	done
	sed -i 's/$/ root=yes/' "$cluster_dir/hosts"
}

on() {
	local k=$1
	shift
	"$cluster_top/scripts/vm" exec "$CLUSTER-n$k" --timeout "${ON_TIMEOUT:-600}" \
		--env PATH="$cluster_top/build/bin:/usr/sbin:/usr/bin:/sbin:/bin" -- "$@"
}

# The ckptd of node K, with its log in DIR/shared.
node_daemon() {
	on "$1" sh -c 'setsid ckptd </dev/null >>'"$cluster_mnt/n$1.log"' 2>&1 &
		for i in $(seq 200); do [ -S /run/stillpoint/ckptd.sock ] && exit; sleep 0.1; done
		tail -n 20 '"$cluster_mnt/n$1.log"'; exit 1'
}

node_up() {
	local k=$1 file
	shift
	"$cluster_top/scripts/vm" up "$CLUSTER-n$k" --kernel "$KERNEL" --mem 1024 \
		--module --cached --owner $$ --net "$CLUSTER,ip=10.77.0.$k/24" "$@" || return
	[ -z "${CLUSTER_NETEM:-}" ] ||
		on "$k" sh -c "modprobe sch_netem &&
			tc qdisc add dev eth0 root netem limit 10000 $CLUSTER_NETEM" || return
	on "$k" sh -c "mkdir -p $cluster_mnt /etc/stillpoint &&
		mkdir -p -m 700 /var/lib/stillpoint/store &&
		mount --bind '/run/vm/top/${cluster_dir#"$cluster_top"/}/shared' $cluster_mnt &&
		hostname n$k" || return
	for file in hosts key "n$k/node.key"; do
		on "$k" sh -c "umask 077; echo $(base64 -w0 "$cluster_dir/$file") |
			base64 -d >/etc/stillpoint/${file##*/}" || return
	done
	on "$k" sh -c 'printf "%s\n" "$@" >/etc/stillpoint/ckptd.conf' sh \
		"image_dir = ${CLUSTER_IMAGES:-$cluster_mnt/images}" "node = n$k" \
		"${CLUSTER_CONF[@]}" || return
	node_daemon "$k"
}

node_off() {
	"$cluster_top/scripts/vm" poweroff-hard "$CLUSTER-n$1"
}

node_knows() {
	local node=$1 other _
	shift
	for other; do
		for _ in $(seq $((60 * ${VM_SLOW:-1}))); do
			on "$node" ckptctl nodes | grep -q "^n$other .*answers" && continue 2
			sleep 1
		done
		on "$node" ckptctl nodes
		return 1
	done
}

node_check() {
	"$cluster_top/scripts/vm" check "$CLUSTER-n$1"
}

cluster_end() {
	local i
	for i in $(seq "${cluster_count:-0}"); do
		node_off "$i" >/dev/null 2>&1 || true
	done
	return 0
}
