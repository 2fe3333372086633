#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Power cuts: what is left of generations when a disk stops at any instant; runs in a test VM.

    powercut.py --bin DIR --work DIR [--slow FACTOR] [--cuts N] [--seed N]
                [--restart-every N] [--only WORD,...] [--keep DIR]
    powercut.py ... --again DIR --cut SEED      one cut of a run that was kept

Real jobs are checkpointed, pruned, removed on a file system behind dm-log-writes, which logs every
write. Marks in the log say what had been acknowledged when. Then build/bin/tests/crash/cut makes
disks of it as they are after a power cut, each from a seed alone, and on each a new ckptd must
find what had been acknowledged, whole, and nothing that is not. Scenarios are in
tests/crash/scenarios.py.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import traceback

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), '../crash'))

import daemon                                           # noqa: E402
import faults                                           # noqa: E402
from cuts import Log, cut_all                           # noqa: E402
from daemon import Failure, check                       # noqa: E402
from disk import MKFS, MOUNT, module_load, sh           # noqa: E402
from record import ours, record                        # noqa: E402
from scenarios import SCENARIOS, merged, promoted, unsynced     # noqa: E402

ARGS = None
PROGRAMS = ('ckptd', 'ckptctl', 'ckpt-shim', 'ckptrun', 'tests/crash/cut', 'tests/crash/steps',
            '../lib/libnosync.so.0.1')
TESTS = []


def test(f):
    TESTS.append(f)
    return f


def record_and_cut(base, scenarios, cuts, restart_every, settings=None):
    began = time.monotonic()
    record(base, ARGS.fs, scenarios, settings=settings)
    print(f'# {ARGS.fs}, seeds {ARGS.seed} to {ARGS.seed + cuts - 1}: recorded in '
          f'{time.monotonic() - began:.1f} s', flush=True)
    began = time.monotonic()
    failures, tally = cut_all(base, ARGS.fs, range(ARGS.seed, ARGS.seed + cuts), restart_every)
    print(f'# {time.monotonic() - began:.1f} s; {json.dumps(tally)}', flush=True)
    check(not failures, '\n'.join(failures))
    check(tally['generations'], 'no cut found a generation')


@test
def nothing_committed_is_lost(base):
    """after a power cut all that was committed is there, whole, and nothing else is"""
    words = ARGS.only.split(',') if ARGS.only else ['']
    chosen = [f for f in SCENARIOS if any(w in f.__name__ for w in words)]
    record_and_cut(base, chosen, ARGS.cuts, ARGS.restart_every)


@test
def nothing_merged_or_copied_is_lost(base):
    """the same of generations that are merged, and of those that are on another level"""
    record_and_cut(base, [merged, promoted], max(8, ARGS.cuts // 3), min(ARGS.restart_every, 3),
                   {'level.far': f'posix:{MOUNT}/far'})


@test
def a_writer_that_does_not_sync(base):
    """the same test notices a writer that does not sync"""
    preload = {'LD_PRELOAD': ours('libnosync.so.0.1'), 'NOSYNC': ARGS.nosync}
    record(base, ARGS.fs, [unsynced], preload)
    log = Log(base)
    # right after an acknowledgement, nothing of what was on its way arrives
    seeds = [s for s in range(1, 2000) if log.place(s)[1] == 0][:8]
    failures, tally = cut_all(base, ARGS.fs, seeds, 0)
    print(f'# NOSYNC={ARGS.nosync}: {len(failures)} of {tally["cuts"]} cuts; '
          f'{failures[0] if failures else ""}', flush=True)
    check(failures, f'no cut of {seeds} was noticed')


@test
def full_disk(base):
    """a disk that is full somewhere in an image: said, nothing lost, and the next one works"""
    faults.full(base, ARGS.fs)


@test
def failing_disk(base):
    """a disk whose writes fail from any moment on: said, nothing lost, and the next one works"""
    faults.failing(base, ARGS.fs, ARGS.seed, max(2, ARGS.cuts // 20))


def keep_failed(base):
    if not ARGS.keep or not os.path.exists(f'{base}/ledger.json'):
        return
    to = f'{ARGS.keep}/{os.path.basename(base)}'
    os.makedirs(to, exist_ok=True)
    for name in ('log', 'first', 'ledger.json'):
        subprocess.run(['cp', '--sparse=always', f'{base}/{name}', to])
    shutil.copy(f'{ARGS.work}/key', to)
    print(f'# kept in {to}: --again {to} --cut SEED', flush=True)


def run_again():
    base = f'{ARGS.work}/again'
    shutil.rmtree(base, ignore_errors=True)
    os.makedirs(base)
    for name in ('log', 'first', 'ledger.json'):
        sh('cp', '--sparse=always', f'{ARGS.again}/{name}', base)
    shutil.copy(f'{ARGS.again}/key', f'{ARGS.work}/key')
    failures, _ = cut_all(base, ARGS.fs, [ARGS.cut], ARGS.restart_every)
    print('\n'.join(failures) or 'nothing was wrong')
    return bool(failures)


def run_test(f, number):
    base = f'{ARGS.work}/{f.__name__}'
    shutil.rmtree(base, ignore_errors=True)
    problem = None
    began = time.monotonic()
    try:
        f(base)
    except Failure as e:
        problem = str(e)
    except Exception:
        problem = traceback.format_exc()
    name = ' '.join(f.__doc__.split())
    print(f'{"not " if problem else ""}ok {number} - {name}', flush=True)
    print(f'# {f.__name__}: {time.monotonic() - began:.1f} s', flush=True)
    if problem:
        keep_failed(base)
        if os.path.exists(f'{base}/node1.log'):
            with open(f'{base}/node1.log', errors='replace') as log:
                problem += '\n' + ''.join(log.readlines()[-15:])
        print('\n'.join('# ' + line for line in problem.splitlines()), flush=True)
    shutil.rmtree(base, ignore_errors=True)
    return not problem


def copy_programs():
    to = f'{ARGS.work}/bin'
    shutil.rmtree(to, ignore_errors=True)
    os.mkdir(to, 0o755)
    for name in PROGRAMS:
        shutil.copy2(f'{ARGS.bin}/{name}', to)
    ARGS.bin = to


def main():
    global ARGS
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', required=True)
    parser.add_argument('--work', required=True)
    parser.add_argument('--slow', type=int, default=1)
    parser.add_argument('--cuts', type=int, default=40)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--fs', default='ext4', choices=sorted(MKFS))
    parser.add_argument('--restart-every', type=int, default=8)
    parser.add_argument('--nosync', default='all')
    parser.add_argument('--tests', default='')
    parser.add_argument('--only')
    parser.add_argument('--keep')
    parser.add_argument('--again')
    parser.add_argument('--cut', type=int, default=1)
    ARGS = daemon.ARGS = parser.parse_args()
    os.makedirs(ARGS.work, exist_ok=True)
    os.environ['DM_DISABLE_UDEV'] = '1'    # nobody else would make its nodes
    sh('mount', '-t', 'tmpfs', '-o', 'size=80%', 'tmpfs', ARGS.work)
    try:
        copy_programs()
        sh('modprobe', '-a', 'loop', 'dm-log-writes')
        module_load(ARGS.fs, ARGS.work)
        if ARGS.again:
            return run_again()
        chosen = [f for f in TESTS if any(w in f.__name__ for w in ARGS.tests.split(','))]
        good = [run_test(f, n) for n, f in enumerate(chosen, 1)]
        print(f'1..{len(chosen)}')
        return 0 if all(good) else 1
    finally:
        subprocess.run(['umount', '-l', ARGS.work])


if __name__ == '__main__':
    sys.exit(main())
