#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Unwritten memory that changes, of real jobs: found, named, acted upon; runs in a test VM.

Options as of daemon.py, whose ckptd (Node) each test gets. The job is tests/vote/sums.c, whose
result depends on each bit of its memory; the module ckptflip flips bits of it.
"""
import os
import random
import sys
import time

import daemon
from daemon import check, equal, test, wait_for

daemon.TESTS.clear()
SUMS = os.path.abspath(f'{__file__}/../../../build/bin/tests/vote/sums')
PAGE = 4096
PAGES = 4096
SEED = int(os.environ.get('SCRUB_SEED', random.randrange(1 << 32)))


def sums(node, steps=1000000, name='sums'):
    job = node.run(SUMS, f'{node.base}/{name}', str(PAGES), str(steps))
    node.lines(job, 3)
    wait_for('some steps', 60, lambda: count(node, name) > 20)
    return job


def count(node, name='sums'):
    try:
        with open(f'{node.base}/{name}') as f:
            return f.read().count('\n')
    except FileNotFoundError:
        return 0


def process(job, node):
    """The number of the job's process in this PID namespace."""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline') as f:
                if f.read().startswith(f'{SUMS}\0{node.base}/'):
                    return int(pid)
        except OSError:
            pass
    raise daemon.Failure(f'job {job} has no process')


def pages_of(node, job):
    """All pages that the job only reads: (name, address)."""
    found = []
    for line in node.output(job).splitlines()[:3]:
        name, start, nr = line.split()
        found += [(name, int(start, 16) + i * PAGE) for i in range(int(nr))]
    return found


def flip(pid, address, rng):
    with open('/sys/module/ckptflip/parameters/flip', 'w') as f:
        f.write(f'{pid} {address + rng.randrange(PAGE):x} {rng.randrange(8)}')


def checkpoint(node, job, *opts):
    return node.json('checkpoint', '--scrub=report', '--scrub-every=1', *opts, str(job))


def trusts(node, job):
    return [g['trust'] for g in node.generations(job)]


def result(path):
    with open(path) as f:
        last = f.read().splitlines()[-1]
    check(last.startswith('result '), f'{path} ends with {last!r}')
    return last


def long_chains(node):
    """A generation may stand on more others than a test makes: none is a full one for that."""
    node.leave()
    node.settings = {'scrub': 'report', 'scrub_every': '1', 'incremental': '12'}
    node.start()


@test
def undisturbed(node):
    """a job that nobody disturbs: most pages are compared, no finding, over eight generations"""
    long_chains(node)
    job = sums(node)
    done = node.json('checkpoint', str(job))
    check('scrub' not in done, 'a full one has nothing to compare with')
    for g in range(2, 10):
        before = count(node)
        wait_for('more steps', 60, lambda: count(node) > before + 10)
        done = node.json('checkpoint', str(job))
        equal(done.get('base'), g - 1, f'base of {g} ({done.get("why_full")})')
        equal(done['scrub']['wrong'], 0, f'wrong pages in {g}: {done["scrub"]["at"]}')
        check(done['scrub']['pages'] > PAGES, done['scrub'])
    equal(trusts(node, job), ['unverified'] * 9, 'trust')


def cost(node, job, opts):
    """Milliseconds of the pages of a checkpoint, the middle of five; compared pages."""
    times, pages = [], 0
    for _ in range(5):
        before = count(node)
        wait_for('more steps', 60, lambda: count(node) > before + 5)
        done = node.json('checkpoint', *opts, str(job))
        check('base' in done, done.get('why_full'))
        times.append(done['pages_ns'] / 1e6)
        pages = max(pages, done.get('scrub', {}).get('pages', 0))
    return sorted(times)[2], pages


