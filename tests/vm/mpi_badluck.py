#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Bad input and bad luck of MPI jobs on one node, as TAP.

    mpi_badluck.py --bin DIR --work DIR [--slow FACTOR] [--only WORD]

Runs as root in a test VM; nodes and the way to run are daemon.py's. The programs are in
build/examples/badluck.KERNEL.KIND; each test is run with each library there.
"""
import glob
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time

import daemon
from daemon import check, equal, wait_for

daemon.TESTS.clear()

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KERNEL = '.'.join(platform.release().split('.')[:2])
PROGRAMS = f'{TOP}/build/examples/badluck.{KERNEL}'
KINDS = sorted(path.rsplit('.', 1)[1] for path in glob.glob(f'{PROGRAMS}.*'))
LIBRARY = {'mpich': 'libmpich.so.12', 'openmpi': 'libmpi.so.40'}
SIZE, ITERATIONS, REST = 64, 1000000, 10

os.environ['OMPI_ALLOW_RUN_AS_ROOT'] = os.environ['OMPI_ALLOW_RUN_AS_ROOT_CONFIRM'] = '1'


class MpiNode(daemon.Node):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.settings = {'mpi_dir': f'{TOP}/build/lib/mpi',
                         'lower': f'{TOP}/build/libexec/ckpt-lower'}


daemon.Node = MpiNode


def test(f):
    """One for each library."""
    for kind in KINDS:
        def one(node, kind=kind):
            f(node, kind)
        one.__name__ = f'{f.__name__}_{kind}'
        one.__doc__ = f'{kind}: {f.__doc__}'
        daemon.TESTS.append(one)
    return f


def ckptrun(node, kind, *argv, opts=(), env=None):
    """The number of a job of two ranks that nobody is attached to."""
    done = subprocess.run([f'{daemon.ARGS.bin}/ckptrun', '--socket', node.socket, '-n', '2',
                           '--detach', *opts, '--', f'{PROGRAMS}.{kind}/{argv[0]}', *argv[1:]],
                          stdin=subprocess.DEVNULL, capture_output=True,
                          env={**os.environ, **(env or {})}, timeout=120 * daemon.ARGS.slow)
    equal(done.returncode, 0, f'ckptrun: {done.stderr.decode()}')
    return int(done.stdout)


def poisson(node, kind, iterations=ITERATIONS, rest=REST, **kwargs):
    job = ckptrun(node, kind, 'poisson', str(SIZE), str(iterations), str(rest), **kwargs)
    runs_on(node, job)
    return job


def runs_on(node, job, seconds=30, n=3):
    """The job's output grows."""
    at = node.output(job).count('\n')
    wait_for('the job runs on', seconds, lambda: node.output(job).count('\n') >= at + n)


class Bad:
    """A job of badluck.c."""

    def __init__(self, node, kind, mode, opts=()):
        self.node, self.dir = node, f'{node.base}/{mode}'
        os.mkdir(self.dir)
        self.job = ckptrun(node, kind, 'badluck', mode, self.dir, opts=opts)
        wait_for('the program is there', 60, lambda: self.has('there'))
        time.sleep(0.5)

    def has(self, name):
        return os.path.exists(f'{self.dir}/{name}')

    def go(self):
        with open(f'{self.dir}/go', 'w'):
            pass

    def ends_well(self):
        self.go()
        equal(self.node.wait(self.job), 0, 'status')
        check(self.has('right'), 'the program has its sum')


def ranks(node, job):
    return node.json('ps', '--mpi', str(job))['mpi_ranks']


def none_held(node, job):
    rows = wait_for('ranks that answer', 20,
                    lambda: (lambda r: all(x['answers'] for x in r) and r)(ranks(node, job)))
    equal([(r['state'], r['held']) for r in rows], [('running', False)] * 2, 'ranks')


