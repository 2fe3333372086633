# SPDX-License-Identifier: GPL-2.0-only
"""File systems of a VM in which programs run: each on a loop device of its own, or tmpfs.

NFS is a kernel server and its client in the same VM, which mounts a directory below the export, as
homes are mounted. No program of user space takes part: what mountd would answer is written to the
kernel's caches beforehand.
"""
import os
import subprocess

from disk import module_load, sh

TOP = '/mnt/consistency'
EXPORT = f'{TOP}/export'
FOREVER = 2 ** 31 - 1
# insecure ports, no subtree check, fsid
EXPORT_FLAGS = 0x2 | 0x400 | 0x2000


class Unavailable(Exception):
    """The kernel has not what it takes."""


class Place:
    """A directory on a file system of a kind; opened again, it has what was there before."""

    survives = True     # a power cut

    def __init__(self, name, work):
        self.name, self.work = name, work
        self.dir = f'{TOP}/{name}'

    def open(self):
        os.makedirs(self.dir, exist_ok=True)
        if not os.path.ismount(self.dir):
            self.mount()

    def close(self):
        """Nothing of it stays, for the next test in this VM."""
        for where in self.mounts():
            if os.path.ismount(where):
                sh('umount', where)
        if os.path.exists(f'{self.work}/{self.name}.img'):
            os.unlink(f'{self.work}/{self.name}.img')

    def mounts(self):
        return [self.dir]

    def mount_image(self, fs, where, size, *mkfs):
        """A file system on a loop device, made if there is none yet."""
        image = f'{self.work}/{self.name}.img'
        sh('modprobe', 'loop')
        if not os.path.exists(image):
            sh('truncate', '-s', size, image)
            sh(*mkfs, image)
        os.makedirs(where, exist_ok=True)
        sh('mount', '-t', fs, '-o', 'loop', image, where)

    def mount(self):
        raise NotImplementedError


class Ext4(Place):
    def mount(self):
        self.mount_image('ext4', self.dir, '2G', 'mkfs.ext4', '-q', '-F')


class Xfs(Place):
    def mount(self):
        try:
            module_load('xfs', self.work)
        except (OSError, subprocess.CalledProcessError) as e:
            raise Unavailable(f'no XFS in this kernel: {e}') from e
        self.mount_image('xfs', self.dir, '1G', 'mkfs.xfs', '-q', '-m', 'reflink=1')


class Tmpfs(Place):
    survives = False

    def mount(self):
        sh('mount', '-t', 'tmpfs', '-o', 'size=256m', 'tmpfs', self.dir)


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


def serve(path, clients=('127.0.0.1',)):
    """Start the kernel's NFS server, version 4 alone; PATH is the root of what it serves to the
    addresses CLIENTS."""
    for name in ('nfsd', 'nfsv4'):
        if subprocess.run(['modprobe', '-q', name]).returncode:
            raise Unavailable(f'no module {name} in this kernel')
    if not os.path.exists('/proc/fs/nfsd/threads'):
        sh('mount', '-t', 'nfsd', 'nfsd', '/proc/fs/nfsd')
    os.makedirs('/var/lib/nfs/v4recovery', exist_ok=True)
    write('/proc/fs/nfsd/versions', '-2 -3 +4 +4.1 +4.2\n')
    write('/proc/fs/nfsd/nfsv4gracetime', '10\n')
    write('/proc/fs/nfsd/nfsv4leasetime', '10\n')
    write('/proc/fs/nfsd/portlist', 'tcp 2049\n')
    write('/proc/fs/nfsd/threads', '4\n')
    # its clients are new: nobody takes again what he had before
    write('/proc/fs/nfsd/v4_end_grace', 'Y\n')
    for client in clients:
        write('/proc/net/rpc/auth.unix.ip/channel', f'nfsd {client} {FOREVER} here\n')
    write('/proc/net/rpc/nfsd.export/channel',
          f'here {path} {FOREVER} {EXPORT_FLAGS} 65534 65534 0\n')
    write('/proc/net/rpc/nfsd.fh/channel', f'here 1 \\x00000000 {FOREVER} {path}\n')


class Nfs(Place):
    part = 'home/user'      # what of the export is mounted

    def mounts(self):
        """The server lets go of its directory when it has no threads and knows no exports."""
        yield self.dir
        if os.path.exists('/proc/fs/nfsd/threads'):
            write('/proc/fs/nfsd/threads', '0\n')
            for cache in ('nfsd.fh', 'nfsd.export', 'auth.unix.ip'):
                write(f'/proc/net/rpc/{cache}/flush', f'{FOREVER}\n')
        yield EXPORT

    def mount(self):
        if not os.path.ismount(EXPORT):
            self.mount_image('ext4', EXPORT, '2G', 'mkfs.ext4', '-q', '-F')
        os.makedirs(f'{EXPORT}/{self.part}', exist_ok=True)
        serve(EXPORT)
        sh('mount', '-i', '-t', 'nfs4', '-o', 'addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.2',
           f'127.0.0.1:/{self.part}', self.dir)


KINDS = {'ext4': Ext4, 'xfs': Xfs, 'tmpfs': Tmpfs, 'nfs': Nfs}
