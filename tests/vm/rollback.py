#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Rollback of running jobs, in place or by a restart; runs in a test VM.

Options as of daemon.py, whose ckptd (Node) each test gets.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import daemon
from daemon import USER, check, equal, test, wait_for

daemon.TESTS.clear()
PROGRAM = f'{os.path.dirname(os.path.abspath(__file__))}/../../build/bin/tests/tools/rolled'


def log_of(node):
    with open(node.log.name, errors='replace') as f:
        return f.read()


def pids(node, job):
    """Processes of the job and their threads, by the host's numbers and times of start."""
    todo, found = [node.jobs()[job]['init_pid']], {}
    while todo:
        pid = todo.pop()
        for tid in os.listdir(f'/proc/{pid}/task'):
            with open(f'/proc/{pid}/task/{tid}/stat') as f:
                found[int(tid)] = f.read().rsplit(')', 1)[1].split()[19]
            with open(f'/proc/{pid}/task/{tid}/children') as f:
                todo += [int(child) for child in f.read().split()]
    return found


KEPT = f'{os.path.dirname(PROGRAM)}/kept'
ROUNDS, SAVED, LATER, LAST = 40, 10, 15, 25


class Rolled:
    """A run of build/bin/tests/tools/rolled in a directory of its own."""

    def __init__(self, node, name, *extra, user=None, stops=(SAVED, LAST), attach=False,
                 opts=()):
        self.node = node
        self.dir = f'{node.base}/{name}'
        os.mkdir(self.dir)
        program = f'{self.dir}/rolled'
        shutil.copy(PROGRAM, program)
        for n in stops:
            self.stop(n)
        if user:
            os.chown(self.dir, user, user)
        command = (program, self.dir, str(ROUNDS), str(LATER), *extra)
        if attach:
            self.client = subprocess.Popen(node.argv('run', '--', *command),
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.job = max(wait_for('the job', 20, node.jobs))
        else:
            self.job = node.run(*command, opts=('--chdir', '/', *opts), user=user)

    def stop(self, n):
        with open(f'{self.dir}/stop.{n}', 'w'):
            pass

    def go(self, n):
        os.unlink(f'{self.dir}/stop.{n}')

    def output(self):
        return self.node.output(self.job)

    def gets_to(self, n):
        wait_for(f'round {n}', 60, lambda: f'round {n} ' in self.output() or
                 'wrong' in self.output())
        check('wrong' not in self.output(), self.output()[-200:])

    def saved(self, *opts):
        """Let it be saved in round SAVED, and run on."""
        self.gets_to(SAVED)
        self.node.ctl('checkpoint', *opts, str(self.job))
        self.go(SAVED)

    def saved_and_later(self, *opts):
        """The same, and let it wait in round LAST."""
        self.saved(*opts)
        self.gets_to(LAST)

    def end(self):
        """Output and files of a run that has come to its end."""
        status = self.node.wait(self.job)
        equal(status, 0, f'status ({self.output()[-200:]})')
        files = {}
        for name in ('log', 'table'):
            with open(f'{self.dir}/{name}', 'rb') as f:
                files[name] = f.read()
        return self.output(), files


def undisturbed(node):
    return Rolled(node, 'undisturbed', stops=()).end()


def cut(node, job):
    """What was cut off the job's output."""
    names = [n for n in os.listdir(f'{node.images}/{job}') if n.startswith('stdout.cut-')]
    check(len(names) == 1, f'{names}')
    with open(f'{node.images}/{job}/{names[0]}') as f:
        return f.read()


def rolled_back_in_place(node, user=None):
    want = undisturbed(node)
    run = Rolled(node, 'run', user=user)
    run.saved_and_later()
    lines = run.output().splitlines(True)
    before = pids(node, run.job)
    done = node.json('rollback', '--in-place', str(run.job), user=user)
    equal(done.get('in_place'), True, f'in place ({done})')
    equal(pids(node, run.job), before, 'pids and times of start')
    equal(cut(node, run.job), ''.join(lines[SAVED:]), 'what was cut off')
    check('rolled back to generation 1 in place' in log_of(node), 'log')
    run.gets_to(LAST)
    equal(run.output(), ''.join(lines), 'output of the second time')
    run.go(LAST)
    equal(run.end(), want, 'output and files')


@test
def in_place(node):
    """threads, timers, signals, files, memory go back; the processes stay, the result is right"""
    rolled_back_in_place(node)


@test
def in_place_of_user(node):
    """the same of a user's job, who asks himself"""
    rolled_back_in_place(node, user=USER)


@test
def again_and_again(node):
    """a job is rolled back three times in place, checkpointed in between, and restarted at last"""
    want = undisturbed(node)
    run = Rolled(node, 'run')
    run.saved_and_later()
    before = pids(node, run.job)
    for n in range(3):
        node.ctl('rollback', '--in-place', str(run.job))
        run.gets_to(LAST)
    equal(pids(node, run.job), before, 'pids and times of start')
    node.ctl('checkpoint', str(run.job))
    node.ctl('kill', str(run.job), 'KILL')
    node.wait(run.job)
    node.ctl('restart', str(run.job))
    run.go(LAST)
    equal(run.end(), want, 'output and files')


class Kept(Rolled):
    """A run of build/bin/tests/tools/kept: memory of each kind is changed in each round."""

    def __init__(self, node, name, extra='', stops=(SAVED, LAST)):
        self.node = node
        self.dir = f'{node.base}/{name}'
        os.mkdir(self.dir)
        with open(f'{self.dir}/file', 'wb') as f:
            f.write(bytes(range(256)) * 1024)
        # the file is older than a checkpoint by more than the steps of a file system's clock
        time.sleep(2.5)
        for n in stops:
            self.stop(n)
        self.job = node.run(KEPT, self.dir, str(ROUNDS), *([extra] if extra else []),
                            opts=('--chdir', '/'))

    def end(self):
        equal(self.node.wait(self.job), 0, f'status ({self.output()[-200:]})')
        return self.output()


def memory_kept(node, extra='', keeps=True):
    """Roll back in place; the output is right, and memory has stayed, or has not."""
    want = Kept(node, 'undisturbed', extra, stops=()).end()
    run = Kept(node, 'run', extra)
    run.saved_and_later('--incremental')
    before = pids(node, run.job)
    done = node.json('rollback', '--in-place', str(run.job))
    equal(done.get('in_place'), True, f'in place ({done})')
    equal(pids(node, run.job), before, 'pids and times of start')
    if keeps:
        check(done['bytes_kept'] > 8 << 20, f'{done} keeps too little')
        check(done['bytes_read'] < 16 << 20, f'{done} reads too much')
    else:
        equal(done['bytes_kept'], 0, f'{done}')
    run.gets_to(LAST)
    # the kernel tracks memory from a checkpoint on, and no longer after a rollback
    second = node.json('rollback', '--in-place', str(run.job))
    equal(second['bytes_kept'], 0, 'kept by the second one')
    run.gets_to(LAST)
    run.go(LAST)
    equal(run.end(), want, 'output')


@test
def unchanged_memory(node):
    """pages that were not written stay; written, dropped, new ones and those of files go back"""
    memory_kept(node)


@test
def another_layout(node):
    """a map with other mappings is read anew, and that of a child that has pages in common"""
    memory_kept(node, 'moved', keeps=False)


@test
def shared_since(node):
    """shared memory that the program has made since goes"""
    memory_kept(node, 'shared')


@test
def memory_given_back(node):
    """memory that was given back (MADV_FREE) since is written anew, and stays under pressure"""
    group = '/sys/fs/cgroup/given'
    os.makedirs(group, exist_ok=True)
    node.prefix = ['sh', '-c', f'echo $$ >{group}/cgroup.procs; exec "$@"', 'sh']
    want = Kept(node, 'undisturbed', stops=()).end()
    run = Kept(node, 'run', 'freed')
    run.saved_and_later('--incremental')
    run.stop(SAVED)
    done = node.json('rollback', '--in-place', str(run.job))
    check(done['bytes_kept'] > 4 << 20, f'{done} keeps too little')
    try:
        with open(f'{group}/memory.reclaim', 'w') as f:
            f.write('64M')
    except OSError:
        pass        # so much is not there
    run.go(SAVED)
    lines = want.splitlines()[:LATER - 1]
    wait_for('the lines before', 60, lambda: len(run.output().splitlines()) >= LATER - 1)
    equal(run.output().splitlines()[:LATER - 1], lines, 'output up to the round that gives back')
    run.go(LAST)
    run.node.wait(run.job)


@test
def locked_file_mapped(node):
    """with a lock on a file that is mapped all memory is read anew, and the lock is there"""
    want = Kept(node, 'undisturbed', stops=()).end()
    run = Kept(node, 'run', 'locked')
    run.saved_and_later('--incremental')
    done = node.json('rollback', '--in-place', str(run.job))
    equal((done['in_place'], done['bytes_kept']), (True, 0), f'{done}')
    equal(subprocess.run(['flock', '-n', f'{run.dir}/file', 'true']).returncode, 1, 'the lock')
    run.go(LAST)
    equal(run.end(), want, 'output')


@test
def all_memory_on_request(node):
    """--reread reads all memory anew"""
    want = Kept(node, 'undisturbed', stops=()).end()
    run = Kept(node, 'run')
    run.saved_and_later('--incremental')
    done = node.json('rollback', '--in-place', '--reread', str(run.job))
    equal((done['in_place'], done['bytes_kept']), (True, 0), f'{done}')
    run.go(LAST)
    equal(run.end(), want, 'output')


@test
def older_generation(node):
    """to a generation before the last one all memory is read anew"""
    want = Kept(node, 'undisturbed', stops=()).end()
    run = Kept(node, 'run', stops=(SAVED, LATER, LAST))
    run.saved('--incremental')
    run.gets_to(LATER)
    node.ctl('checkpoint', '--incremental', str(run.job))
    run.go(LATER)
    run.gets_to(LAST)
    done = node.json('rollback', '--in-place', f'{run.job}:1')
    equal((done['in_place'], done['bytes_kept']), (True, 0), f'{done}')
    run.gets_to(LAST)
    node.ctl('checkpoint', str(run.job))
    run.go(LAST)
    equal(run.end(), want, 'output')


def with_l0(node, size):
    node.stop()
    node.settings['l0_memory'] = size
    node.start()


def l0_of(node, run):
    return node.job(run.job).get('l0')


@test
def from_the_kernel(node):
    """with l0_memory what was written is copied from the kernel's snapshot, and nothing is read"""
    with_l0(node, '256M')
    for extra in '', 'shared':
        want = Kept(node, f'undisturbed{extra}', extra, stops=()).end()
        run = Kept(node, f'run{extra}', extra)
        run.saved()     # not incremental: l0_memory alone has writes tracked
        run.gets_to(LAST)
        kept = l0_of(node, run)
        equal((kept['generation'], kept['max']), (1, 256 << 20), f'{kept}')
        shown = node.ctl('stats', str(run.job)).stdout.decode()
        check('generation 1 is kept in the kernel' in shown and 'of at most 256' in shown, shown)
        before = pids(node, run.job)
        done = node.json('rollback', '--in-place', str(run.job))
        equal((done['in_place'], done['bytes_read']), (True, 0), f'{done}')
        check(done['bytes_kept'] > 8 << 20, f'{done} keeps too little')
        check(1 << 20 < done['bytes_copied'] < 16 << 20, f'{done}')
        equal(pids(node, run.job), before, 'pids and times of start')
        wait_for('the end of the snapshot', 20, lambda: 'given_up' in l0_of(node, run))
        run.gets_to(LAST)
        # a checkpoint of the job that was rolled back has a snapshot again
        node.ctl('checkpoint', str(run.job))
        equal(l0_of(node, run)['generation'], 2, 'generation that is kept')
        run.go(LAST)
        equal(run.end(), want, 'output')
        equal(l0_of(node, run), None, 'kept of a job that has ended')


@test
def l0_of_a_newer_checkpoint(node):
    """a newer generation takes the place of the older one, which is then read from its image"""
    with_l0(node, '256M')
    want = Kept(node, 'undisturbed', stops=()).end()
    run = Kept(node, 'run', stops=(SAVED, LATER, LAST))
    run.saved()
    run.gets_to(LATER)
    node.ctl('checkpoint', str(run.job))
    equal(l0_of(node, run)['generation'], 2, 'generation that is kept')
    run.go(LATER)
    run.gets_to(LAST)
    done = node.json('rollback', '--in-place', str(run.job))
    equal((done['generation'], done['bytes_read']), (2, 0), f'{done}')
    check(done['bytes_copied'], f'{done}')
    run.gets_to(LAST)
    done = node.json('rollback', '--in-place', f'{run.job}:1')
    equal((done['in_place'], done['bytes_kept'], done['bytes_copied']), (True, 0, 0), f'{done}')
    check(done['bytes_read'] > 8 << 20, f'{done}')
    run.gets_to(LAST)
    run.go(LAST)
    equal(run.end(), want, 'output')


@test
def l0_given_up(node):
    """more than l0_memory, a ckptd that was killed, l0_memory = off: the image is read instead"""
    want = Kept(node, 'undisturbed', stops=()).end()
    for case in 'limit', 'killed', 'off', 'reread':
        with_l0(node, {'limit': '100K', 'off': 'off'}.get(case, '256M'))
        run = Kept(node, case)
        run.saved('--incremental')
        run.gets_to(LAST)
        if case == 'limit':
            wait_for('the limit', 30, lambda: 'given_up' in l0_of(node, run))
            check('l0_memory' in l0_of(node, run)['given_up'], f'{l0_of(node, run)}')
            check('was given up: it held more than l0_memory' in log_of(node), 'log')
        elif case == 'killed':
            node.kill()
            node.start()
        if case != 'reread':
            check('given_up' in (l0_of(node, run) or {'given_up': ''}), f'{l0_of(node, run)}')
        done = node.json('rollback', '--in-place', *(['--reread'] if case == 'reread' else []),
                         str(run.job))
        equal((done['in_place'], done['bytes_copied']), (True, 0), f'{case}: {done}')
        check(done['bytes_read'], f'{case}: {done}')
        equal(bool(done['bytes_kept']), case != 'reread', f'{case}: kept')
        run.gets_to(LAST)
        run.go(LAST)
        equal(run.end(), want, f'output of {case}')


@test
def l0_of_no_use(node):
    """no snapshot is kept of memory that cannot stay, nor of a generation that was removed"""
    with_l0(node, '256M')
    ready = f'{node.base}/ready'
    job = node.run('/usr/bin/python3', '-c', 'import mmap, sys, time\n'
                   'memory = mmap.mmap(-1, 4096)\n'    # shared and writable
                   'open(sys.argv[1], "w").close()\n'
                   'time.sleep(1000)', ready)
    wait_for('the mapping', 30, lambda: os.path.exists(ready))
    node.ctl('checkpoint', str(job))
    equal(node.job(job).get('l0'), None, 'kept of a map that cannot stay')
    node.ctl('kill', str(job), 'KILL')
    want = Kept(node, 'undisturbed', stops=()).end()
    run = Kept(node, 'run', stops=(SAVED, LATER, LAST))
    run.saved()
    run.gets_to(LATER)
    node.ctl('checkpoint', str(run.job))
    check('bytes' in l0_of(node, run), f'{l0_of(node, run)}')
    run.go(LATER)
    run.gets_to(LAST)
    node.ctl('rm', '--force', f'{run.job}:2')
    check('removed' in l0_of(node, run).get('given_up', ''), f'{l0_of(node, run)}')
    done = node.json('rollback', '--in-place', str(run.job))
    equal((done['generation'], done['bytes_copied']), (1, 0), f'{done}')
    run.gets_to(LAST)
    run.go(LAST)
    equal(run.end(), want, 'output')


@test
def l0_under_pressure(node):
    """when the job's cgroup has no room the snapshot goes, and the job is not killed"""
    group = '/sys/fs/cgroup/l0'
    os.makedirs(group, exist_ok=True)
    with_l0(node, '1G')
    want = Kept(node, 'undisturbed', stops=()).end()
    node.prefix = ['sh', '-c', f'echo $$ >{group}/cgroup.procs; exec "$@"', 'sh']
    run = Kept(node, 'run')     # a job is in the cgroup of who starts it
    node.prefix = []
    run.saved()
    run.gets_to(LAST)
    check('bytes' in l0_of(node, run), f'{l0_of(node, run)}')
    with open(f'{group}/memory.current') as f:
        used = int(f.read())
    # less than the reserve is left
    with open(f'{group}/memory.max', 'w') as f:
        f.write(str(used + (1 << 20)))
    wait_for('the end of the snapshot', 30, lambda: 'given_up' in l0_of(node, run))
    with open(f'{group}/memory.max', 'w') as f:
        f.write('max')
    check('memory was short' in l0_of(node, run)['given_up'], f'{l0_of(node, run)}')
    done = node.json('rollback', '--in-place', str(run.job))
    equal((done['in_place'], done['bytes_copied']), (True, 0), f'{done}')
    run.gets_to(LAST)
    run.go(LAST)
    equal(run.end(), want, 'output')


def replaced(node, extra, why):
    want = undisturbed(node)
    run = Rolled(node, 'run', extra)
    run.saved_and_later()
    before = pids(node, run.job)
    message = node.fails(1, why, 'rollback', '--in-place', str(run.job))
    check('runs on' in message, message)
    equal(pids(node, run.job), before, 'after a refusal')
    done = node.json('rollback', str(run.job))
    equal((done.get('in_place'), done.get('generation')), (False, 1), f'answer ({done})')
    check(why in done['why'], done['why'])
    check(any('no rollback in place: ' in line and why in line
              for line in log_of(node).splitlines()), 'log')
    run.gets_to(LAST)
    check(not set(pids(node, run.job).items()) & set(before.items()), 'the processes are others')
    run.go(LAST)
    equal(run.end(), want, 'output and files')


@test
def another_thread(node):
    """with one more thread a job is not rolled back in place: it is ended and restarted"""
    replaced(node, 'thread', 'process 2 has more threads')


@test
def another_process(node):
    """with one more process a job is not rolled back in place: it is ended and restarted"""
    replaced(node, 'child', 'it has started processes since')


@test
def shared_memory_file(node):
    """with a file in /dev/shm a job is not rolled back in place: it is ended and restarted"""
    replaced(node, 'shm', 'it has files in /dev/shm')


@test
def system_v(node):
    """with a System V object a job is not rolled back in place: it is ended and restarted"""
    replaced(node, 'sysv', 'System V')


@test
def attached(node):
    """a job whose streams are pipes to whoever waits for it keeps them"""
    want = undisturbed(node)
    run = Rolled(node, 'run', attach=True)
    run.saved_and_later()
    node.ctl('rollback', '--in-place', str(run.job))
    run.gets_to(LAST)
    run.go(LAST)
    shown = run.client.communicate(timeout=60 * daemon.ARGS.slow)[0].decode()
    equal(run.client.returncode, 0, 'status')
    equal(run.end(), want, 'output and files')
    lines = want[0].splitlines(True)
    equal(shown, ''.join(lines[:LAST] + lines[SAVED:]), 'what was shown')


def rollers():
    """Processes that roll back, youngest first."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/comm') as f:
                if f.read().strip() == 'ckpt-rollback':
                    found.append(int(pid))
        except OSError:
            pass
    return sorted(found, reverse=True)


def killed_rollback(node, whom):
    """Kill all or the youngest of the processes that roll back, at several moments."""
    want = undisturbed(node)
    lost = 0
    for n, delay in enumerate((0, 0.02, 0.05, 0.1, 0.2, 0.4)):
        run = Rolled(node, f'run{n}', 'large')
        run.saved_and_later()
        p = subprocess.Popen(node.argv('rollback', '--json', str(run.job)),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        wait_for('a rollback', 20, lambda: rollers() or p.poll() is not None)
        time.sleep(delay * daemon.ARGS.slow)
        for pid in rollers()[:1 if whom == 'youngest' else None]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        answer = json.loads(p.communicate(timeout=120 * daemon.ARGS.slow)[0])
        lost += not (answer.get('result') or {}).get('in_place')
        equal(node.job(run.job)['state'], 'running', f'the job after {answer}')
        run.gets_to(LAST)
        run.go(LAST)
        equal(run.end(), want, f'output and files after {answer}')
    check(lost, 'every rollback was done before it was killed')


@test
def builder_killed(node):
    """the process that fills the job is killed: the job runs on, or is restarted by itself"""
    killed_rollback(node, 'youngest')


@test
def roller_killed(node):
    """all processes of a rollback are killed: the job runs on, or is restarted by itself"""
    killed_rollback(node, 'all')


@test
def ckptd_killed(node):
    """ckptd is killed during a rollback: the rollback goes on without it"""
    want = undisturbed(node)
    run = Rolled(node, 'run')
    run.saved_and_later()
    p = subprocess.Popen(node.argv('rollback', str(run.job)), stdin=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    wait_for('a rollback', 20, lambda: rollers() or p.poll() is not None)
    node.kill()
    p.wait(60 * daemon.ARGS.slow)
    wait_for('the end of the rollback', 60, lambda: not rollers())
    node.start()
    equal(node.job(run.job)['state'], 'running', 'state')
    run.gets_to(LAST)
    run.go(LAST)
    equal(run.end(), want, 'output and files')


@test
def changed_file(node):
    """a file that somebody else has changed: refused, and the job runs on as it was"""
    run = Rolled(node, 'run')
    run.saved_and_later()
    before = pids(node, run.job)
    os.rename(f'{run.dir}/rolled', f'{run.dir}/away')
    shutil.copy('/bin/true', f'{run.dir}/rolled')
    node.fails(3, 'rolled', 'rollback', str(run.job))
    equal(pids(node, run.job), before, 'pids and times of start')
    run.go(LAST)
    equal(node.wait(run.job), 0, f'status ({run.output()[-200:]})')


@test
def never_in_place(node):
    """jobs that are ended first: one without a shim, and one with --host-ns"""
    want = undisturbed(node)
    for name, opts, why in (('run', (), 'its shim has gone'),
                            ('other', ('--host-ns',), 'no PID namespace')):
        run = Rolled(node, name, opts=opts)
        run.saved_and_later()
        if not opts:
            with open(f'{node.base}/jobs/{run.job}/shim.json') as f:
                os.kill(json.load(f)['shim'], signal.SIGKILL)
            time.sleep(3)
        done = node.json('rollback', str(run.job))
        equal(done.get('in_place'), False, f'answer ({done})')
        check(why in done['why'], done['why'])
        run.gets_to(LAST)
        run.go(LAST)
        equal(run.end(), want, 'output and files')


@test
def damaged_image(node):
    """a flipped byte in stored pages: refused before the job is touched, in place and not"""
    for name, opts in ('run', ()), ('other', ('--host-ns',)):
        run = Rolled(node, name, opts=opts)
        run.saved_and_later()
        before = pids(node, run.job)
        path = max((os.path.join(d, f) for d, _, names in os.walk(f'{node.images}/{run.job}')
                    for f in names), key=os.path.getsize)
        with open(path, 'r+b') as f:
            f.seek(os.path.getsize(path) // 2)
            byte = f.read(1)
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte[0] ^ 1]))
        node.fails(1, 'damaged', 'rollback', str(run.job))
        equal(pids(node, run.job), before, 'pids and times of start')
        run.go(LAST)
        equal(node.wait(run.job), 0, f'status ({run.output()[-200:]})')


@test
def refused(node):
    """rollback of what does not run, is another user's, or has no checkpoint"""
    node.fails(1, 'no job', 'rollback', '9')
    run = Rolled(node, 'run')
    run.gets_to(SAVED)
    node.fails(1, 'has no checkpoint', 'rollback', str(run.job))
    node.ctl('checkpoint', str(run.job))
    node.fails(1, 'no generation 7', 'rollback', f'{run.job}:7')
    node.fails(1, 'belongs to', 'rollback', str(run.job), user=USER)
    node.ctl('kill', str(run.job), 'KILL')
    node.wait(run.job)
    node.fails(1, 'does not run', 'rollback', str(run.job))


if __name__ == '__main__':
    sys.exit(daemon.main())
