#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A disk that gets slow is found by the generations that are written to it; runs in a test VM.

Options as of daemon.py, whose ckptd (Node) each test gets. The disk is a device of dm-delay, which
holds each write for some time, on a loop device with a file system of its own. And what else dev
list shows: an NFS mount, of a server in the same VM, and the health of the VM's NVMe controller.
"""
import contextlib
import fcntl
import os
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path += [f'{TESTS}/crash-consistency', f'{TESTS}/crash']

import daemon       # noqa: E402
from daemon import USER, check, equal, test, wait_for     # noqa: E402
import places       # noqa: E402

daemon.TESTS.clear()

SIZE = 1024     # MiB
MEMORY = 16     # MiB that do not compress, of the job
SLOW_MS = 500
NEEDED = 9      # generations until one can be judged
FEW = 20        # in which a change has to be found

PROGRAM = f'''
import os, time
b = os.urandom({MEMORY} << 20)
print('up', flush=True)
time.sleep(9999)
'''


def sh(*argv):
    # no udev makes nodes in the VM, whatever its libraries think
    done = subprocess.run(argv, capture_output=True, text=True,
                          env={**os.environ, 'DM_DISABLE_UDEV': '1'})
    check(not done.returncode, f'{argv}: {done.stderr}')
    return done.stdout.strip()


class Disk:
    """A disk whose writes can be delayed; its file system is mounted at self.mount."""

    def __init__(self, base, name):
        self.name = f'{name}-{os.path.basename(os.path.dirname(base))}'
        self.mount = f'{base}/{name}'
        self.file = f'{base}/{name}.img'

    def __enter__(self):
        sh('modprobe', '-a', 'loop', 'dm-mod', 'dm-delay')
        sh('truncate', '-s', f'{SIZE}M', self.file)
        sh('/sbin/mke2fs', '-q', '-F', '-t', 'ext4', self.file)
        self.loop = sh('losetup', '--find', '--show', self.file)
        sh('dmsetup', 'create', self.name, '--table', self.table(0))
        os.makedirs(self.mount)
        sh('mount', f'/dev/mapper/{self.name}', self.mount)
        os.chmod(self.mount, 0o711)
        return self

    def table(self, ms):
        return f'0 {SIZE << 11} delay {self.loop} 0 0 {self.loop} 0 {ms}'

    def slow(self, ms):
        """Hold each write from now on for so many milliseconds."""
        sh('dmsetup', 'load', self.name, '--table', self.table(ms))
        sh('dmsetup', 'resume', self.name)

    def __exit__(self, *_):
        self.slow(0)
        for argv in (('umount', '-l', self.mount), ('dmsetup', 'remove', '--retry', self.name),
                     ('losetup', '-d', self.loop)):
            subprocess.run(argv, capture_output=True)


class Job:
    """A job of which checkpoints are taken, one after the other."""

    def __init__(self, node):
        self.node = node
        self.number = node.run('python3', '-B', '-c', PROGRAM)
        node.lines(self.number, 1)
        self.last = 0

    def states(self):
        """Where the last generation is: {LEVEL: STATE}."""
        for g in self.node.generations(self.number):
            if g['generation'] == self.last:
                return {level['level']: level['state'] for level in g['levels']}
        return {}

    def checkpoint(self, level):
        """Take one; wait until it is on the level, and for a while until it was measured there: a
        copy is not, while the disk that it was read from is slow, as any is now and then here."""
        before = devices(self.node)[level]['probes']
        self.node.ctl('checkpoint', str(self.number), timeout=120)
        self.last += 1
        wait_for(f'{self.last} on {level}', 120, lambda: self.states().get(level) == 'here')
        with contextlib.suppress(daemon.Failure):
            wait_for('the measure', 5, lambda: devices(self.node)[level]['probes'] > before)
        row = devices(self.node)[level]
        print(f'# {self.last} on {level}: {row["rate"] / 1e6:.1f} MB/s, usual '
              f'{row["usual"] / 1e6:.1f}, {row["in_row"]} slow: {row["state"]}', flush=True)
        return row

    def end(self):
        """End it, and ckptd: what they have open keeps the disk busy."""
        self.node.ctl('kill', str(self.number), 'KILL')
        self.node.wait(self.number)
        self.node.leave()

    def until(self, level, state):
        """The row of the level when its device is found to be in that state."""
        for _ in range(FEW):
            row = self.checkpoint(level)
            if row['state'] == state:
                return row
        raise daemon.Failure(f'level {level} is not {state}: {row}')


def devices(node):
    return {row['level']: row for row in node.json('dev', 'list', '--interval', '100ms')['levels']}


def log_of(node):
    with open(node.log.name, errors='replace') as f:
        return f.read()


def again(node, **settings):
    """Start ckptd anew with other settings."""
    node.leave()
    node.settings.update(settings)
    node.start()


def metrics(path):
    try:
        with open(path) as f:
            return f.read()
    except FileNotFoundError:
        return ''


@test
def slow_level(node):
    """a level's disk gets slow: degraded, said everywhere, avoided if wanted, and well again"""
    with Disk(node.base, 'slow') as disk:
        for place in (f'{disk.mount}/a', f'{node.base}/b'):
            os.makedirs(place, mode=0o700)
        prom = f'{node.base}/ckpt.prom'
        again(node, **{'level.a': f'posix:{disk.mount}/a', 'level.a.limit': '0',
                       'level.a.keep': '2', 'level.b': f'posix:{node.base}/b',
                       'level.b.limit': '0', 'level.b.every': '4', 'level.b.keep': '2',
                       'retain_keep': '2', 'metrics_file': prom})
        equal({row['state'] for row in devices(node).values()}, {'unknown'}, 'at first')
        job = Job(node)
        for _ in range(NEEDED):
            job.checkpoint('a')
        row = job.until('a', 'healthy')
        check(row['disk'].startswith('dm-'), f'its disk: {row}')
        disk.slow(SLOW_MS)
        row = job.until('a', 'degraded')
        check(row['in_row'] >= 3 and row['rate'] < row['usual'], row)
        equal((row['avoided'], row['note']),
              (False, 'degraded_devices = avoid would have level b take its generations'), 'notify')
        check('level a (posix:' in log_of(node) and 'its device is degraded' in log_of(node),
              'the log')
        text = node.ctl('dev', 'list').stdout.decode()
        check('degraded' in text and 'LEVEL' in text, text)
        wait_for('the metrics', 30,
                 lambda: 'ckpt_device_state{level="a",state="degraded"} 1\n' in metrics(prom))
        # the next ckptd knows it, and its generations go elsewhere
        again(node, degraded_devices='avoid')
        row = devices(node)['a']
        equal((row['state'], row['avoided'], row['note']),
              ('degraded', True, 'new generations go to level b'), 'after a restart of ckptd')
        while (job.last + 1) % 4 == 0:
            again(node, degraded_devices='notify')
            job.checkpoint('a')
            again(node, degraded_devices='avoid')
        job.checkpoint('b')
        equal(job.states(), {'L1': 'here', 'a': 'missing', 'b': 'here'},
              f'generation {job.last}, which b would not take by its own rule')
        # well again
        disk.slow(0)
        again(node, degraded_devices='notify')
        job.until('a', 'healthy')
        check('its device is as fast as usual again' in log_of(node), 'the log')
        node.fails(1, 'only root', 'dev', 'forget', 'a', user=USER)
        node.fails(1, 'no level c', 'dev', 'forget', 'c')
        node.ctl('dev', 'forget', 'a')
        equal((devices(node)['a']['state'], devices(node)['a']['probes']), ('unknown', 0),
              'forgotten')
        job.end()


