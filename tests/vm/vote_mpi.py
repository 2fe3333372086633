#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Replicas of an MPI job that are compared at their sections: bits flipped in none, one and two of
them; runs in a test VM.

Options as of daemon.py, whose ckptd (Node) each test gets. The job is tests/vote/ranks.c, the
programs build/vote/ranks.KERNEL.KIND, whose result depends on each bit of each rank's memory; the
module ckptflip flips bits of it.
"""
import glob
import os
import platform
import random
import subprocess
import sys
import time

import daemon
from daemon import check, equal, wait_for

daemon.TESTS.clear()
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KERNEL = '.'.join(platform.release().split('.')[:2])
PROGRAMS = f'{TOP}/build/vote/ranks.{KERNEL}'
KINDS = sorted(path.rsplit('.', 1)[1] for path in glob.glob(f'{PROGRAMS}.*'))
RANKS = 2
PAGE, PAGES = 4096, 64
STEPS = 3000
SEED = int(os.environ.get('SCRUB_SEED', random.randrange(1 << 32)))


class MpiNode(daemon.Node):
    kind = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.settings = {'mpi_dir': f'{TOP}/build/lib/mpi',
                         'lower': f'{TOP}/build/libexec/ckpt-lower'}


daemon.Node = MpiNode


def test(f):
    """The test once for each library, whose name node.kind has."""
    for kind in KINDS:
        def once(node, kind=kind):
            node.kind = kind
            f(node)
        once.__name__ = f'{f.__name__}_{kind}'
        once.__doc__ = f'{kind}: {f.__doc__}'
        daemon.test(once)
    return f


def ckptrun(node, name, ranks=RANKS, opts=(), env=None):
    done = subprocess.run([f'{daemon.ARGS.bin}/ckptrun', '--socket', node.socket, '-n',
                           str(ranks), '--detach', *opts, '--', f'{PROGRAMS}.{node.kind}',
                           f'{node.base}/{name}', str(PAGES), str(STEPS), f'{node.base}/go'],
                          stdin=subprocess.DEVNULL, capture_output=True,
                          env={**os.environ, **(env or {})}, timeout=600 * daemon.ARGS.slow)
    equal(done.returncode, 0, f'ckptrun: {done.stderr.decode()}')
    return int(done.stdout)


def count(node, name):
    try:
        with open(f'{node.base}/{name}') as f:
            return f.read().count('\n')
    except FileNotFoundError:
        return 0


def result(path):
    with open(path) as f:
        last = f.read().splitlines()[-1]
    check(last.startswith('result '), f'{path} ends with {last!r}')
    return last


def started(node, name='ranks', **kwargs):
    job = ckptrun(node, name, **kwargs)
    wait_for('some steps', 60, lambda: count(node, name) > 20)
    return job


def go(node):
    with open(f'{node.base}/go', 'w'):
        pass


def wanted(node):
    """The last line of a job that nobody disturbs."""
    go(node)
    job = ckptrun(node, 'want')
    equal(node.wait(job), 0, 'undisturbed job')
    os.unlink(f'{node.base}/go')
    return result(f'{node.base}/want')


def replicated(node, **kwargs):
    leader = started(node, **kwargs)
    done = node.json('replicate', '--private', f'{node.base}/ranks', str(leader),
                     timeout=600)
    equal((done['leader'], len(done['jobs'])), (leader, 3), 'group')
    return done['jobs']


def newest(node, job):
    return node.generations(job)[-1]


def vote(node, job):
    return node.json('vote', str(job), timeout=600)


def processes(node, job, ranks=RANKS):
    """The processes of a job's ranks, by rank."""
    init = node.job(job)['init_pid']
    with open(f'/proc/{init}/task/{init}/children') as f:
        pids = f.read().split()
    equal(len(pids), ranks, f'processes of job {job}')
    return [int(pid) for pid in pids]


def pages_of(node, job, ranks=RANKS):
    """All pages that the ranks only read: (rank, name, address)."""
    found = []
    for line in node.output(job).splitlines()[:3 * ranks]:
        rank, name, start, nr = line.split()
        found += [(int(rank), name, int(start, 16) + i * PAGE) for i in range(int(nr))]
    return found


def flip(pid, byte, bit):
    with open('/sys/module/ckptflip/parameters/flip', 'w') as f:
        f.write(f'{pid} {byte:x} {bit}')


def finished(node, jobs, want):
    """All members end, with the right result."""
    go(node)
    for job, name in zip(jobs, ('ranks', 'ranks.replica-2', 'ranks.replica-3')):
        equal(node.wait(job), 0, f'status of job {job}')
        equal(result(f'{node.base}/{name}'), want, f'result of job {job}')


