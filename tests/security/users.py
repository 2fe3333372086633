#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a user gets by checkpoint, restart and show: no more than he has; runs as root in a test VM.

Options as of daemon.py, whose ckptd (Node) each test gets.  The user is 1000 of group 1000.
"""
import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../vm'))

import daemon                                                               # noqa: E402
from daemon import Node, check, equal, test, wait_for                       # noqa: E402

daemon.TESTS.clear()

USER = 1000
REFUSED = 3


def as_user(*argv, groups=(), limits=()):
    """argv, run by the user."""
    keep = ['--groups', ','.join(map(str, groups))] if groups else ['--clear-groups']
    return [*(['prlimit', *limits] if limits else []), 'setpriv', '--reuid', str(USER), '--regid',
            str(USER), *keep, '--', *argv]


def call(node, *args, **how):
    """ckptctl, called by the user."""
    return subprocess.run(as_user(*node.argv(*args), **how), capture_output=True, cwd='/',
                          stdin=subprocess.DEVNULL, timeout=60 * daemon.ARGS.slow)


def good(node, *args, **how):
    done = call(node, *args, **how)
    equal(done.returncode, 0, f'{" ".join(args)}: {done.stderr.decode()}')
    return done.stdout.decode() + done.stderr.decode()


def fails(node, status, text, *args, **how):
    done = call(node, *args, **how)
    message = done.stderr.decode()
    equal(done.returncode, status, f'status of {" ".join(args)} ({message.strip()})')
    check(text in message, f'{" ".join(args)}: {text!r} is not in {message!r}')
    return message


def start(node, *argv, **how):
    return int(good(node, 'run', '--detach', '--chdir', '/', '--', *argv, **how).split()[0])


def become(node, who):
    """A job of the user whose set-user-ID program has become somebody else."""
    program = '/usr/local/bin/become-test'
    with contextlib.suppress(FileNotFoundError):
        os.unlink(program)      # another test's may run
    shutil.copy(f'{os.path.dirname(os.path.abspath(__file__))}/../../build/bin/tests/security/'
                'become', program)
    os.chmod(program, 0o4755)
    job = start(node, program, who)
    node.lines(job, 2)
    return job


def process(node, job):
    """The pid of the job's main process."""
    init = node.jobs()[job]['init_pid']
    with open(f'/proc/{init}/task/{init}/children') as f:
        return int(f.read().split()[0])


def ids(pid):
    with open(f'/proc/{pid}/status') as f:
        return next(line.split()[1:] for line in f if line.startswith('Uid:'))


def runs_on(node, job):
    """It was let go on: there are more lines than a moment ago."""
    was = node.output(job).count('\n')
    node.lines(job, was + 2)


def is_refused(node, job):
    message = fails(node, REFUSED, '[OWNER]', 'checkpoint', str(job))
    check('become-test' in message and 'ask root' in message, message)
    runs_on(node, job)


@test
def root_in_a_job(node):
    """a set-user-ID program that became root: root saves and restarts it, its user does neither"""
    job = become(node, 'root')
    is_refused(node, job)
    fails(node, REFUSED, '[OWNER]', 'checkpoint', '--kill', str(job))
    fails(node, REFUSED, '[OWNER]', 'checkpoint', '--dry-run', str(job))
    message = call(node, 'doctor', str(job))
    check(b'OWNER' in message.stdout + message.stderr, f'doctor: {message}')
    runs_on(node, job)
    equal(node.generations(job), [], 'generations')
    node.ctl('checkpoint', '--kill', str(job))
    # what the file is now does not count, and what it was is no right for ever
    os.chmod('/usr/local/bin/become-test', 0o755)
    for opts in ((), ('--dry-run',), ('--accept-changed',)):
        message = fails(node, REFUSED, '[PERMISSION]', 'restart', *opts, str(job))
        check('users 0, 0, 0, 0; user 1000 asks' in message and 'ask root' in message, message)
    equal(node.jobs(), {}, 'jobs')
    node.ctl('restart', str(job))
    equal(ids(process(node, job)), ['0'] * 4, 'who it is')
    runs_on(node, job)


