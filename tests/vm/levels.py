#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Generations on other levels than the image directory; runs in a test VM.

Options as of daemon.py, whose ckptd (Node) each test gets; each has level p, a directory,
and q, a file system of its own that takes every second generation.
"""
import json
import os
import shutil
import subprocess
import sys
import time

import daemon
from daemon import COUNTER, Node, check, equal, test, wait_for

daemon.TESTS.clear()


class Levels:
    """A node's ckptd with levels, from now on."""

    def __init__(self, node, size='64m', **settings):
        self.node = node
        self.base = node.base.rsplit('/', 1)[0]
        for name in 'pq':
            os.makedirs(self.place(name), mode=0o700, exist_ok=True)
        self.size = size
        node.kill()
        node.settings = {'level.p': f'posix:{self.place("p")}',
                         'level.q': f'posix:{self.place("q")}',
                         'level.q.every': '2', **settings}

    def __enter__(self):
        mount = ['mount', '-t', 'tmpfs', '-o', f'size={self.size},mode=700', 'level',
                 self.place('q')]
        subprocess.run(mount, check=True)
        self.node.start()
        return self

    def __exit__(self, *_):
        subprocess.run(['umount', '-l', self.place('q')], check=True)

    def place(self, name):
        return f'{self.base}/level-{name}'

    def copies(self, name, node=None):
        top = f'{self.place(name)}/{node or self.node.name}'
        return sorted(n for n in os.listdir(top) if n[0] != '.') if os.path.isdir(top) else []

    def states(self, job):
        return {g['generation']: [level['state'] for level in g['levels']]
                for g in self.node.generations(job)}

    def settle(self, job, want, seconds=40):
        wait_for(f'levels {want}', seconds, lambda: self.states(job) == want)


def log_of(node):
    with open(node.log.name, errors='replace') as f:
        return f.read()


def job_with(node, generations):
    job = node.shell(COUNTER.format(n=100000))
    node.lines(job, 1)
    for _ in range(generations):
        node.ctl('checkpoint', str(job))
    return job


def end(node, job):
    node.ctl('kill', str(job), 'KILL')
    node.wait(job)


def flip(path, at):
    with open(path, 'r+b') as f:
        f.seek(at)
        byte = f.read(1)
        f.seek(at)
        f.write(bytes([byte[0] ^ 1]))


HERE, GONE = ['here', 'here', 'here'], ['here', 'here', 'missing']


@test
def promoted_and_fetched(node):
    """copied to the levels, shown, wiped in L1, restarted from the cheapest that is good"""
    with Levels(node) as levels:
        job = job_with(node, 2)
        levels.settle(job, {1: GONE, 2: HERE})
        text = node.ctl('list', str(job)).stdout.decode()
        check('LEVELS' in text and 'L1 p q' in text, text)
        rows = node.json('stats', str(job))['levels']
        equal(sorted((r['generation'], r['level']) for r in rows), [(1, 'p'), (2, 'p'), (2, 'q')],
              'stats')
        check('ok   p: posix:' in node.ctl('doctor').stdout.decode(), 'doctor')
        end(node, job)
        before = node.output(job).count('\n')
        for n in (1, 2):
            shutil.rmtree(f'{node.images}/{job}/gen-{n}')
        equal(levels.states(job)[2], ['missing', 'here', 'here'], 'list')
        text = node.ctl('restart', '--dry-run', str(job)).stdout.decode()
        check('would be fetched from level p' in text, text)
        check(not os.path.exists(f'{node.images}/{job}/gen-2'), 'a dry run')
        label = levels.copies('p')[0].split('.')[0]
        flip(f'{levels.place("p")}/{node.name}/{label}.gen-2/pages', 5000)
        text = node.ctl('restart', str(job)).stdout.decode()
        check('fetched from level q' in text and 'level p: ' in text, text)
        node.lines(job, before + 1)
        check('fetched from level q' in log_of(node), 'the log')
        # all copies of 2 are bad, and so is L1's, where only a restore sees it
        end(node, job)
        flip(f'{node.images}/{job}/gen-2/pages', 5000)
        flip(f'{levels.place("q")}/{node.name}/{label}.gen-2/pages', 5000)
        message = node.fails(1, '', 'restart', f'{job}:2')
        check('no good one is left anywhere' in message, message)
        text = node.ctl('restart', str(job)).stdout.decode()
        check('runs again from generation 1' in text, text)


