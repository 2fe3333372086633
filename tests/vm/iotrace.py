#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What jobs read and write, as ckptd's collector counts it; runs in a test VM.

Options as of daemon.py, whose ckptd (Node) each test gets. Programs of jobs do a known number of
operations on known files, and reports have to agree.
"""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import daemon
from daemon import USER, Failure, alive, check, equal, test, wait_for

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '../command'))
from web import OTHER, Web  # noqa: E402

daemon.TESTS.clear()

# does STEPS when the file "go" is there, then says so and waits for "end"
PROGRAM = '''
import os, sys, time
d = sys.argv[1]
def wait(name):
    while not os.path.exists(f'{d}/{name}'):
        time.sleep(0.05)
def put(name, size, count, pause=0):
    fd = os.open(f'{d}/{name}', os.O_WRONLY | os.O_CREAT, 0o600)
    for _ in range(count):
        os.write(fd, bytes(size))
        if pause:
            time.sleep(pause)
    return fd
FIRST
wait('go')
STEPS
os.close(os.open(f'{d}/done', os.O_WRONLY | os.O_CREAT))
wait('end')
'''


class Traced:
    """A job that does STEPS once it is watched."""

    def __init__(self, node, steps, user=None, watch=True, opts=(), first=''):
        self.node = node
        self.dir = tempfile.mkdtemp(prefix='io-', dir=node.base)
        os.chmod(self.dir, 0o777)
        program = f'{self.dir}/program.py'
        with open(program, 'w') as f:
            f.write(PROGRAM.replace('STEPS', steps).replace('FIRST', first))
        os.chmod(program, 0o644)
        if user:
            opts = (*opts, '--chdir', '/')
        self.job = node.run('python3', '-B', program, self.dir, user=user, opts=opts)
        self.user = user
        if watch:
            self.watched = node.json('io', 'watch', str(self.job), 'on', user=user, timeout=150)

    def flag(self, name):
        with open(f'{self.dir}/{name}', 'w'):
            pass

    def go(self):
        self.flag('go')
        wait_for('the steps', 120, lambda: os.path.exists(f'{self.dir}/done'))

    def end(self):
        self.flag('end')
        equal(self.node.wait(self.job), 0, 'status of the job')

    def report(self):
        return self.node.json('io', 'report', str(self.job))

    def file(self, report, name):
        for f in report['files']['list']:
            if f.get('path') == f'{self.dir}/{name}':
                return f
        raise Failure(f'{name} is not in {report["files"]}')


def settled(traced, want):
    """The first report in which want(report) holds, for a few seconds the last one."""
    end = time.monotonic() + 8 * daemon.ARGS.slow
    while True:
        report = traced.report()
        if want(report) or time.monotonic() > end:
            return report
        time.sleep(0.2)


def near(got, want, what):
    check(abs(got - want) <= want / 100, f'{what}: got {got}, want {want}, within 1 %')


def programs():
    """The BPF programs of ckptd that the kernel has."""
    out = subprocess.run(['bpftool', 'prog', 'show', '--json'], capture_output=True, check=True,
                         env={**os.environ, 'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'}).stdout
    return [p['name'] for p in json.loads(out) if p.get('name', '').startswith('io_')]


def collectors(node):
    """Processes of the collector."""
    found = subprocess.run(['pgrep', '-x', 'ckptd-io'], capture_output=True).stdout.split()
    return [int(p) for p in found]


MIXED = '''
os.close(put('big', 4096, 16384))
fd = os.open(f'{d}/big', os.O_RDONLY)
while os.read(fd, 65536):
    pass
os.close(fd)
fd = put('vectors', 100, 10)
os.writev(fd, [bytes(1000), bytes(24)])
os.pwrite(fd, bytes(512), 4096)
os.fsync(fd)
os.fdatasync(fd)
os.close(fd)
os.rename(f'{d}/vectors', f'{d}/moved')
for i in range(30):
    os.close(put(f'gone{i}', 10, 1))
    os.unlink(f'{d}/gone{i}')
try:
    os.open(f'{d}/none', os.O_RDONLY)
except FileNotFoundError:
    pass
r, w = os.pipe()
for _ in range(50):
    os.write(w, bytes(1000))
    os.read(r, 1000)
'''


@test
def counted(node):
    """operations, bytes, sizes and files agree with what the program did"""
    job = Traced(node, MIXED)
    equal(job.watched['source'], 'bpf', f'source ({job.watched})')
    job.go()
    report = settled(job, lambda r: r['operations']['write']['count'] >= 16384 + 12 + 30)
    ops, files = report['operations'], report['files']
    equal(ops['write']['count'], 16384 + 12 + 30, 'writes')
    equal(ops['write']['bytes'], 64 << 20 | 1000 + 1024 + 512 + 300, 'bytes written')
    equal((ops['fsync']['count'], ops['rename']['count'], ops['unlink']['count']), (2, 1, 30),
          'fsync, rename, unlink')
    # of the program's 33 files "done" may have been made by then
    check(32 <= ops['create']['count'] <= 33, f'create: {ops["create"]}')
    check(ops['open']['errors'] >= 1 and ops['open']['count'] > 32, f'open: {ops["open"]}')
    equal((ops['write_other']['count'], ops['write_other']['bytes']), (50, 50000), 'pipe')
    big = job.file(report, 'big')
    equal((big['writes'], big['write_bytes'], big['reads'], big['read_bytes']),
          (16384, 64 << 20, 1025, 64 << 20), 'the file big')
    equal(big['opens'], 2, 'opens of big')
    equal((job.file(report, 'vectors')['writes'], job.file(report, 'vectors')['write_bytes']),
          (12, 2536), 'the file vectors')
    sizes = {h['below']: h['count'] for h in report['histograms']['write_size']}
    equal(sizes, {8192: 16384, 16: 30, 128: 10, 2048: 1, 1024: 1}, 'sizes')
    equal(sum(h['count'] for h in report['histograms']['write_ns']), ops['write']['count'],
          'times')
    check(ops['write']['ns'] > 0 and ops['fsync']['ns'] > 0, 'times')
    equal(files['write']['pattern'], '1-1', 'pattern')
    check(files['write']['sequential'] >= 16383, f'sequential: {files["write"]}')
    equal((report['spans'][0]['missed'], report['spans'][0]['names_lost']), (0, 0), 'lost')
    job.end()
    text = node.ctl('io', 'report', str(job.job)).stdout.decode()
    check('pattern 1-1' in text and f'{job.dir}/big' in text, text)
    ended = settled(job, lambda r: r['spans'][0]['ended'])
    check(ended['spans'][0]['ended'], 'the end of the span')
    wait_for('the programs to leave the kernel', 60, lambda: not programs())


@test
def patterns(node):
    """N-1, N-N and many small files are told apart"""
    fork = '''
pids = []
for n in range(4):
    pid = os.fork()
    if not pid:
        BODY
        os._exit(0)
    pids.append(pid)
for pid in pids:
    os.waitpid(pid, 0)
'''
    shared = '''fd = os.open(f'{d}/one', os.O_WRONLY | os.O_CREAT, 0o600)
        for i in range(50):
            os.pwrite(fd, bytes(8192), (i * 4 + n) * 8192)'''
    for body, pattern, many in (
            (shared, 'N-1', False),
            ("put(f'own{n}', 8192, 50)", 'N-N', False),
            ("[os.close(put(f'small{n}.{i}', 100, 1)) for i in range(60)]", 'N-N', True)):
        job = Traced(node, fork.replace('BODY', body))
        job.go()
        writes = 240 if many else 200
        report = settled(job, lambda r, n=writes: r['operations']['write']['count'] >= n)
        write = report['files']['write']
        equal((write['pattern'], write['processes'], report['many_small_files']),
              (pattern, 4, many), f'{pattern} ({write})')
        equal(report['operations']['write']['count'], writes, 'writes')
        check(('N-1' in report['bottleneck']) == (pattern == 'N-1'), report['bottleneck'])
        job.end()


@test
def opened_before(node):
    """a file that was open before the watch has its name"""
    job = Traced(node, "os.write(fd, bytes(700)); os.close(fd)", watch=False,
                 first="fd = os.open(f'{d}/early', os.O_WRONLY | os.O_CREAT, 0o600)")
    wait_for('the file', 30, lambda: os.path.exists(f'{job.dir}/early'))
    node.ctl('io', 'watch', str(job.job), 'on', timeout=150)
    job.go()
    report = settled(job, lambda r: r['operations']['write']['count'] >= 1)
    equal(job.file(report, 'early')['write_bytes'], 700, 'the file')
    job.end()


@test
def phases(node):
    """two bursts of writing, ten seconds apart, are two phases"""
    job = Traced(node, '''
for p in range(2):
    fd = os.open(f'{d}/burst{p}', os.O_WRONLY | os.O_CREAT, 0o600)
    end = time.monotonic() + 5
    while time.monotonic() < end:
        os.write(fd, bytes(8 << 20))
        os.lseek(fd, 0, os.SEEK_SET)
        time.sleep(0.2)
    os.close(fd)
    if not p:
        time.sleep(10)
''')
    job.go()
    report = settled(job, lambda r: len(r['phases']) == 2)
    found = report['phases']
    equal([p['kind'] for p in found], ['write', 'write'], f'phases {found}')
    written = sum(p['write_bytes'] for p in found)
    near(written, report['operations']['write']['bytes'], 'bytes of the phases')
    check(found[1]['began'] - found[0]['began'] - found[0]['seconds'] >= 5, f'gap: {found}')
    job.end()


@test
def daemon_killed(node):
    """ckptd killed in the middle: nothing is missing"""
    job = Traced(node, "os.close(put('slow', 1000, 2000, 0.002))")
    job.flag('go')
    wait_for('half of it', 60, lambda: os.path.exists(f'{job.dir}/slow') and
             os.stat(f'{job.dir}/slow').st_size > 600000)
    node.kill()
    wait_for('the steps', 120, lambda: os.path.exists(f'{job.dir}/done'))
    node.start()
    report = settled(job, lambda r: r['operations']['write']['count'] >= 2000)
    equal((report['operations']['write']['count'], report['operations']['write']['bytes']),
          (2000, 2000000), 'after the kill')
    equal(len(report['spans']), 1, 'watched once')
    job.end()


@test
def collector_killed(node):
    """the collector killed in the middle: all but the last second stays, and the job is watched
    again"""
    job = Traced(node, "os.close(put('slow', 1000, 100)); wait('more'); "
                       "os.close(put('more', 500, 300))")
    job.flag('go')
    settled(job, lambda r: r['operations']['write']['count'] >= 100)
    for pid in collectors(node):
        os.kill(pid, signal.SIGKILL)
    report = job.report()
    equal(report['operations']['write']['count'], 100, 'after the kill')
    check(job.file(report, 'slow')['write_bytes'] == 100000, 'the file')
    wait_for('the next span', 60, lambda: len(job.report()['spans']) == 2)
    job.flag('more')
    report = settled(job, lambda r: r['operations']['write']['count'] >= 400)
    equal((report['operations']['write']['count'], report['operations']['write']['bytes']),
          (400, 250000), 'with the next span')
    job.end()


@test
def never_waits(node):
    """a collector that stands still delays no job, and misses nothing"""
    job = Traced(node, "os.close(put('file', 4096, 5000))")
    pids = collectors(node)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    job.go()
    check(time.monotonic() - began < 20 * daemon.ARGS.slow, 'the job waits')
    node.ctl('ps')
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    report = settled(job, lambda r: r['operations']['write']['count'] >= 5000)
    equal(report['operations']['write']['count'], 5000, 'writes')
    job.end()


# writes a little, again and again, until it is to end
WRITES_ON = '''
import threading
def write_on():
    fd = os.open(f'{d}/NAME', os.O_WRONLY | os.O_CREAT, 0o600)
    while not os.path.exists(f'{d}/end'):
        os.write(fd, bytes(1000))
        time.sleep(0.2)
    os.close(fd)
threading.Thread(target=write_on).start()
'''


def top_with(node, jobs, user=None):
    """The jobs of io top, ascending, once these are among them: it looks back a few seconds."""
    def listed():
        got = sorted(j['job'] for j in node.json('io', 'top', user=user)['jobs'])
        return got if set(jobs) <= set(got) else None
    return wait_for(f'io top to have {jobs}', 30, listed)


@test
def rights(node):
    """a user sees his own jobs only; everybody sees devices"""
    his = Traced(node, WRITES_ON.replace('NAME', 'his'), user=USER)
    mine = Traced(node, WRITES_ON.replace('NAME', 'mine'))
    his.go()
    mine.go()
    settled(mine, lambda r: r['operations']['write']['count'] >= 10)
    settled(his, lambda r: r['operations']['write']['count'] >= 10)
    node.ctl('io', 'report', str(his.job), user=USER)
    for args in (('io', 'report', str(mine.job)), ('io', 'watch', str(mine.job), 'off')):
        done = node.ctl(*args, user=USER, check=False)
        equal(done.returncode, 1, f'{args} of another user ({done.stderr})')
    both = sorted([his.job, mine.job])
    equal(top_with(node, both), both, 'top of root')
    equal(top_with(node, [his.job], user=USER), [his.job], 'top')
    devices = node.json('dev', 'list', '--interval', '200ms', user=USER)['devices']
    check(any(d['device'].startswith('nvme') for d in devices), f'devices: {devices}')
    mine.end()
    # also of a job that is over
    done = node.ctl('io', 'report', str(mine.job), user=USER, check=False)
    equal(done.returncode, 1, 'report of an ended job of another user')
    his.end()


@test
def switched(node):
    """nothing is attached unless a job is watched; watch off, io_trace = on, a new ckptd"""
    job = Traced(node, "os.close(put('file', 1000, 10))", watch=False)
    node.fails(1, 'no job', 'io', 'report', str(job.job))
    # of the test before
    wait_for('the last collector to leave', 60, lambda: not programs() and not collectors(node))
    time.sleep(1)
    equal((programs(), collectors(node)), ([], []), 'before a watch')
    node.ctl('io', 'watch', str(job.job), 'on', timeout=150)
    check('io_write' in programs(), f'programs: {programs()}')
    node.ctl('io', 'watch', str(job.job), 'off')
    wait_for('the programs to leave the kernel', 60, lambda: not programs())
    wait_for('the collector to leave', 60, lambda: not collectors(node))
    node.ctl('io', 'watch', str(job.job), 'on', timeout=150)
    node.leave()
    node.start()
    job.go()
    report = settled(job, lambda r: r['operations']['write']['count'] >= 10)
    equal(report['operations']['write']['count'], 10, 'after a new ckptd')
    job.end()
    node.leave()
    node.settings['io_trace'] = 'on'
    node.start()
    other = Traced(node, "os.close(put('file', 1000, 20))", watch=False)
    wait_for('the watch', 20, lambda: node.ctl('io', 'report', str(other.job),
                                               check=False).returncode == 0)
    other.go()
    report = settled(other, lambda r: r['operations']['write']['count'] >= 20)
    equal(report['operations']['write']['count'], 20, 'with io_trace = on')
    node.leave()
    del node.settings['io_trace']
    node.start()
    wait_for('the programs to leave, as nobody wants them', 60, lambda: not programs())
    other.end()


@contextlib.contextmanager
def without_btf():
    if not os.path.isdir('/sys/kernel/btf'):
        yield
        return
    subprocess.run(['mount', '-t', 'tmpfs', 'none', '/sys/kernel/btf'], check=True)
    try:
        yield
    finally:
        subprocess.run(['umount', '/sys/kernel/btf'], check=True)


@test
def without_bpf(node):
    """no BTF, or no namespace of its own: bytes and calls by /proc/PID/io, and it is said"""
    steps = '''
for n in range(3):
    if not os.fork():
        os.close(put(f'file{n}', 4096, 2000))
        os._exit(0)
for n in range(3):
    os.wait()
'''
    for hidden in (without_btf(), contextlib.nullcontext()):
        with hidden:
            opts = () if hidden.__class__ is not contextlib.nullcontext else ('--host-ns',)
            job = Traced(node, steps, opts=opts)
            equal(job.watched['source'], 'proc', 'source')
            check('BTF' in job.watched['why'] or 'namespace' in job.watched['why'],
                  f'why: {job.watched}')
            job.go()
            report = settled(job, lambda r: r['operations']['write']['bytes'] >= 3 * 2000 * 4096)
            near(report['operations']['write']['bytes'], 3 * 2000 * 4096, 'bytes')
            near(report['operations']['write']['count'], 6000, 'writes')
            text = node.ctl('io', 'report', str(job.job)).stdout.decode()
            check('/proc/PID/io' in text, text)
            job.end()
            wait_for('the collector to leave', 60, lambda: not collectors(node))


@test
def checkpoints_apart(node):
    """a checkpoint's I/O is not the job's; after a restart counting goes on"""
    job = Traced(node, "fd = put('first', 1000, 10); os.close(fd); wait('more'); "
                       "os.close(put('second', 1000, 30))")
    job.flag('go')
    settled(job, lambda r: r['operations']['write']['count'] >= 10)
    node.ctl('checkpoint', str(job.job), '--kill')
    equal(node.wait(job.job), 137, 'wait')
    report = settled(job, lambda r: r['spans'][0]['ended'])
    equal(report['operations']['write']['count'], 10, 'writes before the restart')
    check(report['checkpoints']['number'] == 1 and report['checkpoints']['bytes'] > 0,
          f'checkpoints: {report["checkpoints"]}')
    node.ctl('restart', str(job.job))
    node.ctl('io', 'watch', str(job.job), 'on', timeout=150)
    job.flag('more')
    report = settled(job, lambda r: r['operations']['write']['count'] >= 40)
    equal(report['operations']['write']['count'], 40, 'writes after the restart')
    equal(len(report['spans']), 2, 'spans')
    job.end()


@test
def many_files(node):
    """a storm of opens: the counters are exact, and what was lost of names is said"""
    job = Traced(node, '''
for i in range(5000):
    os.close(put(f'f{i}', 10, 1))
''')
    # the ring of names has room for some 4000, and nobody takes them
    pids = collectors(node)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    job.go()
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    report = settled(job, lambda r: r['operations']['write']['count'] >= 5000)
    equal(report['operations']['write']['count'], 5000, 'writes')
    check(report['files']['number'] >= 5000, f'files: {report["files"]["number"]}')
    lost = report['spans'][0]['names_lost']
    with contextlib.closing(__import__('sqlite3').connect(f'{node.base}/jobs/io.db')) as db:
        named = db.execute('SELECT count(*) FROM name JOIN job ON key = job WHERE number = ?',
                           (job.job,)).fetchone()[0]
    check(named + lost >= 5000 and lost > 500, f'{named} names, {lost} lost')
    text = node.ctl('io', 'report', str(job.job)).stdout.decode()
    check(f'{lost} times' in text, text)
    job.end()


CALLS = 100000


def dd_ns(text):
    """Nanoseconds of each call of a dd that read and wrote CALLS blocks, by what it printed."""
    return float(re.search(r', ([0-9.e-]+) s,', text).group(1)) * 1e9 / CALLS / 2


@test
def cost(node):
    """what a call costs with a watch, in the job and outside; the figures are printed"""
    wait_for('the last collector to leave', 60, lambda: not programs())
    dd = f'dd if=/dev/zero of=/dev/null bs=4k count={CALLS}'
    # calls that do nothing: the worst case
    script = f'while read word; do {dd} 2>>{node.base}/times; done <{node.base}/orders'
    os.mkfifo(f'{node.base}/orders')
    job = node.shell(script)
    with open(f'{node.base}/orders', 'w') as orders:
        def inside():
            before = os.path.getsize(times) if os.path.exists(times) else 0
            orders.write('go\n')
            orders.flush()
            return wait_for('dd', 60, lambda: os.path.exists(times) and read_from(before))

        def read_from(at):
            with open(times) as f:
                f.seek(at)
                text = f.read()
            return text if 'copied' in text and text.endswith('\n') else None

        def outside():
            return subprocess.run(dd.split(), capture_output=True, text=True,
                                  check=True).stderr
        times = f'{node.base}/times'
        found = {(where, on): [] for where in (inside, outside) for on in (False, True)}
        # attaching takes seconds under emulation: no pairs one by one
        for on in (False, True):
            node.ctl('io', 'watch', str(job), 'on' if on else 'off', timeout=150)
            check(bool(programs()) == on, f'programs: {programs()}')
            for where in (inside, outside, inside, outside, inside, outside):
                found[where, on].append(dd_ns(where()))
    for where in (inside, outside):
        off, on = (sorted(found[where, on])[1] for on in (False, True))
        print(f'# cost: a call {where.__name__} the job {off:.0f} ns without, {on:.0f} ns with a '
              f'watch: {on - off:+.0f} ns', flush=True)
    # three times watched; what dd reads and writes are devices
    ops = node.json('io', 'report', str(job))['operations']
    equal((ops['read_other']['count'], ops['write_other']['count']) >= (3 * CALLS, 3 * CALLS),
          True, f'calls of dd: {ops}')
    node.wait(job)


@test
def full_disk(node):
    """a record that cannot be written: the log says so, and all is written later"""
    node.leave()
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=2m', 'none', f'{node.base}/jobs'],
                   check=True)
    try:
        node.start()
        job = Traced(node, "os.close(put('one', 1000, 10)); wait('more'); "
                           "os.close(put('two', 1000, 40))")
        job.flag('go')
        settled(job, lambda r: r['operations']['write']['count'] >= 10)
        with open(f'{node.base}/jobs/filler', 'wb', buffering=0) as f:
            with contextlib.suppress(OSError):
                while True:
                    f.write(bytes(4096))
        job.flag('more')
        wait_for('the job', 60, lambda: os.path.exists(f'{job.dir}/done'))

        def said():
            with open(node.log.name, errors='replace') as f:
                return 'cannot be recorded' in f.read()
        # the log file may have room for some seconds
        filled = True
        try:
            wait_for('the message', 20, said)
        except Failure:
            filled = False
        os.unlink(f'{node.base}/jobs/filler')
        report = settled(job, lambda r: r['operations']['write']['count'] >= 50)
        equal(report['operations']['write']['count'], 50, 'writes')
        check(filled, 'no message in the log')
        job.end()
    finally:
        node.stop()
        wait_for('the collector to leave', 60, lambda: not collectors(node))
        subprocess.run(['umount', f'{node.base}/jobs'], check=True)
        node.start()


def check_format(text):
    """Prometheus' text format: each value behind its # HELP and # TYPE, nothing twice."""
    types, seen = {}, set()
    for line in text.splitlines():
        if line.startswith('# TYPE '):
            name, kind = line.split()[2:]
            check(name not in types and kind in ('counter', 'gauge', 'histogram'), line)
            types[name] = kind
        elif not line.startswith('# HELP '):
            m = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+', line)
            check(m, f'no line of the format: {line}')
            base = re.sub(r'_(bucket|sum|count)$', '', m.group(1))
            kind = types.get(m.group(1)) or types.get(base)
            check(kind and (kind != 'counter' or m.group(1).endswith('_total')), line)
            key = line.rsplit(' ', 1)[0]
            check(key not in seen, f'twice: {line}')
            seen.add(key)


