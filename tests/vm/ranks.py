#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checkpoint and restart of jobs of ckptrun whose ranks do not use MPI, as TAP.

    ranks.py --bin DIR --work DIR [--slow FACTOR] [--only WORD]

Runs as root in a test VM; nodes and the way to run are daemon.py's.
"""
import json
import os
import signal
import subprocess
import sys
import time

import daemon
from daemon import alive, check, equal, test, wait_for

daemon.TESTS.clear()

COUNTER = ('i=0; while [ $i -lt {n} ]; do echo n$i; i=$((i+1)); sleep 0.1; done; '
           'echo end >&2; exit {status}')
PYTHON = '''
import sys, time
for i in range(int(sys.argv[1])):
    print(f'n{i}', flush=True)
    time.sleep(0.1)
print('end', file=sys.stderr)
'''


def ckptrun(node, ranks, *argv, opts=()):
    """The number of a job that nobody is attached to."""
    done = subprocess.run([f'{daemon.ARGS.bin}/ckptrun', '--socket', node.socket, '-n', str(ranks),
                           '--mpi', 'none', '--detach', *opts, '--', *argv],
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120 * daemon.ARGS.slow)
    equal(done.returncode, 0, f'ckptrun: {done.stderr.decode()}')
    return int(done.stdout)


def by_rank(text, ranks):
    """Lines of each rank, without their labels."""
    lines = [[] for _ in range(ranks)]
    for line in text.splitlines():
        label, rest = line.split('] ', 1)
        check(label[0] == '[', f'no label: {line!r}')
        lines[int(label[1:])].append(rest)
    return lines


def counted(n):
    return [f'n{i}' for i in range(n)]


def all_counted(node, job, ranks, n):
    for rank, lines in enumerate(by_rank(node.output(job), ranks)):
        equal(lines, counted(n), f'output of rank {rank}')


@test
def labelled_counters(node):
    """4 ranks with labels: checkpoint, run on, checkpoint --kill, restart of both"""
    job = ckptrun(node, 4, 'sh', '-c', COUNTER.format(n=40, status=0), opts=('--label',))
    node.lines(job, 12)
    equal(node.json('checkpoint', str(job))['generation'], 1, 'checkpoint')
    node.lines(job, 40)
    equal(node.json('checkpoint', '--kill', str(job))['generation'], 2, 'checkpoint --kill')
    equal(node.job(job)['state'], 'saved', 'state')
    for generation in (2, 1):
        node.ctl('restart', f'{job}:{generation}')
        equal(node.job(job)['state'], 'running', 'state')
        equal(node.wait(job), 0, 'status')
        all_counted(node, job, 4, 40)
        equal(sorted(node.output(job, 'stderr').splitlines()),
              [f'[{rank}] end' for rank in range(4)], 'standard error')


@test
def python_ranks(node):
    """4 x python3 with labels are restarted attached: the rest of the output, the status"""
    job = ckptrun(node, 4, sys.executable, '-c', PYTHON, '40', opts=('--label',))
    node.lines(job, 12)
    node.ctl('checkpoint', '--kill', str(job))
    before = node.output(job)
    node.ctl('restart', str(job))
    done = node.ctl('attach', '--history', '1000000', str(job), check=False)
    equal(done.returncode, 0, 'status')
    for lines in by_rank(done.stdout.decode(), 4):
        equal(lines, counted(40), 'output of a rank')
    check(len(before) < len(node.output(job)), 'output goes on')
    all_counted(node, job, 4, 40)


@test
def one_stream(node):
    """3 ranks without labels share a stream, which goes on"""
    job = ckptrun(node, 3, 'sh', '-c', COUNTER.format(n=30, status=0))
    node.lines(job, 9)
    node.ctl('checkpoint', '--kill', str(job))
    node.ctl('restart', str(job))
    equal(node.wait(job), 0, 'status')
    equal(sorted(node.output(job).split()), sorted(3 * counted(30)), 'output')


@test
def rank_fails_after_restart(node):
    """a restored rank that fails ends the others, and its status is the job's"""
    script = 'i=0; while [ $i -lt 20 ]; do echo n$i; i=$((i+1)); sleep 0.1; done; ' \
             '[ $STILLPOINT_RANK = 2 ] && exit 7; sleep 1000'
    job = ckptrun(node, 4, 'sh', '-c', script, opts=('--label',))
    node.lines(job, 12)
    node.ctl('checkpoint', '--kill', str(job))
    node.ctl('restart', str(job))
    equal(node.wait(job), 7, 'status')
    for rank, lines in enumerate(by_rank(node.output(job), 4)):
        # the others may not have come as far
        equal(lines, counted(20 if rank == 2 else len(lines)), f'output of rank {rank}')
    check('rank 2 ended with exit status 7' in node.output(job, 'stderr'), 'who failed')


