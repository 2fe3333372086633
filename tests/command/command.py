#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""ckptctl and ckptrun as commands, as TAP: what they refuse, what they say, their exit status.

    command.py --bin DIR --work DIR [--slow FACTOR] [--only WORD,...]

Runs as root, on any machine; nodes and the way to run are those of tests/vm/daemon.py.
"""
import contextlib
import ctypes
import fcntl
import functools
import json
import os
import re
import resource
import shlex
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '../..'))
sys.path.insert(0, f'{TOP}/tests/vm')
import daemon  # noqa: E402
from daemon import check, equal, test, wait_for  # noqa: E402

daemon.TESTS.clear()
BAD = b'\xff'
USER = daemon.USER


def command(node, *args, program='ckptctl', timeout=30, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, **kwargs):
    return subprocess.run([f'{daemon.ARGS.bin}/{program}', '--socket', node.socket, *args],
                          stdin=stdin, stdout=stdout, stderr=subprocess.PIPE,
                          timeout=timeout * daemon.ARGS.slow, **kwargs)


def ends(status, text, done):
    message = done.stderr.decode(errors='replace')
    equal(done.returncode, status, f'status of {done.args} ({message.strip()})')
    check(text in message, f'{done.args}: {text!r} is not in {message!r}')
    return done


def usage(node, text, *args, **kwargs):
    return ends(2, text, command(node, *args, **kwargs))


def shell(node, line, **kwargs):
    """With $c for ckptctl."""
    return subprocess.run(['bash', '-c', line], capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=60 * daemon.ARGS.slow, **kwargs,
                          env={**os.environ, 'c': f'{daemon.ARGS.bin}/ckptctl',
                               'CKPTD_SOCKET': node.socket})


def request(sock, verb, args):
    body = json.dumps({'verb': verb, 'args': args}).encode()
    sock.sendall(struct.pack('<IHHI', 0x54504b43, 1, 0, len(body)) + body)


def answer(sock):
    data = b''
    while len(data) < 12 or len(data) < 12 + struct.unpack('<IHHI', data[:12])[3]:
        more = sock.recv(65536)
        check(more, f'no answer but {data!r}')
        data += more
    return json.loads(data[12:])


def asked(node, verb, args):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(node.socket)
        request(s, verb, args)
        return answer(s)


def logged(node, what):
    """What ckptd logs meanwhile."""
    before = os.path.getsize(node.log.name)
    what()
    with open(node.log.name) as f:
        f.seek(before)
        return f.read()


# ----------------------------------------------------------------- UTF-8

@test
def job_by_its_name(node):
    """a name instead of a number: of the running job, else of the only one; never of one of two"""
    first = node.run('sleep', '1000', opts=('--name', 'by-name'))
    ends(0, '', command(node, 'kill', 'by-name', 'KILL'))
    ends(128 + 9, '', command(node, 'wait', 'by-name'))
    second = node.run('sleep', '1000', opts=('--name', 'by-name'))
    ends(0, '', command(node, 'kill', 'by-name', 'KILL'))       # the one that runs
    node.wait(second)
    usage(node, f'2 jobs have the name by-name: say which number ({first}, {second})',
          'wait', 'by-name')
    usage(node, "no-name is no job's number or name", 'wait', 'no-name')
    usage(node, "1x is no job's number", 'wait', '1x')


@test
def not_utf8(node):
    """an argument that is not UTF-8 is refused and not taken for a default"""
    job = node.run('true')
    equal(node.wait(job), 0, 'status')
    usage(node, 'UTF-8', 'rm', '--level', BAD, str(job))
    check(job in node.jobs('--all'), 'the job is gone')
    out = f'{node.base}/'.encode() + BAD
    for option in ('-o', '-e', '-i', '-C', '-N'):
        usage(node, 'UTF-8', 'run', option, out, '--', 'true')
    for args in (('checkpoint', '--files', BAD, '1'), ('restart', '--nodes', BAD + b',n1', '1'),
                 ('dump', '--dir', BAD, '--pid', '1'), ('restore', '--dir', BAD), ('show', BAD),
                 ('store', BAD), ('store', '--json', BAD), ('copy', '/', BAD),
                 ('--standalone', 'verify', BAD), ('run', '--', 'echo', BAD)):
        usage(node, 'UTF-8', *args)
    usage(node, 'UTF-8', '-n', '2', '-o', out, 'true', program='ckptrun')
    equal(list(node.jobs('--all')), [job], 'jobs')


@test
def not_utf8_around(node):
    """a directory that is not UTF-8 is refused, a variable left out with a word"""
    where = f'{node.base}/'.encode() + BAD
    os.mkdir(where)
    for args in (('run', '--', 'true'), ('show', 'x'), ('run', '-o', 'x', '--', 'true')):
        ends(1, 'not UTF-8', command(node, *args, cwd=where))
    done = ends(0, 'BAD_ONE', command(node, 'run', '--', 'sh', '-c', 'echo [$BAD_ONE]',
                                      env={b'BAD_ONE': BAD, b'PATH': b'/bin:/usr/bin'}))
    equal(done.stdout, b'[]\n', 'output')


@test
def empty_paths(node):
    """an empty path or name is wrong usage, not the working directory or a default"""
    for args in (('restore', '--dir', ''), ('dump', '--dir', '', '--pid', '1'), ('show', ''),
                 ('dump', '--dir', '/x', '--base', '', '--pid', '1'), ('verify', ''),
                 ('diff', '/x', ''), ('copy', '/x', ''), ('keygen', '--dir', ''),
                 ('run', '-C', '', '--', 'true'), ('run', '-o', '', '--', 'true'),
                 ('--standalone', '--key', '', 'doctor'), ('--socket', '', 'ps')):
        usage(node, 'empty', *args)
    usage(node, 'empty', '-n', '2', '-C', '', 'true', program='ckptrun')
    usage(node, 'empty', 'run', '-N', '', '--', 'true')
    usage(node, 'empty', '-n', '2', '-N', '', 'true', program='ckptrun')
    usage(node, 'no name of a node', 'keygen', '--show', '--dir', node.base, '-N', '')
    usage(node, 'no ADDRESS', 'keygen', '--show', '--dir', node.base, '-N', 'n1', '-a', '')
    got = asked(node, 'run', {'argv': ['true'], 'env': [], 'cwd': '/', 'name': ''})
    check(got['error'].get('usage'), got)
    equal(node.jobs('--all'), {}, 'jobs')


# ----------------------------------------------------------------- output

@test
def input_file(node):
    """input from a file is the job's own file, which a checkpoint has, and no pipe from ckptctl;
    what is read in part, or has no name any more, is a pipe"""
    path = f'{node.base}/input'
    text = 'abcdef' * 20000		# more than a pipe holds

    def run(at=0, gone=False):
        with open(path, 'w') as f:
            f.write(text)
        with open(path) as f:
            os.lseek(f.fileno(), at, os.SEEK_SET)
            if gone:
                os.unlink(path)
            done = ends(0, '', command(node, 'run', '--', 'cat', stdin=f))
            rest = f.read()
        job = max(node.jobs('--all'))
        with open(f'{node.images}/{job}/job.json') as f:
            record = f.read()
        return done.stdout.decode() == text[at:], rest, path in record

    equal(run(), (True, '', True), 'a file')
    equal(run(at=2), (True, '', False), 'a file that is read from its middle')
    equal(run(gone=True), (True, '', False), 'a file without a name')
    equal(ends(0, '', command(node, 'run', '--', 'readlink', '/proc/self/fd/0')).stdout,
          b'/dev/null\n', 'no input')
    node.kill()
    with open(path, 'w+') as f:
        f.write(text)
        f.seek(0)
        ends(1, '', command(node, 'run', '--', 'cat', stdin=f))
        equal(f.read() == text, True, 'input is left where no job begins')
    node.start()


@test
def lost_output(node):
    """a command whose output is lost has failed"""
    equal(node.wait(node.run('true')), 0, 'status')
    for line in ('$c ps --all', '$c ps --json', '$c list --json', '$c --help', '$c ps --help',
                 '$c --version'):
        ends(1, 'No space left', shell(node, f'{line} >/dev/full'))
        ends(1, 'Bad file descriptor', shell(node, f'{line} >&-'))
    ends(1, 'job 2 was started', shell(node, '$c run -d -- true >/dev/full'))
    ends(1, 'No space left', shell(node, f'{daemon.ARGS.bin}/ckptd -V >/dev/full'))
    ends(3, '', shell(node, '$c run -- sh -c "echo x; exit 3" >/dev/full'))
    ends(0, '', shell(node, '$c ps >/dev/null <&- 2>&-'))
    equal(shell(node, '$c run -- echo here <&-').stdout, b'here\n', 'output without input')


def last_json(done):
    return json.loads(done.stderr.decode().rsplit('\n', 2)[-2])


@test
def attached_json(node):
    """--json of who is attached: one line, the last on standard error; the job has the output"""
    def attached(status, *args, **kwargs):
        done = ends(status, '', command(node, *args, **kwargs))
        return done, last_json(done)
    script = 'echo out; printf err >&2; exit 5'
    done, got = attached(5, 'run', '--json', '--', 'sh', '-c', script)
    equal((done.stdout, done.stderr.split(b'\n')[0]), (b'out\n', b'err'), "the job's output")
    equal((got['ok'], got['result']['job'], got['result']['exit_status']), (True, 1, 5), 'run')
    check('state' not in got['result'], 'a state of long ago')
    done, got = attached(143, 'run', '--json', '--', 'sh', '-c', 'kill $$')
    equal((done.stdout, got['result']['exit_status']), (b'', 143), 'signal')
    done, got = attached(7, '--json', '-n', '2', '--mpi', 'none', '--', 'sh', '-c', 'exit 7',
                         program='ckptrun')
    equal((done.stdout, got['result']['exit_status']), (b'', 7), 'ckptrun')
    job = str(node.run('sh', '-c', 'echo here; sleep 3'))
    done, got = attached(0, 'attach', '--json', '-H', '100', job)
    equal((done.stdout, got['result']['exit_status']), (b'here\n', 0), 'attach')
    sleeping = node.run('sleep', '100')
    attach = started(node, 'attach', '--json', str(sleeping))
    attach.send_signal(signal.SIGTERM)
    got = last_json(finished(attach, 0, 'detached'))
    equal((got['ok'], got['result']['detached'], 'exit_status' in got['result']),
          (True, True, False), 'detached')
    done = ends(1, 'no job 99', command(node, 'attach', '--json', '99'))
    equal(json.loads(done.stdout)['ok'], False, 'not attached: the output is ours')


# --------------------------------------------------------------- waiting

def started(node, *args):
    p = subprocess.Popen([f'{daemon.ARGS.bin}/ckptctl', '--socket', node.socket, *args],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    time.sleep(0.5 * daemon.ARGS.slow)
    return p


def finished(p, status, text):
    out, err = p.communicate(timeout=30 * daemon.ARGS.slow)
    return ends(status, text, subprocess.CompletedProcess(p.args, p.returncode, out, err))


@test
def stopped_daemon(node):
    """a ckptd that does not answer: it is said, and a signal ends the waiting"""
    node.daemon.send_signal(signal.SIGSTOP)
    try:
        run = started(node, 'run', '--', 'sleep', '100')
        ps = started(node, 'ps')
        env = {**os.environ, 'BIG': 'x' * 120000, 'MORE': 'x' * 120000, 'YET': 'x' * 120000}
        big = subprocess.Popen(node.argv('run', '--', 'sleep', '100'), env=env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        time.sleep(7 * daemon.ARGS.slow)
        for p in (run, ps, big):
            equal(p.poll(), None, 'who waits')
            p.send_signal(signal.SIGINT)
            finished(p, -signal.SIGINT, 'has not answered')
        run = started(node, 'run', '--', 'sleep', '100')
        for _ in range(2):
            run.send_signal(signal.SIGTERM)
            time.sleep(0.2)
        finished(run, -signal.SIGTERM, 'before ckptd has answered')
    finally:
        node.daemon.send_signal(signal.SIGCONT)
    node.ctl('ps')
    equal(node.jobs('--all'), {}, 'what nobody waits for')


@test
def signal_for_the_job(node):
    """a signal while the job is being started is the job's"""
    node.daemon.send_signal(signal.SIGSTOP)
    try:
        p = started(node, 'run', '--', 'sleep', '100')
        p.send_signal(signal.SIGINT)
        time.sleep(0.5)
    finally:
        node.daemon.send_signal(signal.SIGCONT)
    finished(p, 130, '')
    wait_for('the job ends', 10, lambda: not node.jobs())


@test
def quiet_daemon(node):
    """who waits long for a ckptd that is there is told nothing"""
    job = node.run('sleep', '7')
    done = command(node, 'wait', str(job))
    equal((done.returncode, done.stderr), (0, b''), 'wait')


@test
def waits_across_restart(node):
    """who waits for a job asks the next ckptd, be the job over by then or not"""
    go = f'{node.base}/go'
    script = 'while ! [ -e $0 ]; do sleep 0.1; done; exit 7'
    first, second = (node.run('sh', '-c', script, f'{go}{i}') for i in (1, 2))
    waits = [started(node, 'wait', str(job)) for job in (first, second)]
    node.kill()
    time.sleep(1)
    equal([p.poll() for p in waits], [None, None], 'who waits while there is none')
    with open(f'{go}1', 'w'):
        time.sleep(1)
    node.start()
    finished(waits[0], 7, 'went away')
    node.leave()
    node.start()
    with open(f'{go}2', 'w'):
        finished(waits[1], 7, 'went away')
    ends(1, 'no job 99', command(node, 'wait', '99'))
    node.leave()
    ends(1, 'cannot connect', command(node, 'wait', str(first), timeout=5))
    node.start()


