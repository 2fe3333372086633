#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A file that cannot be a lower half is refused with the reason, and nothing stays behind.

. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
EEXIST=17 ENOENT=2 ENOEXEC=8 ENOTSUP=95

refused() {
	local errno=$1 text=$2
	shift 2
	timeout 30 "$bin/lower_refuse" "$lower" "$(library mpich)" "$errno" "$text" "$@"
}

# replace the only occurrence of bytes $3 in file $1 by $4; write it to $2
doctor() {
	python3 - "$@" <<'EOF'
import sys
source, target, old, new = sys.argv[1:]
data, old, new = open(source, 'rb').read(), bytes.fromhex(old), bytes.fromhex(new)
assert data.count(old) == 1 and len(old) == len(new), data.count(old)
open(target, 'wb').write(data.replace(old, new))
EOF
}

# ckpt-lower, linked otherwise
relink() {
	"${CC:-gcc}" -o "$dir/$1" "$top/build/obj/mpi-glue/lower/lower_main.o" -rdynamic "${@:2}"
}

libc=/lib/x86_64-linux-gnu/libc.so.6
ld=/lib64/ld-linux-x86-64.so.2

ok "a program that does not exist" refused $ENOENT "No such file" /nonexistent
ok "a program that is none" refused $ENOEXEC "no position-independent" "$0"
ok "a program that is cut short" eval \
	'head -c 64 "$lower" >"$dir/short" && refused $ENOEXEC "cut short" "$dir/short"'
ok "a library that does not exist" refused $ENOEXEC "cannot open shared object" - /nonexistent
ok "a library that is none" refused $ENOEXEC "invalid ELF header" - "$0"
ok "a range that is in use" refused $EEXIST "in use" - - range
ok "a kernel without FSGSBASE" refused $ENOTSUP FSGSBASE - - fsgsbase

# brk() uses another number: there is no site of the known form
mkdir "$dir/a" "$dir/b" "$dir/c"
doctor $libc "$dir/a/libc.so.6" b80c0000000f05 b80c0100000f05
relink lower-a -Wl,--disable-new-dtags,-rpath,"$dir/a"
ok "a libc that moves the break otherwise" refused $ENOTSUP \
	"libc.so is a build not known here: brk is called in 0 places" "$dir/lower-a"
# what follows mmap's is not glibc's test for an error
doctor $libc "$dir/b/libc.so.6" b8090000000f05483d00f0ffff b8090000000f0548a900f0ffff
relink lower-b -Wl,--disable-new-dtags,-rpath,"$dir/b"
ok "a libc whose mmap() goes on otherwise" refused $ENOTSUP \
	"libc.so is a build not known here: mmap is called in 0 places" "$dir/lower-b"
doctor $ld "$dir/c/ld-linux-x86-64.so.2" b8090000000f05 b8090100000f05
relink lower-c -Wl,--dynamic-linker="$dir/c/ld-linux-x86-64.so.2"
ok "a dynamic linker that maps otherwise" refused $ENOTSUP \
	"ld-linux-x86-64.so is a build not known here: mmap" "$dir/lower-c"
# names are how files are known: others would go unpatched
cp $ld "$dir/c/other.so"
relink lower-d -Wl,--dynamic-linker="$dir/c/other.so"
ok "a dynamic linker by another name" refused $ENOTSUP "not named as" "$dir/lower-d"
mkdir "$dir/e"
cp $libc "$dir/e/other.so"
ln -s other.so "$dir/e/libc.so.6"
relink lower-e -Wl,--disable-new-dtags,-rpath,"$dir/e"
ok "a libc by another name" refused $ENOTSUP "libc is not named as" "$dir/lower-e"

mkdir -p "$dir/v/mpi-glue/lower"
cp "$top"/mpi-glue/lower/lower_raw.h "$dir/v/mpi-glue/lower/"
sed 's/\(LOWER_BOOT_VERSION\t\).*/\1999/' "$top/mpi-glue/lower/lower_boot.h" \
	>"$dir/v/mpi-glue/lower/lower_boot.h"
"${CC:-gcc}" -D_GNU_SOURCE -I"$dir/v" -O -rdynamic -o "$dir/lower-v" \
	"$top/mpi-glue/lower/lower_main.c"
ok "a ckpt-lower of another version" refused $ENOEXEC "another version (999)" "$dir/lower-v"
ok "ckpt-lower says that it is not to be executed" \
	bash -c '"$1" 2>&1 | grep -q "not executed"' - "$lower"
finish
