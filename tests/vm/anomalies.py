#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Phases of a job that a slow disk or another job slowed down are found; runs in a test VM.

Options as of daemon.py, whose ckptd (Node) each test gets. The disk is one of dm-delay
(devices.py) in memory: it holds each write for some time, so that the rate of a job that writes
block by block follows from that time, and hardly from the emulated processor. How many of the slow
phases were found, and how many others were accused, is printed.

The order of the phases follows from the clusters (supervisor/iotrace/dbscan.h), of which the
largest is what is usual. The slow ones come one after the other, so that they are an episode and no
habit, and they are more than the four that make a cluster. Apart from these at most one phase in
ten may be alone, as the radius is that of the other nine.
"""
import os
import sys
import time

import daemon
from daemon import check, equal, test, wait_for
from devices import Disk, sh
from iotrace import Traced

daemon.TESTS.clear()

BLOCK = 2 << 20     # a slow phase must be well above 1 MiB/s, or it is none
WRITES = 36         # of a phase
# for each write, and again for its flush; timers of a kernel with 250 ticks a second are multiples
# of 4 ms. The processor, which is emulated, adds some 20 ms, on a loaded machine a multiple of it
USUAL_MS = 80
SOME_MS = 100       # 20 % slower
SLOW_MS = 240
GAP_S = 10          # between phases; up to 3 s are closed, and the collector may be late
USUAL = 7           # before the others; the largest cluster, with two later ones

# writes phase N when the file "phaseN" is there
PROGRAM = '''
import mmap
buffer = mmap.mmap(-1, BLOCK)
fd = os.open('DISK/data', os.O_WRONLY | os.O_DIRECT | os.O_DSYNC)
n = 0
while not os.path.exists(f'{d}/last'):
    if not os.path.exists(f'{d}/phase{n}'):
        time.sleep(0.05)
        continue
    for i in range(WRITES):
        os.pwrite(fd, buffer, i * BLOCK)
    os.close(os.open(f'{d}/done{n}', os.O_WRONLY | os.O_CREAT))
    n += 1
'''

# of jobs beside it, until they are to be quiet; without flushes, so that this one moves as much as
# the phase loses
NOISY = '''
import mmap
buffer = mmap.mmap(-1, 2 * BLOCK)
fd = os.open('DISK/noise', os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
while not os.path.exists(f'{d}/quiet'):
    os.pwrite(fd, buffer, 0)
'''
MANY_TO_ONE = '''
fd = os.open('/dev/shm/one', os.O_WRONLY | os.O_CREAT, 0o600)
pids = []
for n in range(3):
    pids.append(os.fork())
    if not pids[-1]:
        while not os.path.exists(f'{d}/quiet'):
            os.pwrite(fd, bytes(256 << 10), n << 20)
            time.sleep(0.1)
        os._exit(0)
for pid in pids:
    os.waitpid(pid, 0)
'''
SMALL_FILES = '''
while not os.path.exists(f'{d}/quiet'):
    for i in range(20):
        os.close(os.open(f'{d}/small', os.O_WRONLY | os.O_CREAT, 0o600))
        os.unlink(f'{d}/small')
    time.sleep(0.05)
'''


def filled(text, disk):
    return (text.replace('DISK', disk.mount).replace('BLOCK', str(BLOCK))
            .replace('WRITES', str(WRITES)))


class Phases:
    """The job, and what was done to each of its phases."""

    def __init__(self, node, disk):
        self.node, self.disk = node, disk
        with open(f'{disk.mount}/data', 'wb') as f:
            f.write(bytes(BLOCK) * WRITES)
            os.fsync(f.fileno())
        self.job = Traced(node, filled(PROGRAM, disk))
        self.job.flag('go')
        self.done = []      # (what, begin, end, number of the job beside it)

    def phase(self, what, ms=USUAL_MS, steps=None):
        n, number, other = len(self.done), None, None
        if steps:
            # by its name it is no run of the same program, or its phases would be compared, too
            other = Traced(self.node, filled(steps, self.disk),
                           opts=('--name', what.replace(' ', '-')))
            other.flag('go')
            number = other.job
        self.disk.slow(ms)
        began = time.time()
        self.job.flag(f'phase{n}')
        wait_for(f'phase {n}', 60, lambda: os.path.exists(f'{self.job.dir}/done{n}'))
        self.done.append((what, began, time.time(), number))
        print(f'# phase {n}, {what}: {WRITES * BLOCK / 1e6 / (time.time() - began):.1f} MB/s',
              flush=True)
        self.disk.slow(USUAL_MS)
        if other:
            other.flag('quiet')
            other.end()
        time.sleep(GAP_S)

    def found(self):
        """For each phase the row that ckptd has of it as slow; None: there is none."""
        self.job.flag('last')
        self.job.end()
        number = str(self.job.job)
        until = time.monotonic() + 30 * daemon.ARGS.slow
        while True:
            result = self.node.json('io', 'anomalies', number)['anomalies']
            if result['judged'] >= len(self.done) or time.monotonic() > until:
                break
            time.sleep(0.5)
        equal((result['judged'], result['unknown'], result['few'], result['left_out']),
              (len(self.done), 0, 0, 0),
              f'{self.done}: {result}, of {self.node.json("io", "report", number)["phases"]}')
        return [next((a for a in result['list'] if a['began'] < end + 1 and
                      a['began'] + a['seconds'] > began - 1), None)
                for _, began, end, _ in self.done]


def score(done, found, what):
    """How many phases of this kind there were, and how many were found."""
    hits = [a for (kind, *_), a in zip(done, found) if kind == what]
    return len(hits), sum(a is not None for a in hits)


@test
def slow_phases(node):
    """of the phases of a job those that were slowed down are found, with the job that did it"""
    # jobs have a /dev/shm of their own
    memory = f'{node.base}/memory'
    os.makedirs(memory)
    sh('mount', '-t', 'tmpfs', 'memory', memory)
    with Disk(memory, 'disk') as disk:
        phases = Phases(node, disk)
        for _ in range(USUAL - 2):
            phases.phase('usual')
        phases.phase('20 %', SOME_MS)
        for _ in range(2):
            phases.phase('usual')
        for _ in range(2):
            phases.phase('slow disk', SLOW_MS)
        phases.phase('noisy neighbour', SLOW_MS, NOISY)
        phases.phase('N-1 beside', SLOW_MS, MANY_TO_ONE)
        phases.phase('small files beside', SLOW_MS, SMALL_FILES)
        for _ in range(2):
            phases.phase('usual')
        found = phases.found()
        text = node.ctl('io', 'anomalies', str(phases.job.job)).stdout.decode()
    accused = score(phases.done, found, 'usual')[1]
    for what in ('20 %', 'slow disk', 'noisy neighbour', 'N-1 beside', 'small files beside'):
        there, hit = score(phases.done, found, what)
        print(f'# slow phases: {what}: {hit} of {there} found', flush=True)
    slow = [a for (what, *_), a in zip(phases.done, found) if what != 'usual']
    hits = sum(a is not None for a in slow)
    print(f'# slow phases: recall {hits / len(slow):.2f}, precision '
          f'{hits / max(1, hits + accused):.2f}; {accused} usual ones accused', flush=True)
    for (what, began, end, number), a in zip(phases.done, found):
        if what in ('usual', '20 %'):
            continue
        check(a, f'{what} was not found: {phases.done}, {found}')
        if number:
            equal((a['cause'], a.get('by')), ('interference', number), what)
            check(f'interference by job {number}' in text, text)
        else:
            equal(a['cause'], 'configuration_or_device', what)
    check(accused <= 2, f'usual phases were accused: {found}')
    check('slower than usual' in text, text)


if __name__ == '__main__':
    sys.exit(daemon.main())
