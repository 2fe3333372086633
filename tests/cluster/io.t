#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The I/O of MPI jobs over three VMs, on NFS of the first one: what ckptctl io report says of a job
# that uses MPI-IO agrees with the program's own counts, byte by byte and on each node. ckptd of one
# node is killed in the middle, and nothing of that is missing.
#
#   KERNEL=6.12 KINDS='mpich ompi' tests/cluster/io.t

: "${KERNEL:=6.1}" "${KINDS:=mpich ompi}" "${VM_SLOW:=1}" "${CLUSTER:=io-$$}"
export KERNEL VM_SLOW
. "$(dirname "$0")/../vm/lib.sh"
. "$top/scripts/cluster.sh"
CLUSTER_CONF=('io_trace = on')
dir=$top/build/cluster-$CLUSTER
trap 'cluster_end; rm -rf "$dir" "$cluster_top/build/vm/$CLUSTER"-n*' EXIT
ON_TIMEOUT=$((120 * VM_SLOW))
nfs=/mnt/nfs ranks=6 blocks=100 block=65536 own=20 own_size=5000

if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP must be root'
	exit 0
fi
declare -A compiler=([ompi]=mpicc.openmpi [mpich]=mpicc.mpich)
rm -rf "$dir"
cluster_make "$dir" 3 || exit 1

# Each rank writes its blocks of one file and reads those of the next rank; to a file of its own it
# writes slowly, so that there is time to kill ckptd. Independent calls: each is one call of the
# kernel.
cat >"$dir/mpi_io.c" <<'PROGRAM'
#include <mpi.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_for(const char *dir, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	while (access(path, F_OK))
		usleep(50000);
}

