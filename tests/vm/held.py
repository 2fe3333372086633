#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A restart over two nodes that ends while the parts are held; runs as root in a test VM.

Options as of daemon.py.  Both nodes are ckptds of this machine.  The job is `ranks alone` of
tests/crash-consistency, whose ranks write to one log that each restart puts back; its result
tells whether a line is missing.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.append(os.path.abspath(f'{__file__}/../../crash-consistency'))

import daemon                                                   # noqa: E402
import drive                                                    # noqa: E402
from daemon import Failure, check, equal, wait_for              # noqa: E402
from tree import differences, snapshot                          # noqa: E402

RANKS = 'bin/ranks'
LINES = 96      # of a rank, in a step


class Pair:
    """The two nodes, and a job of four ranks over them."""

    def __init__(self, work):
        self.nodes = drive.make_nodes()
        drive.start_nodes(self.nodes)
        self.home, self.other = self.nodes
        self.work = work
        self.job = None

    def begin(self, name):
        self.dir = f'{self.work}/{name}'
        os.mkdir(self.dir)
        done = subprocess.run(
            [f'{daemon.ARGS.bin}/ckptrun', '--socket', self.home.socket, '-n', '4', '--detach',
             '--hosts', 'n1,n2', '--', f'{self.work}/{RANKS}', 'alone'],
            stdin=subprocess.DEVNULL, capture_output=True, cwd=self.dir,
            timeout=120 * daemon.ARGS.slow)
        equal(done.returncode, 0, done.stderr.decode())
        self.job = int(done.stdout)

    def lines(self):
        try:
            with open(f'{self.dir}/log') as f:
                return f.read().count('\n')
        except FileNotFoundError:
            return 0

    def saved_and_killed(self, name):
        """It computes outside MPI when it is saved, writes more lines, and is killed."""
        self.begin(name)
        wait_for('lines', 120, lambda: self.lines() > 20)
        self.home.ctl('checkpoint', str(self.job))
        at = self.lines()
        wait_for('more lines', 60, lambda: self.lines() > at + 10)
        self.home.ctl('kill', str(self.job), 'KILL')
        self.home.wait(self.job)
        self.before = snapshot(self.dir)

    def shim(self, node):
        """What the node knows of its shim of the job, if that lives."""
        try:
            with open(f'{node.base}/jobs/{self.job}/shim.json') as f:
                known = json.load(f)
        except (FileNotFoundError, ValueError):
            return None
        return known if daemon.alive(known['shim']) else None

    def restart_held(self):
        """A restart whose first node is held, as the second one's shim is stopped."""
        p = subprocess.Popen(self.home.argv('restart', f'{self.job}:1'), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        known = wait_for('the shim of the second node', 60,
                         lambda: self.shim(self.other) or p.poll() is not None and Failure)
        check(known is not Failure, f'it ended: {p.stdout.read() if p.poll() is not None else ""}')
        os.kill(known['shim'], signal.SIGSTOP)
        # the second one is asked when the first one is held
        at = self.lines()
        time.sleep(2 * daemon.ARGS.slow)
        equal(self.lines(), at, 'lines of ranks that are held')
        check(p.poll() is None, 'the restart is over')
        return p, known

    def gone(self):
        wait_for('the ends of all parts', 60, lambda: not any(map(self.shim, self.nodes)))
        wait_for('the end', 60, lambda: self.home.job(self.job)['state'] not in
                 ('running', 'starting'))

    def as_before(self, name):
        """All is as it was before the restart, and the next one comes to the right end."""
        self.gone()
        found = differences(self.before, snapshot(self.dir))
        equal(found, [], 'files after the restart that failed')
        self.again(name)

    def again(self, name):
        self.home.ctl('restart', f'{self.job}:1')
        equal(self.home.wait(self.job, timeout=300), 0, 'status')
        equal(self.result(), self.wanted, f'result after {name}')

    def result(self):
        with open(f'{self.dir}/log') as f:
            text = f.read()
        return text, self.home.output(self.job)


def part_dies(pair):
    """the shim of the second node is killed: the restart fails, and the first node takes its files
    back"""
    pair.saved_and_killed('part_dies')
    p, known = pair.restart_held()
    os.kill(known['shim'], signal.SIGKILL)
    said = p.communicate(timeout=120 * daemon.ARGS.slow)[0].decode()
    check(p.returncode not in (0, None), f'status {p.returncode}: {said}')
    check('n2' in said, said)
    pair.as_before('part_dies')


def home_dies(pair):
    """the first node's ckptd is killed, and started at once: nothing runs, both nodes take their
    files back, and the job restarts"""
    pair.saved_and_killed('home_dies')
    p, known = pair.restart_held()
    pair.home.kill()
    pair.home.start()
    os.kill(known['shim'], signal.SIGCONT)
    p.communicate(timeout=60 * daemon.ARGS.slow)
    wait_for('the nodes', 30, lambda: pair.home.ctl('nodes', check=False).returncode == 0)
    pair.as_before('home_dies')


def killed(pair):
    """the job is killed while it is held: the restart fails, and files are taken back"""
    pair.saved_and_killed('killed')
    p, known = pair.restart_held()
    pair.home.ctl('kill', str(pair.job), 'KILL', check=False)
    os.kill(known['shim'], signal.SIGCONT)
    said = p.communicate(timeout=120 * daemon.ARGS.slow)[0].decode()
    check(p.returncode not in (0, None), f'status {p.returncode}: {said}')
    check('was killed while it was being started' in said, said)
    pair.as_before('killed')


def other_dies(pair):
    """the second node's ckptd is killed: the restart fails, and says so; the first node's ranks may
    have run for a moment, and the next restart comes to the right end all the same"""
    pair.saved_and_killed('other_dies')
    p, known = pair.restart_held()
    pair.other.kill()
    os.kill(known['shim'], signal.SIGCONT)
    wait_for('the end of the second part', 60, lambda: not pair.shim(pair.other))
    pair.other.start()
    said = p.communicate(timeout=600 * daemon.ARGS.slow)[0].decode()
    check(p.returncode not in (0, None), f'status {p.returncode}: {said}')
    check(f'job {pair.job}' in said or 'n2' in said, said)
    wait_for('the nodes', 30, lambda: pair.home.ctl('nodes', check=False).returncode == 0)
    pair.gone()
    pair.again('other_dies')


def undisturbed(pair):
    pair.begin('undisturbed')
    equal(pair.home.wait(pair.job, timeout=300), 0, 'undisturbed')
    pair.wanted = pair.result()
    equal(pair.lines(), 4 * 3 * LINES, 'lines')


TESTS = (part_dies, home_dies, killed, other_dies)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', required=True)
    parser.add_argument('--work', required=True)
    parser.add_argument('--slow', type=int, default=1)
    parser.add_argument('--only')
    parser.add_argument('--slice')      # all tests share one pair of nodes
    args = daemon.ARGS = drive.ARGS = parser.parse_args()
    args.programs, args.incremental = ['ranks-alone'], False
    shutil.rmtree(args.work, ignore_errors=True)
    for where in ('bin', 'run'):
        os.makedirs(f'{args.work}/{where}')
    for name in ('ckptd', 'ckptctl', 'ckpt-shim', 'ckptrun', 'tests/crash-consistency/ranks'):
        shutil.copy2(f'{args.bin}/{name}', f'{args.work}/bin')
    args.bin = f'{args.work}/bin'
    os.environ.update(drive.MPI_ENV)
    chosen = [t for t in TESTS if not args.only or t.__name__ in args.only.split(',')]
    pair = Pair(args.work)
    failed = 0
    try:
        undisturbed(pair)
        for number, test in enumerate(chosen, 1):
            try:
                test(pair)
                print(f'ok {number} - {" ".join(test.__doc__.split())}', flush=True)
            except (Failure, subprocess.TimeoutExpired) as e:
                failed += 1
                print(f'not ok {number} - {" ".join(test.__doc__.split())}\n# {e}', flush=True)
                for node in pair.nodes:
                    with open(node.log.name, errors='replace') as f:
                        print('\n'.join('# ' + line for line in f.read().splitlines()[-25:]))
    finally:
        for node in pair.nodes:
            if node.daemon.poll() is None:
                node.stop()
    print(f'1..{len(chosen)}')
    return failed


if __name__ == '__main__':
    sys.exit(main())
