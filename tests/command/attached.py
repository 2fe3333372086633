#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Who is attached to a job, as TAP: input that cannot be read, readers that are slow, signals, outputs that fail.

    attached.py --bin DIR --work DIR [--slow FACTOR] [--only WORD,...]

Runs as root, on any machine; nodes and the way to run are those of tests/vm/daemon.py.
"""
import contextlib
import os
import signal
import subprocess
import sys
import time

from command import command, daemon, ends, last_json, shell
from daemon import check, equal, test, wait_for

daemon.TESTS.clear()
FLOOD = 'trap "exit 9" TERM; yes & wait'


@contextlib.contextmanager
def attached(node, *args, before='', **kwargs):
    """ckptctl by a shell that has done something before; ends with the block."""
    argv = ['bash', '-c', f'{before} exec "$@"', 'bash', *node.argv(*args)]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, **{'stdin': subprocess.DEVNULL, **kwargs}) as p:
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
    """a signal that is ignored, as by nohup or in a script's background, is not handed on; others are"""
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
                attached(node, 'run', '--json', '-C', node.base, '--', 'sh', '-c', script, stdout=out) as p:
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
    """when nobody reads the output any more, attach detaches; run waits for the job, and says what is not there"""
    job = node.run('sh', '-c', 'while sleep 0.1; do echo tick; done')
    done = ends(0, f'detached from job {job}', shell(node, f'$c attach {job} | head -1; exit ${{PIPESTATUS[0]}}'))
    equal(done.stdout, b'tick\n', 'output')
    equal(node.jobs()[job]['state'], 'running', 'the job')
    done = shell(node, '$c run --json -- sh -c "echo a; sleep 1; seq 300000; exit 3" | head -1; exit ${PIPESTATUS[0]}')
    ends(3, 'have all of it', done)
    equal((done.stdout, last_json(done)['result'].get('output_lost')), (b'a\n', True), 'run')
    equal(node.output(job + 1).count('\n'), 300001, 'its log')


if __name__ == '__main__':
    sys.exit(daemon.main())