int main(int argc, char **argv)
{
	int rank, size, blocks = atoi(argv[2]), block = atoi(argv[3]), own = atoi(argv[4]);
	int own_size = atoi(argv[5]), i, fd;
	char *data = calloc(1, block), path[4096];
	MPI_File file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	wait_for(argv[1], "go");
	snprintf(path, sizeof(path), "%s/one", argv[1]);
	/* by default errors of files are returned */
	MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
	MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	for (i = 0; i < blocks; i++)
		MPI_File_write_at(file, ((MPI_Offset)i * size + rank) * block, data, block,
				  MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
	for (i = 0; i < blocks; i++)
		MPI_File_read_at(file, ((MPI_Offset)i * size + (rank + 1) % size) * block, data,
				 block, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	snprintf(path, sizeof(path), "%s/own%d", argv[1], rank);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	for (i = 0; i < own; i++) {
		if (write(fd, data, own_size) != own_size)
			abort();
		usleep(500000);
	}
	close(fd);
	snprintf(path, sizeof(path), "%s/done%d", argv[1], rank);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	wait_for(argv[1], "end");
	MPI_Finalize();
	return 0;
}
PROGRAM
for kind in $KINDS; do
	"${compiler[$kind]}" -O2 -o "$dir/shared/mpi_io_$kind" "$dir/mpi_io.c" || exit 1
done

# until_says NODE CONDITION...: in a report that NODE makes, within a while; python, on the result r
until_says() {
	local node=$1 _
	shift
	for _ in $(seq $((30 * VM_SLOW))); do
		on "$node" ckptctl io report --json "$job" >"$dir/report" 2>&1 &&
			python3 - "$dir/report" "$@" >"$dir/why" 2>&1 <<'EOF' && return
import json, sys
r = json.load(open(sys.argv[1]))['result']
def file(name):
    return next(f for f in r['files']['list'] if f['path'].endswith('/' + name))
for condition in sys.argv[2:]:
    assert eval(condition), condition
EOF
		sleep 1
	done
	cat "$dir/why" "$dir/report"
	return 1
}

serves() {
	on 1 sh -c 'mkdir -p /export && mount -t tmpfs -o size=256m tmpfs /export' &&
		on 1 env PYTHONPATH="$top/tests/crash-consistency:$top/tests/crash:$top/tests/vm" \
			python3 -B -c "import places
places.serve('/export', ['10.77.0.%d' % i for i in (1, 2, 3)])"
}

mounts() {
	on "$1" mkdir -p $nfs &&
		on "$1" mount -i -t nfs4 -o "addr=10.77.0.1,clientaddr=10.77.0.$1,vers=4.2" \
			10.77.0.1:/ $nfs
}

starts() {
	local data=$nfs/data-$kind
	on 1 mkdir -p "$data"
	job=$(on 1 ckptrun -n $ranks --hosts n1,n2,n3 --detach "$cluster_mnt/mpi_io_$kind" "$data" \
		$blocks $block $own $own_size) || { echo "$job"; return 1; }
	until_says 1 'sorted(n["node"] for n in r["nodes"]) == ["n1", "n2", "n3"]' \
		'all(s["source"] == "bpf" for s in r["spans"])'
}

flags() { on 1 touch "$nfs/data-$kind/$1"; }
has() { on 1 find "$nfs/data-$kind" -name "$1" | wc -l; }

# until_has NAME COUNT: so many files have names like NAME, within a while
until_has() {
	local _
	for _ in $(seq $((120 * VM_SLOW))); do
		[ "$(has "$1")" -lt "$2" ] || return 0
		sleep 0.5
	done
	on 1 ls -l "$nfs/data-$kind"
	return 1
}

# ckptd of n2, while the ranks write. Its collector, a process of its own, counts on.
dies() {
	[ "$(has 'done*')" = 0 ] || { echo 'a rank is done already'; return 1; }
	# shellcheck disable=SC2016
	on 2 sh -c 'kill -KILL $(pgrep -o -x ckptd)' && sleep 2 && node_daemon 2
}

one=$((blocks * block)) slow=$((own * own_size))
per_node=$((ranks * (one + slow) / 3))
# The library writes by itself, too: to /dev/shm.
agrees() {
	until_says "$1" "file('one')['writes'] == $((ranks * blocks))" \
		"file('one')['write_bytes'] == $((ranks * one))" \
		"file('one')['reads'] == $((ranks * blocks))" \
		"file('one')['read_bytes'] == $((ranks * one))" \
		"file('one')['nodes'] == 3 and file('one')['shared_write']" \
		"[file('own%d' % i)['write_bytes'] for i in range($ranks)] == [$slow] * $ranks" \
		"[file('own%d' % i)['writes'] for i in range($ranks)] == [$own] * $ranks" \
		'r["files"]["write"]["pattern"] == "N-1"' \
		"[n['write_bytes'] >= $per_node for n in r['nodes']] == 3 * [True]" \
		'not r["silent_nodes"] and not r["unwatched_nodes"] and not r["failed_nodes"]'
}

ends() {
	flags end
	on 1 ckptctl wait "$job"
}

for k in 1 2 3; do
	ok "node $k boots" node_up $k --cpus 1 --quiet
done
ok 'n1 knows the others' node_knows 1 2 3
ok 'n1 serves NFS' serves
for k in 1 2 3; do
	ok "n$k has it mounted" mounts $k
done
for kind in $KINDS; do
	ok "$kind: six ranks on three nodes are watched by the kernel's programs" starts
	# not in a subshell: the job's number is needed later
	job=$(on 1 ckptctl ps --json | python3 -c 'import json, sys
print(max(j["job"] for j in json.load(sys.stdin)["result"]["jobs"]))')
	flags go
	ok "$kind: each writes its own file" until_has 'own*' $ranks
	ok "$kind: ckptd of n2 is killed, and starts again" dies
	ok "$kind: the ranks are done" until_has 'done*' $ranks
	ok "$kind: the report of n1 is as the program's own count" agrees 1
	ok "$kind: that of n2, too" agrees 2
	ok "$kind: the job ends" ends
done
for k in 1 2 3; do
	ok "n$k: the kernel has nothing to say" node_check $k
done
[ $failed -eq 0 ] || tail -n 30 "$dir"/shared/n?.log | sed 's/^/# /'
echo "1..$n"
[ $failed -eq 0 ]