@test
def connect_failures(node):
    """why there is no connection, and advice where it helps"""
    def connect(path):
        return subprocess.run([f'{daemon.ARGS.bin}/ckptctl', '--socket', path, 'ps'],
                              capture_output=True, timeout=30)
    ends(1, 'systemctl start ckptd', connect(f'{node.base}/none'))
    for path in (f'{node.base}/{"x" * 200}', '/dev/null/sock'):
        done = ends(1, path, connect(path))
        check(b'start it' not in done.stderr.lower(), done.stderr)


@contextlib.contextmanager
def connections(node, users):
    """64 idle ones of each."""
    socks = []
    try:
        for user in users:
            os.seteuid(user)
            try:
                for _ in range(64):
                    s = socket.socket(socket.AF_UNIX)
                    s.connect(node.socket)
                    socks.append(s)
            finally:
                os.seteuid(0)
        yield socks
    finally:
        for s in socks:
            s.close()


@test
def many_connections(node):
    """who has too many connections is told so; there is room for root"""
    with connections(node, [USER]):
        ends(1, 'has 64 connections', node.ctl('ps', user=USER, check=False))
        for _ in range(20):
            ends(1, 'has 64 connections', node.ctl('list', user=USER, check=False))
        node.ctl('ps')
    wait_for('room', 10, lambda: node.ctl('ps', user=USER, check=False).returncode == 0)
    with connections(node, range(2001, 2008)):
        ends(1, 'takes no more', node.ctl('ps', user=USER, check=False))
        node.ctl('ps')


@test
def place_among_connections(node):
    """who starts a job and stays with it waits for a place, and keeps none while the job runs"""
    def begun(*words):
        return subprocess.Popen(node.argv(*words), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def jobs():
        """None: there is no place."""
        done = node.ctl('ps', '--json', check=False)
        return None if done.returncode else json.loads(done.stdout)['result']['jobs']
    with connections(node, range(2001, 2009)) as socks:
        # of users there are 448; the rest is root's
        for _ in range(64):
            socks.append(socket.socket(socket.AF_UNIX))
            socks[-1].connect(node.socket)
        equal(jobs(), None, 'places')
        first = begun('run', '--', 'sh', '-c', 'sleep 1000; exit 7')
        second = begun('resume', '--name', 'two', '--', 'sh', '-c', 'sleep 1000; exit 7')
        third = begun('run', '--', 'true')
        time.sleep(2 * daemon.ARGS.slow)
        equal([p.poll() for p in (first, second, third)], [None] * 3, 'who waits')
        third.send_signal(signal.SIGTERM)
        check(third.wait(timeout=10 * daemon.ARGS.slow), 'a signal ends the waiting')
        socks.pop().close()
        wait_for('both jobs in one place', 20, lambda: len(jobs() or []) == 2)
        check(jobs() is not None, 'a job that runs has a place')
    for job in node.jobs():
        node.ctl('kill', str(job))
    for p in (first, second, third):
        p.communicate(timeout=30 * daemon.ARGS.slow)


def is_closed(sock, within):
    sock.settimeout(within * daemon.ARGS.slow)
    try:
        return sock.recv(1) == b''
    except ConnectionResetError:
        return True
    except socket.timeout:
        return False


@test
def idle_connections(node):
    """a connection without a request is closed after a time,
    one that waits for its answer is not"""
    node.leave()
    node.settings['idle_timeout_ms'] = str(1000 * daemon.ARGS.slow)
    node.start()
    job = node.run('sleep', str(4 * daemon.ARGS.slow))
    with contextlib.ExitStack() as stack:
        idle, part, waits, answered = [stack.enter_context(socket.socket(socket.AF_UNIX))
                                       for _ in range(4)]
        for s in (idle, part, waits, answered):
            s.connect(node.socket)
        request(waits, 'wait', {'job': job})
        request(answered, 'ps', {})
        check(answer(answered)['ok'], 'ps')
        for byte in struct.pack('<IHHI', 0x54504b43, 1, 0, 5)[:6]:
            with contextlib.suppress(BrokenPipeError):
                part.sendall(bytes([byte]))
            time.sleep(0.3 * daemon.ARGS.slow)
        for s in (idle, part, answered):
            check(is_closed(s, 1), 'an idle one is there')
        waits.settimeout(30 * daemon.ARGS.slow)
        equal(answer(waits)['result']['exit_status'], 0, 'who waits')
        check(is_closed(waits, 3), 'who has waited is there')


def lingering(stack):
    """a socket whose close waits for who does not read; he is in the stack"""
    server = stack.enter_context(socket.create_server(('127.0.0.1', 0)))
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock = socket.create_connection(server.getsockname())
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 600))
    sock.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            sock.send(bytes(65536))
    return sock


@test
def closed_at_leisure(node):
    """what a user sends may take long to close: that is not waited for"""
    frame = struct.pack('<IHHI', 0x54504b43, 1, 1, 13) + b'{"verb":"ps"}'
    with contextlib.ExitStack() as stack:
        for nr, times in ((1, 1), (40, 1), (1, 3)):
            with socket.socket(socket.AF_UNIX) as s, lingering(stack) as slow:
                os.seteuid(USER)
                try:
                    s.connect(node.socket)
                finally:
                    os.seteuid(0)
                # so that the last reference is ckptd's, and not ours
                node.daemon.send_signal(signal.SIGSTOP)
                for _ in range(times):
                    socket.send_fds(s, [frame], [slow.fileno()] * nr)
                os.close(slow.detach())
                node.daemon.send_signal(signal.SIGCONT)
            node.ctl('ps', timeout=5 * daemon.ARGS.slow)


@test
def answers_nobody_takes(node):
    """who does not take his answers is not asked for more"""
    node.run('sh', '-c', 'sleep 100', 'x' * 100000)
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(node.socket)
        try:
            for _ in range(200):
                request(s, 'ps', {})
                time.sleep(0.01)
        except (BrokenPipeError, ConnectionResetError):
            return
        raise AssertionError('200 answers are kept for who takes none')


@test
def more_nodes_than_there_are(node):
    """a list of nodes that would take minutes to look at is refused before that"""
    args = {'argv': ['true'], 'env': [], 'cwd': '/',
            'ranks': {'n': 1, 'nodes': [f'n{i}' for i in range(50000)]}}
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(node.socket)
        s.settimeout(10 * daemon.ARGS.slow)
        request(s, 'run', args)
        refused = answer(s)['error']
        check('more than there may be' in json.dumps(refused), refused)


# ----------------------------------------------------------------- numbers and keys

@test
def number_never_again(node):
    """the number of a removed job is given to no other one, also after a restart of ckptd"""
    number = f'{node.images}/.job-number'
    for job in (1, 2):
        equal(node.run('true'), job, 'number')
        equal(node.wait(job), 0, 'status')
        ends(0, '', command(node, 'rm', str(job)))
    node.leave()
    node.start()
    equal(node.run('true'), 3, 'number')
    node.wait(3)
    # of an earlier version; then damaged
    os.remove(number)
    said = logged(node, lambda: equal(node.run('true'), 4, 'number'))
    check(f'{number}, the highest job number ever given, is not there' in said, said)
    node.wait(4)
    os.truncate(number, 3)
    said = logged(node, lambda: ends(0, '', command(node, 'rm', '4')))
    check(f'{number}, the highest job number ever given, is damaged' in said, said)
    said = logged(node, lambda: equal(node.run('true'), 5, 'number'))
    check(number not in said, said)


def checks_of(done):
    """The checks of doctor --json by their names."""
    return {c['check']: c for c in json.loads(done.stdout)['result']['checks']}


@test
def jobs_of_another_key(node):
    """list, ps -a and doctor name jobs of another valid key, and jobs that are damaged"""
    jobs = [node.run('true') for _ in range(3)]
    for job in jobs:
        node.wait(job)
    other = f'{node.base}/other-key'
    with open(other, 'wb') as f:
        os.fchmod(f.fileno(), 0o600)
        f.write(os.urandom(32))
    with open(f'{node.images}/3/job.json', 'r+') as f:
        f.truncate(20)
    restarted_with(node, key=other)
    mine = node.run('sleep', '1000')
    for verb in (('list',), ('ps', '--all')):
        done = ends(1, '2 jobs of another key: 1, 2;', command(node, *verb))
        check(b'1 job cannot be read: 3; ' in done.stderr, done.stderr)
        check(verb[0] == 'list' or b'sleep 1000' in done.stdout, done.stdout)
        result = json.loads(ends(1, '', command(node, *verb, '--json')).stdout)['result']
        equal([(j['job'], j['other_key']) for j in result['unreadable']],
              [(1, True), (2, True), (3, False)], 'in JSON')
        equal([j['job'] for j in result['jobs']], [mine], 'jobs')
    done = ends(3, '', command(node, 'doctor'))
    check(b'jobs      NO   2 jobs of another key: 1, 2\n' in done.stdout and
          b'jobs      NO   1 job cannot be read: 3\n' in done.stdout and
          other.encode() in done.stdout, done.stdout)
    found = checks_of(ends(3, '', command(node, 'doctor', '--json')))['jobs']
    equal((found['ok'], found['required']), (False, True), 'doctor --json')
    ends(0, '', command(node, 'ps'))
    ends(0, '', command(node, 'list', str(mine)))
    # the good key again
    shutil.rmtree(f'{node.images}/3')
    restarted_with(node)
    for verb in (('list',), ('ps', '--all')):
        ends(1, f'1 job of another key: {mine};', command(node, *verb))
    node.ctl('kill', str(mine), 'KILL', check=False)
    shutil.rmtree(f'{node.images}/{mine}')
    for verb in (('list',), ('ps', '--all')):
        equal(ends(0, '', command(node, *verb)).stderr, b'', verb)


# ----------------------------------------------------------------- doctor

@test
def doctor_alone(node):
    """doctor without ckptd prints its table, of which ckptd is a line; with ckptd as well"""
    found = checks_of(command(node, 'doctor', '--json'))['ckptd']
    equal(found['ok'], True, 'ckptd runs')
    check(f'pid {node.daemon.pid}, node {node.name}' in found['found'], found)
    job = node.run('sleep', '100')
    check(checks_of(command(node, 'doctor', '--json', str(job)))['ckptd']['ok'], 'of a job')
    node.leave()
    for operand in ((), (str(job),)):
        done = ends(3, '', command(node, 'doctor', *operand))
        lines = done.stdout.decode().split('\n')
        equal(lines[0], f'ckptd     NO   {node.socket}: No such file or directory', 'ckptd')
        check('systemctl start ckptd' in lines[1], lines)
        check([line for line in lines if line.startswith('module ')] and
              [line for line in lines if line.startswith('key ')], lines)
        done = ends(3, '', command(node, 'doctor', '--json', *operand))
        result = json.loads(done.stdout)['result']
        equal((result['ready'], checks_of(done)['ckptd']['ok']), (False, False), 'in JSON')
    done = ends(3, '', command(node, 'doctor', user=USER))
    check(b'ckptd     NO ' in done.stdout, done.stdout)
    done = command(node, '--standalone', 'doctor')
    check(not re.search(rb'^ckptd ', done.stdout, re.M), done.stdout)
    node.start()


@test
def doctor_json(node):
    """doctor --json: each check, what of it is required; whose pid"""
    def doctor(*args):
        done = command(node, 'doctor', '--json', *args)
        got = json.loads(done.stdout)['result']
        equal(done.returncode, 0 if got['ready'] else 3, 'status')
        return got
    job = node.run('sleep', '100')
    os.chmod(node.images, 0o777)
    check('decides where images' in json.dumps(doctor()), 'image_dir of others')
    os.chmod(node.images, 0o711)
    whole = doctor()
    checks = {c['check']: c for c in whole['checks']}
    equal([c for c in ('module', 'key', 'images') if not checks[c].get('required')], [], 'required')
    for c in whole['checks']:
        equal(('advice' in c, bool(c['found'])), (not c['ok'], True), f'{c}')
    needed = [c for c in whole['checks'] if c.get('required') and not c['ok']]
    equal(whole['ready'], not needed, 'ready')
    equal(('pid' in whole, 'tree' in whole), (False, False), 'of the node')
    pid = node.job(job)['init_pid']
    for args in ((str(job),), ('--pid', str(pid))):
        got = doctor(*args)
        equal((got['pid'], got.get('job')), (pid, None if args[1:] else job), 'whose')
        equal('tree' in got, not needed, 'the tree was looked at')
    usage(node, 'needs ckptd', '--standalone', 'doctor', str(job))


# ------------------------------------------------------------------ scheduling

SCHED = r"""
import os
s = {l.split(':')[0]: l.split(':')[1].strip() for l in open('/proc/self/status') if ':' in l}
with open('/proc/self/numa_maps') as f:
    policy = f.read().split()[1]
import ctypes
ioprio = ctypes.CDLL(None).syscall(252, 1, 0)
print(s['Cpus_allowed_list'], os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0),
      os.sched_getparam(0).sched_priority, ioprio >> 13, ioprio & 7, policy)
"""


def scheduling(node, *before, program='ckptctl', opts=('run', '-C', '/')):
    """What a job that is started with these has of CPUs, nice value, policy, I/O and NUMA."""
    argv = [*before, f'{daemon.ARGS.bin}/{program}', '--socket', node.socket, *opts, '--',
            sys.executable, '-c', SCHED]
    done = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=30 * daemon.ARGS.slow)
    equal(done.returncode, 0, done.stderr)
    return done.stdout.decode().split()