@test
def share(node):
    """--scrub-every=8 compares about an eighth; the cost is told"""
    job = sums(node)
    checkpoint(node, job)
    node.ctl('merge', str(job))
    off, nothing = cost(node, job, ('--incremental',))
    node.ctl('merge', str(job))
    eighth, some = cost(node, job, ('--scrub=report', '--scrub-every=8'))
    node.ctl('merge', str(job))
    every, most = cost(node, job, ('--scrub=report', '--scrub-every=1'))
    full = node.json('checkpoint', '--full', str(job))['pages_ns'] / 1e6
    print(f'# reading and storing pages: {off:.1f} ms without, {eighth:.1f} ms with an eighth '
          f'({some} pages), {every:.1f} ms with all ({most} pages); full {full:.1f} ms')
    equal(nothing, 0, 'pages compared without a scrub')
    check(most > PAGES and some < most / 4, f'{some} of {most} pages')


@test
def flips(node):
    """100 flipped bits in heap, static data and stack: each is found at the next generation"""
    rng = random.Random(SEED)
    long_chains(node)
    job = sums(node)
    pid = process(job, node)
    checkpoint(node, job)
    victims = rng.sample(pages_of(node, job), 100)
    names = {'heap': '', 'data': '', 'stack': ''}
    wrong = set()
    for g in range(2, 7):
        done = checkpoint(node, job)
        check('scrub' in done, done.get('why_full'))
        equal(done['scrub']['wrong'], len(wrong), f'wrong in {g}, before')
        new = victims[:20]
        del victims[:20]
        for name, address in new:
            flip(pid, address, rng)
            wrong.add(address)
        done = checkpoint(node, job)
        check('scrub' in done, done.get('why_full'))
        found = done['scrub']
        equal(found['wrong'], len(wrong), f'wrong in {done["generation"]}, of {found["pages"]} '
              f'compared, new in {[n for n, a in new]}, seed {SEED}')
        for page in found['at']:
            check(int(page['address'], 16) in wrong, f'false: {page}')
            equal(page['command'], 'sums', 'command')
            check(int(page['start'], 16) <= int(page['address'], 16) < int(page['end'], 16), page)
            if int(page['address'], 16) in [a for n, a in new if n == 'stack']:
                names['stack'] = page['mapping']
        equal(len(found['at']), min(16, len(wrong)), 'pages that are named')
        equal(done['trust'], 'suspect', 'trust')
    print(f'# {len(wrong)} flips, seed {SEED}; mappings {names}')
    check(trusts(node, job)[:3] == ['unverified', 'unverified', 'suspect'], trusts(node, job))
    check('suspect' in node.ctl('list', str(job)).stdout.decode(), 'list')
    with open(node.log.name, errors='replace') as f:
        log = f.read()
    check(f'job {job}: generation 3 is suspect' in log and '(sums): page' in log, 'log')
    shown = node.json('show', f'{job}:3')
    equal(shown['trust'], 'suspect', 'show')
    # without a name the restart begins before the first flip
    node.ctl('kill', str(job), 'KILL')
    node.wait(job)
    text = node.ctl('restart', str(job)).stdout.decode()
    check('generation 2 is taken, which is unverified; the newest, 11, is suspect' in text, text)


@test
def remembered(node):
    """after a finding each generation is suspect, also one that finds nothing, until the job
    begins again from one that is not"""
    rng = random.Random(SEED)
    job = sums(node)
    checkpoint(node, job)
    flip(process(job, node), rng.choice(pages_of(node, job))[1], rng)
    equal(checkpoint(node, job)['scrub']['wrong'], 1, 'wrong')
    done = node.json('checkpoint', '--full', str(job))
    equal((done['trust'], done['tainted']), ('suspect', 2), 'of a full one')
    node.leave()
    node.start()
    equal(node.json('checkpoint', '--full', str(job))['trust'], 'suspect', 'for another ckptd')
    node.ctl('rollback', f'{job}:1')
    equal(node.json('checkpoint', '--full', str(job))['trust'], 'unverified', 'rolled back')
    node.ctl('kill', str(job), 'KILL')
    node.wait(job)
    node.ctl('restart', f'{job}:3')
    equal(node.json('checkpoint', str(job))['trust'], 'suspect', 'from a suspect one')
    node.ctl('kill', str(job), 'KILL')
    node.wait(job)
    node.ctl('restart', f'{job}:5')
    equal(node.json('checkpoint', str(job))['trust'], 'unverified', 'from a good one')