@test
def slow_l1(node):
    """the image directory's disk gets slow: said, and another level gets every generation"""
    with Disk(node.base, 'slow') as disk:
        os.makedirs(f'{node.base}/b', mode=0o700)
        node.images = f'{disk.mount}/images'
        again(node, **{'level.b': f'posix:{node.base}/b', 'level.b.limit': '0',
                       'level.b.every': '16', 'level.b.keep': '2', 'retain_keep': '2',
                       'degraded_devices': 'avoid'})
        job = Job(node)
        for _ in range(NEEDED):
            job.checkpoint('L1')
        job.until('L1', 'healthy')
        disk.slow(SLOW_MS)
        row = job.until('L1', 'degraded')
        equal((row['avoided'], row['note']), (False, 'level b gets every generation, too'), 'L1')
        if (job.last + 1) % 16 == 0:
            job.checkpoint('L1')
        job.checkpoint('L1')
        wait_for('the copy', 60, lambda: job.states() == {'L1': 'here', 'b': 'here'})
        disk.slow(0)
        job.end()


def nfs_row(node, where):
    rows = [r for r in node.json('dev', 'list', '--interval', '100ms')['nfs'] if r['dir'] == where]
    equal(len(rows), 1, 'rows of the mount')
    return rows[0]


def operation(row, name):
    return ([o for o in row['operations'] if o['name'] == name] or [{'total': 0}])[0]


def write_file(path, mib):
    with open(path, 'wb') as f:
        for _ in range(mib):
            f.write(os.urandom(1 << 20))
        f.flush()
        os.fsync(f.fileno())


@contextlib.contextmanager
def closed(place):
    try:
        yield place
    finally:
        place.close()