@test
def metrics(node):
    """metrics_file: promtool takes it, and its sums are those of the jobs"""
    path = f'{node.base}/ckpt.prom'
    node.leave()
    node.settings['metrics_file'] = path
    node.start()
    job = Traced(node, "os.close(put('file', 1000, 123))")
    job.go()

    def values():
        with open(path) as f:
            lines = [line.rsplit(' ', 1) for line in f if not line.startswith('#')]
        return {name: float(value) for name, value in lines}
    wait_for('the metrics', 30, lambda: os.path.exists(path) and values().get(
        'ckpt_io_operations_total{op="write"}') == 123)
    got = values()
    equal(got['ckpt_io_bytes_total{op="write"}'], 123000, 'bytes')
    equal(got['ckpt_io_request_seconds_count{op="write"}'], 123, 'count of the histogram')
    equal((got['ckpt_io_jobs'], got['ckpt_scrape_collector_success{collector="io"}']), (1, 1),
          'jobs')
    with open(path) as f:
        text = f.read()
    check(f'"{job.job}"' not in text and job.dir not in text, 'a job or a path is in it')
    check_format(text)
    tool = os.path.join(os.path.dirname(__file__), '../../build/slurm/usr/bin/promtool')
    tool = tool if os.access(tool, os.X_OK) else shutil.which('promtool')
    print(f'# promtool: {tool}')
    if tool:
        done = subprocess.run([tool, 'check', 'metrics'], input=text.encode(),
                              capture_output=True)
        equal((done.returncode, done.stdout + done.stderr), (0, b''), 'promtool')
    equal(glob.glob(f'{path}.*'), [], 'files left')
    job.end()
    node.leave()
    wait_for('the collector to leave', 60, lambda: not collectors(node))
    del node.settings['metrics_file']
    node.start()