@test
def undisturbed(node):
    """three replicas that nobody disturbs are equal at each vote"""
    jobs = replicated(node)
    for i in range(3):
        # any member names the group
        done = vote(node, jobs[i])
        equal((done['outcome'], done['differ'], done['wrong']), ('verified', 0, []), 'vote')
        check(done['pages'] > RANKS * PAGES, f'only {done["pages"]} pages')
        equal(len(done['digests']), 3, 'members')
        equal(len(set(done['digests'])), 1, 'digests')
        for job in jobs:
            equal(newest(node, job)['trust'], 'verified', f'trust of job {job}')


@test
def flipped_one(node):
    """a flipped bit in a rank of one replica: found, named, repaired; the results are right"""
    rng = random.Random(SEED)
    want = wanted(node)
    jobs = replicated(node)
    pages = pages_of(node, jobs[0])
    for victim, kind in zip(rng.sample(jobs, 3), ('heap', 'data', 'stack')):
        rank, name, address = rng.choice([p for p in pages if p[1] == kind])
        byte = address + rng.randrange(PAGE)
        flip(processes(node, victim)[rank], byte, rng.randrange(8))
        done = vote(node, jobs[0])
        print(f'# {name}: {done["differ"]} of {done["pages"]} pages differ: {done["wrong"][:1]}')
        equal((done['outcome'], done.get('minority')), ('repaired', victim), f'seed {SEED}')
        found = [w for w in done['wrong'] if (w['job'], w['rank'], w['byte']) ==
                 (victim, rank, f'{byte:x}')]
        check(found or done['differ'] > 16, f'{name} {byte:x}: {done["wrong"]}')
        for w in found:
            check(int(w['start'], 16) <= byte < int(w['end'], 16), w)
            check(w['mapping'], w)      # a large block of the heap is anonymous
        for job in jobs:
            equal(newest(node, job)['trust'], 'repaired', f'trust of job {job}')
    equal(vote(node, jobs[0])['outcome'], 'verified', 'the next vote')
    finished(node, jobs, want)


@test
def flipped_two(node):
    """flipped bits in ranks of two replicas: rejected, all go back, and the results are right"""
    rng = random.Random(SEED)
    want = wanted(node)
    jobs = replicated(node)
    equal(vote(node, jobs[0])['outcome'], 'verified', 'before')
    good = [newest(node, job)['generation'] for job in jobs]
    for job in rng.sample(jobs, 2):
        rank, _, address = rng.choice(pages_of(node, jobs[0]))
        flip(processes(node, job)[rank], address + rng.randrange(PAGE), rng.randrange(8))
    equal(vote(node, jobs[0])['outcome'], 'rejected', f'seed {SEED}')
    for job, generation in zip(jobs, good):
        equal(newest(node, job)['trust'], 'rejected', f'trust of job {job}')
        equal(node.job(job)['generation'], generation, f'job {job} went back')
    equal(vote(node, jobs[0])['outcome'], 'verified', 'after')
    finished(node, jobs, want)


@test
def from_the_start(node):
    """ckptrun --replicas 3: three copies from the first section on, equal at a vote"""
    leader = ckptrun(node, 'ranks', opts=('--replicas', '3', '--private', f'{node.base}/ranks'))
    jobs = [job['job'] for job in node.json('ps')['jobs']]
    equal((leader, len(jobs)), (jobs[0], 3), 'members')
    done = vote(node, leader)
    equal((done['outcome'], done['differ'], done['wrong'], len(done['digests'])),
          ('verified', 0, [], 3), 'vote')


@test
def any_order(node):
    """messages that come in any order, and a flipped bit: told, and nothing is repaired"""
    rng = random.Random(SEED)
    jobs = replicated(node, ranks=4, env={'VOTE_ANY': '1'})
    inits = [node.job(job)['init_pid'] for job in jobs]
    rank, _, address = next(p for p in pages_of(node, jobs[0], 4) if p[1] == 'heap')
    flip(processes(node, jobs[1], 4)[rank], address, rng.randrange(8))
    done = vote(node, jobs[0])
    equal((done['outcome'], done['choices']), ('unsure', ['MPI_ANY_SOURCE']), 'vote')
    check((rank, f'{address:x}') in [(w['rank'], w['address']) for w in done['wrong']],
          done['wrong'])
    for job in jobs:
        equal(newest(node, job)['trust'], 'unverified', f'trust of job {job}')
    equal([node.job(job)['init_pid'] for job in jobs], inits, 'nobody was restarted')
    check('MPI_ANY_SOURCE' in node.ctl('vote', str(jobs[0]), timeout=600).stdout.decode(), 'text')


if __name__ == '__main__':
    began = time.monotonic()
    status = daemon.main()
    print(f'# {time.monotonic() - began:.0f} s')
    sys.exit(status)