@test
def nfs(node):
    """an NFS mount: its counts are those of what was written, a level there is a device, and dev
    list does not wait for a server that hangs"""
    place = places.Nfs(f'nfs-{os.getpid()}', node.base)
    try:
        place.open()
    except places.Unavailable as e:
        print(f'# not tried: {e}', flush=True)
        return
    with closed(place):
        prom = f'{node.base}/ckpt.prom'
        before = nfs_row(node, place.dir)
        write_file(f'{place.dir}/file', 8)
        after = nfs_row(node, place.dir)
        equal(after['written_bytes'] - before['written_bytes'], 8 << 20, 'bytes')
        equal((after['source'], after['version']), ('127.0.0.1:/home/user', 4), 'the mount')
        writes = operation(after, 'WRITE')['total'] - operation(before, 'WRITE')['total']
        check(8 <= writes <= 8 << 8, f'{writes} writes')
        check(operation(after, 'COMMIT')['total'] + operation(after, 'OPEN')['total'] > 0, after)
        text = node.ctl('dev', 'list').stdout.decode()
        check('127.0.0.1:/home/user' in text and after['number'] in text, text)

        os.makedirs(f'{place.dir}/level', mode=0o700)
        again(node, **{'level.n': f'posix:{place.dir}/level', 'level.n.limit': '0',
                       'level.n.keep': '2', 'retain_keep': '2', 'metrics_file': prom})
        job = Job(node)
        for _ in range(NEEDED):
            job.checkpoint('n')
        row = job.until('n', 'healthy')
        equal(row['disk'], '127.0.0.1:/home/user', 'its device')
        check(row['nfs']['writes'] > 0 and row['nfs']['bytes'] >= MEMORY << 20 and
              row['nfs']['samples'] >= NEEDED and row['nfs']['usual_write_ms'] > 0, row)
        job.end()

        node.start()
        wait_for('the metrics', 30, lambda: 'ckpt_nfs_bytes_total{server="127.0.0.1",op="write"}'
                 in metrics(prom))
        # a server that hangs: a program waits for it, we do not
        places.write('/proc/fs/nfsd/threads', '0\n')
        with subprocess.Popen(['dd', 'if=/dev/zero', f'of={place.dir}/hang', 'bs=1M', 'count=4',
                               'conv=fsync'], stderr=subprocess.DEVNULL) as dd:
            wait_for('dd in the kernel', 60, lambda: state_of(dd.pid) == 'D')
            text = node.ctl('dev', 'list', timeout=30).stdout.decode()
            check('127.0.0.1:/home/user' in text, text)
            # nor who looks for the level's device
            text = node.ctl('dev', 'replay', 'n', timeout=30).stdout.decode()
            check('generations are recorded' in text, text)
            equal(state_of(dd.pid), 'D', 'dd')
            places.serve(places.EXPORT)
            dd.wait(120 * daemon.ARGS.slow)
            equal(dd.returncode, 0, 'dd, when the server is there again')
        node.leave()


def state_of(pid):
    with open(f'/proc/{pid}/stat') as f:
        return f.read().rpartition(')')[2].split()[0]


def controllers(node):
    return {c['controller']: c for c in node.json('dev', 'list', '--interval', '100ms')
            ['nvme']['controllers']}


@test
def nvme(node):
    """the health of an NVMe controller, and one that does not answer"""
    prom = f'{node.base}/ckpt.prom'
    again(node, metrics_file=prom)
    wait_for('the answer', 60, lambda: controllers(node).get('nvme0', {}).get('answered'))
    row = controllers(node)['nvme0']
    check('QEMU' in row['model'], row)
    equal((row['warnings'], row['critical_warning'], row['temperature_celsius']), ([], 0, 50),
          'its health')
    check(row['written_bytes'] > 0 and row['media_errors'] == 0, row)
    result = node.json('dev', 'list', '--interval', '100ms')
    equal([d.get('warnings') for d in result['devices'] if d['device'] == 'nvme0n1'], [[]],
          'its namespace')
    check('warns' not in node.ctl('dev', 'list').stdout.decode(), 'the table')
    wait_for('the metrics', 30, lambda: 'ckpt_nvme_temperature_celsius{device="nvme0"} 50\n' in
             metrics(prom) and 'ckpt_nvme_warning{device="nvme0",kind="silent"} 0\n' in
             metrics(prom))
    # a question that hangs has this lock until it ends; nobody asks beside it
    node.leave()
    os.unlink(f'{node.base}/jobs/nvme.json')
    with open(f'{node.base}/jobs/asked.lock', 'r+b') as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        node.start()
        wait_for('the report', 60, lambda: controllers(node))
        row = controllers(node)['nvme0']
        equal((row['answered'], row['warnings']), (False, ['silent']), row)
        check('warns: silent' in node.ctl('dev', 'list').stdout.decode(), 'the table')
        wait_for('the log', 30, lambda: 'NVMe controller nvme0' in log_of(node))
        wait_for('the metrics', 30, lambda: 'ckpt_nvme_warning{device="nvme0",kind="silent"} 1\n'
                 in metrics(prom))
    node.leave()


if __name__ == '__main__':
    os.environ['DM_DISABLE_UDEV'] = '1'     # nobody else would make its nodes
    sys.exit(daemon.main())