@test
def others_in_a_job(node):
    """an effective user alone, memory that is not for dumps: not the user's to save"""
    for who in ('effective', 'dropped'):
        job = become(node, who)
        is_refused(node, job)
        node.ctl('checkpoint', '--kill', str(job))
        if who == 'dropped':
            # it has nothing of root's but what it may still know: root decided to save that
            good(node, 'restart', str(job))
            equal(ids(process(node, job)), [str(USER)] * 4, 'who it is')
            is_refused(node, job)
            node.ctl('kill', str(job), 'KILL')
            node.wait(job)
            continue
        fails(node, REFUSED, '[PERMISSION]', 'restart', str(job))
        node.ctl('restart', str(job))
        node.ctl('kill', str(job), 'KILL')
        node.wait(job)


@test
def by_itself(node):
    """ckptd's own checkpoints are taken for the owner of the job, and so refused as his"""
    job = become(node, 'root')
    good(node, 'auto', str(job), '--every', '1s')
    wait_for('the refusal', 30, lambda: f'job {job}: no checkpoint' in log_of(node))
    runs_on(node, job)
    equal(node.generations(job), [], 'generations')


@test
def his_own(node):
    """what is the user's he saves and restarts, again and again"""
    job = start(node, 'sh', '-c', daemon.COUNTER.format(n=10 ** 6))
    for _ in range(2):
        runs_on(node, job)
        good(node, 'checkpoint', '--kill', str(job))
        good(node, 'restart', str(job))
    good(node, 'show', '--records', f'{job}:1')
    differ = call(node, 'diff', f'{job}:1', f'{job}:2')
    equal((differ.returncode, differ.stderr), (1, b''), 'diff')


@test
def groups(node):
    """groups that he has lost since: the restart is refused, and root gives them"""
    job = start(node, 'sh', '-c', daemon.COUNTER.format(n=10 ** 6), groups=(50, 51))
    node.lines(job, 2)
    good(node, 'checkpoint', '--kill', str(job))
    message = fails(node, REFUSED, '[PERMISSION]', 'restart', str(job), groups=(51,))
    check('supplementary group 50' in message, message)
    good(node, 'restart', str(job), groups=(52, 51, 50))
    good(node, 'checkpoint', '--kill', str(job))
    node.ctl('restart', str(job))
    runs_on(node, job)


HOLDS = """import ctypes, sys, time
queue = ctypes.CDLL(None).mq_open(sys.argv[1].encode(), 2)
print('opened' if queue >= 0 else 'failed', flush=True)
while True:
    time.sleep(.1)
    print('on', flush=True)
"""


def make_queue(name, user, text=b''):
    """A POSIX message queue of the node, which anybody may open."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.mq_open(name.encode(), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666, None)
    check(fd >= 0, f'mq_open: {os.strerror(ctypes.get_errno())}')
    os.fchown(fd, user, user)
    os.fchmod(fd, 0o666)
    if text:
        equal(libc.mq_send(fd, text, len(text), 1), 0, 'mq_send')
    os.close(fd)


def held_bytes(name):
    with open(f'/dev/mqueue{name}') as f:
        return int(f.read().split()[0].removeprefix('QSIZE:'))


def holder(node, name):
    job = int(good(node, 'run', '--detach', '--host-ns', '--chdir', '/', '--', 'python3', '-c',
                   HOLDS, name).split()[0])
    node.lines(job, 2)
    check(node.output(job).startswith('opened'), node.output(job))
    return job


@test
def others_queue(node):
    """a message queue of somebody else, which a job has open: root alone saves what is in it"""
    make_queue('/others', 0, b'secret')
    try:
        job = holder(node, '/others')
        message = fails(node, REFUSED, '[MQUEUE]', 'checkpoint', str(job))
        check('belongs to user 0' in message, message)
        runs_on(node, job)
        equal(node.generations(job), [], 'generations')
        node.ctl('checkpoint', str(job))
        equal(held_bytes('/others'), 6, 'bytes in the queue')
        node.ctl('kill', str(job), 'KILL')
        node.wait(job)
    finally:
        os.unlink('/dev/mqueue/others')


@test
def newer_queue(node):
    """a newer message queue under the name of the checkpoint's: taken if the user says so"""
    make_queue('/newer', USER, b'hello')
    try:
        job = holder(node, '/newer')
        good(node, 'checkpoint', '--kill', str(job))
        os.unlink('/dev/mqueue/newer')
        make_queue('/newer', USER)
        message = fails(node, REFUSED, '[MQUEUE]', 'restart', str(job))
        check('--accept-changed' in message, message)
        equal(held_bytes('/newer'), 0, 'bytes in the newer queue')
        good(node, 'restart', '--accept-changed', str(job))
        equal(held_bytes('/newer'), 5, 'bytes of the checkpoint')
        runs_on(node, job)
        node.ctl('kill', str(job), 'KILL')
        node.wait(job)
        os.unlink('/dev/mqueue/newer')
        make_queue('/newer', 0)
        fails(node, REFUSED, '[MQUEUE]', 'restart', '--accept-changed', f'{job}:1')
    finally:
        os.unlink('/dev/mqueue/newer')


