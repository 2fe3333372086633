#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Programs of other people under checkpoints, as TAP.

    real_programs.py --bin DIR --work DIR [--slow FACTOR] [--only WORD,...]

Runs in a test VM, as real_programs.t says. Each program gets a file GO and a number of rounds, and
prints a line for each round, until there were so many rounds and the file is there; then "end", and
a database what its tables have. Its job is saved five times, killed and restarted twice; the output
must be that of a run without checkpoints, which gets as many rounds as there were.
"""
import os
import signal
import subprocess
import sys
import time

import daemon
from daemon import USER, Failure, check, equal, test, wait_for

daemon.TESTS.clear()

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '../..'))
HERE = f'{TOP}/tests/vm/real'
BUILT = f'{TOP}/build/real/programs'
POSTGRESQL = f'{TOP}/build/real/usr/lib/postgresql/15/bin'
# s: the emulator begins a Java machine in a minute
START = 120
ROUND = 30


class Program:
    """One program as a job of a user, in a directory of its own."""

    def __init__(self, node, *argv):
        self.node = node
        self.argv = argv
        self.job = None

    def directory(self, name):
        path = f'{self.node.base}/{name}'
        os.mkdir(path)
        os.chown(path, USER, USER)
        return path

    def words(self, path, rounds):
        return ('/usr/bin/env', f'HOME={path}', f'TMPDIR={path}', *self.argv, f'{path}/go',
                str(rounds))

    def undisturbed(self, rounds):
        """The output of a run without checkpoints."""
        path = self.directory('undisturbed')
        with open(f'{path}/go', 'w'):
            pass
        done = subprocess.run(self.words(path, rounds), cwd=path, user=USER, group=USER,
                              extra_groups=[], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=(START + rounds * 2) * daemon.ARGS.slow)
        check(done.returncode == 0, f'without checkpoints: {done.returncode}: {done.stderr}')
        return done.stdout

    def begin(self):
        self.path = self.directory('job')
        # the user can enter /, and nobody needs to enter the directory of who starts it
        self.job = self.node.run(*self.words(self.path, 1), user=USER, opts=('--chdir', self.path))
        self.lines(1, START)

    def said(self):
        return self.node.output(self.job)

    def lines(self, more, seconds=ROUND):
        """Wait until the job has written so many lines more."""
        before = self.said().count('\n')

        def grown():
            if self.said().count('\n') >= before + more:
                return True
            check(self.node.job(self.job)['state'] == 'running', 'the job has ended: '
                  + self.node.output(self.job, 'stderr')[-2000:] + self.said()[-1000:])
            return False
        wait_for(f'{more} lines more than {before}', seconds * more, grown)

    def checkpoint(self, *opts):
        self.lines(2)
        began = time.monotonic()
        self.node.ctl('checkpoint', *opts, str(self.job), timeout=300)
        print(f'# checkpoint: {time.monotonic() - began:.1f} s, line '
              f'{self.said().count(chr(10))}', flush=True)

    def killed(self):
        """SIGKILL in the middle of work that no generation has."""
        self.lines(2)
        os.kill(self.node.job(self.job)['init_pid'], signal.SIGKILL)
        wait_for('its end', 30, lambda: self.job not in self.node.jobs())

    def restart(self):
        self.node.ctl('restart', str(self.job), timeout=300)

    def end(self):
        """The output of the whole job."""
        self.lines(3)
        with open(f'{self.path}/go', 'w'):
            pass
        status = self.node.wait(self.job, timeout=START)
        errors = self.node.output(self.job, 'stderr')
        equal(status, 0, f'status ({errors[-2000:]})')
        return self.said()


def compare(got, want):
    """Fail with the first line that differs."""
    if got == want:
        return
    pairs = zip(got.split('\n'), want.split('\n'))
    for n, (one, other) in enumerate(pairs, 1):
        if one != other:
            raise Failure(f'line {n}: {one!r}, without checkpoints {other!r}')
    raise Failure(f'{len(got)} bytes of output, without checkpoints {len(want)}')


def python(name, *args):
    return '/usr/bin/python3', '-B', f'{HERE}/{name}.py', *args


def survives(node, *argv):
    """Five checkpoints, a SIGKILL, a checkpoint --kill, two restarts; the output is compared."""
    program = Program(node, *argv)
    program.begin()
    for _ in range(3):
        program.checkpoint()
    program.killed()
    program.restart()
    program.checkpoint()
    program.checkpoint('--kill')
    wait_for('its end', 30, lambda: program.job not in node.jobs())
    program.restart()
    got = program.end()
    check('\nend\n' in got, f'output ends with {got[-100:]!r}')
    rounds = got.partition('\nend\n')[0].count('\n') + 1
    print(f'# {rounds} rounds', flush=True)
    compare(got, program.undisturbed(rounds))


@test
def java(node):
    """Java: four threads of a pool, a compiler and a collector"""
    survives(node, 'java', '-Xmx128m', '-XX:+UseG1GC', '-cp', BUILT, 'Work')


@test
def r(node):
    """R: a random number generator, a linear model, a data frame"""
    survives(node, 'Rscript', '--vanilla', f'{HERE}/work.R')


@test
def octave(node):
    """Octave: matrices and cells"""
    survives(node, 'octave-cli', '--norc', '--no-history', f'{HERE}/work.m')


@test
def go(node):
    """Go: goroutines, channels, a server of HTTP and clients that stay connected"""
    survives(node, f'{BUILT}/work')


@test
def node_js(node):
    """Node.js: a server of HTTP, three clients that stay connected, a worker thread"""
    survives(node, 'node', f'{HERE}/work.js')


@test
def asyncio(node):
    """Python asyncio: a server, four clients that stay connected, a child"""
    survives(node, *python('loop'))


@test
def multiprocessing(node):
    """Python multiprocessing: a pool, a manager, a queue, shared memory"""
    survives(node, *python('processes'))


@test
def jupyter(node):
    """Jupyter: a kernel, and a client that runs a cell in each round"""
    survives(node, *python('jupyter'))


@test
def redis(node):
    """Redis: an append-only file, a client by TCP and one by a unix socket"""
    survives(node, *python('redis'))


@test
def mariadb(node):
    """MariaDB without io_uring: two sessions, one of them in a transaction"""
    survives(node, *python('mariadb'))


@test
def postgresql(node):
    """PostgreSQL: two sessions of psql, one of them in a transaction"""
    survives(node, *python('postgresql', POSTGRESQL))


if __name__ == '__main__':
    began_at = time.monotonic()
    result = daemon.main()
    print(f'# {time.monotonic() - began_at:.0f} s')
    sys.exit(result)
