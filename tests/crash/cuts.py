# SPDX-License-Identifier: GPL-2.0-only
"""Disks as they are after a power cut, made from a log, each from a seed;
and what a ckptd finds there."""
import json
import os
import random
import shutil
import subprocess
import traceback

from daemon import Failure, check, equal, wait_for
from disk import MOUNT, sh, unmount
from record import CutNode, ours

# What fsck may find after a power cut: traces of what was under way, no damage.
HARMLESS = {'unfinished', 'half_removed', 'uncommitted', 'stale_claim', 'pin_gone', 'no_record',
            'index'}


def merged(first, second):
    """What must be there in both states, and may be in either."""
    out = {}
    for job in set(first) & set(second):
        a, b = first[job], second[job]
        out[job] = {
            'must': a['must'] & b['must'],
            'may': a['may'] | b['may'] | (a['must'] ^ b['must']),
            'pinned': a['pinned'] & b['pinned'],
            'may_pin': a['may_pin'] | b['may_pin'] | (a['pinned'] ^ b['pinned']),
            'gone': a.get('gone') or b.get('gone'),
            'file': a['file'],
        }
    for job in set(first) ^ set(second):
        at = first.get(job) or second[job]
        out[job] = {'must': set(), 'may': at['must'] | at['may'], 'pinned': set(),
                    'may_pin': at['pinned'] | at['may_pin'], 'gone': True, 'file': at['file']}
    return out


def load_ledger(base):
    """(settings of ckptd, what was acknowledged at each mark)"""
    with open(f'{base}/ledger.json') as f:
        ledger = json.load(f)
    for state in ledger['states']:
        state['jobs'] = {int(job): {k: set(v) if isinstance(v, list) else v for k, v in at.items()}
                         for job, at in state['jobs'].items()}
    return ledger['settings'], ledger['states']


def read_lines(path):
    """How many steps are in a job's file; they must be the right ones (steps.c)."""
    chain = 1
    with open(path) as f:
        lines = f.read().split('\n')[:-1]
    for n, line in enumerate(lines):
        chain = (chain * 1664525 + n + 1) & 0xffffffff
        if line != f'{n} {chain}':
            raise Failure(f'line {n} of {path} is {line!r}')
    return len(lines)


class Log:
    """Marks and barriers of a log; where a seed cuts it, and what must be there then."""

    def __init__(self, base):
        self.base = base
        self.settings, self.states = load_ledger(base)
        self.jobs = {job for state in self.states for job in state['jobs']}
        self.marks = []       # (index, number of the state)
        self.barriers = []
        for line in sh(ours('cut'), 'scan', f'{base}/log').splitlines():
            index, kind, *text = line.split()
            if kind == 'mark' and text[0].isdigit():
                self.marks.append((int(index), int(text[0])))
            elif kind == 'barrier':
                self.barriers.append(int(index))
        self.end = int(index)
        equal([n for _, n in self.marks], list(range(len(self.states))), 'marks in the log')

    def place(self, seed):
        """At which entry, and what of the writes on their way arrives (0: nothing)."""
        rng = random.Random(seed)
        at = rng.randrange(len(self.marks))
        begin = self.marks[at][0] + 1
        end = self.marks[at + 1][0] if at + 1 < len(self.marks) else self.end
        if rng.random() < 0.25:
            return begin, rng.choice((0, rng.getrandbits(40)))
        # barriers first: most entries are data of one long write
        bounds = [begin, *(b for b in self.barriers if begin <= b < end), end]
        i = rng.randrange(len(bounds))
        low = bounds[max(0, i - 1)]
        high = bounds[i]
        where = rng.choice((low, high, low + 1, high + 1, rng.randint(low, high)))
        return min(max(where, begin), end), rng.getrandbits(40) | 1

    def wanted(self, entry):
        """(job → what must be there, in words where that is)."""
        last = max(n for i, n in self.marks if i < entry)
        stop = min([b for b in self.barriers if b >= entry], default=self.end)
        jobs = self.states[last]['jobs']
        for i, n in self.marks:
            if entry <= i < stop:
                jobs = merged(jobs, self.states[n]['jobs'])
        return jobs, self.states[last]['why']


