#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Recall and precision of the verdicts on slow phases, by kind, over many runs; in a test VM.

    io_recall.py --bin DIR --work DIR [--slow FACTOR] [--runs N] [--lanes N] [--kinds KIND,...]
                 [--history N] [--seconds N]

Options as of daemon.py; blanks in a kind are underscores. A *lane* is a ckptd of its own with a
disk of its own, in memory, whose bandwidth io.max of a control group limits: the group is that of
all jobs of the lane, so they compete for the disk as on one that is shared. Lanes run at the same
time, and know nothing of each other.

Each lane first has a history: one job with --history usual phases, of --seconds each. A *run* is
another job of the same program, with a usual phase and one of the run's kind, in turn the first; of
the kind "clean" both are usual. When the job has ended, ckptd is asked which of the two were slow,
and why. Then the run's phases leave the record, so that each run is judged by the same history: in
a record of 30 slow phases of one kind, with usual ones between, these would be a habit.

A slow disk has less bandwidth, by 10, 20 and 50 %. The others compete with another job on the same
disk: a noisy neighbour with one writer as greedy as the job, four processes that write one file
(N-1), eight that write many small files.
"""
import argparse
import contextlib
import os
import queue
import sqlite3
import statistics
import subprocess
import sys
import threading
import time

import daemon
from daemon import check, equal, test, wait_for
from devices import sh
from iotrace import Traced

daemon.TESTS.clear()

# history: 8 others are needed for clusters
OPTIONS = argparse.Namespace(runs=30, lanes=4, history=12, seconds=16, kinds='all')
RATE = 4 << 20      # bytes a second of the disk: a phase at half of that is well above 1 MiB/s
BLOCK = 256 << 10
BESIDE_BLOCKS = 8   # of the file that others write
GAP_S = 8           # between phases; up to 3 s are closed
DISK_MIB = 256

# writes phase N when the file "phaseN" is there
PROGRAM = f'''
import mmap
buffer = mmap.mmap(-1, {BLOCK})
fd = os.open('DISK/data', os.O_WRONLY | os.O_DIRECT)
n = 0
while not os.path.exists(f'{{d}}/last'):
    if not os.path.exists(f'{{d}}/phase{{n}}'):
        time.sleep(0.05)
        continue
    for i in range(WRITES):
        os.pwrite(fd, buffer, i * {BLOCK})
    os.close(os.open(f'{{d}}/done{{n}}', os.O_WRONLY | os.O_CREAT))
    n += 1
'''

# processes that do BODY until they are to be quiet
BESIDE = '''
import mmap
pids = []
for n in range(PROCESSES):
    pids.append(os.fork())
    if not pids[-1]:
        buffer = mmap.mmap(-1, SIZE)
        fd = os.open(f'DISK/beside', os.O_WRONLY | os.O_DIRECT)
        i = 0
        while not os.path.exists(f'{d}/quiet'):
            BODY
            i += 1
        os._exit(0)
for pid in pids:
    os.waitpid(pid, 0)
'''
SMALL = '''small = os.open(f'DISK/small-{n}-{i}', os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
            os.write(small, buffer)
            os.close(small)
            os.unlink(f'DISK/small-{n}-{i}')'''


def beside(processes, size, body):
    return (BESIDE.replace('PROCESSES', str(processes)).replace('SIZE', str(size))
            .replace('BODY', body))


# each kind: the part of the bandwidth that is left, what runs beside it, and which causes are right
KINDS = {
    'slow 10 %': (0.9, None, ('configuration_or_device',)),
    'slow 20 %': (0.8, None, ('configuration_or_device',)),
    'slow 50 %': (0.5, None, ('configuration_or_device',)),
    'noisy neighbour': (1, beside(1, BLOCK, 'os.pwrite(fd, buffer, 0)'), ('interference',)),
    'N-1 writer': (1, beside(4, BLOCK // 4, f'os.pwrite(fd, buffer, (n + 4 * (i % 8)) * '
                             f'{BLOCK // 4})'), ('interference',)),
    'small files': (1, beside(8, BLOCK // 8, SMALL), ('interference',)),
    'clean': (1, None, ()),
}
# at least so many of a hundred runs have to be found; a phase that takes a tenth longer often is
# within what seconds can tell
RECALL = {'slow 20 %': 50, 'slow 50 %': 80, 'noisy neighbour': 80, 'N-1 writer': 80,
          'small files': 80}
ACCUSED = 20        # at most so many of a hundred usual phases may be accused


def writes():
    """Of a phase."""
    return OPTIONS.seconds * RATE // BLOCK


class Lane:
    """A ckptd, a disk, and the control group that its jobs and the disk's limit are of."""

    def __init__(self, node, n):
        base = os.path.dirname(node.base)
        self.node = daemon.Node(base, f'lane{n}', images=f'{base}/images-{n}')
        os.makedirs(f'{self.node.base}/jobs')
        self.group = f'/sys/fs/cgroup/recall{n}'
        os.makedirs(self.group, exist_ok=True)
        self.node.prefix = ['sh', '-c', f'echo $$ >{self.group}/cgroup.procs; exec "$@"', 'sh']
        self.mount = f'{base}/disk{n}'
        self.file = f'{base}/memory/disk{n}'
        self.name = f'phases-{n}'
        self.rates = []     # of usual phases, in MB/s

    def __enter__(self):
        sh('truncate', '-s', f'{DISK_MIB}M', self.file)
        sh('/sbin/mke2fs', '-q', '-F', '-t', 'ext4', self.file)
        self.loop = sh('losetup', '--find', '--show', self.file)
        os.makedirs(self.mount)
        sh('mount', self.loop, self.mount)
        number = os.stat(self.loop).st_rdev
        self.device = f'{os.major(number)}:{os.minor(number)}'
        for name, blocks in (('data', writes()), ('beside', BESIDE_BLOCKS)):
            with open(f'{self.mount}/{name}', 'wb') as f:
                f.write(bytes(BLOCK) * blocks)
                os.fsync(f.fileno())
        self.limit(1)
        self.node.start()
        # the programs stay in the kernel as long as a job is watched
        self.keeper = Traced(self.node, '', opts=('--name', 'keeper'))
        equal(self.keeper.watched['source'], 'bpf', 'source')
        return self

    def __exit__(self, *_):
        self.node.stop()
        for argv in (('umount', '-l', self.mount), ('losetup', '-d', self.loop)):
            subprocess.run(argv, capture_output=True)

    def limit(self, part):
        with open(f'{self.group}/io.max', 'w') as f:
            f.write(f'{self.device} wbps={int(RATE * part)}')

    def job(self, steps, name):
        job = Traced(self.node, steps.replace('DISK', self.mount)
                     .replace('WRITES', str(writes())), opts=('--name', name))
        job.flag('go')
        return job

    def phase(self, job, n, kind):
        """Let the job have its phase number @n, under what is of the kind; when it was."""
        part, steps, _ = KINDS[kind]
        other = None
        if steps:
            other = self.job(steps, kind.replace(' ', '-'))
        self.limit(part)
        began = time.time()
        job.flag(f'phase{n}')
        wait_for(f'phase {n}, {kind}', 180, lambda: os.path.exists(f'{job.dir}/done{n}'))
        ended = time.time()
        self.limit(1)
        if other:
            other.flag('quiet')
            other.end()
        time.sleep(GAP_S)
        rate = writes() * BLOCK / 1e6 / (ended - began)
        if kind == 'clean':
            self.rates.append(rate)
        return began, ended, rate, other.job if other else None

    def judged(self, job, phases):
        """For each phase of the job, which ends, what ckptd has of it as slow; None: nothing."""
        job.flag('last')
        job.end()
        result = {}

        def done():
            result.update(self.node.json('io', 'anomalies', str(job.job))['anomalies'])
            return result['judged'] >= len(phases)
        with contextlib.suppress(daemon.Failure):
            wait_for('the verdicts', 20, done)
        equal((result['judged'], result['unknown'], result['few']), (len(phases), 0, 0),
              f'{phases}: {result}, of {self.node.json("io", "report", str(job.job))["phases"]}')
        return [next((a for a in result['list'] if a['began'] < ended + 1 and
                      a['began'] + a['seconds'] > began - 1), None)
                for began, ended, *_ in phases]

    def history(self):
        job = self.job(PROGRAM, self.name)
        phases = [self.phase(job, n, 'clean') for n in range(OPTIONS.history)]
        found = self.judged(job, phases)
        return sum(a is not None for a in found)

    def run(self, kind, number):
        """(was it found, was its cause named, how many usual phases were accused)"""
        job = self.job(PROGRAM, self.name)
        kinds = ['clean', kind]
        if number % 2:
            kinds.reverse()
        phases = [self.phase(job, n, k) for n, k in enumerate(kinds)]
        found = self.judged(job, phases)
        self.forget(job)
        accused = sum(a is not None for a, k in zip(found, kinds) if k == 'clean')
        hit, cause = None, False
        if kind != 'clean':
            at = kinds.index(kind)
            hit, other = found[at], phases[at][3]
            cause = hit is not None and hit['cause'] in KINDS[kind][2] and \
                hit.get('by') == other
        print(f'# {kind}, run {number}: '
              + ', '.join(f'{k} {p[2]:.2f} MB/s' for k, p in zip(kinds, phases))
              + f': {[(a["cause"], round(a["rate"] / a["usual"], 2)) if a else "" for a in found]}',
              flush=True)
        return hit is not None, cause, accused

    def forget(self, job):
        with contextlib.closing(sqlite3.connect(f'{self.node.base}/jobs/io.db',
                                                timeout=20)) as db, db:
            db.execute('DELETE FROM phase WHERE job IN (SELECT key FROM job WHERE number = ?)',
                       (job.job,))


