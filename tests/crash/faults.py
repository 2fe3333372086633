# SPDX-License-Identifier: GPL-2.0-only
"""Disks that are full or fail under a checkpoint."""
import errno
import json
import os
import random
import subprocess
import time

import daemon
from cuts import read_lines
from daemon import Node, check, equal, wait_for
from disk import DEVICE, MOUNT, SIZE, Disk, sh, unmount
from record import ours


class FaultyNode(Node):
    """Only its images are on the disk that fails; the job's file and the state are not."""

    def __init__(self, base):
        super().__init__(base, images=f'{MOUNT}/images')
        self.key = f'{daemon.ARGS.work}/key'
        self.file = f'{base}/steps'

    def job_steps(self):
        job = self.run(ours('steps'), self.file, '512', opts=('-o', '/dev/null', '-e', '/dev/null'))
        wait_for('its first steps', 20,
                 lambda: os.path.exists(self.file) and read_lines(self.file) > 1)
        return job

    def runs_on(self, job):
        before = read_lines(self.file)
        wait_for('the job to go on', 20, lambda: read_lines(self.file) > before)
        equal(self.jobs()[job]['state'], 'running', 'state')

    def are_whole(self, job, wanted):
        rows = self.generations(job)
        check(not [r for r in rows if 'error' in r], f'list: {rows}')
        equal([r['generation'] for r in rows], wanted, 'generations')
        equal([f for f in self.json('fsck', '--deep', '--repair')['findings']
               if not f['repaired']], [], 'fsck')

    def restarts(self, job):
        self.ctl('kill', str(job), 'KILL')
        self.wait(job)
        self.ctl('restart', str(job))
        self.runs_on(job)


class on_disk:
    """with on_disk(base) as (node, disk): a plain disk, and a ckptd with its images there."""

    def __init__(self, base, fs):
        os.makedirs(base)
        self.disk = Disk(base, fs, log=False)
        self.node = None
        self.base = base

    def __enter__(self):
        try:
            self.disk.open()
            os.mkdir(f'{MOUNT}/images')
            self.node = FaultyNode(self.base)
            self.node.start()
        except BaseException:
            self.disk.close()
            raise
        return self.node, self.disk

    def __exit__(self, *_):
        if self.node.daemon and self.node.daemon.poll() is None:
            self.node.stop()
        self.disk.close()


def free_bytes():
    st = os.statvfs(MOUNT)
    return st.f_bavail * st.f_frsize


def fill(path, leave):
    """Take the room but for so many bytes; of what it calls free XFS keeps some for itself."""
    size = free_bytes() - leave
    for attempt in range(64):
        try:
            with open(path, 'wb') as f:
                os.posix_fallocate(f.fileno(), 0, size - (attempt << 16))
            return
        except OSError as e:
            check(e.errno == errno.ENOSPC, f'{path}: {e}')
    raise daemon.Failure(f'{path}: {size} bytes free and not to be had')


def full(base, fs):
    """The disk has room for so much of the image and no more."""
    with on_disk(base, fs) as (node, _):
        job = node.job_steps()
        node.ctl('checkpoint', str(job))
        need = node.generations(job)[0]['bytes_stored']
        filler = f'{MOUNT}/filler'
        failed = 0
        for share in (0, 0.02, 0.3, 0.6, 0.9, 0.99):
            fill(filler, int(need * share))
            done = node.ctl('checkpoint', str(job), check=False)
            if done.returncode:
                failed += 1
                message = done.stderr.decode()
                check('No space left' in message or 'is full' in message, f'{share}: {message}')
            else:
                node.ctl('rm', f'{job}:{node.generations(job)[-1]["generation"]}')
            node.runs_on(job)
            node.are_whole(job, [1])
            os.truncate(filler, 0)      # what is unlinked XFS gives back later
        check(failed >= 3, f'only {failed} checkpoints met a full disk')
        g = node.json('checkpoint', str(job))['generation']
        node.are_whole(job, [1, g])
        node.restarts(job)


def fail_disk(fs, how):
    """Another table under the mounted file system, at once: "error", or what it was."""
    sh('dmsetup', 'suspend', '--nolockfs', '--noflush', DEVICE)
    sh('dmsetup', 'load', DEVICE, '--table', f'0 {SIZE[fs] << 11} {how}')
    sh('dmsetup', 'resume', DEVICE)


def failing(base, fs, seed, rounds):
    """Every write fails from some moment of a checkpoint on,
    until the disk is mended and mounted again."""
    rng = random.Random(seed)
    with on_disk(base, fs) as (node, disk):
        job = node.job_steps()
        began = time.monotonic()
        wanted = [node.json('checkpoint', str(job))['generation']]
        took = time.monotonic() - began
        failed = 0
        for n in range(rounds):
            # the first one meets it for certain, however fast the machine is
            if not n:
                fail_disk(fs, 'error')
            p = subprocess.Popen(node.argv('checkpoint', '--json', str(job)),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if n:
                time.sleep(rng.uniform(0, took))
                fail_disk(fs, 'error')
            out, err = p.communicate(timeout=120 * daemon.ARGS.slow)
            if p.returncode:
                failed += 1
                check(b'nput/output error' in err or b'ead-only' in err, err)
            else:
                wanted.append(json.loads(out)['result']['generation'])
            node.runs_on(job)
            # the same disk again: what is done to a real one when its cable is back; ckptd holds
            # a file there
            node.leave()
            unmount()
            fail_disk(fs, f'linear {disk.loops[0]} 0')
            disk.mount()
            node.start()
            # one that was published when the disk failed may have reached it, and is then whole
            there = [r['generation'] for r in node.generations(job)]
            check(set(wanted) <= set(there) and len(there) <= len(wanted) + 1,
                  f'round {n}: there {there}, acknowledged {wanted}')
            node.are_whole(job, there)
            wanted = [*there, node.json('checkpoint', str(job))['generation']]
            node.are_whole(job, wanted)
        check(failed, 'no checkpoint met the errors')
        print(f'# seed {seed}: {failed} of {rounds} checkpoints failed', flush=True)
        node.restarts(job)
