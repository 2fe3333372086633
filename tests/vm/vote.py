#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Replicas of a real job that are compared at their sections: bits flipped in none, one and two of
them; runs in a test VM.

Options as of daemon.py, whose ckptd (Node) each test gets. The job is tests/vote/sums.c, whose
result depends on each bit of its memory; the module ckptflip flips bits of it.
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import daemon
import scrub
from daemon import check, equal, test
from scrub import SEED, flip, pages_of, result, sums

daemon.TESTS.clear()
STEPS = 1200


def process(node, job):
    """The only process of a job."""
    init = node.job(job)['init_pid']
    with open(f'/proc/{init}/task/{init}/children') as f:
        pids = f.read().split()
    equal(len(pids), 1, f'processes of job {job}')
    return int(pids[0])


def wanted(node):
    """The last line of a job that nobody disturbs."""
    job = sums(node, STEPS, 'want')
    equal(node.wait(job), 0, 'undisturbed job')
    return result(f'{node.base}/want')


def replicated(node):
    leader = sums(node, STEPS)
    done = node.json('replicate', '--private', f'{node.base}/sums', str(leader))
    equal((done['leader'], len(done['jobs'])), (leader, 3), 'group')
    return done['jobs']


def finished(node, jobs, want):
    """All members end, with the right result."""
    for job, name in zip(jobs, ('sums', 'sums.replica-2', 'sums.replica-3')):
        equal(node.wait(job), 0, f'status of job {job}')
        equal(result(f'{node.base}/{name}'), want, f'result of job {job}')


def newest(node, job):
    return node.generations(job)[-1]


@test
def none(node):
    """three replicas that nobody disturbs are equal at each vote, and end with the right result"""
    want = wanted(node)
    jobs = replicated(node)
    for i in range(3):
        # any member names the group
        done = node.json('vote', str(jobs[i]))
        equal((done['outcome'], done['differ'], done['wrong']), ('verified', 0, []), 'vote')
        check(done['pages'] > scrub.PAGES, f'only {done["pages"]} pages')
        equal(len(set(done['digests'])), 1, 'digests')
        for job in jobs:
            equal(newest(node, job)['trust'], 'verified', f'trust of job {job}')
    check('verified' in node.ctl('list', str(jobs[0])).stdout.decode(), 'list')
    finished(node, jobs, want)
    # the image may name the leader's file
    node.fails(1, 'is a replica', 'restart', str(jobs[1]))
    node.fails(1, 'is a replica', 'restart', '--dry-run', str(jobs[2]))


@test
def one(node):
    """a flipped bit in one of three, each in turn: found, repaired, and the results are right"""
    rng = random.Random(SEED)
    want = wanted(node)
    jobs = replicated(node)
    for victim, kind in zip(jobs, rng.sample(('heap', 'data', 'stack'), 3)):
        name, address = rng.choice([p for p in pages_of(node, jobs[0]) if p[0] == kind])
        flip(process(node, victim), address, rng)
        done = node.json('vote', str(jobs[0]))
        equal((done['outcome'], done['minority']), ('repaired', victim), f'seed {SEED}')
        check((victim, f'{address:x}') in [(w['job'], w['address']) for w in done['wrong']] or
              done['differ'] > 16, f'{name} {address:x}: {done["wrong"]}')
        print(f'# {name}: {done["differ"]} of {done["pages"]} pages differ')
        for job in jobs:
            equal(newest(node, job)['trust'], 'repaired', f'trust of job {job}')
        equal(node.json('vote', str(jobs[0]))['outcome'], 'verified', 'the next vote')
    finished(node, jobs, want)


@test
def two(node):
    """flipped bits in two of three: rejected, all go back, and the results are right"""
    rng = random.Random(SEED)
    want = wanted(node)
    jobs = replicated(node)
    pages = pages_of(node, jobs[0])
    for same in True, False:
        equal(node.json('vote', str(jobs[0]))['outcome'], 'verified', 'before')
        good = [newest(node, job)['generation'] for job in jobs]
        address = rng.choice(pages)[1]
        victims = rng.sample(jobs, 2)
        for bit, job in enumerate(victims):
            with open('/sys/module/ckptflip/parameters/flip', 'w') as f:
                f.write(f'{process(node, job)} {address:x} {bit}')
            if not same:
                address = rng.choice(pages)[1]
        done = node.json('vote', str(jobs[0]))
        equal(done['outcome'], 'rejected', f'seed {SEED}')
        for job, generation in zip(jobs, good):
            equal(newest(node, job)['trust'], 'rejected', f'trust of job {job}')
            equal(node.job(job)['generation'], generation, f'job {job} went back')
    equal(node.json('vote', str(jobs[0]))['outcome'], 'verified', 'after')
    finished(node, jobs, want)