@test
def no_replicas_of_doubt(node):
    """a job in doubt gets no replicas, which would all be wrong; rolled back it does"""
    rng = random.Random(SEED)
    job = sums(node)
    checkpoint(node, job)
    flip(process(job, node), rng.choice(pages_of(node, job))[1], rng)
    equal(checkpoint(node, job)['scrub']['wrong'], 1, 'wrong')
    node.fails(1, 'in doubt', 'replicate', '--replicas', '2', str(job))
    equal(list(node.jobs('--all')), [job], 'jobs')
    node.ctl('rollback', f'{job}:1')
    node.ctl('replicate', '--replicas', '2', str(job))
    equal(len(node.jobs()), 2, 'jobs that run')


@test
def turns(node):
    """--scrub-every=4: each flip is found by one of four generations, and those before it are
    suspect, too"""
    rng = random.Random(SEED)
    job = sums(node)
    pid = process(job, node)
    for g in range(1, 6):
        done = checkpoint(node, job, '--scrub-every=4')
        check(g == 1 or done['scrub']['wrong'] == 0, done.get('scrub'))
    victims = {a for n, a in rng.sample(pages_of(node, job), 12)}
    for address in victims:
        flip(pid, address, rng)
    seen, pages = set(), 0
    for g in range(6, 10):
        found = checkpoint(node, job, '--scrub-every=4')['scrub']
        new = {int(p['address'], 16) for p in found['at']}
        check(not new & seen and found['wrong'] == len(new), f'{g}: {found}')
        check(found['pages'] < PAGES / 2, f'{g} compared {found["pages"]} pages')
        seen |= new
        pages += found['pages']
    equal(seen, victims, f'found (seed {SEED})')
    check(pages > PAGES, f'only {pages} pages were compared')
    check(trusts(node, job)[-2:] == ['suspect'] * 2, trusts(node, job))


@test
def stop_and_repair(node):
    """stop ends the job, repair begins again before the flip: the result is that of a job that
    nobody disturbed"""
    rng = random.Random(SEED)
    want = sums(node, 400, 'want')
    equal(node.wait(want), 0, 'undisturbed job')
    job = sums(node, 400)
    for policy in 'stop', 'repair':
        checkpoint(node, job)
        flip(process(job, node), rng.choice(pages_of(node, job))[1], rng)
        text = node.ctl('checkpoint', f'--scrub={policy}', '--scrub-every=1',
                        str(job)).stdout.decode()
        check('SUSPECT: of' in text and 'job ended' in text, text)
        if policy == 'stop':
            node.wait(job)
            node.ctl('restart', str(job))
        wait_for('the job', 30, lambda: job in node.jobs())
    equal(node.wait(job), 0, 'repaired job')
    equal(result(f'{node.base}/sums'), result(f'{node.base}/want'), 'result')


@test
def refused(node):
    """a scrub of a full checkpoint, and other mistakes, are refused"""
    job = sums(node)
    node.fails(2, 'a full one has none', 'checkpoint', '--full', '--scrub=report', str(job))
    node.fails(2, 'off, report, stop or repair', 'checkpoint', '--scrub=yes', str(job))
    node.fails(2, '--scrub-every', 'checkpoint', '--scrub-every=0', str(job))


if __name__ == '__main__':
    began = time.monotonic()
    with daemon.khugepaged_rests():
        status = daemon.main()
    print(f'# {time.monotonic() - began:.0f} s')
    sys.exit(status)