@test
def empty_l1(node):
    """another node, whose image directory is empty, restarts the job from a level"""
    with Levels(node) as levels:
        job = job_with(node, 2)
        levels.settle(job, {1: GONE, 2: HERE})
        two = Node(levels.base, 'node2', images=f'{levels.base}/images2')
        two.settings = dict(node.settings)
        two.start()
        try:
            # it runs: that is known from its images as it would be from its record
            message = two.fails(3, '', 'restart', str(job))
            check('was last on node node1' in message, message)
            end(node, job)
            text = two.ctl('restart', '--node-lost', str(job)).stdout.decode()
            check('runs again from generation 2' in text, text)
            wait_for('output', 20, lambda: two.output(job).rstrip('\0\n').count('\n') > 2)
            equal(two.json('checkpoint', str(job))['generation'], 3, 'numbers go on')
            wait_for('its copy', 40, lambda: levels.copies('p', 'node2'))
        finally:
            two.stop()


@test
def killed_and_slow(node):
    """SIGKILL of ckptd in the middle of a copy: the next one goes on; the limit is kept"""
    with Levels(node, **{'level.p.limit': '4M', 'level.q.every': '9'}) as levels:
        job = daemon.big_job(node, 12)
        node.ctl('checkpoint', str(job))

        def under_way():
            top = f'{levels.place("p")}/{node.name}'
            return os.path.isdir(top) and any(n.startswith('.tmp') for n in os.listdir(top))
        wait_for('a copy', 40, under_way)
        equal(levels.copies('p'), [], 'it is not there before it is whole')
        node.kill()
        node.start()
        levels.settle(job, {1: GONE}, 60)
        check(not under_way(), 'leftovers')
        row = node.json('stats', str(job))['levels'][0]
        least = (row['bytes_stored'] - (1 << 20)) / (4 << 20)
        check(row['total_ns'] / 1e9 >= least, f'{row} took less than {least:.1f} s')


@test
def level_full_and_gone(node):
    """a level that is full, read-only or away: said, tried again, nobody else is held up"""
    with Levels(node, size='40k', **{'level.q.every': '1'}) as levels:
        job = job_with(node, 2)
        levels.settle(job, {1: GONE, 2: GONE})
        wait_for('the log', 20, lambda: 'level q does not work' in log_of(node))
        equal(levels.copies('q'), [], 'nothing of it stays')
        place = levels.place('q')
        subprocess.run(['mount', '-o', 'remount,ro', place], check=True)
        text = node.ctl('doctor', check=False).stdout.decode()
        check('read-only' in text and 'remount it' in text, text)
        subprocess.run(['mount', '-o', 'remount,rw,size=64m', place], check=True)
        levels.settle(job, {1: HERE, 2: HERE}, 60)
        # the job has it mounted as well
        end(node, job)
        node.kill()
        subprocess.run(['umount', '-l', place], check=True)
        node.start()
        text = node.ctl('doctor', check=False).stdout.decode()
        check('mount the right file system' in text, text)
        wait_for('the log', 20, lambda: 'which it was is in' in log_of(node))
        equal(os.listdir(place), [], 'the bare mount point')
        subprocess.run(['mount', '-t', 'tmpfs', 'level', place], check=True)


@test
def kept_and_removed(node):
    """rules of a level; rm of a generation, from one level, and of the job"""
    with Levels(node, **{'level.p.keep': '2'}) as levels:
        job = job_with(node, 4)
        wait_for('rules', 40, lambda: len(levels.copies('p')) == 2 and len(levels.copies('q')) == 2)
        levels.settle(job, {1: ['here', 'missing', 'missing'], 2: ['here', 'missing', 'here'],
                            3: GONE, 4: HERE})
        node.ctl('rm', '--level', 'q', f'{job}:4')
        equal(levels.states(job)[4], GONE, 'rm --level')
        node.ctl('checkpoint', str(job))
        wait_for('the next', 40, lambda: levels.states(job)[5] == GONE)
        equal(levels.states(job)[4], GONE, 'it is not copied again')
        node.fails(1, 'no generation 9', 'rm', f'{job}:9')
        node.ctl('rm', f'{job}:2')
        equal(sorted(levels.states(job)), [1, 3, 4, 5], 'rm')
        shutil.rmtree(f'{node.images}/{job}/gen-4')
        node.fails(1, 'on level p only', 'rm', '--level', 'p', f'{job}:4')
        end(node, job)
        node.ctl('rm', str(job))
        equal((levels.copies('p'), levels.copies('q')), ([], []), 'levels')
        equal(node.left(), [], 'L1')
        message = node.fails(1, '', 'restart', str(job))
        check(f'there is no job {job}' in message, message)
        equal(json.loads(node.ctl('list', '--json').stdout)['result']['jobs'], [], 'list')


if __name__ == '__main__':
    began = time.monotonic()
    status = daemon.main()
    print(f'# {time.monotonic() - began:.0f} s')
    sys.exit(status)
