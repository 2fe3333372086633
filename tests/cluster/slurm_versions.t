#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# All that is built with Slurm's headers, with those of another version: 24.11, of Debian 13. It is
# compiled without a warning and linked, each function that it calls is there, and this machine's
# own Slurm refuses the plugin that is not of its version. As root, that Slurm runs in a tree of
# its release, on three nodes that are namespaces (tests/mpi/slurm_nodes.t).
#
# Fetches packages of that release, once (scripts/slurm-fetch).

. "$(dirname "$0")/../mpi/lib.sh"
suite=${SUITE:-trixie}
dir=$top/build/slurm-$suite
cd "$top" || exit 1
if ! version=$(scripts/slurm-fetch "$suite" "$dir" 2>"$dir.log"); then
	echo "1..0 # SKIP no packages of $suite: $(tail -n 1 "$dir.log" | tr -d '#')"
	exit 0
fi
echo "# Slurm $version"
libs=$dir/usr/lib/x86_64-linux-gnu
built=$dir/out
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() {
	rm -rf "${built:?}"
	make CI=true B="$built" CFLAGS="-isystem $dir/usr/include" \
		LDFLAGS="-L$libs -Wl,--allow-shlib-undefined" \
		"$built"/lib/slurm/{spank_ckpt,job_submit_stillpoint}.so \
		"$built"/bin/ckpt-slurm-{run,drain,move}
}
# number_of FILE SYMBOL: the version number that a plugin carries
number_of() {
	gdb -batch -ex "output/x $2" "$1" 2>/dev/null
}
of_version() {
	local want header=$dir/usr/include/slurm/slurm_version.h
	want=$(sed -n 's/^#define SLURM_VERSION_NUMBER //p' "$header")
	[ -n "$want" ] || return
	for plugin in spank_ckpt job_submit_stillpoint; do
		[ "$(number_of "$built/lib/slurm/$plugin.so" plugin_version)" = "$want" ] || return
	done
}
defined() {
	nm -D --defined-only "$@" | awk 'NF == 3 { sub("@.*", "", $3); print $3 }' | sort -u
}
called() {
	nm -D --undefined-only "$@" | sed -n 's/^ *U \(\(slurm\|spank\)_[a-z_]*\).*/\1/p' |
		sort -u
}
# all_there FILE... -- FILE...: what the first ones call of Slurm, the others have
all_there() {
	local missing users=()
	while [ "$1" != -- ]; do users+=("$1"); shift; done
	shift
	[ -n "$(called "${users[@]}")" ] || return
	missing=$(comm -23 <(called "${users[@]}") <(defined "$@"))
	[ -z "$missing" ] || { echo "not there: $missing"; return 1; }
}
# options_with PLUGIN: what this machine's sbatch says with it in plugstack.conf
options_with() {
	printf 'ClusterName=test\nSlurmctldHost=localhost\nPlugStackConfig=%s\n' \
		"$work/plugstack.conf" >"$work/slurm.conf"
	echo "optional $1" >"$work/plugstack.conf"
	SLURM_CONF=$work/slurm.conf sbatch --help 2>&1
}
has_option() { options_with "$1" | grep -e '--ckpt='; }
is_refused() {
	local said
	said=$(options_with "$1") || return
	echo "$said" | head -n 3
	! grep -e '--ckpt=' <<<"$said" && grep -i 'incompatible\|version' <<<"$said" &&
		grep -e '--nodes' <<<"$said"
}

ok "plugins, launcher and drain are built with Slurm $version, without a warning" build
ok 'the plugins are of that version' of_version
ok 'the launcher calls what its libslurm has' \
	all_there "$built"/bin/ckpt-slurm-{run,drain,move} -- "$libs"/libslurm.so.*.*.*
ok 'the plugins call what its programs have' all_there "$built"/lib/slurm/*.so -- \
	"$libs"/slurm-wlm/libslurmfull.so "$dir"/usr/sbin/slurmd-wlm
if command -v sbatch >/dev/null; then
	ok 'the plugin of its own version gives sbatch its options' \
		has_option "$top/build/lib/slurm/spank_ckpt.so"
	ok 'sbatch refuses the one of another version, and works without' \
		is_refused "$built/lib/slurm/spank_ckpt.so"
else
	skip 'sbatch and a plugin of another version' 'no sbatch (package slurm-client)'
fi
in_the_tree() {
	TREE=$dir/tree PLUGINS=$built tests/mpi/slurm_nodes.t
}
if [ "$(id -u)" != 0 ]; then
	skip "Slurm $version runs" 'must be root'
elif ! scripts/slurm-fetch --tree "$suite" "$dir" >"$dir.log" 2>&1; then
	skip "Slurm $version runs" "no tree of $suite: $(tail -n 1 "$dir.log" | tr -d '#')"
else
	ok "Slurm $version runs on three nodes, with steps, launches, scripts that are jobs" \
		in_the_tree
fi
finish
