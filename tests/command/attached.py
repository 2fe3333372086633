#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Who is attached to a job, as TAP: input that cannot be read, readers that are slow, signals,
outputs that fail.

    attached.py --bin DIR --work DIR [--slow FACTOR] [--only WORD,...]

Runs as root, on any machine; nodes and the way to run are those of tests/vm/daemon.py.
"""
import contextlib
import os
import select
import signal
import subprocess
import sys
import termios
import time

from command import command, daemon, ends, last_json, shell
from daemon import check, equal, test, wait_for

daemon.TESTS.clear()
FLOOD = 'trap "exit 9" TERM; yes & wait'


@contextlib.contextmanager
def attached(node, *args, before='', **kwargs):
    """ckptctl by a shell that has done something before; ends with the block."""
    argv = ['bash', '-c', f'{before} exec "$@"', 'bash', *node.argv(*args)]
    with subprocess.Popen(argv, stderr=subprocess.PIPE,
                          **{'stdin': subprocess.DEVNULL, **kwargs}) as p:
        try:
            yield p
        finally:
            p.kill()


def ended(p, within=20):
    return p.wait(within * daemon.ARGS.slow)


@test
def input_unreadable(node):
    """input that cannot be read is at its end for the job, which is waited for all the same"""
    for line in ("$c run -- sh -c 'cat; exit 3' 0>/dev/null",        # as nohup leaves it
                 "$c run -- sh -c 'cat; exit 3' </"):
        done = ends(3, '', shell(node, line))
        equal(done.stderr, b'', line)


@test
def ignored_signals(node):
    """a signal that is ignored, as by nohup or in a script's background,
    is not handed on; others are"""
    script = 'trap "exit 9" HUP INT; touch ready; for i in 1 2 3 4 5 6 7 8; do sleep 0.5; done'
    for before, sig, status in (('trap "" HUP;', signal.SIGHUP, 0), ('', signal.SIGHUP, 9),
                                ('trap "" INT;', signal.SIGINT, 0), ('', signal.SIGINT, 9)):
        where = f'{node.base}/{sig}.{status}'
        os.mkdir(where)
        with attached(node, 'run', '-C', where, '--', 'sh', '-c', script, before=before) as p:
            wait_for('the job', 20, lambda: os.path.exists(f'{where}/ready'))
            p.send_signal(sig)
            equal(ended(p), status, f'{before} {sig.name}: status')


@contextlib.contextmanager
def ended_while_stuck(node, end):
    """Nobody reads what it writes to @end any more; a signal ends the job all the same."""
    with attached(node, 'run', '--', 'sh', '-c', FLOOD, stdout=end) as p:
        os.close(end)
        time.sleep(3 * daemon.ARGS.slow)    # to fill what is between
        check(node.jobs(), 'the job is over')
        p.send_signal(signal.SIGTERM)
        wait_for('the job ends', 20, lambda: not node.jobs())
        yield p


@test
def slow_reader(node):
    """while the reader of the output is slow, signals reach the job"""
    out, end = os.pipe()
    with ended_while_stuck(node, end) as p:
        # and who waits for the reader in vain can be ended
        for _ in range(40):
            if p.poll() is not None:
                break
            p.send_signal(signal.SIGTERM)
            time.sleep(0.5 * daemon.ARGS.slow)
        equal(ended(p), 9, 'status')
    os.close(out)


@test
def slow_terminal(node):
    """the same if it is a terminal"""
    leader, end = os.openpty()
    with ended_while_stuck(node, end):
        pass
    os.close(leader)


@test
def output_fails(node):
    """output that cannot be written here is said, and what is there has no hole"""
    done = ends(3, 'No space left', shell(node, '$c run -- sh -c "echo x; exit 3" >/dev/full'))
    check(b'have all of it' in done.stderr, done.stderr)
    small = f'{node.base}/small'
    os.mkdir(small)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'none', small], check=True)
    try:
        script = 'seq 300000; touch full; while [ -e full ]; do sleep 0.1; done; seq 10'
        with open(f'{small}/out', 'wb') as out, \
                attached(node, 'run', '--json', '-C', node.base, '--', 'sh', '-c', script,
                         stdout=out) as p:
            wait_for('its output', 30, lambda: os.path.exists(f'{node.base}/full'))
            time.sleep(1)
            with open(f'{small}/out', 'rb') as f:
                got = f.read()
            os.truncate(f'{small}/out', 4096)
            os.remove(f'{node.base}/full')
            equal(ended(p), 0, 'status')
            said = p.stderr.read()
        got_json = last_json(subprocess.CompletedProcess([], 0, b'', said))
        equal(got_json['result'].get('output_lost'), True, 'output_lost')
        whole = ''.join(f'{i}\n' for i in range(1, 300001)).encode()
        check(len(got) > 1 << 19, f'only {len(got)} bytes were written')
        equal(whole.startswith(got), True, 'a prefix')
        equal(os.path.getsize(f'{small}/out'), 4096, 'size after it failed')
    finally:
        subprocess.run(['umount', small], check=True)
    equal(command(node, 'ps').returncode, 0, 'ckptd')


@test
def reader_gone(node):
    """when nobody reads the output any more, attach detaches; run waits for the job,
    and says what is not there"""
    job = node.run('sh', '-c', 'while sleep 0.1; do echo tick; done')
    done = ends(0, f'detached from job {job}',
                shell(node, f'$c attach {job} | head -1; exit ${{PIPESTATUS[0]}}'))
    equal(done.stdout, b'tick\n', 'output')
    equal(node.jobs()[job]['state'], 'running', 'the job')
    done = shell(node, '$c run --json -- sh -c "echo a; sleep 1; seq 300000; exit 3" | head -1; '
                 'exit ${PIPESTATUS[0]}')
    ends(3, 'have all of it', done)
    equal((done.stdout, last_json(done)['result'].get('output_lost')), (b'a\n', True), 'run')
    equal(node.output(job + 1).count('\n'), 300001, 'its log')


def reads(fd, text):
    """What comes until TEXT has."""
    got = b''
    while text not in got:
        check(select.select([fd], [], [], 20 * daemon.ARGS.slow)[0], f'{text} is not in {got}')
        part = os.read(fd, 4096)
        check(part, f'{text} is not in {got}')
        got += part
    return got


@test
def detach_key(node):
    """Ctrl-] on a terminal detaches also from a job that has pipes; the terminal is as before"""
    leader, end = os.openpty()
    before = termios.tcgetattr(end)

    def detaches(job, by, *args, ready=b'go', typed=b'', back=b''):
        with attached(node, *args, stdin=end, stdout=subprocess.PIPE) as p:
            reads(p.stdout.fileno(), ready)
            if typed:
                os.write(leader, typed)
                reads(p.stdout.fileno(), back)
            by(p)
            equal(ended(p), 0, f'status of {args}')
            check(f'detached from job {job}'.encode() in p.stderr.read(), args)
        equal(termios.tcgetattr(end), before, f'the terminal after {args}')
        equal(node.jobs()[job]['state'], 'running', 'the job')

    def key(p):
        os.write(leader, b'\x1d')
    detaches(1, key, 'run', '--', 'sh', '-c', 'echo go; read a; echo is $a; sleep 100',
             typed=b'my\x7fn\n', back=b'is mn')
    reads_none = node.run('sh', '-c', 'while echo go; do sleep 0.1; done')
    detaches(reads_none, key, 'attach', str(reads_none))
    detaches(reads_none, lambda p: p.send_signal(signal.SIGTERM), 'attach', str(reads_none))
    for fd in (leader, end):
        os.close(fd)


@test
def terminal_kept(node):
    """who is in a terminal's background leaves its settings alone, and is not stopped for that"""
    leader, end = os.openpty()
    script = 'import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); ' \
             'pid = os.fork(); pid or os.setpgid(0, 0); ' \
             'pid or os.execv(sys.argv[1], sys.argv[1:]); ' \
             'sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, os.WUNTRACED)[1]))'
    done = subprocess.run([sys.executable, '-c', script,
                           *node.argv('run', '--', 'sh', '-c', 'exit 7')],
                          stdin=end, capture_output=True, timeout=20 * daemon.ARGS.slow)
    ends(7, '', done)
    for fd in (leader, end):
        os.close(fd)


if __name__ == '__main__':
    sys.exit(daemon.main())