def begin(node, *args):
    return subprocess.Popen(node.argv(*args), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def outcome(p, timeout=120):
    out, err = p.communicate(timeout=timeout * daemon.ARGS.slow)
    return p.returncode, out.decode() + err.decode()


def within(seconds):
    """The option for a deadline that comes, which gives ranks the time to answer first."""
    return '--timeout', str(seconds * daemon.ARGS.slow)


def process(name, node=None):
    """The pid of a process of that name; of a ckptd's child if a node is given."""
    for path in glob.glob('/proc/[0-9]*/stat'):
        try:
            with open(path) as f:
                pid, rest = f.read().split(' (', 1)
        except OSError:
            continue
        comm, rest = rest.rsplit(') ', 1)
        state, parent = rest.split()[:2]
        if comm == name and state != 'Z' and (not node or int(parent) == node.daemon.pid):
            return int(pid)
    return None


# ------------------------------------------------------- where ranks may be

@test
def computes(node, kind):
    """a rank that others wait for in a collective computes: named at the deadline,
    and all run on"""
    bad = Bad(node, kind, 'absent')

    def waits():
        rows = ranks(node, bad.job)
        return all(r['answers'] for r in rows) and rows[0].get('call') == 'MPI_Barrier' and rows
    rows = wait_for('rank 0 waits in MPI_Barrier', 30, waits)
    check('call' not in rows[1], f'rank 1 computes: {rows}')
    check('comm' in rows[0] and rows[0]['sequence'] > 0, f'its communicator: {rows}')
    began = time.monotonic()
    text = node.fails(1, 'rank 1', 'checkpoint', *within(2), str(bad.job))
    check(time.monotonic() - began < 20 * daemon.ARGS.slow, 'the deadline is kept')
    for word in ('computes outside MPI', 'rank 0 waits', 'the job runs on'):
        check(word in text, f'{word!r} is not in {text!r}')
    print(f'# {text.strip()}')
    none_held(node, bad.job)
    p = begin(node, 'checkpoint', str(bad.job))
    time.sleep(1)
    bad.go()
    status, text = outcome(p)
    equal(status, 0, f'checkpoint once it has come: {text}')
    equal(node.wait(bad.job), 0, 'status')
    check(bad.has('right'), 'the program has its sum')


STAGES = ['MPI_Barrier', 'MPI_Allreduce', 'MPI_Alltoallv', 'MPI_Comm_dup', 'MPI_Allreduce',
          'MPI_Finalize']


def waits_to_begin(node, job, call):
    """Rank 0 does, and rank 1 computes."""
    def there():
        rows = ranks(node, job)
        return all(r['answers'] for r in rows) and rows[0].get('gathers') and rows
    rows = wait_for(f'rank 0 waits to begin {call}', 30, there)
    equal(rows[0]['call'], call, f'call of rank 0 in {rows}')
    check('comm' in rows[0] and rows[0]['sequence'] > 0, f'its communicator: {rows}')
    check('call' not in rows[1], f'rank 1 computes: {rows}')


def through_stages(node, kind, saved, restarted):
    """A program of interruptible collectives, with checkpoints in some of its stages."""
    bad = Bad(node, kind, 'apart', opts=('--collectives=interruptible',))
    for i, call in enumerate(STAGES):
        wait_for(f'stage {i}', 60, lambda: bad.has(f'there.{i}'))
        if i in saved or i in restarted:
            waits_to_begin(node, bad.job, call)
        if i in saved:
            node.ctl('checkpoint', '--timeout', '20', str(bad.job))
        if i in restarted:
            node.ctl('checkpoint', '--kill', '--timeout', '20', str(bad.job))
            node.ctl('restart', str(bad.job))
            waits_to_begin(node, bad.job, call)
        with open(f'{bad.dir}/go.{i}', 'w'):
            pass
    equal(node.wait(bad.job), 0, 'status')
    check(bad.has('right'), 'the program has its sums')


@test
def apart(node, kind):
    """interruptible collectives:
    saved and restarted while one rank computes and one waits for it"""
    through_stages(node, kind, [0], [1])


@test
def apart_everywhere(node, kind):
    """the same in each kind of collective, and in MPI_Finalize"""
    through_stages(node, kind, range(len(STAGES)), range(len(STAGES)))


@test
def stopped(node, kind):
    """a rank that is stopped by a signal: named as one that does not answer"""
    job = poisson(node, kind)
    pid = process('poisson')
    os.kill(pid, signal.SIGSTOP)
    text = node.fails(1, 'does not answer', 'checkpoint', *within(2), str(job))
    print(f'# {text.strip()}')
    check(not all(r['answers'] for r in ranks(node, job)), 'ps --mpi says so, too')
    os.kill(pid, signal.SIGCONT)
    none_held(node, job)
    runs_on(node, job)
    node.ctl('checkpoint', str(job))


@test
def receives(node, kind):
    """a rank in a receive that nobody sends does not hold up a checkpoint, or a restart"""
    bad = Bad(node, kind, 'unsent')
    node.ctl('checkpoint', '--timeout', '20', str(bad.job))
    rows = ranks(node, bad.job)
    equal((rows[0].get('call'), rows[0].get('peer')), ('MPI_Recv', 1), f'rank 0 in {rows}')
    node.ctl('checkpoint', '--kill', str(bad.job))
    node.ctl('restart', str(bad.job))
    bad.ends_well()


@test
def leaves(node, kind):
    """a rank that ends during a quiesce is named"""
    bad = Bad(node, kind, 'leaves', opts=('--keep-going',))
    p = begin(node, 'checkpoint', '--timeout', '60', str(bad.job))
    time.sleep(1)
    bad.go()
    status, text = outcome(p, 30)
    # refused if a rank is seen to have gone, failed if the job is over before that; the library
    # ends rank 0 when it misses rank 1, and where both have gone between two looks the first one
    # is named
    check(status in (1, 3), f'status {status}: {text}')
    check(re.search(r'rank [01]\b.*ended', text, re.S) or 'has just ended' in text or
          'ended during' in text, text)
    print(f'# {text.strip()}')


@test
def aborts(node, kind):
    """MPI_Abort during a quiesce ends the job with its status, and the checkpoint"""
    bad = Bad(node, kind, 'aborts')
    p = begin(node, 'checkpoint', '--timeout', '60', str(bad.job))
    time.sleep(1)
    bad.go()
    status, text = outcome(p, 60)
    check(status in (1, 3), f'status {status}: {text}')
    check('ended' in text, text)
    equal(node.wait(bad.job), 3, 'status')
    equal(node.generations(bad.job), [], 'generations')


@test
def not_in_mpi(node, kind):
    """before MPI_Init and after MPI_Finalize a checkpoint is refused, and the job runs on"""
    bad = Bad(node, kind, 'early')
    node.fails(3, 'has not called MPI_Init', 'checkpoint', str(bad.job))
    equal([r['state'] for r in ranks(node, bad.job)], ['before MPI_Init'] * 2, 'states')
    bad.ends_well()
    bad = Bad(node, kind, 'late')
    node.fails(3, 'has called MPI_Finalize', 'checkpoint', str(bad.job))
    equal([r['state'] for r in ranks(node, bad.job)], ['ended'] * 2, 'states')
    bad.ends_well()


@test
def without_glue(node, kind):
    """ckptrun --direct, --host-ns: refused, and what to do"""
    for option in ('--direct', '--host-ns'):
        job = poisson(node, kind, opts=(option,))
        node.fails(3, option, 'checkpoint', str(job))
        node.fails(1, 'without our MPI library', 'ps', '--mpi', str(job))
        runs_on(node, job)
        node.ctl('kill', str(job), 'KILL')


@test
def options(node, kind):
    """--dry-run, --stop-and-copy; --max-pause that is too short: the ranks run on after each"""
    job = poisson(node, kind)
    node.ctl('checkpoint', '--dry-run', str(job))
    equal(node.generations(job), [], 'generations after a dry run')
    none_held(node, job)
    runs_on(node, job)
    node.ctl('checkpoint', '--stop-and-copy', str(job))
    runs_on(node, job)
    text = node.fails(3, '', 'checkpoint', '--stop-and-copy', '--max-pause', '1', str(job))
    print(f'# {text.strip()}')
    none_held(node, job)
    runs_on(node, job)
    node.ctl('checkpoint', str(job))
    equal(len(node.generations(job)), 2, 'generations')


@test
def two_at_once(node, kind):
    """two checkpoints at once, and one during a restart: one is told to wait"""
    job = poisson(node, kind)
    both = [begin(node, 'checkpoint', str(job)) for _ in range(2)]
    results = sorted(outcome(p) for p in both)
    equal([status for status, _ in results], [0, 1], f'of two: {results}')
    check('under way' in results[1][1], results[1][1])
    node.ctl('checkpoint', '--kill', str(job))
    p = begin(node, 'restart', str(job))
    refused = 0
    while p.poll() is None:
        done = node.ctl('checkpoint', str(job), check=False)
        refused += done.returncode
        text = done.stderr.decode()
        check(not done.returncode or 'under way' in text or 'not run' in text, text)
    equal(outcome(p)[0], 0, 'restart')
    check(refused, 'a checkpoint met the restart')
    node.ctl('checkpoint', str(job))
    runs_on(node, job)


# -------------------------------------------------------------------- deaths

def new_daemon(node, job):
    """ckptd was killed: ranks run on without it, and with the next one."""
    runs_on(node, job, 5, 1)
    node.start()
    none_held(node, job)


@test
def daemon_dies_waiting(node, kind):
    """SIGKILL of ckptd while ranks are behind: none stays held"""
    bad = Bad(node, kind, 'absent')
    p = begin(node, 'checkpoint', str(bad.job))
    time.sleep(1)
    node.kill()
    equal(outcome(p)[0], 1, 'checkpoint')
    node.start()
    none_held(node, bad.job)
    node.fails(1, 'rank 1', 'checkpoint', *within(1), str(bad.job))
    bad.ends_well()


@test
def daemon_dies(node, kind):
    """SIGKILL of ckptd in each stage of a checkpoint: ranks run on, the last generation restarts"""
    job = poisson(node, kind)
    node.ctl('checkpoint', str(job))
    began = time.monotonic()
    node.ctl('checkpoint', str(job))
    whole = time.monotonic() - began
    stages = 9
    for i in range(stages):
        kill = i % 3 == 2
        p = begin(node, 'checkpoint', *(('--kill',) if kill else ()), str(job))
        time.sleep(whole * (i + 1) / stages)
        node.kill()
        status, _ = outcome(p)
        if not kill:
            new_daemon(node, job)
        else:
            node.start()
            time.sleep(0.5)
            if node.job(job)['state'] != 'running':
                node.ctl('restart', str(job))
        runs_on(node, job)
        before = [g['generation'] for g in node.generations(job)]
        done = node.json('checkpoint', str(job))['generation']
        check(done > max(before), f'generation {done} after {before}')
        if kill or i % 4 == 0:
            node.ctl('kill', str(job), 'KILL')
            wait_for('the end', 20, lambda: node.job(job)['state'] != 'running')
            node.ctl('restart', str(job))
            runs_on(node, job)


@test
def worker_dies(node, kind):
    """SIGKILL of the dump's worker: said, the ranks run on, the next checkpoint works"""
    job = poisson(node, kind)
    for _ in range(2):
        p = begin(node, 'checkpoint', str(job))
        while p.poll() is None:
            pid = process('ckptd-dump', node)
            if pid:
                os.kill(pid, signal.SIGKILL)
                break
        status, text = outcome(p)
        equal(status, 1, text)
        check('the job runs on' in text or 'worker' in text or 'process' in text, text)
        print(f'# {text.strip()}')
        none_held(node, job)
        runs_on(node, job)
        node.ctl('checkpoint', str(job))


@test
def shim_stops(node, kind):
    """a shim that is stopped: ckptd answers others, the deadline comes, and later all is well"""
    job = poisson(node, kind)
    shim = process('ckpt-shim')
    os.kill(shim, signal.SIGSTOP)
    p = begin(node, 'checkpoint', *within(3), str(job))
    time.sleep(0.5)
    began = time.monotonic()
    node.json('ps')
    check(time.monotonic() - began < 1.5 * daemon.ARGS.slow, 'ckptd answers meanwhile')
    status, text = outcome(p, 20)
    equal(status, 1, text)
    check('shim' in text, text)
    print(f'# {text.strip()}')
    os.kill(shim, signal.SIGCONT)
    none_held(node, job)
    runs_on(node, job)
    node.ctl('checkpoint', str(job))


@test
def shim_stops_in_quiesce(node, kind):
    """a shim that is stopped when ranks are held: they run on when it does"""
    bad = Bad(node, kind, 'absent')
    p = begin(node, 'checkpoint', *within(3), str(bad.job))
    time.sleep(1)
    shim = process('ckpt-shim')
    os.kill(shim, signal.SIGSTOP)
    equal(outcome(p, 20)[0], 1, 'checkpoint')
    os.kill(shim, signal.SIGCONT)
    none_held(node, bad.job)
    bad.ends_well()


@test
def shim_dies(node, kind):
    """SIGKILL of the shim when ranks are held: refused, they run on;
    Open MPI's end by themselves"""
    bad = Bad(node, kind, 'absent')
    p = begin(node, 'checkpoint', str(bad.job))
    time.sleep(1)
    os.kill(process('ckpt-shim'), signal.SIGKILL)
    status, text = outcome(p)
    equal(status, 1, text)
    check('shim' in text, text)
    if kind == 'openmpi':   # PMIx ends a process that has lost its server
        wait_for('the end', 30, lambda: node.job(bad.job)['state'] != 'running')
        return
    node.fails(1, 'shim', 'checkpoint', str(bad.job))
    node.fails(1, 'shim', 'ps', '--mpi', str(bad.job))
    bad.go()
    wait_for('the program has its sum', 30, lambda: bad.has('right'))


# ------------------------------------------------------------- bad surroundings

@test
def disk_full(node, kind):
    """a full disk: said, no generation, the ranks run on, and with room the next one is taken"""
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64m', 'images', node.images], check=True)
    try:
        job = poisson(node, kind)
        room = os.statvfs(node.images)
        fill = room.f_bavail * room.f_frsize - 32768
        with open(f'{node.images}/fill', 'wb') as f:
            f.write(b'x' * fill)
        node.fails(1, 'file system is full', 'checkpoint', str(job))
        none_held(node, job)
        equal(node.generations(job), [], 'generations')
        os.unlink(f'{node.images}/fill')
        runs_on(node, job)
        node.ctl('checkpoint', str(job))
        node.ctl('kill', str(job), 'KILL')
        wait_for('the end', 20, lambda: not node.jobs())
    finally:
        subprocess.run(['umount', '-l', node.images], check=True)


@test
def flipped_byte(node, kind):
    """an image with a changed byte is refused, and the one before restarts"""
    job = poisson(node, kind)
    node.ctl('checkpoint', str(job))
    node.ctl('checkpoint', '--kill', str(job))
    last = node.generations(job)[-1]
    files = [os.path.join(d, f) for d, _, names in os.walk(last['dir']) for f in names]
    path = max(files, key=os.path.getsize)
    with open(path, 'r+b') as f:
        f.seek(os.path.getsize(path) // 2)
        byte = f.read(1)
        f.seek(-1, 1)
        f.write(bytes([byte[0] ^ 1]))
    done = node.ctl('restart', str(job), check=False)
    check(done.returncode == 1, f'restart: {done.stderr.decode()}')
    print(f'# {done.stderr.decode().strip()}')
    equal(node.job(job)['state'], 'saved', 'state')
    node.ctl('restart', f'{job}:1')
    runs_on(node, job)


@test
def no_module(node, kind):
    """without the module: said, and the ranks run on"""
    job = poisson(node, kind)
    # what is queued or armed keeps it for a moment
    wait_for('the module goes', 10,
             lambda: not subprocess.run(['rmmod', 'ckpt'], capture_output=True).returncode)
    try:
        text = node.fails(1, '', 'checkpoint', str(job))
        check('/dev/ckpt' in text or 'module' in text, text)
        print(f'# {text.strip()}')
        none_held(node, job)
        runs_on(node, job)
    finally:
        subprocess.run(['insmod', f'{TOP}/build/kmod/{KERNEL}/ckpt.ko'], check=True)
    node.ctl('checkpoint', str(job))
    runs_on(node, job)


@test
def no_library(node, kind):
    """a restart whose MPI library is not there, or is none: why,
    nothing left running, images whole"""
    real = os.path.realpath(f'/usr/lib/x86_64-linux-gnu/{LIBRARY[kind]}')
    library = f'{node.base}/{LIBRARY[kind]}'
    shutil.copy(real, library)
    job = poisson(node, kind, env={'CKPT_MPI_LIBRARY': library})
    node.ctl('checkpoint', '--kill', str(job))
    os.rename(library, f'{library}.away')
    for what in ('installed', 'rank'):
        text = node.fails(1, what, 'restart', str(job))
        check(library in text, text)
        print(f'# {text.strip()}')
        equal(node.job(job)['state'], 'saved', 'state')
        check(not process('poisson'), 'nothing of it runs')
        with open(library, 'w') as f:
            f.write('no library')
    os.rename(f'{library}.away', library)
    node.ctl('restart', str(job))
    runs_on(node, job)


@test
def clock_back(node, kind):
    """a restart where the clock of the day is an hour behind, or some minutes ahead:
    MPI_Wtime goes on"""
    bad = Bad(node, kind, 'clock')
    day = time.time() - time.monotonic()
    try:
        for change in (-3600, 3900):
            node.ctl('checkpoint', '--kill', str(bad.job))
            time.clock_settime(time.CLOCK_REALTIME, time.time() + change)
            node.ctl('restart', str(bad.job))
            wait_for('the hour that has passed', 30, lambda: change < 0 or bad.has('ahead'))
        bad.ends_well()
    finally:
        time.clock_settime(time.CLOCK_REALTIME, day + time.monotonic())


@test
def broken_unseen(node, kind):
    """a restored rank that gets no library while ckptd is dead: the job ends,
    and can be restarted"""
    real = os.path.realpath(f'/usr/lib/x86_64-linux-gnu/{LIBRARY[kind]}')
    library = f'{node.base}/{LIBRARY[kind]}'
    shutil.copy(real, library)
    job = poisson(node, kind, env={'CKPT_MPI_LIBRARY': library})
    node.ctl('checkpoint', '--kill', str(job))
    os.rename(library, f'{library}.away')
    os.mkfifo(library)  # its reader waits until somebody writes
    restart = begin(node, 'restart', str(job))
    wait_for('the ranks', 60, lambda: process('poisson'))
    time.sleep(2)
    check(restart.poll() is None, 'the restart waits')
    node.kill()
    outcome(restart)
    with open(library, 'w') as f:
        f.write('no library')
    time.sleep(1)
    check(process('poisson'), 'a ckptd may come back and end it')
    wait_for('the end', 90, lambda: not process('poisson'))
    os.unlink(library)
    os.rename(f'{library}.away', library)
    node.start()
    check(node.job(job)['state'] != 'running', 'state')
    node.ctl('restart', str(job))
    runs_on(node, job)


@test
def lower_elsewhere(node, kind):
    """the lower half's program is where the configuration says now,
    or the restart says it is not"""
    node.kill()
    lower = f'{node.base}/first'
    shutil.copy2(node.settings['lower'], lower)
    node.settings['lower'], other = lower, node.settings['lower']
    node.start()
    job = poisson(node, kind)
    node.ctl('checkpoint', '--kill', str(job))
    os.unlink(lower)
    text = node.fails(1, lower, 'restart', str(job))
    print(f'# {text.strip()}')
    equal(node.job(job)['state'], 'saved', 'state')
    node.kill()
    node.settings['lower'] = other
    node.start()
    node.ctl('restart', str(job))
    runs_on(node, job)


# ----------------------------------------------------------------- periodic

def every_second(node, job, seconds):
    """Checkpoints until then, or the job's end; how many."""
    taken, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        done = node.ctl('checkpoint', str(job), check=False)
        if done.returncode:
            text = done.stderr.decode()
            if 'MPI_Finalize' in text or 'ended' in text or 'not run' in text:
                break
            raise daemon.Failure(f'checkpoint {taken + 1}: {text}')
        taken += 1
        time.sleep(max(0, 1 - (time.monotonic() - began)))
    return taken


@test
def periodic(node, kind):
    """a checkpoint every second for a minute: no hang, and the result is that of a run without"""
    for argv in (('poisson', str(SIZE), '1500', '40'), ('colls',)):
        job = ckptrun(node, kind, *argv)
        wait_for('the job', 60, lambda: node.job(job)['state'] == 'running')
        equal(node.wait(job), 0, f'{argv[0]} alone')
        want = node.output(job)
        job = ckptrun(node, kind, *argv)
        wait_for('MPI_Init', 60, lambda: all(r['state'] == 'running' for r in ranks(node, job)))
        taken = every_second(node, job, 60)
        node.ctl('checkpoint', '--kill', str(job), check=False)
        if node.job(job)['state'] == 'saved':
            node.ctl('restart', str(job))
        equal(node.wait(job), 0, argv[0])
        check(node.output(job) == want, f'{argv[0]}: another result after {taken} checkpoints')
        check(taken >= 3, f'{argv[0]}: only {taken} checkpoints')
        print(f'# {argv[0]}: {taken} checkpoints')


if __name__ == '__main__':
    sys.exit(daemon.main())
