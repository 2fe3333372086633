#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Jobs that are restarted by themselves when they die (--recover auto), as TAP.

    recover.py --bin DIR --work DIR [--slow FACTOR] [--only WORD]

Runs as root in a test VM; nodes and the way to run are daemon.py's. The examples of MPI are built
by recover.t, one for each library.
"""
import contextlib
import glob
import os
import signal
import subprocess
import sys
import time

import daemon
from daemon import alive, check, equal, test, wait_for

daemon.TESTS.clear()

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# a program that counts into a file, and so can be compared with an undisturbed run
COUNTER = '''
import sys, time
out = open(sys.argv[1], 'w')
total = 0
for i in range(int(sys.argv[2])):
    total += i * i
    print(i, total, file=out, flush=True)
    time.sleep(0.05)
'''
# a program that dies whenever it comes to a certain point, which it does when a file is there
DEADLY = '''
import os, signal, sys, time
i = 0
while i < 10 or not os.path.exists(sys.argv[1]):
    print(i, flush=True)
    time.sleep(0.05)
    i += 1
os.kill(os.getpid(), signal.SIGSEGV)
'''


def counted(n):
    total, lines = 0, []
    for i in range(n):
        total += i * i
        lines.append(f'{i} {total}')
    return '\n'.join(lines) + '\n'


class Command:
    """ckptctl run or ckptrun in the background, attached to its job."""

    def __init__(self, node, program, *argv):
        self.node = node
        self.errors = f'{node.base}/recover.err'
        with open(self.errors, 'w') as err, open(f'{node.base}/recover.out', 'w') as out:
            self.p = subprocess.Popen([f'{daemon.ARGS.bin}/{program[0]}', '--socket', node.socket,
                                       *program[1:], *argv],
                                      stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        self.job = wait_for('the job', 60, lambda: next(iter(node.jobs()), None))

    def said(self):
        with open(self.errors) as f:
            return f.read()

    def output(self):
        with open(f'{self.node.base}/recover.out') as f:
            return f.read()

    def says(self, text):
        wait_for(repr(text), 60, lambda: text in self.said() or self.p.poll() is not None)
        check(text in self.said(), f'{text!r} is not in {self.said()!r}')

    def wait(self):
        return self.p.wait(120 * daemon.ARGS.slow)

    def processes(self):
        """Of the job, without its init."""
        init = self.node.jobs()[self.job].get('init_pid')
        with open(f'/proc/{init}/task/{init}/children') as f:
            return [int(pid) for pid in f.read().split()]

    def kill_one(self, which=0):
        pid = self.processes()[which]
        os.kill(pid, signal.SIGKILL)
        wait_for('its end', 30, lambda: not alive(pid))


def lines_of(path):
    try:
        with open(path) as f:
            return f.read().count('\n')
    except FileNotFoundError:
        return 0


def reaches(path, n):
    wait_for(f'{n} lines', 60, lambda: lines_of(path) >= n)


def serial(node, n=200, *options):
    path = f'{node.base}/counted'
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    command = Command(node, ('ckptctl', ), 'run', '--recover', 'auto', *options, '--',
                      sys.executable, '-c', COUNTER, path, str(n))
    return command, path


@test
def killed_twice(node):
    """SIGKILL of the program, twice with a checkpoint in between: as if nothing had happened"""
    command, path = serial(node)
    for at in (20, 60):
        reaches(path, at)
        node.ctl('checkpoint', str(command.job))
        reaches(path, lines_of(path) + 5)
        command.kill_one()
        command.says(f'recovery {1 if at == 20 else 2}')
        wait_for('it runs', 60, lambda: node.job(command.job)['state'] == 'running')
    equal(command.wait(), 0, f'status: {command.said()}')
    with open(path) as f:
        equal(f.read(), counted(200), 'what it computed')


@test
def without_checkpoint(node):
    """a job without a checkpoint is not recovered, and its status is handed on"""
    command, path = serial(node)
    reaches(path, 5)
    command.kill_one()
    equal(command.wait(), 128 + signal.SIGKILL, 'status')
    check('it has no checkpoint' in command.said(), command.said())


@test
def end_that_was_asked_for(node):
    """ckptctl kill, a signal that the command hands on, checkpoint --kill: no recovery"""
    for how in ('kill', 'signal', 'saved'):
        command, path = serial(node)
        reaches(path, 5)
        node.ctl('checkpoint', str(command.job))
        if how == 'kill':
            node.ctl('kill', str(command.job), 'KILL')
        elif how == 'signal':
            command.p.send_signal(signal.SIGTERM)
        else:
            node.ctl('checkpoint', '--kill', str(command.job))
        status = command.wait()
        equal(status, 128 + (signal.SIGTERM if how == 'signal' else signal.SIGKILL), how)
        check('recover' not in command.said(), f'{how}: {command.said()}')
        equal(node.job(command.job)['state'], 'saved' if how == 'saved' else 'ended', how)


@test
def exit_is_its_own_decision(node):
    """an exit with a status is handed on"""
    command = Command(node, ('ckptctl', ), 'run', '--recover', 'auto', '--', 'sh', '-c',
                      'echo begun; sleep 3; exit 7')
    node.lines(command.job, 1)
    node.ctl('checkpoint', str(command.job))
    equal(command.wait(), 7, 'status')
    check('recover' not in command.said(), command.said())


@test
def dies_at_the_same_place(node):
    """the second death goes back one generation, the third ends it; no generation is lost"""
    command = Command(node, ('ckptctl', ), 'run', '--recover', 'auto', '--max-recoveries', '9',
                      '--', sys.executable, '-c', DEADLY, f'{node.base}/gate')
    node.lines(command.job, 10)
    node.ctl('checkpoint', str(command.job))
    node.lines(command.job, 25)
    node.ctl('checkpoint', str(command.job))
    open(f'{node.base}/gate', 'w').close()
    equal(command.wait(), 128 + signal.SIGSEGV, 'status')
    said = command.said()
    for text in ('from generation 2, recovery 1', 'from generation 1, recovery 2',
                 'it has died three times without a new checkpoint'):
        check(text in said, f'{text!r} is not in {said!r}')
    check('recovery 3' not in said, said)
    equal(len(node.generations(command.job)), 2, 'generations')


@test
def as_often_as_allowed(node):
    """--max-recoveries: the one after that is not done"""
    command, path = serial(node, 400, '--max-recoveries', '1')
    for at in (10, 30):
        reaches(path, at)
        node.ctl('checkpoint', str(command.job))
        reaches(path, lines_of(path) + 3)
        command.kill_one()
        if at == 10:
            command.says('goes on after')
    equal(command.wait(), 128 + signal.SIGKILL, 'status')
    check('recovered as often as is allowed' in command.said(), command.said())


@test
def ckptd_away(node):
    """the program dies while ckptd is not there: the recovery waits for it"""
    command, path = serial(node)
    reaches(path, 10)
    node.ctl('checkpoint', str(command.job))
    init = node.jobs()[command.job]['init_pid']
    reaches(path, lines_of(path) + 3)
    node.kill()
    os.kill(init, signal.SIGKILL)
    time.sleep(2)
    node.start()
    equal(command.wait(), 0, f'status: {command.said()}')
    with open(path) as f:
        equal(f.read(), counted(200), 'what it computed')


def poisson(node, kind):
    """One rank of two dies, twice; the residuals are those of an undisturbed run."""
    node.leave()
    node.settings = {'mpi_dir': f'{TOP}/build/lib/mpi',
                     'lower': f'{TOP}/build/libexec/ckpt-lower'}
    node.start()
    program = max(glob.glob(f'{TOP}/build/examples/recover.{kind}.*'), key=os.path.getmtime)
    path = f'{node.base}/residuals'
    program = [program, '48', '120', '40']
    want = subprocess.run([f'{daemon.ARGS.bin}/ckptrun', '--socket', node.socket, '-n', '2',
                           *program[:3]], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=300 * daemon.ARGS.slow)
    equal(want.returncode, 0, want.stderr.decode())
    command = Command(node, ('ckptrun', ), '-n', '2', '--recover', 'auto', '-o', path, *program)
    for at, rank in ((20, 1), (60, 0)):
        reaches(path, at)
        node.ctl('checkpoint', str(command.job))
        reaches(path, lines_of(path) + 5)
        command.kill_one(rank)
        command.says('recovery 1' if at == 20 else 'recovery 2')
    equal(command.wait(), 0, f'status: {command.said()}')
    check('of job' in command.said(), f'no rank is named: {command.said()}')
    with open(path) as f:
        equal(f.read(), want.stdout.decode(), 'residuals')


@test
def mpich_rank(node):
    """MPICH: one of two ranks is killed, twice"""
    poisson(node, 'mpich')


@test
def openmpi_rank(node):
    """Open MPI: one of two ranks is killed, twice"""
    poisson(node, 'openmpi')


if __name__ == '__main__':
    sys.exit(daemon.main())
