#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""One user and the others, as TAP: what many jobs that are over cost.

    users.py --bin DIR --work DIR [--slow FACTOR] [--only WORD,...]

Runs as root, on any machine; nodes and the way to run are those of tests/vm/daemon.py, which
has the tests of a user's limits beside it.
"""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from command import TOP, USER, answer, daemon, ends, request
from daemon import check, equal, test, wait_for

daemon.TESTS.clear()
OTHER = USER - 1
MANY = 10000
MIB = 1 << 20


def asked_as(node, user, verb, **args):
    """The answer to a request of that user, which starts nothing."""
    with socket.socket(socket.AF_UNIX) as s:
        os.seteuid(user)
        try:
            s.connect(node.socket)
        finally:
            os.seteuid(0)
        request(s, verb, args)
        return answer(s)


def run(node, *argv, env=()):
    return asked_as(node, 0, 'run', argv=list(argv), env=list(env), cwd='/')


def started(said):
    check(said['ok'], said)
    return said['result']['job']


def over(node, job):
    wait_for('the end of the job', 10,
             lambda: asked_as(node, 0, 'wait', job=job)['ok'])


def resident(node):
    """Bytes of ckptd's memory."""
    with open(f'/proc/{node.daemon.pid}/status') as f:
        return int(next(line for line in f if line.startswith('VmRSS')).split()[1]) * 1024


@test
def big_records(node):
    """jobs that are over, with almost 1 MiB of environment each, leave no memory behind"""
    env = [f'A{i:04}=' + 'x' * 1000 for i in range(900)]
    for _ in range(3):
        over(node, started(run(node, '/bin/true', env=env)))
    time.sleep(2)
    before = resident(node)
    for _ in range(60):
        over(node, started(run(node, '/bin/true', env=env)))
    time.sleep(2)
    grown = resident(node) - before
    print(f'# 60 jobs: {grown // 1024} KiB more')
    check(grown < 30 * MIB, f'{grown} bytes more')
    said = asked_as(node, 0, 'ps', all=True)
    equal(len(said['result']['jobs']), 63, 'jobs')


@contextlib.contextmanager
def images_in_memory(node):
    """A directory for images that is made fast, for ckptd's next start."""
    node.leave()
    node.images = tempfile.mkdtemp(prefix='users-', dir='/dev/shm')
    try:
        yield
    finally:
        node.stop()
        shutil.rmtree(node.images)


def mkjobs(node, first, count, uid=OTHER):
    record = {'name': 'old', 'user': 'other', 'uid': uid, 'gid': uid, 'state': 'ended',
              'status': 0, 'since': 1, 'created': 1, 'host_ns': False, 'node': node.name,
              'argv': ['/bin/true'], 'env': ['A=' + 'x' * 1000], 'cwd': '/'}
    subprocess.run([f'{TOP}/build/bin/tests/tools/mkjobs', node.images, node.key, str(first),
                    str(count), json.dumps(record)], check=True)


def took(fn):
    begin = time.monotonic()
    fn()
    return time.monotonic() - begin


def measured(node, count):
    """What ckptd costs with so many jobs of another user: times in s, bytes of memory."""
    def all_of_user():
        equal(len(asked_as(node, USER, 'ps', all=True)['result']['jobs']), 1, 'own jobs')

    m = {'start': took(node.start)}
    all_of_user()       # fills the index
    m['all'] = took(all_of_user)
    m['ps'] = min(took(lambda: asked_as(node, USER, 'ps')) for _ in range(5))
    m['run'] = took(lambda: over(node, started(run(node, '/bin/true'))))
    m['rss'] = resident(node)
    print(f'# {count} jobs that are over: start {m["start"]:.2f} s, ps {m["ps"] * 1000:.0f} ms, '
          f'ps --all {m["all"] * 1000:.0f} ms, run {m["run"]:.2f} s, {m["rss"] // 1024} KiB')
    return m


@test
def many_jobs_that_are_over(node):
    """10,000 jobs that are over: memory, start and ps are as with 100, and who lists all of them
    holds up nobody"""
    with images_in_memory(node):
        mkjobs(node, 1, 1, USER)
        mkjobs(node, 1000, 100)
        few = measured(node, 100)
        node.leave()
        mkjobs(node, 2000, MANY - 100)
        many = measured(node, MANY)
        check(many['rss'] < few['rss'] + 8 * MIB, 'memory')
        check(many['start'] < 10 * max(few['start'], 0.2), 'start')
        check(many['ps'] < 20 * max(few['ps'], 0.01), 'ps')
        with subprocess.Popen(node.argv('ps', '--all', '--json'),
                              stdout=subprocess.PIPE) as listing:
            time.sleep(0.2)
            for _ in range(3):
                check(asked_as(node, USER, 'ps')['ok'], 'ps')
            early = listing.poll() is None
            rows = json.loads(listing.communicate()[0])['result']['jobs']
        check(len(rows) > MANY, f'{len(rows)} jobs are listed')
        check(early, 'who asked after the list of all was answered after that')
        ends(0, '', node.ctl('ps', user=USER, check=False))


if __name__ == '__main__':
    sys.exit(daemon.main())
