#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""ckptd, its shims and ckptctl, as TAP; runs as root in a test VM.

    daemon.py --bin DIR --work DIR [--slow FACTOR] [--only WORD,...]

A test is a function with a first line of documentation, its name in the output.
Each finds a running ckptd of its own (Node) and leaves nothing behind.
"""
import argparse
import contextlib
import ctypes
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

ARGS = None
TESTS = []
USER = 65534
KHUGEPAGED = '/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs'

COUNTER = 'i=0; while [ $i -lt {n} ]; do echo n$i; i=$((i+1)); sleep 0.1; done; exit 9'
# the same, but it runs until it is let go, however long that takes
HELD = COUNTER.replace('; exit 9', '; until [ -e {go} ]; do sleep 0.1; done; exit 9')


def test(f):
    TESTS.append(f)
    return f


class Failure(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failure(what)


def equal(got, want, what):
    if got != want:
        raise Failure(f'{what}: got {got!r}, want {want!r}')


@contextlib.contextmanager
def killing_for_memory(group):
    """The kernel's report, with its call trace, is expected; nothing else may be in it."""
    with open('/proc/sys/kernel/printk') as f:
        level = f.read().split()[0]
    subprocess.run(['dmesg', '-n', 'emerg'], check=True)
    try:
        yield
    finally:
        said = subprocess.run(['dmesg', '-c'], capture_output=True, text=True, check=True).stdout
        subprocess.run(['dmesg', '-n', level], check=True)
    check(f'oom_memcg={group}' in said, said)
    for word in ('BUG', 'WARNING', 'KASAN', 'RIP: 0010:ckpt'):
        check(word not in said, said)


def wait_for(what, seconds, f):
    """The first true value of f(), which is asked again and again."""
    end = time.monotonic() + seconds * ARGS.slow
    while True:
        value = f()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f'{what}: not within {seconds} s')
        time.sleep(0.05)


def write_pause(milliseconds):
    with open(KHUGEPAGED, 'w') as f:
        f.write(milliseconds)


@contextlib.contextmanager
def khugepaged_rests():
    """khugepaged does not run meanwhile: it writes what it collapses, so a job of eight MiB is as
    good as written anew at its next round."""
    with open(KHUGEPAGED) as f:
        pause = f.read()
    try:
        write_pause('3600000')
        yield
    finally:
        write_pause(pause)


def alive(pid):
    try:
        with open(f'/proc/{pid}/stat') as f:
            return f.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False


class Node:
    """One ckptd, with directories of its own; several share the images."""

    def __init__(self, base, name='node1', images=None):
        self.name = name
        self.base = f'{base}/{name}'
        self.images = images or f'{base}/images'
        self.key = f'{base}/key'
        self.go = f'{base}/go'
        self.socket = f'/run/ckptd-test-{os.getpid()}-{name}.sock'
        self.log = open(f'{base}/{name}.log', 'ab')
        self.settings = {}
        self.options = []
        self.prefix = []        # a command that runs ckptd and ckptctl
        self.daemon = None

    def start(self):
        args = [*self.prefix, f'{ARGS.bin}/ckptd', '--config', '/dev/null']
        settings = {
            'socket': self.socket, 'state_dir': f'{self.base}/jobs',
            'image_dir': self.images, 'key': self.key, 'node': self.name,
            'log_level': 'debug', **self.settings,
        }
        for item in settings.items():
            args += ['--set', '='.join(item)]
        args += self.options
        self.daemon = subprocess.Popen(args, stdin=subprocess.DEVNULL,
                                       stdout=self.log, stderr=self.log,
                                       start_new_session=True)
        wait_for('ckptd', 20, lambda: self.try_connect())
        return self

    def try_connect(self):
        check(self.daemon.poll() is None, 'ckptd left')
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(self.socket)
                return True
            except OSError:
                return False

    def left(self):
        """What is in the image directory, but for what ckptds hold there."""
        return [n for n in os.listdir(self.images)
                if not n.startswith(('.ckptd-', '.job-number'))]

    def kill(self):
        """SIGKILL; the jobs run on."""
        self.daemon.kill()
        self.daemon.wait()

    def leave(self):
        """SIGTERM; the jobs run on."""
        self.daemon.terminate()
        self.daemon.wait(20 * ARGS.slow)

    def stop(self):
        """End the jobs, then ckptd."""
        if self.daemon.poll() is None:
            done = self.ctl('ps', '--json', check=False)
            if done.returncode == 0:
                for job in json.loads(done.stdout)['result']['jobs']:
                    self.ctl('kill', str(job['job']), 'KILL', check=False)
                with contextlib.suppress(Failure):
                    wait_for('jobs end', 10, lambda: not self.jobs())
            self.daemon.terminate()
            try:
                self.daemon.wait(10 * ARGS.slow)
            except subprocess.TimeoutExpired:
                self.kill()
                raise Failure('ckptd does not leave')

    def argv(self, *args, user=None):
        argv = [*self.prefix, f'{ARGS.bin}/ckptctl', '--socket', self.socket, *args]
        if user:
            argv = ['setpriv', '--reuid', str(user), '--regid', str(user),
                    '--clear-groups', '--', *argv]
        return argv

    def ctl(self, *args, check=True, user=None, input=None, timeout=60):
        done = subprocess.run(self.argv(*args, user=user), capture_output=True,
                              timeout=timeout * ARGS.slow,
                              **({'input': input} if input is not None
                                 else {'stdin': subprocess.DEVNULL}))
        if check and done.returncode:
            raise Failure(f'ckptctl {" ".join(args)}: {done.returncode}: '
                          f'{done.stderr.decode()}')
        return done

    def json(self, *args, **kwargs):
        return json.loads(self.ctl(*args, '--json', **kwargs).stdout)['result']

    def fails(self, status, text, *args, **kwargs):
        done = self.ctl(*args, check=False, **kwargs)
        message = done.stderr.decode()
        equal(done.returncode, status, f'status of {" ".join(args)} ({message.strip()})')
        check(text in message, f'{" ".join(args)}: {text!r} is not in {message!r}')
        return message

    def run(self, *argv, opts=(), user=None):
        return int(self.ctl('run', '--detach', *opts, '--', *argv, user=user).stdout)

    def shell(self, script, user=None, opts=()):
        if user:
            opts = (*opts, '--chdir', '/')
        return self.run('/bin/sh', '-c', script, user=user, opts=opts)

    def held(self, n, user=None, opts=()):
        """A job that counts to n, and ends with status 9 once let_go() was called."""
        return self.shell(HELD.format(n=n, go=self.go), user=user, opts=opts)

    def let_go(self):
        with open(self.go, 'w'):
            pass

    def jobs(self, *opts):
        return {j['job']: j for j in self.json('ps', *opts)['jobs']}

    def job(self, number):
        return self.jobs('--all')[number]

    def output(self, number, stream='stdout'):
        try:
            with open(f'{self.images}/{number}/{stream}') as f:
                return f.read()
        except FileNotFoundError:
            return ''

    def wait(self, number, timeout=120):
        return self.ctl('wait', str(number), check=False, timeout=timeout).returncode

    def lines(self, number, n):
        """Wait until the job has written n lines."""
        return wait_for(f'{n} lines', 30, lambda: self.output(number).count('\n') >= n)

    def generations(self, number):
        return self.json('list', str(number))['jobs'][0]['generations']


def counted(n):
    return ''.join(f'n{i}\n' for i in range(n))


# ---------------------------------------------------------------- running

@test
def attached_output_and_status(node):
    """run: output, error output and exit status come through"""
    done = node.ctl('run', '--', 'sh', '-c', 'echo out; echo err >&2; exit 5', check=False)
    equal((done.returncode, done.stdout, done.stderr), (5, b'out\n', b'err\n'), 'run')


@test
def attached_input(node):
    """run: what is piped in reaches the job, and so does its end"""
    data = b''.join(b'%d\n' % i for i in range(60000))
    done = node.ctl('run', '--', 'cat', input=data)
    check(done.stdout == data, 'data changed on the way')


@test
def attached_signal(node):
    """run: a signal goes to the job, its death comes back as 128+n"""
    p = subprocess.Popen(node.argv('run', '--', 'sleep', '1000'), stdin=subprocess.DEVNULL)
    wait_for('the job', 10, node.jobs)
    p.send_signal(signal.SIGTERM)
    equal(p.wait(10 * ARGS.slow), 143, 'status')


@test
def signal_past_input(node):
    """run: a signal does not wait behind input that the job does not read"""
    p = subprocess.Popen(['sh', '-c', 'yes | exec "$@"', 'sh',
                          *node.argv('run', '--', 'sleep', '1000')],
                         stdout=subprocess.DEVNULL)
    wait_for('the job', 10, node.jobs)
    time.sleep(1)
    ctl = wait_for('ckptctl', 5, lambda: subprocess.run(
        ['pgrep', '-P', str(p.pid), 'ckptctl'], capture_output=True).stdout.split())
    os.kill(int(ctl[0]), signal.SIGTERM)
    equal(p.wait(10 * ARGS.slow), 143, 'status')