class Results:
    """Results of runs by kind, which lanes put in; and the errors of lanes."""

    def __init__(self):
        self.of = {kind: [] for kind in KINDS}
        self.errors = []
        self.history_accused = 0
        self.lock = threading.Lock()

    def add(self, kind, result):
        with self.lock:
            self.of[kind].append(result)

    def print(self, kinds):
        print(f'# {"kind":16} {"runs":>5} {"found":>6} {"false":>6} {"recall":>7} '
              f'{"precision":>10} {"cause":>6}')
        for kind in kinds:
            runs = self.of[kind]
            accused = sum(r[2] for r in runs)
            line = f'# {kind:16} {len(runs):5} '
            if kind == 'clean':
                print(f'{line}{"":>6} {accused:6}   of {2 * len(runs)} usual phases')
                continue
            hits, causes = (sum(r[i] for r in runs) for i in (0, 1))
            print(f'{line}{hits:6} {accused:6} {hits / max(1, len(runs)):7.2f} '
                  f'{hits / max(1, hits + accused):10.2f} {causes:6}')
        sys.stdout.flush()

    def check(self, kinds, runs):
        equal(self.errors, [], 'errors')
        for kind in kinds:
            equal(len(self.of[kind]), runs, f'runs of {kind}')
            hits = sum(r[0] for r in self.of[kind])
            check(100 * hits >= RECALL.get(kind, 0) * runs, f'{kind}: {hits} of {runs} found')
        usual = sum(len(self.of[kind]) * (2 if kind == 'clean' else 1) for kind in kinds)
        accused = sum(r[2] for kind in kinds for r in self.of[kind])
        check(100 * accused <= ACCUSED * usual, f'{accused} of {usual} usual phases were accused')