@test
def restarted(node):
    """a leader that is restarted from a generation of a vote does not wait for another vote"""
    want = wanted(node)
    jobs = replicated(node)
    equal(node.json('vote', str(jobs[0]))['outcome'], 'verified', 'vote')
    for job in jobs:
        node.ctl('kill', str(job), 'KILL')
        node.wait(job)
    node.ctl('restart', str(jobs[0]))
    equal(node.wait(jobs[0]), 0, 'status')
    equal(result(f'{node.base}/sums'), want, 'result')


@test
def survivors(node):
    """members that wait for one that dies go on without it"""
    want = wanted(node)
    jobs = replicated(node)
    os.kill(process(node, jobs[2]), signal.SIGSTOP)
    vote = subprocess.Popen(node.argv('vote', str(jobs[0])), stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    time.sleep(2 * daemon.ARGS.slow)
    node.ctl('kill', str(jobs[2]), 'KILL')
    said = vote.communicate(timeout=120)[0].decode()
    check(vote.returncode == 1, f'status {vote.returncode}: {said}')
    for job, name in zip(jobs[:2], ('sums', 'sums.replica-2')):
        equal(node.wait(job), 0, f'status of job {job}: {said}')
        equal(result(f'{node.base}/{name}'), want, f'result of job {job}')


@test
def unfounded(node):
    """all differ and no vote has been right before: all run on"""
    want = wanted(node)
    jobs = replicated(node)
    for bit, job in enumerate(jobs[1:]):
        with open('/sys/module/ckptflip/parameters/flip', 'w') as f:
            f.write(f'{process(node, job)} {pages_of(node, jobs[0])[0][1]:x} {bit}')
    pids = [process(node, job) for job in jobs]
    done = node.json('vote', str(jobs[0]))
    equal((done['outcome'], done['back']), ('rejected', False), 'vote')
    equal([process(node, job) for job in jobs], pids, 'processes')
    equal(node.wait(jobs[0]), 0, 'status')
    equal(result(f'{node.base}/sums'), want, 'result of the one without flips')


@test
def refused(node):
    """a vote without replicas, replicas of a program without sections, and other mistakes"""
    job = sums(node)
    node.fails(1, 'has no replicas that run', 'vote', str(job))
    node.fails(2, '--replicas', 'replicate', '--replicas=4', str(job))
    node.fails(2, 'there is no file', 'replicate', '--private=/nowhere', str(job))
    other = node.shell('while :; do sleep 1; done')
    node.ctl('replicate', '--replicas=2', str(other))
    node.fails(1, 'cannot be a replica', 'vote', str(other))
    node.fails(1, 'has replicas already', 'replicate', str(other))
    # another user's jobs are not seen
    node.fails(1, 'has no replicas that run', 'vote', str(other), user=daemon.USER)


def links_tried(node, top):
    home, paths = f'{top}/home', [f'{top}/{name}' for name in ('sums', 'sums.replica-2', 'other')]
    os.chmod(top, 0o755)
    os.mkdir(home)
    os.chown(home, daemon.USER, daemon.USER)
    for path in paths:
        with open(path, 'w') as f:
            f.write('keep')
    job = node.run(scrub.SUMS, f'{home}/sums', str(scrub.PAGES), '1000000', user=daemon.USER,
                   opts=('--chdir', '/'))
    node.lines(job, 3)
    daemon.wait_for('some steps', 60, lambda: os.path.exists(f'{home}/sums'))
    os.symlink(paths[2], f'{home}/sums.replica-2')
    replicate = 'replicate', '--replicas=2', '--private', f'{home}/sums', str(job)
    node.fails(1, 'cannot be copied', *replicate)
    os.rename(home, f'{home}.before')
    os.symlink(top, home)
    node.fails(1, 'cannot be copied', *replicate)
    for path in paths:
        with open(path) as f:
            equal(f.read(), 'keep', path)


@test
def links(node):
    """root replicates a user's job: the user's links lead nowhere that the user may not write"""
    with tempfile.TemporaryDirectory(dir=daemon.ARGS.work) as top:
        links_tried(node, top)


if __name__ == '__main__':
    began = time.monotonic()
    status = daemon.main()
    print(f'# {time.monotonic() - began:.0f} s')
    sys.exit(status)