@contextlib.contextmanager
def second_node(node):
    """Another node, on this machine, which knows @node, and is known to it."""
    other = daemon.Node(os.path.dirname(node.base), 'node2', images=node.images)
    os.makedirs(f'{other.base}/jobs')
    node.leave()
    lines = []
    for n in (node, other):
        with socket.create_server(('127.0.0.1', 0)) as s:
            port = s.getsockname()[1]
        lines.append(n.ctl('keygen', '--dir', n.base, '--node', n.name, '--address',
                           f'127.0.0.1:{port}').stdout.decode())
        n.settings = {'hosts': f'{node.base}/hosts', 'listen': '127.0.0.1',
                      'node_key': f'{n.base}/node.key', 'io_trace': 'on'}
    with open(f'{node.base}/hosts', 'w') as f:
        f.write(''.join(line.rstrip() + ' root=yes\n' for line in lines))
    node.start()
    other.start()
    try:
        yield other
    finally:
        other.stop()
        node.leave()
        node.settings = {}
        node.start()


@test
def over_nodes(node):
    """a job over two nodes: the report of either has both, and one file of all ranks is N-1"""
    work = tempfile.mkdtemp(prefix='io-', dir=node.base)
    with open(f'{work}/program.py', 'w') as f:
        f.write(PROGRAM.replace('FIRST', '').replace('STEPS', '''
rank = int(os.environ['STILLPOINT_RANK'])
fd = os.open(f'{d}/one', os.O_WRONLY | os.O_CREAT, 0o600)
for i in range(50):
    os.pwrite(fd, bytes(8192), (i * 4 + rank) * 8192)
os.close(put(f'own{rank}', 1000, 1))
'''))
    with second_node(node) as other:
        wait_for('the nodes to meet', 60, lambda: all(
            n['state'] == 'answers' or n['name'] == node.name
            for n in node.json('nodes')['nodes']))
        done = subprocess.run(
            [f'{daemon.ARGS.bin}/ckptrun', '--socket', node.socket, '-n', '4', '--hosts',
             'node1,node2', '--mpi', 'none', '-d', 'python3', '-B', f'{work}/program.py', work],
            capture_output=True, check=True, stdin=subprocess.DEVNULL)
        job = done.stdout.decode().strip()

        def report(n, want):
            def good():
                done = n.ctl('io', 'report', '--json', job, check=False)
                result = None if done.returncode else json.loads(done.stdout)['result']
                return result if result and want(result) else None
            return wait_for('the report', 60, good)

        report(node, lambda r: len(r['nodes']) == 2)
        with open(f'{work}/go', 'w'):
            pass
        for n in (node, other):
            got = report(n, lambda r: r['operations']['write']['count'] >= 204)
            equal(got['operations']['write']['count'], 204, f'writes ({n.name})')
            write = got['files']['write']
            equal((write['pattern'], write['processes'], write['shared_files']), ('N-1', 4, 1),
                  f'pattern ({write})')
            one = got['files']['list'][0]
            equal((one['path'], one['nodes'], one['writes']), (f'{work}/one', 2, 200), 'the file')
            equal(sorted(x['write_bytes'] for x in got['nodes']), [2 * (50 * 8192 + 1000)] * 2,
                  'bytes of each node')
            check('N-1' in got['bottleneck'], got['bottleneck'])
        with open(f'{work}/end', 'w'):
            pass
        equal(node.wait(int(job)), 0, 'status')