def work(lane, todo, results):
    """A lane's thread: a history, then runs until none is left."""
    try:
        accused = lane.history()
        with results.lock:
            results.history_accused += accused
        while True:
            kind, number = todo.get_nowait()
            results.add(kind, lane.run(kind, number))
    except queue.Empty:
        pass
    except Exception as e:
        with results.lock:
            results.errors.append(f'{lane.name}: {e!r}')


@test
def recall(node):
    """slow phases of each kind are found, and usual ones are not accused"""
    kinds = list(KINDS) if OPTIONS.kinds == 'all' else OPTIONS.kinds.replace('_', ' ').split(',')
    check(set(kinds) <= set(KINDS), f'kinds are {", ".join(KINDS)}')
    memory = f'{os.path.dirname(node.base)}/memory'
    os.makedirs(memory)
    sh('mount', '-t', 'tmpfs', 'memory', memory)
    sh('modprobe', 'loop')
    todo, results = queue.Queue(), Results()
    for number in range(OPTIONS.runs):
        for kind in kinds:
            todo.put((kind, number))
    try:
        with contextlib.ExitStack() as stack:
            lanes = [stack.enter_context(Lane(node, n)) for n in range(OPTIONS.lanes)]
            threads = [threading.Thread(target=work, args=(lane, todo, results)) for lane in lanes]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            rates = [rate for lane in lanes for rate in lane.rates]
        print(f'# {len(rates)} usual phases: {statistics.median(rates):.2f} MB/s, from '
              f'{min(rates):.2f} to {max(rates):.2f}; {results.history_accused} of '
              f'{OPTIONS.history * len(lanes)} of the histories accused')
        results.print(kinds)
        results.check(kinds, OPTIONS.runs)
    finally:
        subprocess.run(['umount', '-l', memory], capture_output=True)


def main():
    parser = argparse.ArgumentParser(add_help=False)
    for name, value in vars(OPTIONS).items():
        parser.add_argument(f'--{name}', type=type(value), default=value)
    _, rest = parser.parse_known_args(namespace=OPTIONS)
    sys.argv[1:] = rest
    return daemon.main()


if __name__ == '__main__':
    sys.exit(main())