@test
def slow_terminals(node):
    """run: who reads slowly gets all, who does not read for long still gets the exit status"""
    go = f'{node.base}/go'
    script = f'seq 1 300000; while ! [ -e {go} ]; do sleep 0.1; done; exit 5'
    slow, stopped = (subprocess.Popen(node.argv('run', '--', 'sh', '-c', script),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE) for _ in range(2))
    wait_for('the jobs', 10, lambda: [j['state'] for j in node.jobs().values()] == 2 * ['running'])
    shims = []
    for job in node.jobs():
        with open(f'{node.base}/jobs/{job}/shim.json') as f:
            shims.append(json.load(f)['shim'])
    with open(go, 'w'):
        pass
    out, part = b'', b' '
    while part:
        time.sleep(0.25)
        part = os.read(slow.stdout.fileno(), 32768)
        out += part
    message = slow.communicate()[1].decode()
    equal((slow.returncode, message), (5, ''), 'status of the slow one')
    check(out == b''.join(b'%d\n' % i for i in range(1, 300001)), f'{len(out)} bytes')
    wait_for('the shims to leave', 3, lambda: not any(map(alive, shims)))
    message = stopped.communicate(timeout=20 * ARGS.slow)[1].decode()
    equal(stopped.returncode, 5, f'status of the stopped one ({message})')
    check('may be missing here' in message and node.images in message, message)


@test
def detached_job(node):
    """run --detach: prints the number; ps, wait and kill know the job"""
    job = node.run('sleep', '1000', opts=('--name', 'nap'))
    shown = node.jobs()[job]
    equal((shown['name'], shown['state'], shown['user']), ('nap', 'running', 'root'), 'ps')
    node.ctl('kill', str(job), 'USR1')
    equal(node.wait(job), 128 + signal.SIGUSR1, 'wait')
    equal(node.jobs(), {}, 'ps after the end')
    equal(node.job(job)['state'], 'ended', 'ps --all')
    node.fails(1, 'does not run', 'kill', str(job))


@test
def start_failures(node):
    """run: what cannot be started is said, and leaves no job"""
    node.fails(1, '/no/such/program', 'run', '--', '/no/such/program')
    node.fails(1, '/no/such/dir', 'run', '--chdir', '/no/such/dir', '--', 'true')
    node.fails(1, '/no/such/dir/x', 'run', '--stdout', '/no/such/dir/x', '--', 'true')
    node.fails(2, 'which command', 'run')
    equal(node.jobs('--all'), {}, 'jobs')
    equal(node.left(), [], 'directories')


@test
def redirections(node):
    """run: files for input and output, one description for both outputs"""
    with tempfile.TemporaryDirectory() as d:
        with open(d + '/in', 'w') as f:
            f.write('hello\n')
        job = node.shell('cat; echo err >&2; echo out',
                         opts=('-i', d + '/in', '-o', d + '/out', '-e', d + '/out'))
        equal(node.wait(job), 0, 'wait')
        with open(d + '/out') as f:
            equal(f.read(), 'hello\nerr\nout\n', 'file')


@test
def own_namespaces(node):
    """a job has its own pids, /proc, /dev/shm and IPC; --host-ns has not"""
    script = 'echo $$; readlink /proc/self/ns/ipc; touch /dev/shm/inside; ls /proc/1/root/dev/shm'
    out = node.ctl('run', '--', 'sh', '-c', script).stdout.decode().split('\n')
    equal(out[0], '2', 'pid')
    check(out[1] != os.readlink('/proc/self/ns/ipc'), 'IPC namespace')
    equal(out[2], 'inside', 'its /dev/shm')
    check(not os.path.exists('/dev/shm/inside'), 'our /dev/shm')
    out = node.ctl('run', '--host-ns', '--', 'readlink', '/proc/self/ns/pid').stdout.decode()
    equal(out.strip(), os.readlink('/proc/self/ns/pid'), 'PID namespace')


@test
def orphans_end_with_the_job(node):
    """what a job leaves running ends with it, in both kinds of namespaces"""
    for opts in ((), ('--host-ns',)):
        mark = f'{random.randrange(10 ** 9)}.5'
        job = node.shell(f'setsid sleep {mark} & sleep 0.5', opts=opts)
        equal(node.wait(job), 0, 'wait')
        wait_for('the orphan to go', 5, lambda: subprocess.run(
            ['pgrep', '-f', f'sleep {mark}'], capture_output=True).returncode == 1)


def niceness(pid):
    """Nice value of a process, and of its session's group where the kernel has those."""
    with open(f'/proc/{pid}/autogroup') as f:
        group = f.read()
    return os.getpriority(os.PRIO_PROCESS, pid), int(group.rsplit(' ', 1)[1]) if group else None


@test
def nice_values(node):
    """ckptd and shims run before a job's processes, also restored ones;
    a job's own nice value stays"""
    def same(what, got, want):
        check(got[0] == want and got[1] in (want, None), f'{what}: {got}, want {want}')

    same('ckptd', niceness(node.daemon.pid), -10)
    job = node.shell('nice -n 3 sleep 1000 & echo $!; sleep 1001')
    node.lines(job, 1)
    for _ in range(2):
        with open(f'{node.base}/jobs/{job}/shim.json') as f:
            shim = json.load(f)['shim']
        same('shim', niceness(shim), -10)
        own, other = (wait_for(argv, 20, lambda argv=argv: subprocess.run(
            ['pgrep', '-fx', argv], capture_output=True).stdout.split())
                      for argv in ('sleep 1000', 'sleep 1001'))
        equal(os.getpriority(os.PRIO_PROCESS, int(own[0])), 3, 'its own')
        same('the job', niceness(int(other[0])), 0)
        node.ctl('checkpoint', str(job), '--kill')
        equal(node.wait(job), 137, 'wait')
        node.ctl('restart', str(job))


@test
def kill_past_a_stopped_shim(node):
    """kill KILL: a shim that is stopped keeps no job alive; nor does a start that hangs"""
    job = node.run('sleep', '1000')
    with open(f'{node.base}/jobs/{job}/shim.json') as f:
        ids = json.load(f)
    os.kill(ids['shim'], signal.SIGSTOP)
    node.ctl('kill', str(job), 'KILL')
    wait_for('the end', 20, lambda: not alive(ids['init']))
    os.kill(ids['shim'], signal.SIGCONT)
    wait_for('the shim to leave', 10, lambda: not alive(ids['shim']))
    fifo = f'{node.base}/fifo'
    os.mkfifo(fifo)
    run = subprocess.Popen(node.argv('run', '--detach', '-o', fifo, '--', 'sleep', '1000'),
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE)
    starting = wait_for('the start', 10, lambda: [n for n, j in node.jobs().items()
                                                  if j['state'] == 'starting'])
    wait_for('its first process', 10, lambda: node.ctl('kill', str(starting[0]), 'KILL',
                                                       check=False).returncode == 0)
    message = run.communicate(timeout=20 * ARGS.slow)[1].decode()
    # how far it had come says what is missed first
    check(run.returncode == 1 and 'run failed' in message, f'{run.returncode}: {message}')
    equal(node.jobs(), {}, 'jobs')