@test
def page_of_io(node):
    """the web page of a user's job shows what the report says; a file's name that is markup stays
    text"""
    name = '<img src=x onerror=alert(1)>'
    job = Traced(node, f"""
os.close(put({name!r}, 4096, 512))
fd = os.open(d + '/' + {name!r}, os.O_RDONLY)
while os.read(fd, 65536):
    pass
os.close(fd)
""", user=USER)
    job.go()
    report = settled(job, lambda r: r['operations']['write']['count'] >= 512 and
                     any(name in f.get('path', '') for f in r['files']['list']))
    with Web(node) as web:
        text = web.page(f'/job/{job.job}/io')
        check('<img' not in text and '&lt;img src=x onerror=alert(1)&gt;</bdi></th>' in text, text)
        row = re.search(r'<th scope="row">write</th>.*?</tr>', text, re.S)[0]
        check(f'>{report["operations"]["write"]["count"]}<' in row, row)
        check('<h2>Sizes</h2>' in text and 'class="io-write"' in text, 'the picture of sizes')
        equal(web.api(f'io/report?job={job.job}')['result']['operations'],
              job.report()['operations'], 'the JSON')
    with Web(node, user=OTHER) as web:
        check(web.get(f'/job/{job.job}/io')[0] in (403, 404), "another's job")
    job.end()


if __name__ == '__main__':
    sys.exit(daemon.main())