def limits_of(pid):
    with open(f'/proc/{pid}/limits') as f:
        return {line[:25].strip(): line[26:].split()[:2] for line in f}


def state(pid):
    with open(f'/proc/{pid}/oom_score_adj') as f:
        score = int(f.read())
    found = limits_of(pid)
    return (found['Max locked memory'][1], found['Max realtime priority'][1],
            found['Max open files'][1], os.getpriority(os.PRIO_PROCESS, pid), score,
            os.sched_getscheduler(pid))


MUCH = ('--memlock=unlimited', '--rtprio=99', '--nofile=1000000:1000000')
LITTLE = ('--memlock=65536:65536', '--rtprio=0:0', '--nofile=1024:1024')


@test
def limits(node):
    """limits, nice value, OOM score, real-time policy: those of who restarts, and he is told"""
    job = start(node, 'chrt', '--fifo', '10', 'sleep', '100000', limits=MUCH)
    pid = process(node, job)
    wait_for('the policy', 10, lambda: os.sched_getscheduler(pid) == os.SCHED_FIFO)
    os.setpriority(os.PRIO_PROCESS, pid, -15)           # an administrator's
    with open(f'/proc/{pid}/oom_score_adj', 'w') as f:
        f.write('-500')
    subprocess.run(['ionice', '-c', '1', '-n', '3', '-p', str(pid)], check=True)
    before = state(pid)
    equal(before, ('unlimited', '99', '1000000', -15, -500, os.SCHED_FIFO), 'before')
    good(node, 'checkpoint', '--kill', str(job))
    said = good(node, 'restart', str(job), limits=LITTLE)
    pid = process(node, job)
    equal(state(pid), ('65536', '0', '1024', 0, 0, os.SCHED_OTHER), 'restarted by the user')
    equal(subprocess.run(['ionice', '-p', str(pid)], capture_output=True).stdout.split()[0],
          b'none:', 'I/O priority')
    for word in ('locked memory', 'real-time priority', 'open files', 'nice value', 'OOM score',
                 'real-time scheduling', 'I/O priority'):
        check(word in said, f'{word!r} is not in {said!r}')
    node.ctl('kill', str(job), 'KILL')
    node.wait(job)
    said = node.ctl('restart', f'{job}:1')
    equal(state(process(node, job)), before, 'restarted by root')
    check(b'lowered' not in said.stdout + said.stderr, str(said))


@test
def addresses(node):
    """show --records and diff: addresses of others' processes are root's to see"""
    job = become(node, 'root')
    for _ in range(2):
        node.ctl('checkpoint', str(job))
    for args in (('show', '--records', f'{job}:1'), ('show', '--runs', f'{job}:1'),
                 ('diff', f'{job}:1', f'{job}:2')):
        message = fails(node, 1, 'root only', *args)
        check('0x' not in message, message)
    plain = json.loads(good(node, 'show', '--json', f'{job}:1'))['result']
    check('records' not in plain and not any('runs' in m for m in plain['memory']), 'plain show')
    shown = json.loads(node.ctl('show', '--records', '--json', f'{job}:1').stdout)
    check(shown['result']['records'], 'records for root')
    differ = node.ctl('diff', f'{job}:1', f'{job}:2', check=False)
    equal((differ.returncode, differ.stderr), (1, b''), 'diff for root')


def log_of(node):
    with open(node.log.name, errors='replace') as f:
        return f.read()


if __name__ == '__main__':
    began = time.monotonic()
    status = daemon.main()
    print(f'# {time.monotonic() - began:.0f} s')
    sys.exit(status)
