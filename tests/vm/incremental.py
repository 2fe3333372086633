#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Generations that stand on earlier ones, of real jobs: stored, merged, restarted from; runs in
a test VM.

Options as of daemon.py, whose ckptd (Node) each test gets.  The job is tests/crash/steps.c, which
ends with status 3 if a page is not what it was, and whose file has a chain over all its steps.
"""
import os
import sys
import time

import daemon
from daemon import check, equal, test, wait_for

daemon.TESTS.clear()
STEPS = os.path.abspath(f'{__file__}/../../../build/bin/tests/crash/steps')


def steps(node, pages=2048):
    job = node.run(STEPS, f'{node.base}/steps', str(pages))
    count(node, 3)
    return job


def count(node, n):
    """Wait for n lines of the job's file; all of them are the right ones."""
    def lines():
        try:
            with open(f'{node.base}/steps') as f:
                return f.read().split('\n')[:-1]
        except FileNotFoundError:
            return []
    got = wait_for(f'{n} steps', 60, lambda: lines() if len(lines()) >= n else None)
    chain = 1
    for i, line in enumerate(got):
        chain = (chain * 1664525 + i + 1) & 0xffffffff
        equal(line, f'{i} {chain}', f'step {i}')
    return len(got)


def checkpoint(node, job, *opts):
    return node.json('checkpoint', '--incremental', *opts, str(job))


def bases(node, job, generation):
    top = f'{node.images}/{job}/gen-{generation}'
    return sum(n.startswith('base') for n in os.listdir(top))


def log_of(node):
    with open(node.log.name, errors='replace') as f:
        return f.read()


def restarted(node, job):
    """Restart what checkpoint --kill ended: it goes on, with all its pages right."""
    before = count(node, 1)
    node.ctl('restart', str(job))
    count(node, before + 5)
    equal(node.jobs()[job]['state'], 'running', 'state')


@test
def merged_by_hand(node):
    """merge: a generation takes what it needs, earlier ones go, it is restarted from,
    and a row goes on from it"""
    job = steps(node)
    first = checkpoint(node, job)
    check('base' not in first, 'the first is full')
    for g in range(2, 5):
        # each generation has pages that the next ones do not write again
        count(node, count(node, 1) + 3)
        done = checkpoint(node, job, *(['--kill'] if g == 4 else []))
        equal(done.get('base'), g - 1, f'base of {g} ({done.get("why_full")})')
        check(done['pages_base'] > done['pages_data'] / 2, 'most is as it was')
    equal(bases(node, job, 4), 3, 'bases')
    would = node.json('merge', '--dry-run', str(job))
    equal((would['generation'], would['bases'], would['merged']), (4, 3, False), 'dry run')
    equal(bases(node, job, 4), 3, 'after a dry run')
    node.fails(1, 'no generation of that number', 'merge', f'{job}:9')
    node.fails(1, 'belongs to', 'merge', str(job), user=daemon.USER)
    done = node.json('merge', '--generation', '4', str(job))
    check(done['merged'] and done['bytes_stored'] > done['bytes_was'], done)
    equal(bases(node, job, 4), 0, 'bases')
    equal(node.json('merge', f'{job}:4')['bases'], 0, 'there is nothing to merge any more')
    for g in range(1, 4):
        node.ctl('rm', f'{job}:{g}')
    node.ctl('verify', '--deep', f'{job}:4')
    equal(node.json('fsck', '--deep')['findings'], [], 'fsck')
    restarted(node, job)
    # other processes, so no mark is believed; then a row again
    check('base' not in checkpoint(node, job), 'the first after a restart is full')
    equal(checkpoint(node, job).get('base'), 5, 'base')
    node.ctl('merge', str(job))
    done = checkpoint(node, job)
    equal(done.get('base'), 6, f'base of one that is merged ({done.get("why_full")})')
    equal(bases(node, job, 7), 1, 'bases')


@test
def damaged_base(node):
    """a base that is found damaged: nothing is merged,
    and the next checkpoint does not stand on it"""
    job = steps(node)
    for g in range(1, 4):
        done = checkpoint(node, job)
        check(g == 1 or done.get('base') == g - 1, f'base of {g} ({done.get("why_full")})')
    with open(f'{node.images}/{job}/gen-3/base2', 'r+b') as f:
        f.seek(os.fstat(f.fileno()).st_size // 2)
        byte = f.read(1)
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte[0] ^ 1]))
    node.fails(1, 'of the pages of generation 1', 'merge', str(job))
    equal(bases(node, job, 3), 2, 'bases')
    check('its next checkpoint is a full one' in log_of(node), 'the log')
    done = checkpoint(node, job)
    check('base' not in done, done)
    node.ctl('verify', '--deep', f'{job}:4')
    equal(checkpoint(node, job).get('base'), 4, 'base')


if __name__ == '__main__':
    began = time.monotonic()
    with daemon.khugepaged_rests():
        status = daemon.main()
    print(f'# {time.monotonic() - began:.0f} s')
    sys.exit(status)
