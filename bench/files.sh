#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# BENCH=files: what it costs to keep a file of 1 GiB that the job writes in place.
#
# On XFS, where blocks are shared: the pause with the file kept, beside a dump of the same job that
# looks at no file (--files ignore), in turn.  On ext4: the second generation, when 1 % of the file
# has changed or nothing, beside the first one, which has all of it.

. "$(dirname "$0")/lib.sh"
inplace=/root/inplace
MIB=${MIB:-1024}

# virtiofs of Linux 6.1 cannot read a module of more than 4 MiB
xfs_load() {
	local module dep
	[ ! -d /sys/module/xfs ] || return 0
	module=$(modinfo -n xfs) || return 1
	for dep in $(modinfo -F depends xfs | tr , ' '); do modprobe "$dep"; done
	case $module in
	*.ko) cp "$module" /root/xfs.ko && insmod /root/xfs.ko ;;
	*) modprobe xfs ;;
	esac
}

inplace_start() { # DIR
	setsid "$inplace" "$1/field" "$MIB" 1 </dev/null >"$work/inplace.out" 2>&1 &
	pid=$!
	until grep -q ready "$work/inplace.out"; do
		kill -0 $pid 2>/dev/null || die "inplace: $(cat "$work/inplace.out")"
		sleep 0.1
	done
}
inplace_stop() {
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	# a restored one is no child of ours
	while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
}
inplace_dirty() {
	local before
	before=$(wc -l <"$work/inplace.out")
	kill -USR1 "$pid"
	until [ "$(wc -l <"$work/inplace.out")" -gt "$before" ]; do sleep 0.02; done
}

dump() { # CASE RUN TOOL DIR OPTION…
	local case=$1 run=$2 tool=$3 dir=$4 out
	shift 4
	out=$("$measure" "$work/measure" "$ckptctl" --json --standalone --key "$key" \
		dump --pid "$pid" --dir "$dir" --leave-running "$@") || die "ckptctl dump: $out"
	rows_of_measure "$case" "$run" "$tool"
	row "$case" "$run" "$tool" pause $(($(json_number pause_ns "$out") / 1000))
	# what it shares with its base is a link
	row "$case" "$run" "$tool" size "$(find "$dir" -type f -links 1 -printf '%k\n' |
		awk '{ kib += $1 } END { print kib }')"
}

# The pause of a job whose file is kept (ours), and of one whose file is not (other).
bench_pause() { # CASE DIR WRITTEN
	local case=$1 dir=$2 written=$3 run tool how
	wanted "$case" || return 0
	inplace_start "$dir"
	for ((run = 1; run <= RUNS; run++)); do
		for tool in $( ((run % 2)) && echo ours other || echo other ours); do
			how=keep
			[ $tool = ours ] || how=ignore
			sync
			[ -z "$written" ] || inplace_dirty
			dump "$case" $run $tool "$work/$tool" --files $how
			rm -rf "${work:?}/$tool"
		done
		say "$bench $case: run $run of $RUNS"
	done
	inplace_stop
	rm -f "$dir/field"
}

# The file is what it was at the dump, when it was written since, and gone.
restored() { # CASE DIR-OF-FILE IMAGE CKSUM
	local how
	for how in written gone; do
		inplace_stop
		[ $how = written ] || rm "$2/field"
		"$ckptctl" --standalone --key "$key" restore --dir "$3" --detach >/dev/null ||
			die "ckptctl restore"
		[ "$(cksum <"$2/field")" = "$4" ] || die "$1: another content ($how)"
		inplace_dirty
	done
	rm -f "$2"/.field.stillpoint-*
}

# The first generation (other) and the second (ours).
bench_second() { # CASE DIR WRITTEN
	local case=$1 dir=$2 written=$3 run sum
	wanted "$case" || return 0
	for ((run = 1; run <= RUNS; run++)); do
		inplace_start "$dir"
		sync
		dump "$case" $run other "$work/other" --files keep --track
		[ -z "$written" ] || inplace_dirty
		sync
		sum=$(cksum <"$dir/field")
		dump "$case" $run ours "$work/ours" --files keep --track --base "$work/other"
		inplace_dirty
		restored "$case" "$dir" "$work/ours" "$sum"
		inplace_stop
		rm -rf "$work/other" "$work/ours" "$dir/field"
		say "$bench $case: run $run of $RUNS"
	done
}

modprobe -q loop
if xfs_load; then
	dd if=/dev/zero of="$DISK/xfs.img" bs=1M count=$((MIB * 2 + 512)) status=none
	mkfs.xfs -q -m reflink=1 "$DISK/xfs.img" && mkdir -p /mnt/xfs &&
		mount -o loop "$DISK/xfs.img" /mnt/xfs || die "no XFS"
	bench_pause "XFS, $MIB MiB, at rest" /mnt/xfs ''
	bench_pause "XFS, $MIB MiB, 1 % written before" /mnt/xfs yes
	umount /mnt/xfs
	rm -f "$DISK/xfs.img"
else
	say "no XFS in this kernel"
fi
bench_pause "ext4, $MIB MiB, at rest" "$work" ''
bench_second "ext4, $MIB MiB, second generation, 1 % written" "$work" yes
bench_second "ext4, $MIB MiB, second generation, nothing written" "$work" ''
