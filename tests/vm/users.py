#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Limits of one user, as TAP: user_max_jobs, user_max_records, user_max_size, user_min_interval.

    users.py --bin DIR --work DIR [--slow FACTOR] [--only WORD]

Runs as root in a test VM; nodes and the way to run are daemon.py's.
"""
import os
import sys

import daemon
from daemon import USER, check, equal, test, wait_for

daemon.TESTS.clear()
OTHER = USER - 1
AT_ROOT = ('--chdir', '/')
SLEEP = ('/bin/sleep', '1000')
MIB = 1 << 20


def limited(node, **settings):
    """Start ckptd again with these settings alone."""
    node.leave()
    node.settings = settings
    node.start()


def sleeper(node, user):
    return node.run(*SLEEP, user=user, opts=AT_ROOT)


def over(node, user):
    """A job that is over."""
    job = node.run('/bin/true', user=user, opts=AT_ROOT)
    equal(node.wait(job), 0, 'status')
    return job


def refused(node, text, *args, user=USER):
    return node.fails(1, text, *args, user=user)


def run_refused(node, text, user=USER):
    return refused(node, text, 'run', '--detach', *AT_ROOT, '--', *SLEEP, user=user)


@test
def live_jobs(node):
    """user_max_jobs: run and restart of more are refused; another user and root have theirs"""
    limited(node, user_max_jobs='2')
    jobs = [sleeper(node, USER) for _ in range(2)]
    run_refused(node, 'user_max_jobs: you have 2 live jobs on this node, of 2')
    sleeper(node, OTHER)
    for _ in range(3):
        sleeper(node, 0)
    node.ctl('checkpoint', '--kill', str(jobs[0]), user=USER)
    sleeper(node, USER)
    refused(node, 'end one (ckptctl ps, ckptctl kill JOB)', 'restart', str(jobs[0]))
    node.ctl('kill', str(jobs[1]), 'KILL', user=USER)
    node.wait(jobs[1])
    node.ctl('restart', str(jobs[0]), user=USER)
    equal(node.job(jobs[0])['state'], 'running', 'state')


@test
def recorded_jobs(node):
    """user_max_records: jobs that are over count until they are removed"""
    limited(node, user_max_records='2')
    jobs = [over(node, USER) for _ in range(2)]
    run_refused(node, 'user_max_records: you have 2 recorded jobs, of 2')
    for user in (OTHER, 0, 0, 0):
        over(node, user)
    node.ctl('rm', str(jobs[0]), user=USER)
    over(node, USER)
    # the index, which has the owners by now, counts as the records do
    run_refused(node, 'remove jobs that are over (ckptctl ps --all, ckptctl rm JOB)')


@test
def bytes_of_images(node):
    """user_max_size: neither checkpoints nor new jobs once the images take so much; a restart"""
    job = sleeper(node, USER)
    node.ctl('checkpoint', str(job), user=USER)
    with open(f'{node.images}/{job}/stdout', 'ab') as f:
        f.write(b'x' * 2 * MIB)
    limited(node, user_max_size='1M')
    text = 'user_max_size: your jobs take'
    refused(node, text, 'checkpoint', str(job))
    refused(node, f'of {MIB} that a user may take', 'checkpoint', str(job))
    run_refused(node, text)
    sleeper(node, OTHER)
    node.ctl('checkpoint', str(job))
    node.ctl('checkpoint', '--kill', str(job))
    node.ctl('restart', str(job), user=USER)


@test
def room_for_automatic_checkpoints(node):
    """user_max_size: nor does ckptd take any by itself, and it says so, until there is room"""
    job, roots = (node.run(*SLEEP, user=user, opts=(*AT_ROOT, '--auto', '--every', '1s'))
                  for user in (USER, 0))
    wait_for('a generation', 60, lambda: node.generations(job))
    log = f'{node.images}/{job}/stdout'
    with open(log, 'ab') as f:
        os.posix_fallocate(f.fileno(), 0, 200 * MIB)
    limited(node, user_max_size='100M')
    wait_for('a refusal', 60, lambda: 'user_max_size: your jobs take' in
             node.jobs()[job]['auto'].get('error', ''))
    before, others = (len(node.generations(n)) for n in (job, roots))
    wait_for('two of root', 60, lambda: len(node.generations(roots)) >= others + 2)
    equal(len(node.generations(job)), before, 'generations of the user')
    os.truncate(log, 0)
    wait_for('one more', 60, lambda: len(node.generations(job)) > before)
    check('error' not in node.jobs()[job]['auto'], 'the refusal is over')


@test
def interval_of_checkpoints(node):
    """user_min_interval: a checkpoint that comes too early is refused, also of another job"""
    limited(node, user_min_interval='1h')
    jobs = [sleeper(node, USER) for _ in range(2)]
    # root's do not count
    node.ctl('checkpoint', str(jobs[0]))
    node.ctl('checkpoint', str(jobs[0]), user=USER)
    for job in jobs:
        refused(node, 'and a user has to let 3600 s pass; try again in', 'checkpoint', str(job))
        node.ctl('checkpoint', '--dry-run', str(job), user=USER)
        node.ctl('checkpoint', str(job))
    limited(node, user_min_interval='1s')
    node.ctl('checkpoint', str(jobs[1]), user=USER)


if __name__ == '__main__':
    sys.exit(daemon.main())