class Cut:
    """One disk after a power cut, mounted, with a new ckptd."""

    def __init__(self, log, seed, fs, state):
        self.log = log
        self.seed = seed
        self.fs = fs
        self.entry, self.chance = log.place(seed)
        self.wanted, self.why = log.wanted(self.entry)
        self.out = f'{log.base}/cut'
        self.state = state
        self.node = None

    def make(self, base, at):
        """base holds the entries before at."""
        self.made = sh(ours('cut'), 'make', f'{self.log.base}/log', base, self.out, str(at),
                       str(self.entry), str(self.chance))

    def text(self):
        return f'cut {self.seed} (entry {self.entry} of {self.log.end}, {self.why}; {self.made})'

    def check_job(self, job, at, rows):
        check(rows is not None or at.get('gone'), f'job {job} is not listed')
        rows = rows or []
        bad = [r for r in rows if 'error' in r]
        check(not bad, f'job {job}: listed with an error: {bad}')
        there = {r['generation'] for r in rows}
        check(at['must'] <= there, f'job {job}: committed and not there: '
              f'{sorted(at["must"] - there)} (there: {sorted(there)})')
        check(there <= at['must'] | at['may'], f'job {job}: there and never acknowledged, or '
              f'removed: {sorted(there - at["must"] - at["may"])}')
        pinned = {r['generation'] for r in rows if r.get('pinned')}
        check(at['pinned'] <= pinned | (at['may'] - there), f'job {job}: pinned and not any '
              f'more: {sorted(at["pinned"] - pinned)}')
        check(pinned <= at['pinned'] | at['may_pin'], f'job {job}: pins of nobody: {pinned}')
        return there

    def check_jobs(self):
        rows = {j['job']: j['generations'] for j in self.node.result('list')['jobs']}
        check(set(rows) <= self.log.jobs, f'jobs of nobody: {sorted(rows)}')
        return {job: self.check_job(job, at, rows.get(job)) for job, at in self.wanted.items()}

    def settled(self, there):
        return {job: g - self.wanted[job]['may'] for job, g in there.items()}

    def check_fsck(self):
        rows = self.node.result('fsck', deep=True, repair=True)['findings']
        bad = [f'{r["kind"]} {r.get("path", "")}: {r.get("text", "")}' for r in rows
               if r['kind'] not in HARMLESS or 'failed' in r]
        check(not bad, 'fsck: ' + '; '.join(bad))
        return rows

    def lines(self, job):
        return read_lines(self.wanted[job]['file'])

    def restart(self, job, g):
        """Right after the start ckptd may be removing what is too much of the job."""
        def once():
            nonlocal done
            done = self.node.ctl('restart', f'{job}:{g}', check=False)
            return b'try again' not in done.stderr
        done = None
        wait_for('removals to end', 20, once)
        check(done.returncode == 0, f'restart of {job}:{g}: {done.stderr.decode()}')

    def check_restart(self, job, there):
        g = max(there)
        if os.path.exists(f'{MOUNT}/images/{job}/gen-{g}'):
            self.node.ctl('verify', '--deep', f'{job}:{g}')
        self.restart(job, g)
        began = self.lines(job)
        wait_for(f'job {job} to go on from generation {g}', 20,
                 lambda: self.lines(job) > began + 2)
        equal(self.node.jobs()[job]['state'], 'running', 'state')
        # and it can be checkpointed again
        self.node.ctl('checkpoint', str(job))
        self.lines(job)

    def check(self, restart):
        there = self.check_jobs()
        found = self.check_fsck()
        # a removal that was under way may go on meanwhile
        equal(self.settled(self.check_jobs()), self.settled(there),
              'generations after fsck --repair')
        with_some = [job for job in there if there[job]]
        if restart and with_some:
            job = random.Random(self.seed).choice(with_some)
            self.check_restart(job, there[job])
            # a claim stays until its own job is restarted
            left = [r for r in self.check_fsck() if r['kind'] != 'no_record' and
                    not (r['kind'] == 'stale_claim' and r['job'] != job)]
            equal(left, [], f'after a restart of job {job} a second fsck, the first found {found}')
        return sum(len(g) for g in there.values()), [r['kind'] for r in found]

    def run(self, base, at, restart):
        self.make(base, at)
        sh('mount', '-t', self.fs, '-o', 'loop', self.out, MOUNT)
        try:
            # the node's own directory of state may have been on another disk
            here = f'{self.log.base}/state' if self.state else None
            shutil.rmtree(f'{self.log.base}/state', ignore_errors=True)
            self.node = CutNode(self.log.base, here, self.log.settings)
            self.node.start()
            return self.check(restart)
        finally:
            if self.node and self.node.daemon:
                self.node.stop() if restart else self.node.leave()
            unmount()


def cut_all(base, fs, seeds, restart_every):
    """What came of each: (failures, tally)."""
    log = Log(base)
    cuts = sorted((Cut(log, seed, fs, seed % 3 == 0) for seed in seeds), key=lambda c: c.entry)
    rolling = f'{base}/rolling'
    sh('cp', '--sparse=always', f'{base}/first', rolling)
    at = 0
    failures = []
    tally = {'cuts': 0, 'generations': 0, 'restarts': 0}
    for cut in cuts:
        restart = bool(restart_every) and cut.seed % restart_every == 0
        try:
            generations, found = cut.run(rolling, at, restart)
            tally['generations'] += generations
            for kind in found:
                tally[kind] = tally.get(kind, 0) + 1
        except (Failure, subprocess.TimeoutExpired, OSError) as e:
            failures.append(f'{cut.text()}: {e}')
        except Exception:
            failures.append(f'{cut.text()}: {traceback.format_exc()}')
        at = cut.entry
        tally['cuts'] += 1
        tally['restarts'] += restart
    return failures, tally