@test
def ended_ranks(node):
    """ranks that had ended before the checkpoint stay so, and the first failure is the job's"""
    script = 'case $STILLPOINT_RANK in 0) exit 0;; 1) exit 5;; esac; ' + \
             COUNTER.format(n=30, status='$STILLPOINT_RANK')
    job = ckptrun(node, 4, 'sh', '-c', script, opts=('--label', '--keep-going'))
    node.lines(job, 9)
    node.ctl('checkpoint', '--kill', str(job))
    node.ctl('restart', str(job))
    equal(node.wait(job), 5, 'status')
    lines = by_rank(node.output(job), 4)
    equal(lines, [[], [], counted(30), counted(30)], 'output')


@test
def many_ranks(node):
    """40 ranks with labels, 80 pipes: checkpoint --kill and restart"""
    # the debug kernel cannot start 40 programs a second: it would be starting them all the time
    ranks = 40 if daemon.ARGS.slow < 10 else 8
    with open(f'{node.base}/go', 'w'):
        pass
    script = f'echo before; while [ -e {node.base}/go ]; do sleep 1; done; echo behind; exit 0'
    job = ckptrun(node, ranks, 'sh', '-c', script, opts=('--label',))
    wait_for('a line of each', 60, lambda: node.output(job).count('\n') >= ranks)
    paused = node.json('checkpoint', '--kill', str(job), timeout=120)['pause_ns']
    began = time.monotonic()
    node.ctl('restart', str(job), timeout=120)
    print(f'# paused {paused / 1e6:.0f} ms, restarted in {time.monotonic() - began:.1f} s')
    os.unlink(f'{node.base}/go')
    equal(node.wait(job), 0, 'status')
    for rank, lines in enumerate(by_rank(node.output(job), ranks)):
        equal(lines, ['before', 'behind'], f'rank {rank}')


def processes(node):
    """Of the only job: shim and init."""
    try:
        with open(f'{node.base}/jobs/1/shim.json') as f:
            found = json.load(f)
        return found['shim'], found['init']
    except FileNotFoundError:
        return None


def children(pid):
    with open(f'/proc/{pid}/task/{pid}/children') as f:
        return f.read().split()


@test
def shim_dies_at_the_start(node):
    """SIGKILL of a user's shim when some ranks have begun and others have not: none is left"""
    ranks = 40
    p = subprocess.Popen(['setpriv', '--reuid', str(daemon.USER), '--regid', str(daemon.USER),
                          '--clear-groups', '--', f'{daemon.ARGS.bin}/ckptrun', '--socket',
                          node.socket, '-n', str(ranks), '--mpi', 'mpich', '--direct', '--chdir',
                          '/', 'sleep', '1000'], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    shim, init = wait_for('the shim', 20, lambda: processes(node))
    while not children(init):
        pass
    os.kill(init, signal.SIGSTOP)
    begun = len(children(init))
    print(f'# {begun} ranks had begun')
    os.kill(shim, signal.SIGKILL)
    os.kill(init, signal.SIGCONT)
    message = p.communicate(timeout=60 * daemon.ARGS.slow)[1].decode()
    equal((p.returncode, 'without a word' in message), (1, True), message)
    # had all begun, the job may run: then it needs no shim
    if begun < ranks:
        wait_for('init to go', 20, lambda: not alive(init))


if __name__ == '__main__':
    sys.exit(daemon.main())