@test
def scheduling_of_the_caller(node):
    """a job has CPUs, nice value, policy, I/O priority and NUMA policy of whoever runs it"""
    cpus = sorted(os.sched_getaffinity(0))
    whole = scheduling(node)
    equal((whole[1:5], whole[6]), (['0', '0', '0', '0'], 'default'), 'of nothing special')
    # the first CPU alone; and the last, in case the first is all that ckptd has
    for cpu in (cpus[0], cpus[-1]):
        got = scheduling(node, 'taskset', '-c', str(cpu), 'nice', '-n', '5')
        equal(got[:3], [str(cpu), '5', '0'], 'taskset, nice')
    equal(scheduling(node, 'nice', '-n', '-3')[1], '-3', 'root may')
    equal(scheduling(node, 'chrt', '--batch', '0')[2], str(os.SCHED_BATCH), 'batch')
    equal(scheduling(node, 'chrt', '--idle', '0')[2], str(os.SCHED_IDLE), 'idle')
    equal(scheduling(node, 'chrt', '--rr', '3')[2:4], [str(os.SCHED_RR), '3'], 'realtime')
    equal(scheduling(node, 'chrt', '--reset-on-fork', '--rr', '3')[2:4], ['0', '0'],
          'realtime, but not for children')
    equal(scheduling(node, 'ionice', '-c', '3')[4], '3', 'idle for disks')
    equal(scheduling(node, 'ionice', '-c', '2', '-n', '6')[4:6], ['2', '6'], 'best effort')
    equal(scheduling(node, 'numactl', '--interleave=0')[6], 'interleave:0', 'NUMA')
    equal(scheduling(node, 'numactl', '--membind=0')[6], 'bind:0', 'NUMA')
    both = scheduling(node, 'taskset', '-c', str(cpus[-1]), 'nice', '-n', '4', 'ionice', '-c', '3',
                      program='ckptrun', opts=('-n', '1', '--mpi=none', '-C', '/'))
    equal((both[0], both[1], both[4]), (str(cpus[-1]), '4', '3'), 'ckptrun')


@test
def scheduling_gives_no_right(node):
    """a request cannot ask for more than its process has, nor for another one's"""
    args = {'argv': ['sleep', '1000'], 'env': ['PATH=/bin:/usr/bin'], 'cwd': '/'}
    for more in ({'nice': -20}, {'sched': {'policy': 1, 'priority': 50, 'nice': -20, 'ioprio': 0}},
                 {'limits': []}, {'mempolicy': 3}, {'mempolicy': {'mode': 3}},
                 {'mempolicy': {'mode': 77, 'nodes': [0]}},
                 {'mempolicy': {'mode': -1, 'nodes': []}},
                 {'mempolicy': {'mode': 3, 'nodes': [1024]}},
                 {'mempolicy': {'mode': 3, 'nodes': ['0']}},
                 {'mempolicy': {'mode': 3, 'nodes': [0], 'nice': -20}}):
        check(asked(node, 'run', {**args, **more})['error'].get('usage'), more)
    # nodes that ckptd may not use
    got = asked(node, 'run', {**args, 'mempolicy': {'mode': 2, 'nodes': [1023]}})
    check('NUMA policy: ckptd and its jobs may not use its nodes' in got['error']['text'], got)
    equal(node.jobs('--all'), {}, 'jobs')
    # the caller counts, not ckptd, which is better
    with open(f'/proc/{node.daemon.pid}/stat') as f:
        equal(f.read().rsplit(')', 1)[1].split()[16], '-10', 'ckptd')
    equal(scheduling(node)[1:4], ['0', '0', '0'], 'the caller')


# ------------------------------------------------------------------ users

@test
def limits_unknown(node):
    """a user whose limits, control group and namespaces cannot be known starts no job"""
    s = socket.socket(socket.AF_UNIX)
    child = os.fork()
    if not child:
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        s.connect(node.socket)
        os._exit(0)
    os.waitpid(child, 0)
    request(s, 'run', {'argv': ['true'], 'env': ['PATH=/usr/bin:/bin'], 'cwd': '/'})
    got = answer(s)
    equal(got['ok'], False, f'{got}')
    check('has ended' in got['error']['text'], got['error']['text'])
    equal(node.jobs('--all'), {}, 'jobs')


def fork_as(pid, what):
    """A child of that number, which runs what()."""
    for _ in range(50):
        with open('/proc/sys/kernel/ns_last_pid', 'w') as f:
            f.write(str(pid - 1))
        child = os.fork()
        if child == pid:
            return
        if not child:
            if os.getpid() == pid:
                what()
            os._exit(0)
        os.waitpid(child, 0)
    raise daemon.Failure(f'no process gets number {pid}')


@test
def number_of_another_process(node):
    """a process that has got the number of a caller that has ended does not stand for it"""
    s = socket.socket(socket.AF_UNIX)
    child = os.fork()
    if not child:
        os.setresuid(USER, USER, USER)
        s.connect(node.socket)
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.1)     # a clock tick

    def other():
        os.setresuid(USER, USER, USER)
        time.sleep(60)
    fork_as(child, other)
    try:
        wait_for('its user', 5, lambda: os.stat(f'/proc/{child}').st_uid == USER)
        request(s, 'run', {'argv': ['true'], 'env': ['PATH=/usr/bin:/bin'], 'cwd': '/'})
        got = answer(s)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    equal(got['ok'], False, f'{got}')
    check(f'process {child} of the caller has ended' in got['error']['text'],
          got['error']['text'])
    equal(node.jobs('--all'), {}, 'jobs')


# ------------------------------------------------------- what does not end

def sleepers(mark):
    return [int(pid) for pid in subprocess.run(['pgrep', '-fx', f'sleep {mark}'],
                                               capture_output=True).stdout.split()]


@contextlib.contextmanager
def traced(pid):
    """Its parent cannot have its end: that of who traces it comes first."""
    equal(ctypes.CDLL(None, use_errno=True).ptrace(0x4206, pid, None, None), 0, 'PTRACE_SEIZE')
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0x40000000)


@test
def log_that_waits(node):
    """a job that waits for its log is named once, and once when it goes on"""
    def said(text):
        with open(node.log.name) as f:
            return f.read().count(text)

    os.makedirs(node.images, exist_ok=True)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'none', node.images], check=True)
    try:
        job = node.shell('seq 1 300000; seq 1 300000 >&2')
        waits = f'job {job} waits: its log in {node.images}/{job} cannot be written: No space left'
        wait_for('a full disk', 20, lambda: said(waits))
        time.sleep(2.5)
        equal((said(waits), said('goes on')), (1, 0), 'said while it waits')
        subprocess.run(['mount', '-o', 'remount,size=16m', node.images], check=True)
        equal(node.wait(job), 0, 'status')
        equal((said(waits), said(f'job {job} goes on')), (1, 1), 'said in the end')
        for stream in ('stdout', 'stderr'):
            equal(node.output(job, stream), ''.join(f'{i}\n' for i in range(1, 300001)), stream)
    finally:
        subprocess.run(['umount', '-l', node.images], check=True)


@test
def log_without_descriptors(node):
    """a shim without descriptors for a timer still comes back to a log that cannot be written"""
    os.makedirs(node.images, exist_ok=True)
    for program, ranks, options in (('ckptctl', 1, ('run', '--detach')),
                                    ('ckptrun', 2, ('-d', '-n', '2', '--mpi', 'none', '--label'))):
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'none', node.images], check=True)
        try:
            go = f'{node.base}/go-{program}'
            done = command(node, *options, '--', 'sh', '-c',
                           f'while ! [ -e {go} ]; do sleep 0.1; done; seq 1 200000',
                           program=program)
            job = int(ends(0, '', done).stdout)
            with open(f'{node.base}/jobs/{job}/shim.json') as f:
                shim = json.load(f)['shim']
            time.sleep(daemon.ARGS.slow)    # it watches all that it will watch
            before = resource.prlimit(shim, resource.RLIMIT_NOFILE)
            resource.prlimit(shim, resource.RLIMIT_NOFILE, (1, before[1]))
            with open(go, 'w'):
                pass
            wait_for('a full disk', 20, lambda: os.statvfs(node.images).f_bavail == 0)
            time.sleep(1)
            resource.prlimit(shim, resource.RLIMIT_NOFILE, before)
            subprocess.run(['mount', '-o', 'remount,size=16m', node.images], check=True)
            equal(node.wait(job, timeout=20), 0, 'status')
            # ckptd may have seen its end before the shim has read the last of it
            wait_for('its output', 20, lambda: node.output(job).count('\n') == ranks * 200000)
        finally:
            node.ctl('kill', str(job), 'KILL', check=False)
            subprocess.run(['umount', '-l', node.images], check=True)


@test
def left_in_the_hosts_namespace(node):
    """--host-ns: what a job leaves and does not end does not hold up the job's end"""
    mark = f'{os.getpid()}.7'
    job = node.shell(f'sleep {mark} & sleep 1; exit 3', opts=('--host-ns',))
    with traced(wait_for('the job', 10, lambda: sleepers(mark))[0]):
        equal(node.wait(job, timeout=20), 3, 'status')
    with open(node.log.name) as f:
        check(f'job {job} has ended, but processes of it do not' in f.read(), 'it is not said')


@test
def stopped_first_process(node):
    """kill KILL: a first process that is stopped, or may not kill the others, keeps no job alive"""
    job = node.run('sleep', '1000')
    with open(f'{node.base}/jobs/{job}/shim.json') as f:
        init = json.load(f)['init']
    os.kill(init, signal.SIGSTOP)
    try:
        node.ctl('kill', str(job), 'KILL')
        wait_for('its end', 50, lambda: not node.jobs())
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(init, signal.SIGCONT)


@test
def resume(node):
    """resume: starts, hands on the status of what has ended, starts anew what was lost"""
    def go(*args, **kwargs):
        return command(node, 'resume', *args, **kwargs)

    usage(node, 'Say its --name', 'resume', '--', 'true')
    usage(node, 'which command', 'resume', '--name', 'x')
    usage(node, '--lost-nodes is a list of nodes', 'resume', '--name', 'x', '--lost-nodes', 'a,,b',
          '--', 'true')
    equal(go('--name', 'x', '--', 'sh', '-c', 'echo out; exit 5').stdout, b'out\n', 'output')
    done = ends(5, 'job 1, x, has ended with status 5 before', go('--name', 'x', '--', 'echo'))
    equal(done.stdout, b'', 'nothing is started')
    equal(go('--name', 'x', '--new', '--', 'echo', 'again').stdout, b'again\n', '--new')
    # the options of the launcher stay, and their programs are found
    done = go('--name', 'y', '--', f'{daemon.ARGS.bin}/ckptctl', 'run', '--chdir', '/tmp', '--',
              'pwd')
    equal((done.returncode, done.stdout), (0, b'/tmp\n'), f'ckptctl run: {done.stderr}')
    done = go('--name', 'z', '--', f'{daemon.ARGS.bin}/ckptrun', '-n', '2', '--mpi', 'none', '--',
              'echo', '-n', 'r')
    equal((done.returncode, done.stdout), (0, b'rr'), f'ckptrun: {done.stderr}')
    ends(127, 'no/such/ckptrun', go('--name', 'w', '--', 'no/such/ckptrun', '-n', '1', 'true'))
    job = node.run('sleep', '1000', opts=('--name', 'u'))
    # a node that is off is not where this one is
    ends(1, f'ckptctl attach {job}', go('--name', 'u', '--lost-nodes', 'n8,n9', '--', 'true'))
    usage(node, '--lost-nodes is a list of nodes', 'restart', '--lost-nodes', 'a,,b', str(job))
    ends(3, 'still runs', command(node, 'restart', '--lost-nodes', 'n8,n9', str(job)))
    with open(f'{node.base}/jobs/{job}/shim.json') as f:
        found = json.load(f)
    for name in ('init', 'shim'):
        os.kill(found[name], signal.SIGKILL)
    ends(0, 'started anew', go('--name', 'u', '--', 'true'))