@test
def saved_though_daemon_dies(node):
    """checkpoint --kill: a ckptd that dies before it has noted the end knows it afterwards"""
    job = node.shell('i=0; while :; do echo n$i; i=$((i+1)); sleep 0.1; done')
    node.lines(job, 2)
    with open(f'{node.base}/jobs/{job}/shim.json') as f:
        init = json.load(f)['init']
    done = subprocess.Popen(node.argv('checkpoint', str(job), '--kill'),
                            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # the moment of the commit; the worker goes on without ckptd, which dies only when the tree has
    wait_for('the commit', 30, lambda: os.path.exists(f'{node.images}/{job}/gen-1/manifest'))
    node.daemon.send_signal(signal.SIGSTOP)
    wait_for('the end', 20, lambda: not alive(init))
    node.kill()
    done.wait(20 * ARGS.slow)
    node.start()
    equal(node.job(job)['state'], 'saved', 'state')
    node.fails(1, '--force', 'rm', str(job))
    node.ctl('restart', str(job))
    node.ctl('kill', str(job), 'KILL')
    equal(node.wait(job), 137, 'wait')
    equal(node.job(job)['state'], 'ended', 'state of what was killed later')


@test
def limits_of_the_caller(node):
    """a job has its caller's limits, groups, umask and directory, not ckptd's"""
    script = 'ulimit -n; umask; pwd; id -G; echo $STILLPOINT_JOB'
    argv = node.argv('run', '--', 'sh', '-c', script)
    out = subprocess.run(['setpriv', '--reuid', str(USER), '--regid', str(USER), '--groups',
                          '7,9', '--', 'sh', '-c', 'ulimit -n 123; umask 027; cd /usr; exec "$@"',
                          'sh', *argv], capture_output=True, stdin=subprocess.DEVNULL)
    lines = out.stdout.decode().split('\n')
    equal(lines[:3], ['123', '0027', '/usr'], 'limits')
    equal(set(lines[3].split()), {str(USER), '7', '9'}, 'groups')
    check(int(lines[4]) > 0, 'number of the job')


# ------------------------------------------------------- death of the daemon

@test
def daemon_dies(node):
    """SIGKILL of ckptd: job and output go on, the next one finds both"""
    job = node.held(40)
    node.lines(job, 3)
    node.kill()
    node.lines(job, 8)
    node.start()
    equal(node.jobs()[job]['state'], 'running', 'state')
    node.ctl('checkpoint', str(job))
    node.let_go()
    equal(node.wait(job), 9, 'status')
    equal(node.output(job), counted(40), 'output')


@test
def job_ends_without_daemon(node):
    """a job that ends while there is no ckptd keeps its exit status"""
    job = node.shell('sleep 1; echo bye; exit 7')
    node.kill()
    time.sleep(2 * ARGS.slow)
    node.start()
    equal(node.wait(job), 7, 'status')
    equal(node.output(job), 'bye\n', 'output')


@test
def attached_while_daemon_dies(node):
    """SIGKILL of ckptd does not disturb who is attached"""
    p = subprocess.Popen(node.argv('run', '--', 'sh', '-c', COUNTER.format(n=20)),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    first = p.stdout.readline()
    node.kill()
    out = first + p.communicate(timeout=30 * ARGS.slow)[0]
    equal((p.returncode, out.decode()), (9, counted(20)), 'run')
    node.start()


@test
def client_dies(node):
    """SIGKILL of an attached ckptctl leaves the job running; attach goes on"""
    p = subprocess.Popen(node.argv('run', '--', 'sh', '-c', COUNTER.format(n=40)),
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    job = next(iter(wait_for('the job', 10, node.jobs)))
    node.lines(job, 3)
    p.kill()
    p.wait()
    done = node.ctl('attach', '--history', '1000000', str(job), check=False)
    equal((done.returncode, done.stdout.decode()), (9, counted(40)), 'attach')


@test
def shim_dies(node):
    """SIGKILL of a shim: a job that writes to files runs on and can be saved"""
    with tempfile.TemporaryDirectory(dir=ARGS.work) as d:
        job = node.held(30, opts=('-o', d + '/out', '-e', d + '/err'))
        with open(f'{node.base}/jobs/{job}/shim.json') as f:
            os.kill(json.load(f)['shim'], signal.SIGKILL)
        wait_for('ps to say so', 10, lambda: node.jobs()[job].get('shim_lost') is True)
        node.ctl('checkpoint', '--kill', str(job))
        node.ctl('restart', str(job))
        node.let_go()
        equal(node.wait(job), 9, 'status')
        with open(d + '/out') as f:
            equal(f.read(), counted(30), 'output')


@test
def shim_dies_attached(node):
    """SIGKILL of a shim: who is attached is told, and the job runs on"""
    p = subprocess.Popen(node.argv('run', '--', 'sleep', '1000'), stdin=subprocess.DEVNULL,
                         stderr=subprocess.PIPE)
    job = next(iter(wait_for('the job', 10, lambda: {n for n, j in node.jobs().items()
                                                     if j['state'] == 'running'})))
    with open(f'{node.base}/jobs/{job}/shim.json') as f:
        os.kill(json.load(f)['shim'], signal.SIGKILL)
    try:
        message = p.communicate(timeout=15 * ARGS.slow)[1].decode()
    finally:
        p.kill()
    equal((p.returncode, 'lost the connection' in message), (1, True), message)
    equal(node.jobs()[job].get('shim_lost'), True, 'ps')


@test
def two_daemons(node):
    """a second ckptd on the same socket leaves at once"""
    p = subprocess.run([f'{ARGS.bin}/ckptd', '-c', '/dev/null', '-s', f'socket={node.socket}',
                        '-s', f'state_dir={node.base}/jobs', '-s', f'image_dir={node.images}'],
                       capture_output=True, timeout=20 * ARGS.slow)
    equal(p.returncode, 1, 'status')
    check(b'another ckptd' in p.stderr, p.stderr)
    node.ctl('ps')


# ------------------------------------------------- checkpoint and restart

@test
def checkpoint_and_restart(node):
    """checkpoint, run on, checkpoint --kill, restart twice: nothing lost or doubled"""
    job = node.held(40)
    node.lines(job, 3)
    result = node.json('checkpoint', str(job))
    equal((result['job'], result['generation']), (job, 1), 'checkpoint')
    check(result['pause_ns'] > 0 and result['bytes_stored'] > 0, 'figures')
    node.lines(job, 10)
    equal(node.json('checkpoint', '--kill', str(job))['generation'], 2, 'checkpoint --kill')
    equal(node.job(job)['state'], 'saved', 'state')
    for generation in (2, 1):
        node.ctl('restart', f'{job}:{generation}')
        equal(node.job(job)['state'], 'running', 'state')
        node.fails(3, 'still runs', 'restart', str(job))
        node.let_go()
        equal(node.wait(job), 9, 'status')
        equal(node.output(job), counted(40), 'output')
        os.unlink(node.go)
    check([f for f in os.listdir(f'{node.images}/{job}') if f.startswith('stdout.cut')],
          'what generation 1 cut off is kept')


@test
def python_with_threads(node):
    """a python3 program with threads, open file, /dev/shm and pipes goes on"""
    script = '''
import os, sys, threading, time
r, w = os.pipe()
os.write(w, b"in the pipe")
shm = open("/dev/shm/x", "w+"); shm.write("in shm"); shm.flush()
out = open(sys.argv[1], "w", buffering=1)
slow = float(sys.argv[2])
def work(n, s):
    for i in range(40):
        s.append(i * n); time.sleep(0.05 * slow)
lists = [[] for _ in range(4)]
threads = [threading.Thread(target=work, args=(n, lists[n])) for n in range(4)]
[t.start() for t in threads]
for i in range(20):
    out.write(f"{i}\\n"); time.sleep(0.1 * slow)
[t.join() for t in threads]
assert os.read(r, 100) == b"in the pipe"
assert open("/dev/shm/x").read() == "in shm"
print(sum(map(sum, lists)))
sys.exit(3)
'''
    with tempfile.TemporaryDirectory(dir=ARGS.work) as d:
        job = node.run('/usr/bin/python3', '-c', script, d + '/out', str(ARGS.slow))
        wait_for('work', 30, lambda: os.path.exists(d + '/out') and os.path.getsize(d + '/out'))
        node.ctl('checkpoint', '--kill', str(job))
        node.ctl('restart', str(job))
        time.sleep(0.5)
        node.ctl('checkpoint', '--kill', str(job))
        node.ctl('restart', str(job))
        equal(node.wait(job), 3, f'status ({node.output(job, "stderr")})')
        equal(node.output(job), f'{sum(i * n for n in range(4) for i in range(40))}\n', 'sum')
        with open(d + '/out') as f:
            equal(f.read(), ''.join(f'{i}\n' for i in range(20)), 'file')


@test
def links_in_shm(node):
    """/dev/shm of a job: a named semaphore, a name that is gone, hard links are what they were"""
    script = '''
import ctypes, os, sys, time
lib = ctypes.CDLL(None, use_errno=True)
lib.sem_open.restype = ctypes.c_void_p
def sem(name, flags):
    s = lib.sem_open(name, flags, 0o600, 0)
    assert s, os.strerror(ctypes.get_errno())
    return ctypes.c_void_p(s)
ask, answer = sem(b"/ask", os.O_CREAT), sem(b"/answer", os.O_CREAT)
if not os.fork():
    mine = sem(b"/ask", 0)
    lib.sem_wait(mine)
    lib.sem_post(answer)
    os._exit(0)
os.mkdir("/dev/shm/d")
for names in ("a", "b", "d/c"), ("e", "d/f"):
    with open("/dev/shm/" + names[0], "w") as f:
        f.write(names[0])
    for name in names[1:]:
        os.link("/dev/shm/" + names[0], "/dev/shm/" + name)
f = open("/dev/shm/e", "r+b", 0)
os.unlink("/dev/shm/e")
print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
assert lib.sem_trywait(answer) == -1, "answered before"
lib.sem_post(ask)
os.wait()
assert lib.sem_trywait(answer) == 0, "another semaphore"
os.write(f.fileno(), b"E")
assert open("/dev/shm/d/f").read() == "E", "another file"
with open("/dev/shm/b", "w") as b:
    b.write("written")
for name in "a", "b", "d/c":
    assert open("/dev/shm/" + name).read() == "written", name
    assert os.stat("/dev/shm/" + name).st_nlink == 3, name
print(*sorted(n for n in os.listdir("/dev/shm") if n[0] != "."))
'''
    with tempfile.TemporaryDirectory(dir=ARGS.work) as d:
        job = node.run('/usr/bin/python3', '-c', script, d + '/go')
        node.lines(job, 1)
        for _ in range(2):
            node.ctl('checkpoint', '--kill', str(job))
            node.ctl('restart', str(job))
        with open(d + '/go', 'w'):
            pass
        equal(node.wait(job), 0, f'status ({node.output(job, "stderr")})')
        equal(node.output(job), 'ready\na b d sem.answer sem.ask\n', 'output')


@test
def closed_in_shm(node):
    """what a user has open in /dev/shm, and in a directory there,
    though its mode forbids that now"""
    script = '''
import mmap, os, stat, sys, time
for n in range(5):
    os.close(os.open(f"/dev/shm/before{n}", os.O_CREAT | os.O_RDWR))
os.mkdir("/dev/shm/d")
os.mkdir("/dev/shm/d/e", 0o700)
had = {}
for name, mode in ("a", 0o444), ("b", 0), ("d/c", 0o400), ("d/e/f", 0o640):
    had[name] = os.open("/dev/shm/" + name, os.O_CREAT | os.O_RDWR, mode)
    os.write(had[name], name.encode() * 2000)
mapped = mmap.mmap(had["b"], 2000)
os.chmod("/dev/shm/d/e", 0o500)
os.chmod("/dev/shm/d", 0o555)
for n in range(5):
    os.unlink(f"/dev/shm/before{n}")
def modes():
    return [oct(stat.S_IMODE(os.lstat("/dev/shm/" + n).st_mode)) for n in (*had, "d", "d/e")]
before = modes()
print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
assert modes() == before, modes()
mapped[0:1] = b"x"
for name, fd in had.items():
    want = (b"x" if name == "b" else name[:1].encode()) + (name.encode() * 2000)[1:]
    assert os.pread(fd, 10000, 0) == want, name
    os.write(fd, b"more")
    assert os.fstat(fd).st_size == len(want) + 4, name
print(*before)
'''
    with tempfile.TemporaryDirectory(dir=ARGS.work) as d:
        os.chmod(d, 0o755)
        job = node.run('/usr/bin/python3', '-c', script, d + '/go', user=USER,
                       opts=('--chdir', '/'))
        node.lines(job, 1)
        for _ in range(2):
            node.ctl('checkpoint', '--kill', str(job))
            node.ctl('restart', str(job))
        with open(d + '/go', 'w'):
            pass
        equal(node.wait(job), 0, f'status ({node.output(job, "stderr")})')
        equal(node.output(job), 'ready\n0o444 0o0 0o400 0o640 0o555 0o500\n', 'output')


@test
def host_namespace_job(node):
    """a --host-ns job restarts, in a PID namespace of its own if pids are taken"""
    job = node.held(25, opts=('--host-ns',))
    node.lines(job, 3)
    node.ctl('checkpoint', '--kill', str(job))
    node.ctl('restart', str(job))
    node.let_go()
    equal(node.wait(job), 9, 'status')
    equal(node.output(job), counted(25), 'output')


class Terminal:
    """ckptctl on a terminal of ours."""

    def __init__(self, argv):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp(argv[0], argv)
        self.seen = ''

    def expect(self, text, seconds=15):
        end = time.monotonic() + seconds * ARGS.slow
        while text not in self.seen:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise Failure(f'terminal: {text!r} is not in {self.seen!r}')
            try:
                self.seen += os.read(self.fd, 4096).decode(errors='replace')
            except OSError:
                raise Failure(f'terminal: ended without {text!r}: {self.seen!r}')
        self.seen = self.seen.split(text, 1)[1]

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        with contextlib.suppress(OSError):
            while select.select([self.fd], [], [], 5)[0] and os.read(self.fd, 4096):
                pass
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return status


SHELL = 'n=0; while read x; do n=$((n+1)); echo "got $n $x"; [ "$x" != end ] || exit 4; done'


@test
def terminal_job(node):
    """a job on a terminal: window, detach, attach, checkpoint, restart, attach"""
    t = Terminal(node.argv('run', '--', 'sh', '-c', 'stty size; tty; ' + SHELL))
    t.expect('24 80')
    t.expect('/dev/pts/')
    job = next(iter(node.jobs()))
    t.type('one\r')
    t.expect('got 1 one')
    t.type('\x1d')
    t.expect('detached')
    equal(t.end(), 0, 'status after detaching')
    t = Terminal(node.argv('attach', str(job)))
    t.type('two\r')
    t.expect('got 2 two')
    node.ctl('checkpoint', str(job))
    t.type('three\r')
    t.expect('got 3 three')
    node.ctl('kill', str(job), 'KILL')
    equal(t.end(), 137, 'status of the killed')
    wait_for('the end', 5, lambda: not node.jobs())
    node.ctl('restart', str(job))
    t = Terminal(node.argv('attach', str(job)))
    t.type('three again\r')
    t.expect('got 3 three again')
    t.type('end\r')
    t.expect('got 4 end')
    equal(t.end(), 4, 'status')
    text = node.output(job)
    check('got 3 three again' in text and 'got 3 three\r' not in text,
          f'the log was put back: {text!r}')


@test
def terminal_interrupt(node):
    """Ctrl-C on the job's terminal reaches the job, before and after a restart"""
    script = 'trap "echo caught; n=$((n+1)); [ $n -lt 2 ] || exit 6" INT; echo ready; ' \
             'while :; do sleep 0.1; done'
    t = Terminal(node.argv('run', '--', 'sh', '-c', script))
    t.expect('ready')
    job = next(iter(node.jobs()))
    node.ctl('checkpoint', '--kill', str(job))
    t.end()
    node.ctl('restart', str(job))
    t = Terminal(node.argv('attach', '--history', '1000', str(job)))
    t.expect('ready')
    t.type('\x03')
    t.expect('caught')
    t.type('\x03')
    equal(t.end(), 6, 'status')


@test
def terminal_typed_ahead(node):
    """a line typed at a job that has not read it yet is not lost: refused until it is read"""
    go = f'{node.base}/go'
    t = Terminal(node.argv('run', '--', 'sh', '-c',
                           f'echo up; while [ ! -e {go} ]; do sleep 0.1; done; ' + SHELL))
    t.expect('up')
    job = next(iter(node.jobs()))
    t.type('ahead\r')
    t.expect('ahead')
    node.fails(3, 'TTY_DATA', 'checkpoint', str(job))
    open(go, 'w').close()
    t.expect('got 1 ahead')
    node.ctl('checkpoint', '--kill', str(job))
    t.end()
    node.ctl('restart', str(job))
    t = Terminal(node.argv('attach', str(job)))
    t.type('end\r')
    t.expect('got 2 end')
    equal(t.end(), 4, 'status')


@test
def flags_of_pipes(node):
    """restart: flags that a job has set on the pipes of its input and output are as they were"""
    script = ('import fcntl, os, time\n'
              'for fd in 0, 1:\n'
              '    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)\n'
              'while True:\n'
              '    try:\n'
              '        os.read(0, 1)\n'
              '        what = "read"\n'
              '    except BlockingIOError:\n'
              '        what = "again"\n'
              '    os.write(1, b"%d %s\\n" % (fcntl.fcntl(1, fcntl.F_GETFL) & os.O_NONBLOCK, '
              'what.encode()))\n'
              '    time.sleep(0.1)\n')
    source, sink = os.pipe()
    run = subprocess.Popen(node.argv('run', '--', 'python3', '-c', script), stdin=source,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    job = wait_for('the job', 20, lambda: [n for n, j in node.jobs().items()
                                           if j['state'] == 'running'])[0]
    node.lines(job, 2)
    node.ctl('checkpoint', str(job), '--kill')
    run.wait(20 * ARGS.slow)
    os.close(source)
    os.close(sink)
    before = node.output(job).count('\n')
    attached = subprocess.Popen(node.argv('restart', str(job), '--attach'), stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    node.lines(job, before + 3)
    said = set(node.output(job).splitlines())
    node.ctl('kill', str(job), 'KILL')
    attached.wait(20 * ARGS.slow)
    attached.stdin.close()
    equal(said, {f'{os.O_NONBLOCK} again'}, 'what it says of its flags')


@test
def input_survives(node):
    """input that the job has not read yet is there after the restart"""
    p = subprocess.Popen(node.argv('run', '--', 'sh', '-c', 'sleep 3; cat'),
                         stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    job = next(iter(wait_for('the job', 10, node.jobs)))
    p.stdin.write(b'typed ahead\n')
    p.stdin.flush()
    time.sleep(1)
    node.ctl('checkpoint', '--kill', str(job))
    p.wait(10 * ARGS.slow)
    node.ctl('restart', str(job))
    node.lines(job, 1)
    equal(node.output(job), 'typed ahead\n', 'output')


@test
def dry_runs(node):
    """--dry-run of checkpoint, restart and rm change nothing"""
    job = node.shell(COUNTER.format(n=1000))
    node.ctl('checkpoint', '--dry-run', str(job))
    equal(node.generations(job), [], 'generations')
    found = node.json('doctor', str(job))
    equal((found['ready'], found['job'], found['tree']['ok']), (True, job, True), 'doctor')
    node.ctl('checkpoint', '--kill', str(job))
    node.ctl('restart', '--dry-run', str(job))
    node.ctl('rm', '--dry-run', '--force', str(job))
    equal(node.job(job)['state'], 'saved', 'state')
    equal(len(node.generations(job)), 1, 'generations')


@contextlib.contextmanager
def renames(path):
    """How often something was renamed to path: yields a function that says it."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK)
    moved_to, seen = 0x80, []
    check(libc.inotify_add_watch(fd, os.path.dirname(path).encode(), moved_to) >= 0, 'inotify')

    def count():
        with contextlib.suppress(BlockingIOError):
            data = os.read(fd, 1 << 16)
            while data:
                size = struct.unpack('iIII', data[:16])[3]
                seen.append(data[16:16 + size].rstrip(b'\0').decode())
                data = data[16 + size:]
        return seen.count(os.path.basename(path))
    try:
        yield count
    finally:
        os.close(fd)


@test
def record_written_once(node):
    """checkpoint --kill writes the record once: that the job is saved,
    and which number is used up"""
    job = node.shell(COUNTER.format(n=1000))
    node.lines(job, 1)
    record = f'{node.images}/{job}/job.json'
    for generation in (1, 2):
        with renames(record) as count:
            node.ctl('checkpoint', '--kill', str(job))
            equal(count(), 1, 'writes')
        with open(record) as f:
            text = f.read()
        check(re.search(fr'"floor": *{generation}\b', text) and '"saved"' in text, text)
        node.ctl('restart', str(job))


@test
def refused_job(node):
    """a job that cannot be saved: exit status 3, the reason, and it runs on"""
    job = node.run('/usr/bin/python3', '-c', 'import socket, time\n'
                   's = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)\n'
                   'print("up", flush=True); time.sleep(1000)')
    node.lines(job, 1)
    for verb in (('checkpoint',), ('checkpoint', '--kill'), ('doctor',)):
        message = node.fails(3, 'FD_SOCKET', *verb, str(job))
        check('python3' in message and 'pid' in message, message)
    answer = json.loads(node.ctl('checkpoint', str(job), '--json', check=False).stdout)
    equal(answer['error']['refusals'][0]['name'], 'FD_SOCKET', 'json')
    done = node.ctl('doctor', str(job), '--json', check=False)
    found = json.loads(done.stdout)['result']
    equal((done.returncode, found['ready'], found['tree']['error']['refusals'][0]['name'],
           b'FD_SOCKET' in done.stderr), (3, False, 'FD_SOCKET', True), 'doctor --json')
    equal(node.job(job)['state'], 'running', 'state')
    equal(node.generations(job), [], 'generations')


def big_job(node, mib=300):
    job = node.run('/usr/bin/python3', '-c',
                   'import os, time\n'
                   f'x = bytearray(os.urandom(1 << 20) * {mib})\n'
                   'print("up", flush=True)\n'
                   'i = 0\nwhile True: i += 1; print(i, flush=True); time.sleep(0.05)')
    node.lines(job, 1)
    return job


def running_on(node, job):
    before = node.output(job).count('\n')
    node.lines(job, before + 3)


@test
def two_checkpoints_at_once(node):
    """two checkpoints of one job at once: the second is told so"""
    job = big_job(node)
    first = subprocess.Popen(node.argv('checkpoint', str(job)), stdout=subprocess.DEVNULL)
    wait_for('the first', 10, lambda: node.job(job).get('busy') == 'checkpoint')
    node.fails(1, 'under way', 'checkpoint', str(job))
    node.fails(1, 'under way', 'rm', '--force', f'{job}:1')
    equal(first.wait(60 * ARGS.slow), 0, 'the first')
    running_on(node, job)


def worker_of(node):
    return int(wait_for('the worker', 10, lambda: subprocess.run(
        ['pgrep', '-P', str(node.daemon.pid), 'ckptd-dump'],
        capture_output=True).stdout.split())[0])


@test
def death_during_checkpoint(node):
    """SIGKILL of worker, ckptctl or ckptd during a checkpoint: the job runs on"""
    job = big_job(node)
    for victim in ('worker', 'ckptctl', 'ckptd'):
        p = subprocess.Popen(node.argv('checkpoint', str(job)), stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        wait_for('the checkpoint', 10, lambda: node.job(job).get('busy'))
        if victim == 'worker':
            os.kill(worker_of(node), signal.SIGKILL)
        elif victim == 'ckptctl':
            p.kill()
        else:
            node.kill()
        p.wait(60 * ARGS.slow)
        if victim == 'ckptd':
            node.start()
        wait_for('the rest', 60, lambda: not node.job(job).get('busy'))
        running_on(node, job)
        node.ctl('checkpoint', str(job))
    names = os.listdir(f'{node.images}/{job}')
    check(not [n for n in names if n.startswith('.tmp')], f'leftovers: {names}')


@test
def stopped_daemon_and_shim(node):
    """SIGSTOP of ckptd or the shim: the job runs on, ckptd answers others"""
    job = node.shell(COUNTER.format(n=1000))
    node.lines(job, 2)
    node.daemon.send_signal(signal.SIGSTOP)
    running_on(node, job)
    node.daemon.send_signal(signal.SIGCONT)
    with open(f'{node.base}/jobs/{job}/shim.json') as f:
        shim = json.load(f)['shim']
    os.kill(shim, signal.SIGSTOP)
    p = subprocess.Popen(node.argv('checkpoint', str(job)), stderr=subprocess.PIPE)
    node.ctl('ps', timeout=5)
    node.ctl('kill', str(job), 'CONT', timeout=5)
    message = p.communicate(timeout=60 * ARGS.slow)[1].decode()
    equal(p.returncode, 1, 'status')
    check('does not answer' in message, message)
    os.kill(shim, signal.SIGCONT)
    running_on(node, job)
    node.ctl('checkpoint', str(job))


@test
def no_room(node):
    """full, read-only or missing image directory: said before any freeze"""
    job = node.shell(COUNTER.format(n=1000))
    node.lines(job, 1)
    directory = f'{node.images}/{job}'
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', directory], check=True)
    try:
        node.fails(1, 'full', 'checkpoint', str(job))
        subprocess.run(['mount', '-o', 'remount,ro', directory], check=True)
        node.fails(1, 'read-only', 'checkpoint', str(job))
    finally:
        subprocess.run(['umount', directory], check=True)
    os.rename(directory, directory + '.away')
    node.fails(1, directory, 'checkpoint', str(job))
    os.rename(directory + '.away', directory)
    running_on(node, job)
    node.ctl('checkpoint', str(job))


@test
def full_log(node):
    """a log that cannot be written makes the job wait, and loses nothing"""
    directory = f'{node.images}'
    os.makedirs(directory, exist_ok=True)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=2m', 'none', directory], check=True)
    try:
        job = node.shell('seq 1 400000')
        wait_for('a full disk', 20,
                 lambda: os.statvfs(directory).f_bavail == 0)
        time.sleep(1)
        equal(node.jobs()[job]['state'], 'running', 'state')
        node.fails(1, '', 'checkpoint', str(job))
        subprocess.run(['mount', '-o', 'remount,size=16m', directory], check=True)
        equal(node.wait(job), 0, 'status')
        equal(node.output(job), ''.join(f'{i}\n' for i in range(1, 400001)), 'output')
    finally:
        subprocess.run(['umount', '-l', directory], check=True)


# ----------------------------------------------------------------- images

@test
def images_of_jobs(node):
    """list, show, verify, diff and rm by JOB:GENERATION"""
    job = node.shell(COUNTER.format(n=1000))
    node.ctl('checkpoint', str(job))
    node.ctl('checkpoint', str(job))
    equal([g['generation'] for g in node.generations(job)], [1, 2], 'list')
    node.ctl('verify', '--deep', f'{job}:1')
    check(node.json('show', f'{job}:2'), 'show')
    equal(node.ctl('diff', f'{job}:1', f'{job}:1').returncode, 0, 'diff with itself')
    equal(node.ctl('diff', f'{job}:1', f'{job}:2', check=False).returncode, 1, 'diff')
    node.ctl('rm', f'{job}:1')
    node.fails(1, '--force', 'rm', f'{job}:2')
    node.ctl('rm', '--force', f'{job}:2')
    equal(node.json('checkpoint', str(job))['generation'], 3, 'numbers are not used twice')
    shutil.rmtree(f'{node.images}/{job}/gen-3')
    equal(node.json('checkpoint', str(job))['generation'], 4, 'nor is that of one removed by hand')
    node.fails(1, 'end it first', 'rm', str(job))
    node.ctl('kill', str(job), 'KILL')
    equal(node.wait(job), 137, 'wait')
    node.ctl('rm', str(job))
    node.fails(1, 'no job', 'wait', str(job))
    equal(node.left(), [], 'directory')


@test
def damaged_and_swapped(node):
    """a damaged image or one of another generation or job is refused"""
    job = node.shell(COUNTER.format(n=1000))
    other = node.shell(COUNTER.format(n=1000))
    for j in (job, job, other):
        node.ctl('checkpoint', str(j))
    node.lines(job, node.output(job).count('\n') + 3)
    for j in (job, other):
        node.ctl('kill', str(j), 'KILL')
        node.wait(j)
    output = node.output(job)
    one, two = f'{node.images}/{job}/gen-1', f'{node.images}/{job}/gen-2'
    os.rename(two, two + '.away')
    shutil.copytree(one, two)
    print(f"# {node.fails(1, 'generation', 'verify', f'{job}:2').strip()}")
    node.fails(1, '', 'restart', str(job))
    shutil.rmtree(two)
    shutil.copytree(f'{node.images}/{other}/gen-1', two)
    print(f"# {node.fails(1, '', 'verify', f'{job}:2').strip()}")
    node.fails(1, '', 'restart', str(job))
    shutil.rmtree(two)
    os.rename(two + '.away', two)
    with open(two + '/state', 'r+b') as f:
        f.seek(200)
        byte = f.read(1)
        f.seek(200)
        f.write(bytes([byte[0] ^ 1]))
    node.fails(1, '', 'verify', '--deep', f'{job}:2')
    node.fails(1, '', 'restart', str(job))
    equal(node.job(job)['state'], 'ended', 'state')
    equal(node.output(job), output, 'output after restarts that failed')
    equal([f for f in os.listdir(f'{node.images}/{job}') if '.cut' in f], [], 'what was cut off')
    node.ctl('restart', f'{job}:1')
    equal(node.jobs()[job]['state'], 'running', 'state')
    with open(two + '/manifest', 'r+b') as f:
        f.truncate(100)
    # the damaged one is none that it could be restarted from
    node.fails(1, '--force', 'rm', f'{job}:1')
    node.ctl('rm', f'{job}:2')
    equal([g['generation'] for g in node.generations(job)], [1], 'generations')


# ------------------------------------------------- checkpoints by themselves

@test
def checkpoints_by_themselves(node):
    """run --auto: generations come by themselves, also after ckptd died, and restart"""
    job = node.held(300, opts=('--auto', '--every', '2s'))
    node.fails(1, 'no checkpoint yet', 'interval', str(job))
    wait_for('two generations', 60, lambda: len(node.generations(job)) >= 2)
    node.kill()
    before = len(os.listdir(f'{node.images}/{job}'))
    node.start()
    equal(node.jobs()[job]['auto']['every_ms'], 2000, 'the setting')
    wait_for('more', 60, lambda: len(os.listdir(f'{node.images}/{job}')) >= before + 2)
    node.ctl('auto', str(job), 'off')
    wait_for('the last one', 30, lambda: 'busy' not in node.job(job))
    generations = [g['generation'] for g in node.generations(job)]
    time.sleep(4)
    equal(len(node.generations(job)), len(generations), 'generations after auto off')
    equal(generations, list(range(1, len(generations) + 1)), 'numbers')
    advice_and_statistics(node, job, generations)
    node.ctl('kill', str(job), 'KILL')
    node.wait(job)
    node.ctl('restart', f'{job}:{generations[-1]}')
    node.let_go()
    equal(node.wait(job), 9, 'status')
    equal(node.output(job), counted(300), 'output')
    restarts = node.json('stats', str(job))['restarts']
    equal(len(restarts), 1, 'restarts')
    check(restarts[0]['total_ns'] >= restarts[0]['restore_ns'] > 0,
          f'from the request on, {restarts}')
    node.ctl('rm', '--force', str(job))
    check(not os.path.exists(f'{node.images}/{job}'), 'the history goes with the job')


def advice_and_statistics(node, job, generations):
    """What they have cost, of one that is removed as well."""
    node.ctl('rm', f'{job}:{generations[0]}')
    stats = node.json('stats', str(job))
    rows = stats['checkpoints']
    equal([r['generation'] for r in rows], generations, 'statistics')
    equal([r.get('kept', False) for r in rows], [False] + [True] * (len(rows) - 1), 'kept')
    check(all(r['pause_ns'] > 0 and r['bytes_stored'] > 0 for r in rows), 'figures')
    # ckptd was killed: what it was about to write down only the manifest knows
    check(sum(r.get('auto', False) for r in rows) >= len(rows) - 1, 'who took them')
    check(stats['medians']['total_ns'] >= stats['medians']['pages_ns'] > 0, 'medians')
    text = node.ctl('stats', str(job)).stdout.decode()
    equal(len(text.splitlines()), len(rows) + 2, 'the table')
    one, two = (node.json('interval', str(job), '--mtbf', m) for m in ('1h', '4h'))
    check(1.7 < two['daly_ms'] / one['daly_ms'] < 2.2, f'four times the time, {one}, {two}')
    check(0.5 < one['efficiency'] < two['efficiency'] < 1, 'efficiency')
    equal(one['based_on']['checkpoints'], min(len(rows), 32), 'checkpoints')
    check('formula' in node.ctl('interval', str(job)).stdout.decode(), 'interval as text')
    plan = node.json('interval', str(job), '--level', 'local=1h', '--level', 'pfs=30d,5m')
    equal([l['name'] for l in plan['levels']], ['local', 'pfs'], 'levels')
    check(plan['levels'][1]['every'] > 1, 'the dear level is taken seldom')


@test
def refused_by_itself(node):
    """auto of a job that cannot be saved: it runs on, less and less disturbed,
    and one is told why"""
    job = node.run('/usr/bin/python3', '-c', 'import socket, time\n'
                   's = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)\n'
                   'print("up", flush=True)\n'
                   'while True: time.sleep(0.2); print("on", flush=True)')
    node.lines(job, 1)
    node.fails(2, 'duration', 'auto', str(job), '--every', 'often')
    node.fails(2, 'on or off', 'auto', str(job), 'maybe')
    equal(node.json('auto', str(job))['on'], False, 'at first')
    node.ctl('auto', str(job), '--every', '500ms')
    auto = wait_for('three failures', 60, lambda: [a for a in [node.json('auto', str(job))['auto']]
                                                   if a.get('failures', 0) >= 3])[0]
    check('FD_SOCKET' in auto['error'] or 'socket' in auto['error'], auto['error'])
    check(auto['next_ms'] > 500, f'it waits longer than at first: {auto}')
    running_on(node, job)
    equal(node.generations(job), [], 'generations')
    node.fails(1, 'no checkpoint yet', 'interval', str(job))
    node.ctl('auto', str(job), 'on', '--mtbf', '2d')
    check(node.json('auto', str(job))['auto']['mtbf_ms'] == 2 * 86400000, 'mtbf')
    auto = wait_for('a guess', 10, lambda: [a for a in [node.json('auto', str(job))['auto']]
                                            if a.get('guessed')])[0]
    check(10000 <= auto['interval_ms'] <= 3600000, f'the guess: {auto}')


# ------------------------------------------------------------ permissions

@test
def users_and_their_jobs(node):
    """a user has his own jobs, and nobody else's"""
    mine = node.held(60, user=USER)
    roots = node.shell(COUNTER.format(n=1000))
    node.lines(mine, 3)
    seen = {j['job'] for j in node.json('ps', user=USER)['jobs']}
    equal(seen, {mine}, 'what the user sees')
    for verb in ('checkpoint', 'kill', 'wait', 'attach', 'rm', 'list', 'restart', 'doctor'):
        node.fails(1, 'belongs to', verb, str(roots), user=USER)
    node.fails(1, "root's", 'dump', '--pid', '1', '--dir', '/tmp/x', user=USER)
    node.fails(1, "root's", 'restore', '--dir', '/tmp/x', user=USER)
    node.fails(1, "root's", 'show', '/tmp', user=USER)
    node.fails(1, "root's", 'doctor', '--pid', '1', user=USER)
    node.ctl('checkpoint', '--kill', str(mine), user=USER)
    node.ctl('restart', str(mine), user=USER)
    pid = node.jobs()[mine]['init_pid']
    with open(f'/proc/{pid}/task/{pid}/children') as f:
        children = f.read().split()
    for p in [pid, *children]:
        equal(os.stat(f'/proc/{p}').st_uid if p in children else
              uid_of(p), USER, f'owner of {p}')
    node.let_go()
    equal(node.wait(mine), 9, 'status')
    equal(node.output(mine), counted(60), 'output')


@test
def closed_files(node):
    """a user's restart opens the very file that was open and is closed to him now, and no other"""
    with tempfile.TemporaryDirectory(dir=ARGS.work) as d:
        os.chmod(d, 0o777)
        path = f'{d}/file'
        job = node.shell(f'exec 3<>{path}; echo one >&3; chmod 0 {path}; '
                         f'while ! [ -e {path}.go ]; do sleep 0.1; done; echo two >&3; exit 9',
                         user=USER)
        wait_for('the mode', 10, lambda: os.path.exists(path) and
                 os.stat(path).st_mode & 0o777 == 0)
        node.ctl('checkpoint', '--kill', str(job), user=USER)
        os.rename(path, f'{path}.away')
        with open(path, 'w') as f:
            f.write('one\n')
        os.chmod(path, 0)
        os.chown(path, USER, USER)
        node.fails(3, path, 'restart', str(job), user=USER)     # another inode
        os.unlink(path)
        os.symlink(f'{path}.away', path)
        node.fails(3, path, 'restart', str(job), user=USER)
        os.rename(f'{path}.away', path)
        node.ctl('restart', str(job), user=USER)
        with open(f'{path}.go', 'w'):
            pass
        equal(node.wait(job), 9, 'status')
        with open(path) as f:
            equal(f.read(), 'one\ntwo\n', 'content')


def scheduling_of(pid):
    """CPUs, nice value and policy of a process."""
    with open(f'/proc/{pid}/status') as f:
        cpus = [line.split()[1] for line in f if line.startswith('Cpus_allowed_list:')][0]
    return cpus, os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)


def run_below(node, *before, user=None):
    """A detached job that is run by ckptctl below these; its number and its process."""
    mark = f'{random.randrange(10 ** 9)}.5'
    done = subprocess.run([*before, *node.argv('run', '-d', '-C', '/', '--', 'sleep', mark,
                                               user=user)],
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=60 * ARGS.slow)
    equal(done.returncode, 0, done.stderr)

    def pid():
        return int(subprocess.run(['pgrep', '-fx', f'sleep {mark}'],
                                  capture_output=True).stdout or 0)
    return int(done.stdout), pid


@test
def scheduling_over_a_restart(node):
    """a job has the scheduling of whoever ran it, and after a restart again, not the restarter's;
    a user who restarts it gets no better one than he may set"""
    for before, user, want, by_user in (
            (('taskset', '1', 'nice', '-n', '5'), None, ('0', 5, os.SCHED_OTHER), None),
            (('taskset', '2', 'nice', '-n', '5'), USER, ('1', 5, os.SCHED_OTHER),
             (5, os.SCHED_OTHER)),
            (('nice', '-n', '-5', 'chrt', '--batch', '0'), USER, (None, -5, os.SCHED_BATCH),
             (0, os.SCHED_BATCH)),
            (('chrt', '--rr', '3'), USER, (None, 0, os.SCHED_RR), (0, os.SCHED_OTHER))):
        job, pid = run_below(node, *before, user=user)
        was = scheduling_of(pid())
        equal((was[0] if want[0] else None, *was[1:]), want, f'{before}')
        node.ctl('checkpoint', '--kill', str(job), user=user)
        if by_user:
            node.ctl('restart', f'{job}:1', user=user)
            equal(scheduling_of(wait_for('the process', 10, pid))[1:], by_user,
                  f'{before} restarted by the user')
            node.ctl('kill', str(job), 'KILL')
            node.wait(job)
        node.ctl('restart', f'{job}:1')
        equal(scheduling_of(wait_for('the process', 10, pid)), was, f'{before} after a restart')
        node.ctl('kill', str(job), 'KILL')


@test
def cpus_that_are_gone(node):
    """a job that is bound to a CPU that is not there any more is restarted on the others"""
    online = '/sys/devices/system/cpu/cpu1/online'
    if not os.path.exists(online):
        return
    job, pid = run_below(node, 'taskset', '2')
    equal(scheduling_of(pid())[0], '1', 'bound')
    both, pid_both = run_below(node, 'taskset', '3')
    for number in (job, both):
        node.ctl('checkpoint', '--kill', str(number))
    try:
        with open(online, 'w') as f:
            f.write('0')
        for number, of in ((job, pid), (both, pid_both)):
            node.ctl('restart', str(number))
            found = wait_for('the process', 10, of)
            equal(os.sched_getaffinity(found), {0}, 'where it may run')
    finally:
        with open(online, 'w') as f:
            f.write('1')
    for number in (job, both):
        node.ctl('kill', str(number), 'KILL')


@test
def renamed_files(node):
    """a job that writes to a temporary name and renames: after a crash as if undisturbed"""
    script = """
for s in 1 2 3; do
  for i in 1 2 3; do
    echo "step $s line $i"; while ! [ -e go.$s.$i ]; do sleep 0.05; done
  done > out.tmp
  mv out.tmp out.$s
done
cat out.* > result"""
    every = [(s, i) for s in (1, 2, 3) for i in (1, 2, 3)]

    def go_on(d, *names):
        for s, i in names:
            with open(f'{d}/go.{s}.{i}', 'w'):
                pass

    def lines(d, n):
        path = d + '/out.tmp'
        return os.path.exists(path) and open(path).read().count('\n') == n

    with tempfile.TemporaryDirectory(dir=ARGS.work) as d:
        os.chmod(d, 0o777)
        job = node.shell(f'cd {d} && {script}', user=USER)
        go_on(d, (1, 1))
        wait_for('the second line', 10, lambda: lines(d, 2))
        node.ctl('checkpoint', str(job), user=USER)
        go_on(d, (1, 2), (1, 3), (2, 1), (2, 2))
        wait_for('the second step', 10, lambda: os.path.exists(d + '/out.1') and lines(d, 3))
        node.ctl('kill', str(job), 'KILL', user=USER)
        node.wait(job)
        os.unlink(f'{d}/go.1.2')        # so that it stands still when it runs again
        note = 'out.1 by now, and gets its name back'
        for option in ('--dry-run', '--accept-changed'):
            said = node.ctl('restart', option, str(job), user=USER).stdout.decode()
            check(note in said, f'{option}: {said}')
        with open(node.log.name, errors='replace') as f:
            check(note in f.read(), 'the log of ckptd says nothing')
        check(not os.path.exists(d + '/out.1'), f'{sorted(os.listdir(d))}')
        go_on(d, *every)
        equal(node.wait(job), 0, 'status')
        with open(d + '/result') as f:
            equal(f.read(), ''.join(f'step {s} line {i}\n' for s, i in every), 'result')


@test
def files_closed_before(node):
    """files that a job has closed: kept and put back, or watched and refused"""
    script = """
echo one > state; echo two > state; echo more > state.new; mv state.new state.2; echo up
until [ -e go ]; do sleep 0.05; done
cat state state.2"""

    def write(path, text):
        with open(path, 'w') as f:
            f.write(text)

    def read(path):
        with open(path) as f:
            return f.read()

    with tempfile.TemporaryDirectory(dir=ARGS.work) as d:
        os.chmod(d, 0o777)
        job = node.shell(f'cd {d} && {script}', user=USER)
        node.lines(job, 1)
        done = node.json('checkpoint', str(job), user=USER)
        equal(done['files_closed'], {'known': True, 'complete': True, 'since': 0}, 'known')
        named = {os.path.basename(f['path']): f['how'] for f in done['files_named']}
        equal(named, {'state': 'copied', 'state.2': 'copied'}, 'kept')
        named = node.json('checkpoint', '--files', 'track', str(job), user=USER)['files_named']
        equal({f['how'] for f in named}, {'watched'}, 'with --files track')
        node.ctl('kill', str(job), 'KILL', user=USER)
        node.wait(job)
        write(f'{d}/state', 'six\n')
        os.unlink(f'{d}/state.2')
        write(f'{d}/state.new', 'new\n')
        for option in (), ('--dry-run',):
            message = node.fails(3, 'FILE_CHANGED', 'restart', *option, f'{job}:2', user=USER)
            # one that is gone is no hindrance: whoever reads it gets an error
            check(f'{d}/state:' in message and 'FILE_MISSING' not in message, message)
            check('--accept-changed' in message, message)
        equal(sorted(os.listdir(d)), ['state', 'state.new'], 'after a refusal')
        said = node.ctl('restart', f'{job}:1', user=USER).stdout.decode()
        check('.NAME.stillpoint-newer-GENERATION' in said, said)
        equal([read(f'{d}/{name}') for name in ('state', 'state.2', '.state.stillpoint-newer-1',
                                                '.state.new.stillpoint-newer-1')],
              ['two\n', 'more\n', 'six\n', 'new\n'], 'files')
        # the restarted job has not changed them, and they are known all the same
        done = node.json('checkpoint', str(job), user=USER)
        named = {os.path.basename(f['path']) for f in done['files_named']}
        equal(named, {'state', 'state.2'}, 'after a restart')
        write(f'{d}/go', '')
        equal(node.wait(job), 0, 'status')
        check(node.output(job).endswith('two\nmore\n'), node.output(job))


@test
def moved_directory(node):
    """restart --map-path: the job goes on in another directory, and later checkpoints know it"""
    with tempfile.TemporaryDirectory(dir=ARGS.work) as d:
        os.chmod(d, 0o777)
        old, new, newer = f'{d}/old', f'{d}/new', f'{d}/newer'
        os.mkdir(old)
        os.chmod(old, 0o777)
        job = node.shell(f'cd {old}; exec 3>out; echo one >&3; '
                         'while ! [ -e go ]; do sleep 0.1; done; echo two >&3; pwd -P; exit 9',
                         user=USER)
        wait_for('the file', 10, lambda: os.path.exists(f'{old}/out') and
                 os.path.getsize(f'{old}/out') == 4)
        node.ctl('checkpoint', '--kill', str(job), user=USER)
        shutil.copytree(old, new)       # a copy, as on another node's scratch
        for path in (new, f'{new}/out'):
            os.chown(path, USER, USER)
        shutil.rmtree(old)
        node.fails(3, '--map-path', 'restart', str(job), user=USER)
        node.fails(2, '--map-path', 'restart', '--map-path', old, str(job), user=USER)
        node.ctl('restart', '--dry-run', '--map-path', f'{old}={new}', str(job), user=USER)
        node.ctl('restart', '--map-path', f'{old}={new}', str(job), user=USER)
        node.ctl('checkpoint', '--kill', str(job), user=USER)
        os.rename(new, newer)
        os.symlink(newer, new)          # where it moved
        node.ctl('restart', '--dry-run', str(job), user=USER)
        node.ctl('restart', str(job), user=USER)
        with open(f'{newer}/go', 'w'):
            pass
        equal(node.wait(job), 9, 'status')
        equal(node.output(job), f'{newer}\n', 'its directory')
        with open(f'{newer}/out') as f:
            equal(f.read(), 'one\ntwo\n', 'content')


def uid_of(pid):
    with open(f'/proc/{pid}/status') as f:
        return int([l for l in f if l.startswith('Uid:')][0].split()[1])


@test
def hostile_clients(node):
    """noise on the socket, half requests and slow readers do no harm"""
    random.seed(5)
    for n in range(100):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(node.socket)
            body = random.choice([b'', b'{', b'[]', b'{"verb": 3}', b'{"verb": "ps", "args": 1}',
                                  b'{"verb": "run", "args": {"argv": [], "env": [], "cwd": "/"}}',
                                  b'{"verb": "run", "args": {"argv": [1], "env": {}, "cwd": "x"}}',
                                  b'{"verb": "checkpoint", "args": {"job": -1}}',
                                  b'{"verb": "wait", "args": {"job": 1e9}}',
                                  b'{"verb": "nonsense"}', random.randbytes(50)])
            head = struct.pack('<IHHI', 0x54504b43, random.choice([1, 1, 1, 2, 77]),
                               random.choice([0, 0, 0, 1, 99]),
                               random.choice([len(body), len(body), 5, 1 << 20, 1 << 31]))
            with contextlib.suppress(OSError):
                s.sendall(random.choice([head + body, head, body, head[:7]]))
                s.settimeout(0.01)
                s.recv(100)
    socks = []
    for n in range(80):
        s = socket.socket(socket.AF_UNIX)
        s.connect(node.socket)
        socks.append(s)
    node.ctl('ps', timeout=5)
    for s in socks:
        s.close()
    equal(node.daemon.poll(), None, 'ckptd')
    equal(node.jobs('--all'), {}, 'jobs')


@test
def forged_record(node):
    """a job record that was changed on the disk is not believed"""
    job = node.shell('exit 0', user=USER)
    node.wait(job)
    node.kill()
    path = f'{node.images}/{job}/job.json'
    with open(path) as f:
        record = json.load(f)
    record['sealed']['uid'] = 0
    with open(path, 'w') as f:
        json.dump(record, f)
    node.start()
    node.fails(1, 'forged', 'wait', str(job))
    node.fails(1, f'1 job cannot be read: {job}; ', 'ps', '--all')


# -------------------------------------------------------------- two nodes

@test
def another_node(node):
    """a node that never saw the job restarts it from the images alone"""
    two = Node(node.base.rsplit('/', 1)[0], 'node2').start()
    try:
        job = node.held(50)
        node.lines(job, 5)
        node.ctl('checkpoint', str(job))
        node.lines(job, 12)
        equal(two.jobs('--all')[job]['state'], 'elsewhere', 'state')
        two.fails(3, '--node-lost', 'restart', str(job))
        two.fails(1, 'node1', 'checkpoint', str(job))
        with open(f'{node.base}/jobs/{job}/shim.json') as f:
            pids = json.load(f)
        node.kill()
        os.kill(pids['shim'], signal.SIGKILL)
        os.kill(pids['init'], signal.SIGKILL)
        wait_for('the end', 5, lambda: not alive(pids['init']))
        two.ctl('restart', '--node-lost', str(job))
        equal(two.jobs()[job]['node'], 'node2', 'node')
        node.start()
        node.fails(3, 'node2', 'restart', str(job))
        node.let_go()
        equal(two.wait(job), 9, 'status')
        equal(two.output(job), counted(50), 'output')
        equal(node.job(job)['state'], 'ended', 'what the other node knows')
        done = node.ctl('restart', '--attach', '--json', f'{job}:1', check=False)
        said = json.loads(done.stderr.decode().rsplit('\n', 2)[-2])['result']
        equal((said['generation'], said['exit_status']), (1, 9), 'what is said of it')
        equal(done.returncode, 9, 'restart --attach, back on the first node')
        check(done.stdout.decode().endswith('n49\n'), 'its output')
        equal(node.wait(job), 9, 'status on the first node')
        os.unlink(node.go)
        two.ctl('restart', str(job))
        node.fails(3, 'node2', 'restart', str(job))
        two.ctl('kill', str(job), 'KILL')
    finally:
        two.stop()


# ---------------------------------------------------------- process trees

def spawn(script, out):
    with open(out, 'wb') as f:
        return subprocess.Popen(['sh', '-c', script], stdin=subprocess.DEVNULL, stdout=f,
                                stderr=f, start_new_session=True)


@test
def dump_and_restore_by_daemon(node):
    """dump and restore of a tree by ckptd: waiting and detached"""
    with tempfile.TemporaryDirectory(dir=ARGS.work) as d:
        p = spawn(HELD.format(n=30, go=node.go), d + '/out')
        wait_for('lines', 20, lambda: os.path.getsize(d + '/out') > 10)
        node.ctl('dump', '--pid', str(p.pid), '--dir', d + '/image', '--kill')
        equal(p.wait(), -9, 'killed')
        result = node.json('restore', '--dir', d + '/image', '--detach')
        check(alive(result['pids'][0]), 'runs')
        os.kill(result['pids'][0], signal.SIGKILL)
        wait_for('its end', 5, lambda: not alive(result['pids'][0]))
        node.let_go()
        message = node.fails(9, '', 'restore', '--json', '--dir', d + '/image')
        equal(json.loads(message.rsplit('\n', 2)[-2])['result']['exit_status'], 9, message)
        with open(d + '/out') as f:
            equal(f.read(), counted(30), 'output')


@test
def restored_in_a_namespace_again(node):
    """a tree in a PID namespace that a restore made is dumped and restored by the pid it said"""
    with tempfile.TemporaryDirectory(dir=ARGS.work) as d:
        p = spawn(HELD.format(n=80, go=node.go), d + '/out')
        wait_for('lines', 20, lambda: os.path.getsize(d + '/out') > 10)
        pid = p.pid
        for n in range(2):
            image = f'{d}/image{n}'
            node.ctl('dump', '--pid', str(pid), '--dir', image, '--kill')
            wait_for('its end', 5, lambda: p.poll() is not None and not alive(pid))
            pid = node.json('restore', '--dir', image, '--detach', '--pidns',
                            'new')['pids'][0]
        node.let_go()
        wait_for('the end', 60, lambda: not alive(pid))
        with open(d + '/out') as f:
            equal(f.read(), counted(80), 'output')


# A process that clone() made without a signal for its end counts to {n}; exec would give it one.
UNTOLD = """
import ctypes, os, time
pid = ctypes.CDLL(None).syscall(56, 0, 0, 0, 0, 0)
if pid:
    print(pid, flush=True)
    os.waitpid(pid, 0x40000000)
    os._exit(0)
out = os.open({out!r}, os.O_WRONLY | os.O_CREAT)
for i in range({n}):
    os.write(out, b'n%d\\n' % i)
    time.sleep(0.1)
os._exit(9)
"""


@test
def restored_without_exit_signal(node):
    """a root that was to end without a signal is waited for by who restores it"""
    with tempfile.TemporaryDirectory(dir=ARGS.work) as d:
        with open(d + '/parent', 'wb') as f:
            p = subprocess.Popen(['python3', '-c', UNTOLD.format(n=60, out=d + '/out')],
                                 stdin=subprocess.DEVNULL, stdout=f, stderr=f,
                                 start_new_session=True)
        size = lambda: os.path.getsize(d + '/out') if os.path.exists(d + '/out') else 0
        wait_for('lines', 60, lambda: size() > 10)
        with open(d + '/parent') as f:
            node.ctl('dump', '--pid', f.read().strip(), '--dir', d + '/image', '--kill')
        p.wait()
        for where in 'new', 'caller':
            message = node.fails(9, '', 'restore', '--json', '--dir', d + '/image',
                                 '--pidns', where)
            equal(json.loads(message.rsplit('\n', 2)[-2])['result']['exit_status'], 9, message)
            with open(d + '/out') as f:
                equal(f.read(), counted(60), 'output')


@test
def restore_outlives_daemon(node):
    """a restored tree does not need ckptd, nor does who waits for it"""
    with tempfile.TemporaryDirectory(dir=ARGS.work) as d:
        p = spawn(HELD.format(n=60, go=node.go), d + '/out')
        wait_for('lines', 20, lambda: os.path.getsize(d + '/out') > 10)
        node.ctl('dump', '--pid', str(p.pid), '--dir', d + '/image', '--kill')
        p.wait()
        waiting = subprocess.Popen(node.argv('restore', '--dir', d + '/image'),
                                   stdin=subprocess.DEVNULL)
        size = os.path.getsize(d + '/out')
        wait_for('more', 20, lambda: os.path.getsize(d + '/out') > size)
        time.sleep(0.5 * ARGS.slow)	# the answer to who waits is on its way
        node.kill()
        node.let_go()
        equal(waiting.wait(60 * ARGS.slow), 9, 'status')
        node.start()


@test
def signals_through_restore(node):
    """restore hands signals on and the death by one back"""
    with tempfile.TemporaryDirectory(dir=ARGS.work) as d:
        p = spawn('trap "echo usr1" USR1; while :; do sleep 0.1; done', d + '/out')
        time.sleep(0.5)
        node.ctl('dump', '--pid', str(p.pid), '--dir', d + '/image', '--kill')
        p.wait()
        waiting = subprocess.Popen(node.argv('restore', '--dir', d + '/image'),
                                   stdin=subprocess.DEVNULL)
        wait_for('the tree', 20, lambda: alive(p.pid))
        time.sleep(0.5)
        waiting.send_signal(signal.SIGUSR1)
        wait_for('USR1', 10, lambda: open(d + '/out').read() == 'usr1\n')
        waiting.send_signal(signal.SIGTERM)
        equal(waiting.wait(20 * ARGS.slow), 143, 'status')


# ------------------------------------------------------------------- main

def run_test(f, number):
    base = tempfile.mkdtemp(prefix=f'{f.__name__}-', dir=ARGS.work)
    os.chmod(base, 0o755)
    node = Node(base)
    problem = None
    began = time.monotonic()
    try:
        node.start()
        f(node)
    except Failure as e:
        problem = str(e)
    except subprocess.TimeoutExpired as e:
        problem = f'{e.cmd} took more than {e.timeout} s'
    except Exception:
        problem = traceback.format_exc()
    try:
        node.stop()
    except Exception:
        problem = (problem or '') + '\nat the end: ' + traceback.format_exc()
    finally:
        if node.daemon and node.daemon.poll() is None:
            node.kill()
    # a name is one line, however many its docstring has
    name = ' '.join(f.__doc__.split())
    print(f'{"not " if problem else ""}ok {number} - {name}', flush=True)
    print(f'# {f.__name__}: {time.monotonic() - began:.1f} s', flush=True)
    if problem:
        with open(f'{base}/node1.log', errors='replace') as log:
            problem += '\n' + ''.join(log.readlines()[-25:])
        print('\n'.join('# ' + line for line in problem.splitlines()), flush=True)
    shutil.rmtree(base, ignore_errors=True)
    return not problem


def main():
    """Run what is in TESTS; also for programs that import this one."""
    global ARGS
    parser = argparse.ArgumentParser()
    parser.add_argument('--bin', required=True)
    parser.add_argument('--work', required=True)
    parser.add_argument('--slow', type=int, default=1)
    parser.add_argument('--only')
    parser.add_argument('--slice', default='0/1', help='K/N: test K, K+N, ...')
    ARGS = parser.parse_args()
    os.makedirs(ARGS.work, exist_ok=True)
    # ours: whoever builds meanwhile is not to be noticed
    ours = tempfile.mkdtemp(prefix='bin-', dir=ARGS.work)
    os.chmod(ours, 0o755)
    for name in ('ckptd', 'ckptctl', 'ckpt-shim', 'ckpt-launch', 'ckptrun', 'ckpt-slurm-run',
                 'ckpt-slurm-drain', 'ckpt-slurm-move', 'ckptweb'):
        shutil.copy2(f'{ARGS.bin}/{name}', ours)
    ARGS.bin = ours
    words = (ARGS.only or '').split(',')
    first, step = map(int, ARGS.slice.split('/'))
    tests = [f for f in TESTS if any(word in f.__name__ for word in words)][first::step]
    good = [run_test(f, n) for n, f in enumerate(tests, 1)]
    print(f'1..{len(tests)}')
    return 0 if all(good) else 1


if __name__ == '__main__':
    sys.exit(main())
