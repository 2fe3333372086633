# SPDX-License-Identifier: GPL-2.0-only
"""A file system of a test's own: its writes are logged, or its disk can be made to fail."""
import fcntl
import glob
import os
import shutil
import struct
import subprocess

from daemon import Failure, wait_for

MOUNT = '/mnt/powercut'
DEVICE = 'powercut'
SIZE = {'ext4': 128, 'xfs': 320}    # MiB; XFS is never smaller than 300
LOG_SIZE = 3072
MKFS = {'ext4': ['mkfs.ext4', '-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0,nodiscard',
                 '-J', 'size=8'],
        'xfs': ['mkfs.xfs', '-q', '-f', '-K']}


def sh(*argv, **kwargs):
    done = subprocess.run(argv, capture_output=True, text=True, **kwargs)
    if done.returncode:
        raise Failure(f'{" ".join(argv)}: {done.returncode}: {done.stderr.strip()}')
    return done.stdout.strip()


def module_load(name, work):
    """virtiofs of 6.1 cannot read a module of more than 4 MiB (xfs): it warns, and never ends."""
    def info(*args):
        return subprocess.run(['modinfo', *args, name], check=True, capture_output=True,
                              text=True).stdout.strip()

    path = info('-n')
    if os.path.exists(f'/sys/module/{name}') or not path.endswith('.ko'):
        sh('modprobe', name)
        return
    for other in filter(None, info('-F', 'depends').split(',')):
        sh('modprobe', other)
    shutil.copy(path, f'{work}/{name}.ko')
    sh('insmod', f'{work}/{name}.ko')


def is_used():
    """Has the kernel a file system on it, in whatever mount namespace?"""
    try:
        dev = os.stat(f'/dev/mapper/{DEVICE}').st_rdev
    except FileNotFoundError:
        return False    # a copy of it was mounted
    name = os.path.basename(os.path.realpath(f'/sys/dev/block/{os.major(dev)}:{os.minor(dev)}'))
    return bool(glob.glob(f'/sys/fs/*/{name}'))


def unmount():
    """Nobody holds anything there; what has just ended, for a moment only."""
    def once():
        return subprocess.run(['umount', MOUNT], capture_output=True).returncode == 0
    try:
        wait_for('the file system to be let go of', 10, once)
    except Failure as e:
        raise Failure(f'{e}\n' + subprocess.run(['fuser', '-vm', MOUNT], capture_output=True,
                                                text=True).stderr) from e
    # held in another mount namespace it would be the same one again, with its errors
    wait_for('the file system to be gone', 10, lambda: not is_used())


class Disk:
    """The file system whose writes are logged, and the files behind it."""

    def __init__(self, base, fs, log=True):
        self.base = base
        self.fs = fs
        self.data = f'{base}/data'
        self.log = f'{base}/log'
        self.first = f'{base}/first'    # as it was before the first write
        self.loops = []
        self.logged = log

    def loop(self, path):
        self.loops.append(sh('losetup', '--find', '--show', path))
        return self.loops[-1]

    def open(self):
        for path, size in ((self.data, SIZE[self.fs]), (self.log, LOG_SIZE)):
            sh('truncate', '-s', f'{size}M', path)
        sh(*MKFS[self.fs], self.data)
        sh('cp', '--sparse=always', self.data, self.first)
        device = self.loop(self.data)
        sectors = SIZE[self.fs] << 11
        table = f'0 {sectors} log-writes {device} {self.loop(self.log)}' if self.logged else \
            f'0 {sectors} linear {device} 0'
        sh('dmsetup', 'create', DEVICE, '--table', table)
        self.mount()
        return self

    def mount(self):
        os.makedirs(MOUNT, exist_ok=True)
        # as under systemd: what is mounted and unmounted here is in the jobs' namespaces, too
        sh('mount', '--make-rshared', '/')
        sh('mount', '-t', self.fs, f'/dev/mapper/{DEVICE}', MOUNT)

    def mark(self, text):
        """As `dmsetup message DEVICE 0 mark TEXT`, without a process."""
        header = struct.Struct('=3I 2I I i 3I Q 128s 129s 7x')
        body = struct.pack('=Q', 0) + f'mark {text}'.encode() + b'\0'
        size = header.size + len(body)
        data = bytearray(header.pack(4, 0, 0, size, header.size, 0, 0, 0, 0, 0, 0,
                                     DEVICE.encode(), b'') + body)
        with open('/dev/mapper/control', 'rb+', buffering=0) as f:
            fcntl.ioctl(f, 3 << 30 | header.size << 16 | 0xfd << 8 | 14, data)

    def close(self):
        for argv in (('umount', '-l', MOUNT), ('dmsetup', 'remove', '--retry', DEVICE)):
            subprocess.run(argv, capture_output=True)
        while self.loops:
            subprocess.run(['losetup', '-d', self.loops.pop()], capture_output=True)