def slurm_script(node, text, *args, restarts='0'):
    """Start ckpt-slurm-run --script, in a batch step without a controller."""
    with open(f'{node.base}/slurm.conf', 'w') as f:
        f.write('ClusterName=c\nSlurmctldHost=localhost\nSlurmctldPort=1\nNodeName=localhost\n'
                'MessageTimeout=2\n')
    with open(f'{node.base}/script', 'w') as f:
        f.write(text)
    return subprocess.Popen(
        [f'{TOP}/build/bin/ckpt-slurm-run', '--look', '1s', '--script', 'script', '--', *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=node.base, stdin=subprocess.DEVNULL,
        text=True,
        env={'PATH': f'{TOP}/build/bin:{os.environ["PATH"]}', 'CKPTD_SOCKET': node.socket,
             'TMPDIR': node.base, 'SLURM_JOB_ID': '77', 'SLURM_CLUSTER_NAME': 'c',
             'SLURM_RESTART_COUNT': restarts, 'SLURM_CONF': f'{node.base}/slurm.conf',
             'SLURM_STEP_OF_TEST': "it's"})


def touched(node, name):
    with open(f'{node.base}/{name}', 'w'):
        pass


def front(node, name, *args, user=None, restarts=0, squeue='exit 1', **env):
    """Output of a front of scheduler/slurm in a batch job of --ckpt=auto, with programs that tell
    which of them was started in place of ckpt-slurm-run, Slurm's and the MPI library's own."""
    bin_ = f'{node.base}/bin'
    os.makedirs(bin_, exist_ok=True)
    for program, text in (('ckpt-slurm-run', 'echo launched "$@"'), ('mpirun', 'echo own "$@"'),
                          ('srun', 'echo own "$@"'), ('squeue', squeue),
                          ('batch', 'echo own "$@"')):
        with open(f'{bin_}/{program}', 'w') as f:
            f.write(f'#!/bin/sh\n{text}\n')
        os.chmod(f'{bin_}/{program}', 0o755)
    done = subprocess.run(
        [f'{TOP}/scheduler/slurm/{name}', *args], stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60 * daemon.ARGS.slow, user=user,
        cwd='/', env={'PATH': f'{TOP}/scheduler/slurm:{bin_}:{daemon.ARGS.bin}:/usr/bin:/bin',
                      'CKPTD_SOCKET': node.socket, 'SLURM_JOB_ID': '81', 'TMPDIR': node.base,
                      'STILLPOINT_CKPT': 'auto', 'SLURM_RESTART_COUNT': str(restarts),
                      'STILLPOINT_BATCH_SCRIPT': f'{bin_}/batch', **env})
    return done.stdout.split()[0]


@test
def front_of_auto(node):
    """--ckpt=auto: without ckptd the MPI library's own launcher starts a program, but never in
    place of one that may be saved"""
    def both(want, **kwargs):
        equal([front(node, 'mpirun', '-n', '2', 'x', **kwargs),
               front(node, 'srun', '-n1', 'x', **kwargs)], [want] * 2, f'{kwargs}')

    both('launched')
    both('launched', restarts=1)
    with connections(node, [USER]):
        equal([front(node, 'mpirun', 'x', user=USER), front(node, 'script', user=USER)],
              ['launched'] * 2, 'ckptd has no place for the question')
    node.kill()
    both('own', squeue='echo 81 stillpoint: job 1 saved')
    both('launched', restarts=1, squeue='echo 81 stillpoint: job 1 saved, generation 2')
    both('launched', restarts=1, squeue='echo "81 a word of the user"')
    both('launched', restarts=1)
    both('launched', restarts=1, squeue='echo "82 (null)"')
    for none in ('81 (null)', '81', '81 '):
        both('own', restarts=1, squeue=f'echo "82 stillpoint: x"; echo "{none}"')
    equal([front(node, 'script', restarts=n) for n in (0, 1)], ['own', 'launched'], 'scripts')
    node.start()


@test
def script_not_saved(node):
    """a save of script and launches that fails changes nothing: the launch that runs is the
    same, and the script can launch again"""
    p = slurm_script(node, """#!/bin/bash
        loop='echo on >on; until [ -e go ]; do sleep 0.1; done; exit 3'
        ckpt-slurm-run ckptctl run -- sh -c "$loop"
        echo $?; ckpt-slurm-run ckptctl run -- sh -c 'exit 4'; echo $?""")
    wait_for('the launch', 30, lambda: os.path.exists(f'{node.base}/on'))
    with open(f'{node.base}/stillpoint-slurm-{os.getuid()}/77.0', 'a') as f:
        f.write('save\n')
    # there is no module here
    equal(p.stderr.readline(), 'ckpt-slurm-run: another job of the script is saved: saving '
          'slurm-c-77.script\n', 'what is told')
    check('the script cannot be saved' in p.stderr.readline(), 'the script is saved')
    check('is not saved' in p.stderr.readline(), 'it is saved')
    touched(node, 'go')
    out, err = p.communicate(timeout=60 * daemon.ARGS.slow)
    equal((p.returncode, out), (0, '3\n4\n'), err)
    equal(len(node.jobs('--all')), 3, 'jobs')


@test
def script_held(node):
    """a script that cannot be saved waits for a launch that is to be held: the batch job is
    requeued and held as soon as ckptd answers, and the batch step sleeps until then"""
    job = node.run('true')
    node.wait(job)
    p = slurm_script(node, """#!/bin/bash
        echo >on; until [ -e go ]; do sleep 0.1; done
        ckpt-slurm-run ckptctl run -- sh -c 'echo begun'; echo $?""", restarts='1')
    wait_for('the script', 30, lambda: os.path.exists(f'{node.base}/on'))
    with open(f'{node.images}/{job}/job.json', 'r+') as f:
        f.truncate(20)
    touched(node, 'go')
    line = p.stderr.readline()
    check('records of jobs cannot be read' in line and ': saving slurm-c-77.script' in line, line)
    node.kill()
    line = p.stderr.readline()
    check('is not saved: ckptd of this node' in line, line)

    def used():
        with open(f'/proc/{p.pid}/stat') as f:
            return sum(int(n) for n in f.read().rsplit(')')[-1].split()[11:13])
    before = used()
    time.sleep(3)
    check(used() - before < 0.3 * os.sysconf('SC_CLK_TCK'), f'processor time: {used() - before}')
    node.start()
    said = [p.stderr.readline() for _ in range(2)]
    p.kill()
    check('the script cannot be saved' in said[0] and 'it will begin anew' in said[0] and
          'batch job 77 is held' in said[1], f'{said}')
    equal(sum(os.path.exists(f'{node.images}/{n}/job.json') for n in range(1, 9)), 2, 'jobs')


@test
def script_as_job(node):
    """a batch script that is a job: its launches are asked of the batch step, with their streams,
    directory and environment; signals reach them, and a killed launcher takes its launch along"""
    with open(f'{node.base}/in', 'w') as f:
        f.write('input\n')
    p = slurm_script(node, """#!/bin/bash
            echo "$1" "$STILLPOINT_JOB" "$(basename "$0")"; x=kept; mkdir sub; cd sub; export SAID=y
            rank='cat; echo r $PWD $SAID; sleep 1; exit 3'
            ckpt-slurm-run ckptrun -n 2 --mpi none -- sh -c "$rank" <../in | sed 's/^/: /'
            echo "${PIPESTATUS[0]} $x"; ckpt-slurm-run sh -c 'echo $STILLPOINT_JOB; exit 4'; echo $?
            bash -c 'echo $SLURM_STEP_OF_TEST'
            ckpt-slurm-run ckptctl run -- sh -c 'echo on; exec sleep 1000' >on & p=$!
            until [ -s on ]; do sleep 0.1; done
            kill $p; wait $p; echo $?
            ckpt-slurm-run ckptctl run -- sh -c 'echo on; exec sleep 1000' >off & p=$!
            until [ -s off ]; do sleep 0.1; done
            kill -KILL $p; wait $p; echo $?; exit 9
            """, 'a  b')
    out, err = p.communicate(timeout=120 * daemon.ARGS.slow)
    lines = out.split('\n')
    equal(sorted(lines[1:4]), [': input', *2 * [f': r {node.base}/sub y']], 'ranks')
    equal(lines[:1] + lines[4:], ['a  b 1 slurm_script', '3 kept', '1', '4', "it's", '143', '137',
                                  ''], f'output ({err})')
    equal(p.returncode, 9, err)
    wait_for('the launch of the killed launcher to end', 30, lambda: not node.jobs())
    equal(sorted(j['name'].split('.')[0] for j in node.jobs('--all').values()), ['slurm-c-77'] * 4,
          'names')
    equal(os.listdir(f'{node.base}/stillpoint-slurm-{os.getuid()}'), ['77.0'], 'left behind')
    # a job that was submitted by such a script has its variables
    done = subprocess.run(
        [f'{TOP}/build/bin/ckpt-slurm-run', 'ckptctl', 'run', '--', 'echo', 'direct'],
        capture_output=True, stdin=subprocess.DEVNULL, timeout=60 * daemon.ARGS.slow,
        env={'PATH': f'{TOP}/build/bin:{os.environ["PATH"]}', 'CKPTD_SOCKET': node.socket,
             'TMPDIR': node.base, 'SLURM_JOB_ID': '78', 'SLURM_CONF': f'{node.base}/slurm.conf',
             'STILLPOINT_SCRIPT': f'{node.base}/77.script'})
    equal((done.returncode, done.stdout), (0, b'direct\n'), done.stderr)


@test
def sbatch_words(node):
    """a command of a batch script gets the number of checkpoints that sbatch was told, and its job
    has the same name without"""
    with open(f'{node.base}/slurm.conf', 'w') as f:
        f.write('ClusterName=c\nSlurmctldHost=localhost\nSlurmctldPort=1\nNodeName=localhost\n'
                'MessageTimeout=2\n')
    for job, told in (('79', {}), ('80', {'STILLPOINT_CKPT_KEEP': '3'})):
        done = subprocess.run(
            [f'{TOP}/build/bin/ckpt-slurm-run', '--', 'echo', 'a', 'command'],
            capture_output=True, stdin=subprocess.DEVNULL, timeout=60 * daemon.ARGS.slow,
            env={'PATH': f'{TOP}/build/bin:{os.environ["PATH"]}', 'CKPTD_SOCKET': node.socket,
                 'TMPDIR': node.base, 'SLURM_JOB_ID': job,
                 'SLURM_CONF': f'{node.base}/slurm.conf', **told})
        equal((done.returncode, done.stdout), (0, b'a command\n'), done.stderr)
    jobs = node.jobs('--all').items()
    names = {j['name'].split('.', 1)[1] for _, j in jobs}
    equal(len(names), 1, f'names behind the number ({names})')
    kept = []
    for number, _ in sorted(jobs):
        with open(f'{node.images}/{number}/job.json') as f:
            kept += re.findall(r'\\?"keep\\?": ?(\d+)', f.read())
    equal(kept, ['3'], 'what the records keep')


def slurm_launch(node, restarts, *words):
    """Start ckpt-slurm-run with a command, in a batch step without a controller."""
    with open(f'{node.base}/slurm.conf', 'w') as f:
        f.write('ClusterName=c\nSlurmctldHost=localhost\nSlurmctldPort=1\nNodeName=localhost\n'
                'MessageTimeout=2\n')
    return subprocess.Popen(
        [f'{TOP}/build/bin/ckpt-slurm-run', '--', *words], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=node.base, text=True,
        env={'PATH': f'{TOP}/build/bin:{os.environ["PATH"]}', 'CKPTD_SOCKET': node.socket,
             'TMPDIR': node.base, 'SLURM_JOB_ID': '83', 'SLURM_CLUSTER_NAME': 'c',
             'SLURM_RESTART_COUNT': restarts, 'SLURM_CONF': f'{node.base}/slurm.conf'})


@test
def hidden_job(node):
    """a requeued batch job never begins anew what may be a job whose record cannot be read;
    resume says that there is one"""
    job = node.run('true')
    node.wait(job)
    with open(f'{node.images}/{job}/job.json', 'r+') as f:
        f.truncate(20)
    done = ends(0, 'but 1 cannot be read', node.ctl('resume', '--name', 'x', '--', 'echo', 'x'))
    equal(done.stdout, b'x\n', 'output')
    for restarts, want in (('0', 'one\n'), ('1', '')):
        p = slurm_launch(node, restarts, 'echo', 'one')
        equal((p.communicate(timeout=60 * daemon.ARGS.slow)[0], p.returncode), (want, 0),
              f'run {restarts}')
    p = slurm_launch(node, '1', 'echo', 'two')
    line = p.stderr.readline()
    p.kill()
    check('is held: the job may be saved, and records of jobs cannot be read' in line, line)
    equal(p.communicate()[0], '', 'output')


@test
def told_to_end(node):
    """a program that ends well because SIGTERM told it to was not at its end: ps says so, and a
    requeued batch job starts it again, but none that came to its own end"""
    def signal_of(job):
        node.wait(job)
        return node.job(job).get('kill_signal')
    waits = "trap 'exit 0' TERM; trap : USR1; echo >on; while :; do sleep 0.1; done"
    equal(signal_of(node.shell('kill -TERM 1; exit 0')), None, 'SIGTERM of the job itself')
    # as Slurm signals all processes of a step, init among them
    job = node.shell(f"cd {node.base}; {waits.replace('while :', 'until [ -e go ]')}")
    wait_for('the program', 30, lambda: os.path.exists(f'{node.base}/on'))
    init = node.jobs()[job]['init_pid']
    os.kill(init, signal.SIGUSR1)
    os.kill(init, signal.SIGTERM)
    touched(node, 'go')
    equal((signal_of(job), node.job(job)['exit_status']), (15, 0), 'SIGTERM of init')
    os.unlink(f'{node.base}/on')

    for restarts in ('0', '1', '2'):
        p = slurm_launch(node, restarts, 'sh', '-c', waits)
        wait_for(f'run {restarts}', 60, lambda: os.path.exists(f'{node.base}/on'))
        os.unlink(f'{node.base}/on')
        p.send_signal(signal.SIGTERM)
        _, err = p.communicate(timeout=60 * daemon.ARGS.slow)
        equal(p.returncode, 0, err)
        equal(signal_of(max(node.jobs('--all'))), 15, f'signal of run {restarts}')
    for restarts in ('3', '4'):
        out, err = slurm_launch(node, restarts, 'echo', 'ends').communicate(
            timeout=60 * daemon.ARGS.slow)
        equal((out, 'not started again' in err), ('ends\n', False) if restarts == '3' else
              ('', True), err)


@test
def batch_contract(node):
    """ckpt-batch: its words and exit statuses are what a batch system stands on"""
    def batch(*args):
        return subprocess.run([f'{TOP}/build/bin/ckpt-batch', *args], capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=60 * daemon.ARGS.slow,
                              env={**os.environ, 'CKPTD_SOCKET': node.socket,
                                   'PATH': f'{daemon.ARGS.bin}:{os.environ["PATH"]}'})

    for args in ((), ('save',), ('resume', 'x'), ('resume', 'x', '--'), ('keep', 'x'),
                 ('status', 'x', 'y'), ('save', '--much', 'x')):
        ends(2, 'usage: ckpt-batch', batch(*args))
    for verb in ('save', 'status'):
        ends(4, 'x: no job of this name', batch(verb, 'x'))
    ends(0, '', batch('clean', 'x'))
    equal(batch('resume', 'x', '--', 'sh', '-c', 'echo out; exit 5').stdout, b'out\n', 'output')
    ends(5, 'has ended with status 5 before', batch('resume', 'x', '--', 'echo', 'again'))
    equal(batch('status', 'x').stdout, b'x: job 1, ended, generation 0\n', 'status')
    equal(json.loads(batch('status', '--json', 'x').stdout),
          {'name': 'x', 'job': 1, 'state': 'ended', 'generation': 0}, 'status as JSON')
    ends(4, 'the job does not run', batch('save', 'x'))
    job = node.run('sleep', '1000', opts=('--name', 'x'))
    equal(json.loads(batch('status', '--json', 'x').stdout)['state'], 'running', 'state')
    # there is no module here
    done = batch('save', 'x')
    check(done.returncode in (1, 3) and done.stderr.startswith(b'ckpt-batch: x: '), done.stderr)
    ends(1, 'the job runs: nothing is removed', batch('clean', 'x'))
    node.ctl('kill', str(job), 'KILL')
    wait_for('its end', 50, lambda: not node.jobs())
    ends(0, '', batch('clean', 'x'))
    ends(4, 'no job of this name', batch('status', 'x'))
    ends(1, 'does not answer', subprocess.run(
        [f'{TOP}/build/bin/ckpt-batch', 'status', 'x'], capture_output=True, timeout=30,
        env={**os.environ, 'CKPTD_SOCKET': '/nonexistent'}))


# ------------------------------------------------------------------ restarted elsewhere

def record_of(node, job):
    with open(f'{node.images}/{job}/job.json') as f:
        return json.load(f)['sealed']


def write_record(node, job, record):
    subprocess.run([f'{TOP}/build/bin/tests/tools/mkparts', node.images, node.key, str(job), '0',
                    '{}',
                    json.dumps(record)], check=True)


def restart_elsewhere(node, job, **change):
    """The record as it is when another node, which could not hear this one,
    has restarted the job."""
    record = {**record_of(node, job), 'node': 'n9', 'boot': 'another', 'run': 7, **change}
    write_record(node, job, record)
    return record


def what_is_here_ends(node, mark, job, record):
    wait_for('its processes end', 40, lambda: not sleepers(mark))
    time.sleep(1)
    equal(record_of(node, job), record, 'the record')
    check(job not in node.jobs(), 'it is still said to run here')


@test
def restarted_elsewhere(node):
    """a job that another node has restarted meanwhile ends here, and leaves the record alone"""
    mark = str(60000 + os.getpid())
    job, other = node.run('sleep', mark), node.run('sleep', '1000')
    record = restart_elsewhere(node, job)
    what_is_here_ends(node, mark, job, record)
    equal(list(node.jobs()), [other], 'the other one')


@test
def restarted_elsewhere_and_over(node):
    """it ends by itself before that is seen: the record is the other's all the same"""
    job = node.run('sleep', '2')
    record = restart_elsewhere(node, job)
    time.sleep(4)
    equal(record_of(node, job), record, 'the record')
    check(not os.path.exists(f'{node.base}/jobs/{job}'), 'its directory is left')


@test
def restarted_without_us(node):
    """a ckptd that begins ends what is here of a job that was restarted elsewhere, or is over"""
    for change in ({}, {'run': 0, 'state': 'ended'}):
        mark = str(70000 + os.getpid())
        job = node.run('sleep', mark)
        node.kill()
        record = restart_elsewhere(node, job, **change)
        node.start()
        what_is_here_ends(node, mark, job, record)


def check_runs_on(mark):
    time.sleep(2)
    pids = sleepers(mark)
    check(pids, 'it was ended')
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


@test
def taken_for_lost(node):
    """what runs is not ended because a record says that it is lost"""
    mark = str(90000 + os.getpid())
    job = node.run('sleep', mark)
    node.kill()
    write_record(node, job, {**record_of(node, job), 'state': 'lost'})
    node.start()
    check_runs_on(mark)


@test
def another_of_that_number(node):
    """what runs here is not ended for the record of another job"""
    mark = str(80000 + os.getpid())
    job = node.run('sleep', mark)
    record = record_of(node, job)
    node.kill()
    shutil.rmtree(f'{node.images}/{job}')
    os.makedirs(f'{node.images}/{job}')
    write_record(node, job, {**record, 'uuid': '0123456789abcdef', 'run': 7, 'state': 'ended'})
    node.start()
    check_runs_on(mark)


# ------------------------------------------------------------------ usage

@test
def wrong_usage(node):
    """what is used wrongly is refused with status 2 and changes nothing"""
    job = str(node.run('sleep', '100'))
    for verb in ('checkpoint', 'dump', 'restore', 'restart'):
        usage(node, 'track, carry or ignore', verb, '--files', 'bogus', job)
    usage(node, 'auto, caller or new', 'restore', '--dir', '/x', '--pidns', 'bogus')
    usage(node, '100 ms', 'auto', job, '--every', '1ms')
    usage(node, 'one job', 'recover', '--dry-run')
    usage(node, 'no job', 'recover', '--dry-run', f'{job}:1')
    usage(node, 'list of nodes', 'recover', '--dry-run', '--lost', 'n1,,n2', job)
    usage(node, 'what is to be kept', 'prune', job)
    ends(1, 'there is no job 99', command(node, 'prune', '99'))
    usage(node, 'leave --standalone out', '--standalone', 'ps')
    usage(node, 'another one', 'restart', '-n', '-g', '1', f'{job}:2')
    usage(node, 'neither JOB', 'restart', f'{job}:')
    for option in ('--key', '--encryption-key'):
        for args in (('verify', '/x'), ('show', '/x'), ('diff', '/x', '/y'),
                     ('restore', '--dir', '/x'),
                     ('restore', '--detach', '--dir', '/x'), ('dump', '--pid', '1', '--dir', '/x')):
            usage(node, 'needs --standalone', option, '/nonexistent', *args)
    usage(node, 'which?', 'checkpoint', '--incremental', '--full', job)
    usage(node, 'which?', 'checkpoint', '--full', '--incremental', job)
    for env, text in (('A-B=1', 'NAME=VALUE'), ('CKPT_LOWER=x', "Stillpoint's own"),
                      ('A=' + 2046 * 'x', '2048 bytes')):
        usage(node, text, 'restart', '--env', env, job)
    usage(node, 'there twice', 'restart', '--env', 'A=1', '--env', 'A', job)
    usage(node, 'map', 'restart', '--map', '0:n1', '--nodes', 'n1', job)
    usage(node, 'map', 'restart', '--nodes', 'n1', '--map', '0:n1', job)


@test
def unknown_arguments(node):
    """ckptd refuses arguments that it does not know, with every request"""
    job = node.run('sleep', '100')
    for verb, args in (('wait', {'job': job}), ('list', {}), ('list', {'job': job}), ('doctor', {}),
                       ('doctor', {'job': job}), ('doctor', {'pid': 1}),
                       ('kill', {'job': job, 'signal': 9}),
                       ('attach', {'job': job}), ('ps', {}), ('nodes', {}),
                       ('stats', {'job': job})):
        got = asked(node, verb, {**args, 'bogus': True})
        check(not got['ok'] and got['error'].get('usage'), f'{verb} {args}: {got}')
    equal(node.jobs()[job]['state'], 'running', 'the job')


@test
def stats_tables(node):
    """stats: phases, and with --bytes where memory went;
    a figure that an older version has not kept is a dash"""
    job = node.run('sleep', '100')
    old = {'taken': 1700000000, 'generation': 1, 'pause_ns': 5000000, 'bytes_mapped': 40960,
           'bytes_stored': 8192,
           'bytes_raw': 20480, 'pages_zero': 2, 'processes': 3, 'threads': 4}
    new = {**old, 'generation': 2, 'pages_untouched': 512, 'pages_file': 256,
           'pages_excluded': 16, 'pages_same': 1,
           'pages_shared': 4, 'pages_base': 5, 'nodes': 2}
    with open(f'{node.images}/{job}/history', 'w') as f:
        f.write(''.join(json.dumps(row) + '\n' for row in (old, new)))
    phases = ends(0, '', command(node, 'stats', str(job))).stdout.decode().splitlines()
    check(phases[0].split()[5:10] == ['THAW', 'PAUSE', 'MEMORY', 'FILES', 'SYNC'], phases)
    rows = ends(0, '', command(node, 'stats', '--bytes', str(job))).stdout.decode().splitlines()
    equal(rows[0].split()[2:15],
          ['UNTOUCHED', 'CLEAN', 'EXCLUDED', 'SIZE', 'ZERO', 'SHARED', 'BASE', 'SAME', 'RAW',
                                  'STORED', 'PROCESSES', 'THREADS', 'NODES'], 'columns')
    values = [re.sub(' (.iB)', r'\1', row).split()[3:16] for row in rows]
    equal(values[1],
          ['-', '-', '-', '40.0KiB', '8.0KiB', '-', '-', '-', '20.0KiB', '8.0KiB', '3', '4', '-'],
          'the older one')
    equal(values[2],
          ['2.0MiB', '1.0MiB', '64.0KiB', '40.0KiB', '8.0KiB', '16.0KiB', '20.0KiB', '4.0KiB',
                      '20.0KiB', '8.0KiB', '3', '4', '2'], 'the newer one')
    equal(len(rows), 4, 'lines, medians at the end')
    usage(node, 'wrong option', 'stats', '--nothing', str(job))


@test
def wrong_usage_json(node):
    """what is wrong before anything was asked for is JSON as well,
    wherever --json stands, and once"""
    def wrong(status, text, *args, program='ckptctl', name='EINVAL'):
        done = ends(status, text, command(node, *args, program=program))
        got = json.loads(done.stdout)
        equal((got['ok'], got['error']['name'], got['error'].get('usage', False)),
              (False, name, name == 'EINVAL'), args)
        check(got['error']['text'] in done.stderr.decode(errors='replace'), got)
        return got
    for args in (('ps', '--json', '--bogus'), ('ps', '--bogus', '--json'),
                 ('--json', 'ps', '--bogus'),
                 ('--bogus', '--json', 'ps'), ('--bogus', 'ps', '--json'),
                 ('run', '--bogus', '--json', '--', 'true')):
        wrong(2, 'wrong option', *args)
    wrong(2, 'is a number', 'checkpoint', '--timeout', 'x', '--json', '1')
    wrong(2, 'is a number', 'merge', '-g', 'x', '1', '--json')
    wrong(2, 'no verb', 'bogus', '--json')
    wrong(2, 'did you mean checkpoint?', 'chekpoint', '--json')
    wrong(2, 'no verb', 'help', 'bogus', '--json')
    wrong(2, 'which verb', '--json')
    wrong(2, 'which command', 'run', '--json')
    wrong(2, 'is empty', 'show', '--key', '', '--json', 'x')
    wrong(2, 'UTF-8', 'show', '--json', BAD)
    wrong(2, 'needs --standalone', 'verify', '--key', '/k', '/x', '--json')
    wrong(2, 'UTF-8', '-n', '2', '--json', BAD, program='ckptrun')
    wrong(2, 'is a number', '-n', 'x', '--json', 'true', program='ckptrun')
    wrong(127, 'No such file', '-n', '2', '--json', '/nonexistent', program='ckptrun',
          name='ENOENT')
    wrong(126, 'Permission denied', '-n', '2', '--json', '/tmp', program='ckptrun', name='EACCES')
    for args in (('run', '--bogus', 'ls', '--json'), ('run', '--bogus', '--', 'ls', '--json'),
                 ('run', '-N', BAD, 'ls', '--json'),
                 ('run', BAD, '--json'), ('ps', '--bogus', '--', '--json'),
                 ('--bogus', 'run', 'ls', '--json'), ('ps', '--bogus')):
        equal(ends(2, '', command(node, *args)).stdout, b'', args)
    equal(ends(2, '', command(node, '-n', 'x', 'ls', '--json', program='ckptrun')).stdout, b'',
          'ckptrun')


@test
def several_removed(node):
    """rm reads all operands before it removes the first"""
    jobs = [node.run('true') for _ in range(2)]
    for job in jobs:
        node.wait(job)
    usage(node, 'neither JOB', 'rm', str(jobs[0]), 'bad')
    equal(sorted(node.jobs('--all')), jobs, 'jobs')
    node.ctl('rm', *map(str, jobs))
    equal(node.jobs('--all'), {}, 'jobs')


@test
def several_removed_json(node):
    """rm --json of several prints one document, with what became of each"""
    jobs = [node.run('true') for _ in range(2)]
    for job in jobs:
        node.wait(job)
    one = ends(1, 'no job 99', command(node, 'rm', '--json', '99'))
    equal(json.loads(one.stdout)['ok'], False, 'of one')
    done = ends(1, 'no job 99', command(node, 'rm', '--json', str(jobs[0]), '99', str(jobs[1])))
    got = json.loads(done.stdout)
    equal((got['ok'], got['error']), (False, json.loads(one.stdout)['error']), 'of all')
    of_each = got['result']['outcomes']
    equal([each['ok'] for each in of_each], [True, False, True], 'of each')
    equal([of_each[i]['result']['job'] for i in (0, 2)], jobs, 'which')
    jobs = [node.run('true') for _ in range(2)]
    for job in jobs:
        node.wait(job)
    got = json.loads(ends(0, '', command(node, 'rm', '--json', *map(str, jobs))).stdout)
    equal((got['ok'], 'error' in got, len(got['result']['outcomes'])), (True, False, 2), 'all well')
    equal(node.jobs('--all'), {}, 'jobs')


@test
def foreign_not_removed(node):
    """rm: what has a job's number and is another's stays, also by force;
    what another key has written, but for that"""
    def make(generation, label, key):
        subprocess.run([f'{TOP}/build/bin/tests/tools/mkimage', f'{where}/gen-{generation}', key,
                        label,
                        str(generation), '1'], check=True)

    def generations():
        return [row['generation'] for row in node.generations(job)]
    job = node.run('true')
    node.wait(job)
    where, other_key = f'{node.images}/{job}', f'{node.base}/other-key'
    with open(f'{where}/job.json') as f:
        label = f"{job}-{json.load(f)['sealed']['uuid']}"
    with open(other_key, 'wb') as f:
        os.fchmod(f.fileno(), 0o600)
        f.write(os.urandom(32))
    make(1, label, node.key)
    make(2, f'{label}0', node.key)
    make(3, label, other_key)
    for options in ((), ('--force',)):
        ends(1, 'it is no image of this job', command(node, 'rm', *options, f'{job}:2'))
        ends(1, 'nothing was removed', command(node, 'rm', *options, str(job)))
    equal(generations(), [1, 2, 3], 'generations')
    os.rename(f'{where}/gen-2', f'{node.base}/gen-2')
    ends(1, 'use --force if that is meant', command(node, 'rm', f'{job}:3'))
    ends(1, 'use --force if that is meant', command(node, 'rm', str(job)))
    equal(generations(), [1, 3], 'generations')
    ends(0, '', command(node, 'rm', '--force', f'{job}:3'))
    ends(0, '', command(node, 'rm', str(job)))
    equal(node.jobs('--all'), {}, 'jobs')


@test
def others_files_not_removed(node):
    """rm JOB where somebody put a file there: it is named before anything is removed"""
    job = node.run('true')
    node.wait(job)
    where = f'{node.images}/{job}'
    with open(f'{where}/job.json') as f:
        label = f"{job}-{json.load(f)['sealed']['uuid']}"
    subprocess.run([f'{TOP}/build/bin/tests/tools/mkimage', f'{where}/gen-1', node.key, label,
                    '1', '1'], check=True)
    with open(f'{where}/notes', 'w'):
        pass
    for options in ((), ('--force',)):
        ends(1, f'{where}/notes is none of our files: nothing was removed',
             command(node, 'rm', *options, str(job)))
    equal(len(node.generations(job)), 1, 'generations')
    os.remove(f'{where}/notes')
    # what lies deeper is found out late: the job is there yet
    os.makedirs(f'{where}/gen-2')
    with open(f'{where}/gen-2/notes', 'w'):
        pass
    ends(1, 'not empty', command(node, 'rm', str(job)))
    equal(list(node.jobs('--all')), [job], 'jobs')
    shutil.rmtree(f'{where}/gen-2')
    ends(0, '', command(node, 'rm', str(job)))
    equal((node.jobs('--all'), node.left()), ({}, []), 'jobs')


@test
def ranks_usage(node):
    """ckptrun: maps, options that it has not, programs that cannot be run"""
    def ckptrun(status, text, *args):
        return ends(status, text, command(node, *args, program='ckptrun'))
    for mapped in ('0-4000000000:n1', '4294967296:n1', '-1:n1', ' 0:n1', '0:n1,1', '0:', '1-0:n1',
                   ''):
        ckptrun(2, '--map is ranks', '--map', mapped, 'true')
    for args in (('--map', '0:n1', '--hosts', 'n1'), ('--hosts', 'n1', '--map', '0:n1')):
        ckptrun(2, 'says', '--dry-run', *args, 'true')
    for args in (('--standalone',), ('--key', '/x'), ('--encryption-key', '/x')):
        ckptrun(2, 'unrecognized', '-n', '2', *args, 'true')
    for auto in (('--auto',), ('--every', '15m')):
        ckptrun(2, 'cannot be checkpointed', '-n', '2', '--direct', *auto, '--mpi', 'mpich', 'true')
        ckptrun(0, '', '-n', '2', '--direct', '--mpi', 'none', '--dry-run', *auto, 'true')
    ckptrun(0, '', '-n', '2', '--direct', '--mpi', 'mpich', '--dry-run', 'true')
    plain = f'{node.base}/plain'
    with open(plain, 'w') as f:
        f.write('no program')
    for mpi in ((), ('--mpi', 'none')):
        ckptrun(127, 'No such file', '-n', '2', *mpi, '--', '/nonexistent')
        ckptrun(127, 'No such file', '-n', '2', *mpi, '--', 'no-such-program-here')
        ckptrun(126, 'Permission denied', '-n', '2', *mpi, '--', plain)
        ckptrun(126, 'Permission denied', '-n', '2', *mpi, '--', '/tmp')
    equal(node.jobs('--all'), {}, 'jobs')


@test
def launcher_options(node):
    """ckptrun: options of MPI launchers are understood, or refused; several programs"""
    def said(*args):
        done = ends(0, '', command(node, '--json', '--dry-run', *args, program='ckptrun'))
        return json.loads(done.stdout)['result']

    def refused(text, *args):
        ends(2, text, command(node, '--dry-run', *args, 'true', program='ckptrun'))
    equal(said('-np', '3', '-wdir', '/tmp', '-l', 'true')['ranks']['n'], 3, 'ranks')
    equal(said('-c', '3', '--host=n1,n2', 'true')['ranks']['nodes'], ['n1', 'n2'], 'nodes')
    equal(said('-ppn', '2', '-hosts', 'n1,n2', 'true')['ranks']['n'], 4, 'ranks of all nodes')
    equal(said('-n', '2', '-perhost', '3', 'true')['ranks']['n'], 2, 'fewer than a node may have')
    refused('leave --ppn out', '-ppn', '1', '--map', '0:n1,1:n2')
    equal(said('-n', '1', '--tag-output', 'true')['ranks']['label'], True, 'label')
    equal(said('-n', '1', '--', 'true', ':', '-n')['argv'], ['true', ':', '-n'], 'a word after --')
    equal(said('-n', '1', '-N', '-np', 'true', '-np', '7')['argv'], ['true', '-np', '7'], 'values')
    for option in (('-ppn', '2', '-host', 'n1,n2'), ('-ppn', '1')):
        refused('--map 0-1:n1,2-3:n2', '-n', '2', *option)
    refused('env -i', '-n', '2', '-genvnone')
    refused('NAME VALUE', '-n', '2', '-env', 'A=B')
    refused('there is no such variable', '-n', '2', '-x', 'NOT_THERE')
    ends(2, 'needs a value', command(node, '-n', '2', '-x', program='ckptrun'))
    programs = said('-n', '1', 'true', 'a', ':', '-n', '2', '-env', 'A', 'b', 'false',
                    ':', '-n1', 'true')
    equal(programs['ranks']['n'], 4, 'ranks of all')
    equal(programs['ranks']['programs'], [
        {'n': 1, 'argv': ['true', 'a']}, {'n': 2, 'argv': ['env', 'A=b', 'false']},
        {'n': 1, 'argv': ['true']}], 'programs')
    for text, *wrong in (('which program comes after', ':', '-n', '1'),
                         ('which program comes after', ':'),
                         ('how many ranks of true', ':', 'true'),
                         ('only -n RANKS and -env', ':', '-n', '1', '--label', 'true')):
        ends(2, text, command(node, '-n', '1', 'true', *wrong, program='ckptrun'))
    ends(127, 'no-such-program', command(node, '-n', '1', 'true', ':', '-n', '1', 'no-such-program',
                                         program='ckptrun'))
    done = ends(0, '', command(node, '--mpi', 'none', '-n', '1', 'sh', '-c', 'echo one',
                               ':', '-n', '2', 'sh', '-c', 'echo two', program='ckptrun'))
    equal(sorted(done.stdout.split()), [b'one', b'two', b'two'], 'output')


@test
def over_and_gone(node):
    """what is asked of a job that is over, or is not there, is answered with what to do"""
    job = command(node, 'run', '-d', '--', 'sh', '-c', 'echo said').stdout.decode().strip()
    ends(0, '', command(node, 'wait', job))
    done = ends(1, 'its output is in ', command(node, 'attach', job))
    with open(done.stderr.decode().split(' is in ')[1].strip()) as f:
        equal(f.read(), 'said\n', 'the file that is named')
    ends(1, 'ckptctl list', command(node, 'restart', job))
    ends(0, '', command(node, 'rm', job))
    ends(1, 'ckptctl ps -a', command(node, 'checkpoint', job))


@test
def launcher_placement(node):
    """ckptrun: --bind-to, --map-by and host files, as the launchers of both libraries have them"""
    def ranks(*args, library='ompi'):
        done = ends(0, '', command(node, '--json', '--dry-run', '--mpi', library, *args, 'true',
                                   program='ckptrun'))
        return json.loads(done.stdout)['result']['ranks']

    def refused(text, *args):
        ends(2, text, command(node, '--dry-run', '--mpi', 'ompi', *args, 'true',
                              program='ckptrun'))
    for option in ('--bind-to', '-bind-to', '-binding'):
        equal(ranks('-n', '2', option, 'core')['bind'], {'to': 'core'}, option)
    equal(ranks('-n', '2', '-bind-to', 'core:2', library='mpich')['bind'],
          {'to': 'core', 'each': 2, 'overload': True}, 'MPICH: two cores')
    equal(ranks('-n', '2', '--bind-to=L3cache:overload-allowed')['bind'],
          {'to': 'l3cache', 'overload': True}, 'several ranks on one')
    equal(ranks('-n', '2', '--map-by', 'socket')['bind'], {'by': 'socket', 'to': 'socket'},
          'Open MPI binds to what it maps by')
    equal(ranks('-n', '2', '--map-by', 'socket:PE=2')['bind'],
          {'by': 'socket', 'to': 'core', 'each': 2}, 'cores of a rank')
    for words in (('--bind-to', 'none'), ('--map-by', 'slot'), ('-bind-to', 'machine'),
                  ('--map-by', 'core', '--bind-to', 'none')):
        equal('bind' in ranks('-n', '2', *words), False, words)
    equal('bind' in ranks('-n', '2', '-map-by', 'socket', library='mpich'), False,
          'MPICH binds to nothing unless told to')
    for words in (('--bind-to', 'user:0,1'), ('--bind-to', 'core:0'), ('--bind-to', 'cores')):
        refused('taskset -c LIST', '-n', '2', *words)
    for words in ('ppr:2:socket', 'ppr:2', 'dist', 'core:SPAN'):
        refused('--map-by is slot, node', '-n', '2', '--map-by', words)
    refused('--bind-to core', '-n', '2', '-bind-to-core')
    two = ('--hosts', 'n1,n2')
    equal(ranks(*two, '-n', '5', '--map-by', 'node')['map'], ['0,2,4', '1,3'], 'nodes take turns')
    equal(ranks(*two, '--map-by', 'ppr:2:node')['n'], 4, 'ranks of each node')
    refused('leave --map-by node out', '--map', '0:n1,1:n2', '--map-by', 'node')
    path = f'{node.base}/hosts.txt'

    def hostfile(text, *args):
        with open(path, 'w') as f:
            f.write(text)
        return ranks('--hostfile', path, *args)
    found = hostfile('# ours\nn1 slots=1\n\nn2  slots=3 max-slots=4\n')
    equal((found['n'], found['nodes'], found['map']), (4, ['n1', 'n2'], ['0', '1-3']), 'slots')
    found = hostfile('n1:2\nn2:2\nn3:2\n', '-n', '3')
    equal((found['nodes'], found['map']), (['n1', 'n2'], ['0-1', '2']), 'a node is left out')
    found = hostfile('n1:1\nn2:3\n', '-n', '4', '--map-by', 'node')
    equal(found['map'], ['0', '1-3'], 'turns, until a node is full')
    found = hostfile('n1\nn2\n', '-n', '4')
    equal((found['nodes'], 'map' in found), (['n1', 'n2'], False), 'even blocks')
    hostfile('n1:1\nn2:3\n')
    refused('more than the 4 slots', '-f', path, '-n', '5')
    for text, said in (('n1 slot=2\n', ':1: a line is NODE'), ('n1:0\n', ':1: a line is NODE'),
                       ('n1:1\nn2\n', 'of each node, or of none'), ('#\n', 'no node in it')):
        with open(path, 'w') as f:
            f.write(text)
        refused(said, '-n', '1', '-machinefile', path)
    ends(1, 'No such file', command(node, '-f', f'{path}.gone', 'true', program='ckptrun'))


@test
def launchers(node):
    """run says that the job of an MPI launcher cannot be checkpointed, and starts it"""
    launcher = f'{node.base}/mpirun.mine'
    shutil.copy('/bin/true', launcher)
    done = ends(0, 'ckptrun -n RANKS PROGRAM', command(node, 'run', '--', launcher, '-n', '2', 'x'))
    equal(done.stderr.count(b'\n'), 1, done.stderr)
    done = ends(0, '', command(node, 'run', '--', '/bin/true', 'mpirun'))
    equal(done.stderr, b'', 'of another program')


@test
def image_verbs_say(node):
    """verify prints what is wrong as text; copy says once that the key cannot be read,
    and what its operands are"""
    image = f'{node.base}/image'
    subprocess.run([f'{TOP}/build/bin/tests/tools/mkimage', image, node.key, '1-x', '1', '1'],
                   check=True)
    with open(f'{image}/pages', 'r+b') as f:
        f.seek(100)
        f.write(b'XX')
    done = ends(1, 'is damaged', command(node, 'verify', '--deep', image))
    equal(done.stdout.decode().split(': ')[0], 'pages at 64', 'of a directory')
    os.chmod(node.base, 0o755)
    done = ends(1, f'{node.key}: Permission denied',
                node.ctl('copy', '--key', node.key, image, f'{node.base}/copy',
                                                              user=USER, check=False))
    equal(done.stderr.count(b'Permission denied'), 1, done.stderr)
    usage(node, 'DIR COPY', 'copy', image)
    usage(node, 'not both', 'doctor', '1', '-p', '1')


@test
def never_by_itself(node):
    """ckptd takes no checkpoints by itself of a job whose ranks run without our MPI library"""
    run = {'argv': ['sleep', '100'], 'env': [], 'cwd': '/',
           'ranks': {'n': 2, 'mpi': 'mpich', 'direct': True}}
    text = 'without our MPI library'

    got = asked(node, 'run', {**run, 'auto': {'every_ms': 60000}})
    check(not got['ok'] and text in got['error']['text'], got)
    equal(node.jobs('--all'), {}, 'jobs')
    got = asked(node, 'run', run)
    check(got['ok'], got)
    job = str(got['result']['job'])
    ends(3, text, command(node, 'auto', job, 'on'))
    ends(3, text, command(node, 'auto', job, '--every', '15m'))
    ends(0, '', command(node, 'auto', job, 'off'))
    ends(0, '', command(node, 'auto', str(node.run('sleep', '100')), 'on'))


@test
def keys(node):
    """keygen --encryption-key goes with no other option"""
    path = f'{node.base}/enc'
    for args in (('--show',), ('--force',), ('--dir', node.base), ('--node', 'n1')):
        usage(node, 'no other option', 'keygen', '--encryption-key', path, *args)
    check(not os.path.exists(path), 'a key was made')
    usage(node, 'absolute path', 'keygen', '--encryption-key', './enc')
    ends(0, '', command(node, 'keygen', '--encryption-key', path))
    check(os.path.exists(path), 'no key was made')


# ----------------------------------------------------------- documentation

COMMON = {'--json', '--socket', '--standalone', '--key', '--encryption-key'}
OPTION = re.compile(r'^ +(?:(-\w), )?(--[a-z][a-z-]*)([ =][A-Z]| node:| [a-z]+[|])?', re.M)


@functools.cache
def helped(program, *args):
    """[(short or '', long, takes a value)] that --help says."""
    done = subprocess.run([f'{daemon.ARGS.bin}/{program}', *args, '--help'], capture_output=True,
                          check=True)
    return [(m[1] or '', m[2], bool(m[3])) for m in OPTION.finditer(done.stdout.decode())]


@functools.cache
def verbs():
    done = subprocess.run([f'{daemon.ARGS.bin}/ckptctl', '--help'], capture_output=True, check=True)
    return re.findall(r'^  ([a-z]+)  ', done.stdout.decode(), re.M)


def taken(*files):
    """Long options in the tables of getopt_long()."""
    text = ''
    for name in files:
        with open(f'{TOP}/{name}') as f:
            text += f.read()
    return {f'--{name}' for name in re.findall(r'\{ "([a-z-]+)", (?:no|required)_argument', text)}


def page(name):
    with open(f'{TOP}/docs/man/{name}') as f:
        return f.read()


def pages_of_verbs():
    """What ckptctl(1) says of each verb, from its item to the next verb's."""
    starts = [(m.start(), m[1])
              for m in re.finditer(r'^\.It Cm ([a-z]+)\b', page('ckptctl.1'), re.M)
              if m[1] in verbs()]
    ends_at = [at for at, _ in starts[1:]] + [None]
    text = {}
    for (at, verb), end in zip(starts, ends_at):
        text[verb] = text.get(verb, '') + page('ckptctl.1')[at:end]
    text['pin'] += text['unpin']		# of both, behind the second
    return text


def lacking(options, text):
    return [long for short, long, _ in options
            if not re.search(fr'(?<![\w-]){long}(?![\w-])', text) or
            (short and not re.search(fr'\bFl (\w [|] )?{short[1]}\b', text))]


@test
def options_in_manual(node):
    """every option is in --help and in the manual page"""
    text, lack = pages_of_verbs(), {}
    auto = taken('ckptctl/cli_auto.h')
    for verb in verbs():
        options = [o for o in helped('ckptctl', verb) if o[1] not in COMMON
                   or (verb, o[1]) == ('keygen', '--encryption-key')]
        source = 'pin' if verb == 'unpin' else verb
        has = taken(f'ckptctl/cmd_{source}.c') | \
            (auto if verb == 'run' else
             auto - {'--auto', '--keep'} if verb == 'auto' else set())
        lack[verb] = lacking(options, text.get(verb, '')) + \
            [f'{o}: not in --help' for o in has - {long for _, long, _ in helped('ckptctl', verb)}]
    lack['every verb'] = lacking(helped('ckptctl', 'ps')[-5:], page('ckptctl.1'))
    for program, section, source in (('ckptrun', 1, ['ckptctl/ckptrun.c', 'ckptctl/cli_auto.h']),
                                     ('ckpt-slurm-run', 1, ['scheduler/slurm/ckpt_slurm_run.c']),
                                     ('ckpt-slurm-drain', 8,
                                      ['scheduler/slurm/ckpt_slurm_drain.c']),
                                     ('ckpt-slurm-move', 1, ['scheduler/slurm/ckpt_slurm_move.c']),
                                     ('ckptd', 8, ['supervisor/ckptd.c']),
                                     ('ckpt-launch', 8, ['launch/main.c'])):
        options = helped(program)
        lack[program] = lacking(options, page(f'{program}.{section}')) + \
            [f'{o}: not in --help' for o in taken(*source) - {long for _, long, _ in options} -
             {'--help', '--version'}]
    shim = [('', o, False) for o in taken('shim/main.c')]
    check(len(shim) >= 3, f'options of the shim: {shim}')
    lack['ckpt-shim'] = lacking(shim, page('ckpt-shim.8'))
    equal({name: found for name, found in lack.items() if found}, {},
          'options that are not documented')


def bash(lines):
    """Lines of shell, with bash's completions loaded; the lines of the output."""
    script = '\n'.join([f'. {TOP}/ckptctl/completion.bash', *lines])
    done = subprocess.run(['bash', '--norc', '-s'], input=script.encode(), capture_output=True,
                          cwd='/',
                          env={'PATH': os.environ['PATH'], 'CKPTD_SOCKET': '/nonexistent'})
    return done.stdout.decode().split('\n')


def offers(program, offered, *words):
    """Says what of OFFERED the last of the words behind PROGRAM cannot become."""
    line = ' '.join(words)
    return (f'COMP_WORDS=({program} {line}); COMP_CWORD={len(words)}; '
            f'_{program} {daemon.ARGS.bin}/{program}; '
            f'for word in {" ".join(offered)}; do [[ " ${{COMPREPLY[*]}} " = *" $word "* ]] || '
            f'echo "{program} {line}: $word"; done')


@test
def options_completed(node):
    """bash completes every option, and knows which take a value"""
    script = []
    for verb in verbs():
        options = helped('ckptctl', verb)
        script.append(offers('ckptctl', [long for _, long, _ in options], verb, '--'))
        # a value of its own, or none that is known; not an operand or an option
        script += [f'verb={verb} cur=; _ckptctl_value {option} false || '
                   f'echo "value of {verb} {option}"'
                   for short, long, value in options if value for option in (short, long) if option]
    options = helped('ckptrun')
    script.append(offers('ckptrun', [long for _, long, _ in options], '--'))
    # what comes behind the value is not the program's
    script += [offers('ckptrun', ['--ranks'], option, 'x', '--r')
               for short, long, value in options if value for option in (short, long) if option]
    script.append(offers('ckpt-slurm-run', ['--step', '--margin', '--look'], '--'))
    script.append(offers('ckpt-slurm-run', ['--look'], '--margin', '1m', '--l'))
    script.append(offers('ckpt-slurm-drain', ['--reason', '--resume'], '--'))
    script.append(offers('ckpt-slurm-move', ['--wait'], '--'))
    check(len(script) > 120, f'{len(script)} to look at')
    equal([line for line in bash(script) if line], [], 'not completed')


def line(program, text, socket='/nonexistent'):
    """Has what bash would offer behind TEXT, cut as readline cuts, printed in a line."""
    words = ' '.join(shlex.quote(word)
                     for word in re.findall(r'[=:]+|[^=:\s]+', text)
                     + ([''] if text[-1] == ' ' else []))
    return (f'COMP_LINE={shlex.quote(f"{program} {text}")} COMP_POINT=${{#COMP_LINE}}; '
            f'COMP_WORDS=({program} {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); '
            f'COMPREPLY=(); export CKPTD_SOCKET={socket}; '
            f'_{program} {daemon.ARGS.bin}/{program}; echo "${{COMPREPLY[*]}}"')


@test
def completed_behind_cuts(node):
    """bash completes behind = and :, nothing of ours behind a job's command,
    and generations whatever a job is called"""
    job = node.run('true', opts=('--name', 'a b  9'))
    node.wait(job)
    with open(f'{node.images}/{job}/job.json') as f:
        label = f"{job}-{json.load(f)['sealed']['uuid']}"
    for generation in (3, 4):
        subprocess.run([f'{TOP}/build/bin/tests/tools/mkimage',
                        f'{node.images}/{job}/gen-{generation}', node.key, label,
                        str(generation), '1'], check=True)
    for program, text, offered in (
            ('ckptrun', '--map 0:n1 -- ls --ke', ''),
            ('ckptrun', '--map 0:n1 --keep-', '--keep-going'),
            ('ckptrun', '--map=0-1:n1 --keep-', '--keep-going'), ('ckptrun', '-n 2 ls --ke', ''),
            ('ckptrun', '--mpi=mp', 'mpich'), ('ckptrun', '--mpi mp', 'mpich'),
            ('ckptrun', '--mpi=', 'mpich ompi none'),
            ('ckptrun', '--name=a:b --mpi om', 'ompi'),
            ('ckptctl', 'run ls --de', ''), ('ckptctl', 'run -N x ls --de', ''),
            ('ckptctl', 'run -N x --de', '--detach'),
            ('ckptctl', 'run -d -N=x -- ls --de', ''),
            ('ckptctl', '--socket=/x run --name=a:b --de', '--detach'),
            ('ckptctl', 'checkpoint --files=tr', 'track'),
            ('ckptctl', f'restart {job}:', '3 4'),
            ('ckptctl', f'rm --force {job}', f'{job} {job}:3 {job}:4'),
            ('ckptctl', f'restart --nodes=n1 {job}:4', '4')):
        done = bash([line(program, text, node.socket)])
        equal(done[0][:200], offered, f'{program} {text}')


# ------------------------------------------------------------ configuration

@test
def launcher_of_its_own(node):
    """SIGKILL of the launcher that ckptd has forked: there is another one, and jobs run on"""
    def launchers():
        return [int(pid) for pid in subprocess.run(
            ['pgrep', '-P', str(node.daemon.pid), 'ckpt-launch'],
            capture_output=True).stdout.split()]
    mark = str(40000 + os.getpid())
    job = node.run('sleep', mark)
    old = launchers()
    equal(len(old), 1, 'launchers')
    os.kill(old[0], signal.SIGKILL)
    wait_for('another', 10, lambda: launchers() not in ([], old))
    ends(0, '', command(node, 'run', '--', 'true'))
    check(sleepers(mark), 'the job')
    new = launchers()
    node.kill()
    wait_for('the launcher ends with ckptd', 10, lambda: not any(map(daemon.alive, new)))
    check(sleepers(mark), 'the job')
    node.start()
    node.ctl('kill', str(job), 'KILL')


@test
def launcher_as_a_service(node):
    """ckptd --launcher: no job starts without ckpt-launch, which is said; one is found again"""
    path = f'{node.base}/launch.sock'
    node.leave()
    node.options = ['--launcher', path]
    node.start()
    ends(1, 'the launcher of jobs (ckpt-launch) is not there', command(node, 'run', '--', 'true'))
    equal(node.jobs('--all'), {}, 'jobs')
    with open(node.log.name) as f:
        check(f'no launcher at {path}' in f.read(), 'the log')

    def runs():
        done = command(node, 'run', '--', 'sh', '-c', 'echo ran')
        check(done.stdout == b'ran\n' or b'launch' in done.stderr, done.stderr)
        return not done.returncode
    for _ in range(2):
        with subprocess.Popen([f'{daemon.ARGS.bin}/ckpt-launch', '--socket', path],
                              stdin=subprocess.DEVNULL, stderr=node.log) as launcher:
            try:
                wait_for('jobs start', 20, runs)
                equal(os.stat(path).st_mode & 0o777, 0o600, 'rights of the socket')
                job = node.run('sleep', '1000')
            finally:
                launcher.kill()
        equal(node.jobs()[job]['state'], 'running', 'a job without its launcher')
        node.ctl('kill', str(job), 'KILL')
        node.wait(job)
    node.fails(1, '--standalone', 'restore', '--detach', '--dir', '/nowhere')


@test
def started_again_at_once(node):
    """locks and ports that go a second after who had them do not keep ckptd from being started"""
    with socket.create_server(('127.0.0.1', 0)) as taken, contextlib.ExitStack() as locks:
        port = taken.getsockname()[1]
        made = ends(0, '', command(node, 'keygen', '--dir', node.base, '--node', node.name,
                                   '--address', f'127.0.0.1:{port}'))
        with open(f'{node.base}/hosts', 'wb') as f:
            f.write(made.stdout)
        node.kill()
        for path in (f'{node.socket}.lock', f'{node.base}/jobs/.lock',
                     f'{node.images}/.ckptd-{node.name}'):
            held = locks.enter_context(open(path, 'r+b'))
            fcntl.flock(held, fcntl.LOCK_EX)
        late = [threading.Timer(0.5, locks.pop_all().close), threading.Timer(1.5, taken.close)]
        for timer in late:
            timer.start()
        node.settings = {**node.settings, 'hosts': f'{node.base}/hosts', 'listen': '127.0.0.1',
                         'node_key': f'{node.base}/node.key'}
        node.start()
        for timer in late:
            timer.join()
    nodes = json.loads(ends(0, '', command(node, 'nodes', '--json')).stdout)
    equal([n['name'] for n in nodes['result']['nodes']], [node.name], nodes)


def with_hosts(*nodes):
    """Make the nodes know each other; start each with its settings afterwards."""
    lines = b''
    for n in nodes:
        with socket.create_server(('127.0.0.1', 0)) as s:
            port = s.getsockname()[1]
        lines += ends(0, '', command(n, 'keygen', '--dir', n.base, '--node', n.name, '--address',
                                     f'127.0.0.1:{port}')).stdout
    for n in nodes:
        with open(f'{n.base}/hosts', 'wb') as f:
            f.write(lines)
        n.settings = {**n.settings, 'hosts': f'{n.base}/hosts', 'listen': '127.0.0.1',
                      'node_key': f'{n.base}/node.key'}


def put_degraded(node, level):
    """Write into the node's history that the level's device is degraded, as ckptd does."""
    with sqlite3.connect(f'{node.base}/jobs/io.db') as db:
        db.executescript('''
            CREATE TABLE device (level TEXT, id TEXT, state INTEGER, since INTEGER, seen INTEGER,
                probes INTEGER DEFAULT 0, disk TEXT, PRIMARY KEY (level, id)) WITHOUT ROWID;
            CREATE TABLE device_probe (number INTEGER PRIMARY KEY, level TEXT, id TEXT,
                time INTEGER, series INTEGER, job INTEGER, generation INTEGER, bytes REAL,
                seconds REAL, speed INTEGER, usual REAL, peers INTEGER, peer_rate REAL);''')
        db.execute('INSERT INTO device VALUES (?, "x", 3, 1700000000, 1700000000, 12, "sdz")',
                   (level,))
        db.execute('INSERT INTO device_probe VALUES (1, ?, "x", 1700000000, 7, 7, 12, 1e8, 10, 2, '
                   '4e7, 0, 0)', (level,))
    db.close()


def degraded_of(node):
    """{NODE: levels} as ckptctl nodes has them; other nodes may not answer yet."""
    done = command(node, 'nodes', '--json')
    return {n['name']: n['degraded'] for n in json.loads(done.stdout)['result']['nodes']
            if 'degraded' in n}


@test
def degraded_devices(node):
    """dev list and nodes say which device got slow, as an earlier ckptd found it, also to other
    nodes; dev forget forgets it"""
    def levels(**kwargs):
        done = ends(0, '', command(node, 'dev', 'list', '--interval', '100ms', '--json', **kwargs))
        return {row['level']: row for row in json.loads(done.stdout)['result']['levels']}

    row = levels()['L1']
    equal((row['state'], row['probes'], row['note'], row['place']),
          ('unknown', 0, 'too little history', node.images), 'at first')
    two = daemon.Node(node.base.rsplit('/', 1)[0], 'node2', images=f'{node.images}2')
    os.makedirs(two.base, exist_ok=True)
    node.leave()
    with_hosts(node, two)
    os.makedirs(f'{node.base}/b', mode=0o700)
    node.settings.update({'image_dir_shared': 'no', 'level.b': f'posix:{node.base}/b'})
    two.settings['image_dir_shared'] = 'no'
    put_degraded(node, 'L1')
    node.start()
    two.start()
    try:
        row = levels(user=USER)['L1']
        equal((row['state'], row['disk'], row['rate'], row['usual'], row['avoided'], row['note']),
              ('degraded', 'sdz', 1e7, 4e7, False,
               'degraded_devices = avoid would copy every generation to level b'), 'dev list')
        equal(('job' in row, 'generation' in row), (False, False), 'no job of others')
        row = levels()['L1']
        equal((row['job'], row['generation']), (7, 12), 'root knows all jobs')
        text = ends(0, '', command(node, 'dev', 'list')).stdout.decode()
        check(re.search(r'(?m)^L1 +sdz +degraded +2023-11-1', text), text)
        want = {node.name: ['L1'], two.name: []}
        for n in (node, two):
            wait_for(f'what {n.name} says of the nodes', 30, lambda n=n: degraded_of(n) == want)
        check('degraded device of level L1: ckptctl dev list there' in
              ends(0, '', command(node, 'nodes')).stdout.decode(), 'the remark')
        usage(node, 'forget LEVEL', 'dev')
        usage(node, 'one level', 'dev', 'forget')
        usage(node, 'one level', 'dev', 'forget', 'L1', 'b')
        usage(node, 'one level', 'dev', 'forget', '--interval', '1s', 'L1')
        usage(node, 'replay takes the name of one level', 'dev', 'replay')
        ends(1, 'no level x', command(node, 'dev', 'forget', 'x'))
        ends(1, 'no level x', command(node, 'dev', 'replay', 'x'))
        text = ends(0, '', command(node, 'dev', 'replay', 'L1', user=USER)).stdout.decode()
        check('0 generations are recorded' in text and 'degraded_devices = notify' in text, text)
        ends(1, 'only root', command(node, 'dev', 'forget', 'L1', user=USER))
        ends(0, '', command(node, 'dev', 'forget', 'L1'))
        equal(levels()['L1']['state'], 'unknown', 'forgotten')
        equal(degraded_of(node)[node.name], [], 'and said so')
        two.leave()
        two.settings['degraded_devices'] = 'off'
        two.start()
        ends(1, 'degraded_devices = off', command(two, 'dev', 'forget', 'L1'))
    finally:
        two.stop()


@test
def io_usage(node):
    """io says what it takes, and that nothing was recorded"""
    for args, text in (((), 'report, anomalies, top or watch'), (('report',), 'one job'),
                       (('anomalies', '1', '2'), 'one job'),
                       (('anomalies', '--since', 'x'), 'no duration'),
                       (('anomalies', '--since', '2y'), 'no duration of up to a year'),
                       (('anomalies', '--since', '1d', '1'), 'for all jobs'),
                       (('top', '--since', '1d'), 'of io anomalies'), (('top', '1'), 'too much')):
        usage(node, text, 'io', *args)
    ends(1, 'no job 1', command(node, 'io', 'anomalies', '1'))
    for user in (None, USER):
        ends(1, 'no job', command(node, 'io', 'anomalies', '--since', '7d', user=user))


def refuses_to_start(node, text, **settings):
    """ckptd with these leaves and says why; what it said."""
    args = [f'--set={name}={value}' for name, value in {
        'socket': node.socket, 'state_dir': f'{node.base}/jobs', 'image_dir': node.images,
        'key': node.key, 'node': node.name, **settings}.items()]
    done = subprocess.run([f'{daemon.ARGS.bin}/ckptd', '--config', '/dev/null', *args],
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=30 * daemon.ARGS.slow)
    return ends(1, text, done)


@test
def socket_is_a_file(node):
    """a file that the setting of the socket names by mistake is not removed"""
    precious, target = f'{node.base}/precious', f'{node.base}/link'
    with open(precious, 'w') as f:
        f.write('x')
    os.symlink(precious, target)
    node.leave()
    for path in (precious, target):
        refuses_to_start(node, f'{path}: it is there and is no socket', socket=path)
        check(os.path.lexists(path), f'{path} is gone')
    node.start()


def restarted_with(node, **settings):
    """What ckptd has logged since it was started again with these."""
    node.leave()
    before = os.path.getsize(node.log.name)
    node.settings = settings
    node.start()
    with open(node.log.name) as f:
        f.seek(before)
        return f.read()


@test
def key_that_is_no_use(node):
    """a key that cannot be used is said when ckptd starts, once, however many jobs there are"""
    jobs = [node.run('true') for _ in range(3)]
    for job in jobs:
        node.wait(job)
    with open(node.key, 'rb') as f:
        key = f.read()

    def started_with(what, text):
        what()
        lines = [line for line in restarted_with(node).split('\n') if node.key in line]
        check(len(lines) == 1 and text in lines[0] and '--key' not in lines[0], '\n'.join(lines))
        ends(1, node.key, command(node, 'list', str(jobs[0])))
    started_with(lambda: os.chmod(node.key, 0o644), 'mode')
    started_with(lambda: os.chmod(node.key, 0o600) or os.truncate(node.key, 31), '31 bytes long')
    started_with(lambda: os.remove(node.key), 'is gone')
    with open(node.key, 'wb') as f:
        os.fchmod(f.fileno(), 0o600)
        f.write(key)
    equal([line for line in restarted_with(node).split('\n') if node.key in line], [], 'a good one')
    equal(len(node.jobs('--all')), 3, 'jobs')


@test
def images_not_mounted(node):
    """of a directory for images the last part is made, and no way to it"""
    said = restarted_with(node, image_dir=f'{node.base}/mnt/images')
    check('its parent is not made by itself' in said, said)
    ends(1, 'No such file', command(node, 'run', '--', 'true'))
    check(not os.path.exists(f'{node.base}/mnt'), 'it was made')
    os.mkdir(f'{node.base}/mnt')
    said = restarted_with(node, image_dir=f'{node.base}/mnt/images')
    check('not made by itself' not in said, said)
    ends(0, '', command(node, 'run', '--', 'true'))


def ckptd_check(*args):
    return subprocess.run([f'{daemon.ARGS.bin}/ckptd', '--check', '--config', '/dev/null', *args],
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=30)


@test
def missing_when_started(node):
    """ckptd says at once, in the log and to systemd, what it was configured with and lacks"""
    with open(f'{node.base}/hosts', 'w') as f:
        f.write('this is no hosts file\n')
    notify = f'/run/ckptd-test-{os.getpid()}.notify'
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(notify)
        systemd.settimeout(20 * daemon.ARGS.slow)
        os.environ['NOTIFY_SOCKET'] = notify
        try:
            before = os.path.getsize(node.log.name)
            restarted_with(node, **{'level.pfs': 'posix:/no/such/level', 'store': '/no/such/store',
                                    'hosts': f'{node.base}/hosts', 'encryption_key': '/no/such/ek'})
            equal(systemd.recv(4096), b'READY=1\nSTATUS=serving', 'ready')
            status = systemd.recv(4096).decode()
        finally:
            del os.environ['NOTIFY_SOCKET']
            os.remove(notify)
    check(status.startswith('STATUS=serving; missing when it started: ') and
          status.endswith(', and more (see the log)'), status)
    with open(node.log.name) as f:
        f.seek(before)
        said = f.read()
    for text in ('level pfs: /no/such/level: No such file', 'store: /no/such/store is no dir',
                 f'{node.base}/hosts', '/no/such/ek'):
        lines = [line for line in said.split('\n') if text in line]
        equal(len(lines), 1, f'{text} in {said}')
    if not os.path.exists('/dev/ckpt'):
        check('module: /dev/ckpt: No such file or directory; load the module' in said, said)
    node.settings = {}


@test
def check_of_files(node):
    """ckptd --check looks at the files and directories that the configuration names"""
    good = [f'--set={name}={value}' for name, value in {
        'image_dir': node.images, 'key': node.key, 'node': node.name}.items()]
    equal(ends(0, '', ckptd_check(*good)).stderr, b'', 'nothing is missing')
    bad = f'{node.base}/bad-key'
    with open(bad, 'wb') as f:
        os.fchmod(f.fileno(), 0o644)
        f.write(bytes(32))
    with open(f'{node.base}/hosts', 'w') as f:
        f.write('this is no hosts file\n')
    for setting, text in (
            ('image_dir=/no/such/parent/images', 'image_dir: /no/such/parent: No such file'),
            (f'image_dir={bad}', 'no directory'), (f'key={bad}', 'mode 0644'),
            ('level.pfs=posix:/no/such/level', 'level pfs: /no/such/level: No such file'),
            (f'level.pfs=posix:{bad}', 'Not a directory'), ('store=/no/such', 'store: /no/such'),
            ('encryption_key=/no/such/ek', '/no/such/ek'), (f'encryption_key={bad}', 'mode 0644'),
            (f'hosts={node.base}/hosts', f'{node.base}/hosts: line 1')):
        done = ends(1, text, ckptd_check(*good, '--set', setting))
        equal(done.stderr.count(b'\n'), 1, f'{setting}: {done.stderr}')
    # jobs, and no key; neither a key nor images yet
    node.wait(node.run('true'))
    ends(1, 'is gone', ckptd_check(*good, '--set', f'key={node.base}/no-key'))
    ends(0, '', ckptd_check(*good, '--set', f'key={node.base}/no-key',
                            '--set', f'image_dir={node.base}/new'))
    check(not os.path.exists(f'{node.base}/new'), 'it was made')
    ends(2, 'no such setting', ckptd_check(*good, '--set', 'foo=1'))


@test
def configuration(node):
    """ckptd: example and manual page have all settings; what is wrong with one is said"""
    with open(f'{TOP}/supervisor/storage/config.c') as f:
        names = re.findall(r'^\t\{ "(\w+)", [A-Z]+, offsetof', f.read(), re.M)
    check(len(names) > 25, f'settings: {names}')
    with open(f'{TOP}/packaging/ckptd.conf') as f:
        example = re.findall(r'^#(\w[\w.]*) = ', f.read(), re.M)
    equal(sorted(set(names) - set(example)), [], 'settings that packaging/ckptd.conf lacks')
    items = re.findall(r'^\.It Cm (\w+)', page('ckptd.conf.5'), re.M)
    equal(sorted(set(names) - set(items)), [], 'settings that docs/man/ckptd.conf.5 lacks')

    def ckptd(*args):
        return subprocess.run([f'{daemon.ARGS.bin}/ckptd', '--check', *args,
                               '--set', f'key={node.key}', '--set', f'image_dir={node.images}'],
                              capture_output=True, timeout=30)
    ends(2, 'no such setting', ckptd('--config', '/dev/null', '--set', 'foo=1'))
    ends(2, 'log_level: x is no value for it (error, warning, info or debug)',
         ckptd('--config', '/dev/null', '--set', 'log_level=x'))
    ends(2, 'incremental: 16 is no value for it (a number, at most 15)',
         ckptd('--config', '/dev/null', '--set', 'incremental=16'))
    ends(0, '',
         ckptd('--config', '/dev/null', '--set', 'incremental=15', '--set', 'retain_keep=5000000'))
    twice = f'{node.base}/twice.conf'
    with open(twice, 'w') as f:
        f.write('image_dir = /a\n\nimage_dir = /b\n')
    ends(2, f'{twice}:3: image_dir is there twice (line 1)', ckptd('--config', twice))
    with open(twice, 'w') as f:
        f.write('image_dir = /a\n')
    ends(0, '', ckptd('--config', twice, '--set', 'image_dir=/b', '--set', 'image_dir=/c'))
    whole = f'{node.base}/whole.conf'
    with open(f'{TOP}/packaging/ckptd.conf') as f, open(whole, 'w') as out:
        out.write(re.sub(r'^#(\w[\w.]* = )', r'\1', f.read(), flags=re.M))
    check(ckptd('--config', whole).returncode < 2, 'the example has a wrong setting')


if __name__ == '__main__':
    sys.exit(daemon.main())
