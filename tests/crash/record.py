# SPDX-License-Identifier: GPL-2.0-only
"""Jobs are checkpointed on a disk whose writes are logged; a ledger says what was acknowledged."""
import contextlib
import copy
import json
import os
import socket
import struct
import threading

import daemon
from daemon import Node, check, equal, wait_for
from disk import MOUNT, Disk


def ours(name):
    """What powercut.py has copied for us: whoever builds meanwhile is not to be noticed."""
    return f'{daemon.ARGS.bin}/{name}'


class Ledger:
    """What was acknowledged at each mark.

    Of each job: generations that must be there, and that may be (something about them is
    under way); pins, likewise. A job whose start is under way may be there or not.
    """

    def __init__(self, mark):
        self.mark = mark
        self.jobs = {}
        self.states = []
        self.lock = threading.Lock()
        self.note('begin')

    def note(self, why):
        self.states.append({'why': why, 'jobs': copy.deepcopy(self.jobs)})
        self.mark(str(len(self.states) - 1))

    @contextlib.contextmanager
    def step(self, job, why, adds=(), removes=(), pins=(), unpins=()):
        """What happens inside is under way; past it, acknowledged."""
        with self.lock:
            at = self.jobs[job]
            at['may'] |= {*adds, *removes}
            at['must'] -= set(removes)
            at['may_pin'] |= {*pins, *unpins}
            at['pinned'] -= set(unpins)
            self.note(f'{why} of job {job} under way')
        yield
        with self.lock:
            at['may'] -= {*adds, *removes}
            at['must'] |= set(adds)
            at['may_pin'] -= {*pins, *unpins}
            at['pinned'] |= set(pins)
            self.note(f'{why} of job {job} done')

    def add_job(self, job, path):
        """Its number may be one that a job had that is gone."""
        with self.lock:
            self.jobs[job] = {'must': set(), 'may': set(), 'pinned': set(), 'may_pin': set(),
                              'file': path}
            self.note(f'job {job} started')

    def drop_job(self, job):
        """Its directory may be gone from now on."""
        with self.lock:
            at = self.jobs[job]
            at['may'] |= at['must']
            at['must'] = set()
            at['gone'] = True
            self.note(f'rm of job {job} under way')


class CutNode(Node):
    """A ckptd whose images and state are on the disk that is cut."""

    def __init__(self, base, state=None, settings=None):
        super().__init__(base, images=f'{MOUNT}/images')
        self.key = f'{daemon.ARGS.work}/key'
        self.settings = {'state_dir': state or f'{MOUNT}/state', **(settings or {})}
        self.preload = {}

    def call(self, verb, **args):
        """The outcome of a request, without a process for ckptctl."""
        text = json.dumps({'verb': verb, 'args': args}).encode()
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(60 * daemon.ARGS.slow)
            s.connect(self.socket)
            s.sendall(struct.pack('<IHHI', 0x54504b43, 1, 0, len(text)) + text)
            with s.makefile('rb') as f:
                while True:
                    length = struct.unpack('<IHHI', f.read(12))[3]
                    outcome = json.loads(f.read(length))
                    if 'ok' in outcome:
                        return outcome

    def result(self, verb, **args):
        outcome = self.call(verb, **args)
        check(outcome['ok'], f'{verb} {args}: {outcome.get("error", {}).get("text")}')
        return outcome['result']

    def start(self):
        os.environ.update(self.preload)
        try:
            return super().start()
        finally:
            for name in self.preload:
                del os.environ[name]


class Recorder:
    """Jobs and what is done with them; every step leaves a mark."""

    def __init__(self, node, disk):
        self.node = node
        self.ledger = Ledger(disk.mark)
        self.next = {}

    def job(self, pages=256):
        os.makedirs(f'{MOUNT}/work', exist_ok=True)
        path = f'{MOUNT}/work/{len(self.ledger.states)}'
        job = self.node.run(ours('steps'), path, str(pages), opts=('-o', f'{path}.out'))
        self.next[job] = 1
        self.ledger.add_job(job, path)
        wait_for('its first steps', 20, lambda: os.path.exists(path) and os.stat(path).st_size)
        return job

    def checkpoint(self, job, *opts, expires=()):
        """@expires: generations that pruning may remove from now on."""
        g = self.next[job]
        if expires:
            with self.ledger.lock:
                self.ledger.jobs[job]['must'] -= set(expires)
                self.ledger.jobs[job]['may'] |= set(expires)
        with self.ledger.step(job, f'checkpoint {g}', adds=[g]):
            equal(self.node.json('checkpoint', *opts, str(job))['generation'], g, 'generation')
        self.next[job] += 1
        return g

    def rm(self, job, *generations):
        with self.ledger.step(job, f'rm {generations}', removes=generations):
            for g in generations:
                self.node.ctl('rm', f'{job}:{g}')

    def prune(self, job, removes, *opts):
        with self.ledger.step(job, f'prune {removes}', removes=removes):
            self.node.ctl('prune', *opts, str(job))

    def pin(self, job, g):
        with self.ledger.step(job, f'pin {g}', pins=[g]):
            self.node.ctl('pin', f'{job}:{g}')

    def unpin(self, job, g):
        with self.ledger.step(job, f'unpin {g}', unpins=[g]):
            self.node.ctl('unpin', f'{job}:{g}')

    def merge(self, job, g):
        """ckptd may be merging it before it copies it."""
        def once():
            done = self.node.ctl('merge', f'{job}:{g}', check=False)
            busy = [b'is being written already', b'is being merged already']
            check(done.returncode == 0 or any(text in done.stderr for text in busy),
                  f'merge {job}:{g}: {done.stderr.decode()}')
            return done.returncode == 0
        with self.ledger.step(job, f'merge {g}'):
            wait_for(f'{job}:{g} to be merged', 60, once)

    def copied(self, job):
        """All generations are on all levels behind the first."""
        def states():
            return {level['state'] for g in self.node.generations(job) for level in g['levels'][1:]}
        wait_for('copies on all levels', 60, lambda: states() == {'here'})
        self.ledger.note(f'job {job} copied')

    def rm_here(self, job, g):
        """From the image directory only: it stays on the others."""
        with self.ledger.step(job, f'rm of {g} in L1'):
            self.node.ctl('rm', '--force', '--level', 'L1', f'{job}:{g}')

    def kill(self, job):
        self.node.ctl('kill', str(job), 'KILL')
        self.node.wait(job)


def record(base, fs, scenarios, preload=None, settings=None):
    """Writes and their log are in base, and a ledger of what had been acknowledged at each mark."""
    os.makedirs(base)
    disk = Disk(base, fs)
    node = None
    try:
        disk.open()
        for name in ('images', 'state', 'work', 'far'):
            os.mkdir(f'{MOUNT}/{name}', 0o700 if name == 'far' else 0o755)
        os.sync()
        node = CutNode(base, settings=settings)
        node.preload = preload or {}
        node.start()
        rec = Recorder(node, disk)
        for f in scenarios:
            f(rec)
        node.stop()
    finally:
        if node and node.daemon and node.daemon.poll() is None:
            node.stop()
        disk.close()
    with open(f'{base}/ledger.json', 'w') as f:
        json.dump({'settings': settings or {}, 'states': rec.ledger.states}, f, default=sorted)
