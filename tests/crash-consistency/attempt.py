# SPDX-License-Identifier: GPL-2.0-only
"""One run of a program: checkpoint at a random instant, on, kill, restart, to the end; a verdict.

equal     the job ended well, and its files and output are those of an undisturbed run
refused   the restart was refused for a reason that names a file, and nothing was touched; or the
          checkpoint was refused with a reason, and the job ended as if nobody had asked
skipped   the program had ended before each checkpoint, as it may on a busy machine
wrong     everything else

Kinds of runs: `once`; `older`, from the first of two checkpoints; `twice`, killed and restarted
again after its restart; `fewer`, restarted on the first node alone, if it ran on more. Half of the
kills take the job's shims along. Instants are parts of the program's time, which begins with its
first file: an interpreter may start for longer than its program runs.
"""
import glob
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from dataclasses import asdict, dataclass, field

import daemon
from daemon import USER, Failure, wait_for
from programs import INPUTS, MPI, SAME_NODES, command
from tree import CUT_TAIL, LEFT_BY_A_CUT, differences, snapshot, without

# what a restart cuts off the job's own logs
CUT_LOG = re.compile(r'\.cut-\d+$')
# the shim says so to the user
KILLED = re.compile(r'^stillpoint: rank \d+ was killed by .*\n', re.M)
UNSUPPORTED = 77        # a program's exit status
REFUSED = 3             # ckptctl's
BEGIN_SECONDS = 300     # numpy's import takes a minute on an emulator that others use, too
KINDS = ['once'] * 6 + ['older'] * 2 + ['twice'] * 2
MPI_KINDS = KINDS + ['fewer'] * 3


class Verdict(Exception):
    """What a run has come to."""

    def __init__(self, verdict, why=''):
        super().__init__(why)
        self.verdict, self.why = verdict, why


@dataclass
class Attempt:
    """A run; what it has come to so far can be kept over a power cut, as JSON."""
    program: str
    place: str
    dir: str
    number: int             # of the runs of this program on this file system
    kind: str
    instants: list = field(default_factory=list)    # parts of the program's time
    hard: bool = False
    cut: bool = False
    job: int = 0
    generation: int = 0
    verdict: str = ''
    why: str = ''
    said: str = ''          # by the last restart

    def text(self):
        at = [f'{round(100 * i)}' for i in self.instants]
        if self.cut:
            return f'checkpoint at {at[0]} %, then a power cut'
        how = 'killed with its shim' if self.hard else 'killed'
        return f'{self.kind}, checkpoint at {at[0]} %, {how} {at[1]} % later'


def planned(seed, program, place, number, cut=False):
    """The run of this number; its instants come from the seed alone."""
    rng = random.Random(f'{seed} {program} {place.name} {number} {cut}')
    kind = rng.choice(MPI_KINDS if program in MPI and program not in SAME_NODES else KINDS)
    instants = [rng.uniform(0.03, 0.8), rng.uniform(0, 0.5), rng.uniform(0, 0.4)]
    return Attempt(program, place.name, f'{place.dir}/{"cut" if cut else "run"}-{program}-{number}',
                   number, 'once' if cut else kind, instants, rng.random() < 0.5, cut)


def descendants(pid):
    children = {}
    for entry in os.listdir('/proc'):
        if entry.isdigit():
            try:
                with open(f'/proc/{entry}/stat') as f:
                    parent = int(f.read().rsplit(')', 1)[1].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def first_difference(want, got):
    pairs = itertools.zip_longest(want.splitlines(), got.splitlines())
    for number, (a, b) in enumerate(pairs, 1):
        if a != b:
            return f'line {number} is {b!r}, not {a!r}'
    return 'other ends of lines'


def processes(node, job):
    """The job's shim on the node and all below it; none if it has ended."""
    try:
        with open(f'{node.base}/jobs/{job}/shim.json') as f:
            return descendants(json.load(f)['shim'])
    except FileNotFoundError:
        return []


class Runner:
    """Does runs as jobs of the first of @nodes; @references are results of undisturbed runs."""

    def __init__(self, nodes, references, spoils=False):
        self.nodes, self.node, self.references = nodes, nodes[0], references
        self.spoils = spoils

    def ctl(self, *args):
        return self.node.ctl(*args, check=False, user=USER, timeout=180)

    def state(self, job):
        return self.node.job(job)['state']

    def begin(self, attempt):
        os.mkdir(attempt.dir)
        os.chown(attempt.dir, USER, USER)
        for name in INPUTS.get(attempt.program, ()):
            with open(f'{attempt.dir}/{name}', 'w') as f:
                f.write(f'{name} of {attempt.program}\n')
            os.chown(f'{attempt.dir}/{name}', USER, USER)
        argv = command(attempt.program, daemon.ARGS.work)
        if attempt.program in MPI:
            attempt.job = self.over_nodes(argv, attempt.dir)
        else:
            attempt.job = self.node.run(*argv, user=USER, opts=('--chdir', attempt.dir))
        self.wait_for_begin(attempt)

    def over_nodes(self, argv, where):
        done = subprocess.run(['setpriv', '--reuid', str(USER), '--regid', str(USER),
                               '--clear-groups', '--', f'{daemon.ARGS.bin}/ckptrun', '--socket',
                               self.node.socket, '-n', '4', '--detach', '--hosts',
                               ','.join(n.name for n in self.nodes), '--', *argv],
                              stdin=subprocess.DEVNULL, capture_output=True, cwd=where,
                              timeout=120 * daemon.ARGS.slow)
        if done.returncode:
            raise Failure(f'ckptrun: status {done.returncode}: {done.stderr.decode()}')
        return int(done.stdout)

    def wait_for_begin(self, attempt):
        """Its first file or line is there; ckptd is not asked often, it has work to do."""
        asked = time.monotonic()
        end = asked + BEGIN_SECONDS * daemon.ARGS.slow
        there = set(INPUTS.get(attempt.program, ()))
        while not set(os.listdir(attempt.dir)) - there and not any(self.output(attempt)):
            if time.monotonic() > asked + 2:
                asked = time.monotonic()
                if self.state(attempt.job) != 'running':
                    return
            if asked > end:
                raise Failure(f'{attempt.program} does not begin within {BEGIN_SECONDS} s')
            time.sleep(0.02)

    def output(self, attempt):
        """Standard output and standard error; of a job over nodes, those of all nodes."""
        found = []
        for stream in ('stdout', 'stderr'):
            text = ''
            for path in sorted(glob.glob(f'{self.node.images}/{attempt.job}/{stream}*')):
                if not CUT_LOG.search(path):
                    with open(path, errors='replace') as f:
                        text += f.read()
            found.append(text)
        return [found[0], KILLED.sub('', found[1])]

    def wait(self, attempt):
        limit = 120 + 10 * self.references[attempt.program, attempt.place]['seconds']
        try:
            return self.node.wait(attempt.job, timeout=limit)
        except subprocess.TimeoutExpired:
            raise Verdict('wrong', f'the job does not end within {limit:.0f} s') from None

    # ------------------------------------------------------------ an undisturbed run

    def refer(self, program, place):
        """The result of an undisturbed run, or why there is none here."""
        attempt = Attempt(program, place.name, f'{place.dir}/{program}', 0, 'undisturbed')
        self.begin(attempt)
        began = time.monotonic()
        status = self.node.wait(attempt.job, timeout=BEGIN_SECONDS)
        stdout, stderr = self.output(attempt)
        result = {'seconds': time.monotonic() - began, 'output': [stdout, stderr],
                  'files': snapshot(attempt.dir)}
        self.forget(attempt)
        if status == UNSUPPORTED:
            return {'skip': stderr.strip()}
        if status or not stdout:
            raise Failure(f'{program} on {place.name}, undisturbed: status {status}: {stderr}')
        return result

    # ------------------------------------------------------------ parts of a run

    def sleep(self, attempt, part):
        time.sleep(part * self.references[attempt.program, attempt.place]['seconds'])

    def checkpoint(self, attempt):
        done = self.ctl('checkpoint', '--json', str(attempt.job))
        if done.returncode == 0:
            return json.loads(done.stdout)['result']['generation']
        message = done.stderr.decode().strip() or done.stdout.decode().strip()
        if self.state(attempt.job) != 'running' or 'ended during its checkpoint' in message:
            # by itself: a checkpoint must not end it
            self.compare(attempt, self.wait(attempt), f'ended at the checkpoint ({message}): ')
            return None
        self.left_alone(attempt, message)
        raise Verdict('refused', f'at the checkpoint: {message}')

    def left_alone(self, attempt, message):
        """A checkpoint was refused: the job ends as if nobody had asked."""
        if not re.search(r'\[[A-Z][A-Z_]*\]|' + re.escape(attempt.dir), message):
            raise Verdict('wrong', f'checkpoint refused without a reason: {message}')
        self.compare(attempt, self.wait(attempt), f'checkpoint refused ({message}), and then ')

    def first_checkpoint(self, attempt):
        """On a busy machine the job may have ended: begin again, and earlier."""
        for _ in range(4):
            self.begin(attempt)
            self.sleep(attempt, attempt.instants[0])
            attempt.generation = self.checkpoint(attempt)
            if attempt.generation:
                return
            self.forget(attempt)
            attempt.instants[0] /= 2
        # each of them has ended as without us: checkpoint() compares
        raise Verdict('skipped', 'the job had ended before each checkpoint')

    def crash(self, attempt):
        """SIGKILL for all there is of the job."""
        if attempt.hard:
            for pid in [pid for node in self.nodes for pid in processes(node, attempt.job)]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        else:
            self.ctl('kill', str(attempt.job), 'KILL')
        wait_for(f'job {attempt.job} to be gone', 60,
                 lambda: self.state(attempt.job) != 'running')

    def resume(self, attempt):
        node, job = self.node, attempt.job
        files, known = snapshot(attempt.dir), (node.generations(job), self.output(attempt))
        where = ['--nodes', node.name] if attempt.kind == 'fewer' else []
        done = self.ctl('restart', *where, f'{job}:{attempt.generation}')
        attempt.said = done.stdout.decode().strip()
        if done.returncode == 0:
            return
        message = done.stderr.decode().strip()
        if done.returncode not in (1, REFUSED):
            raise Verdict('wrong', f'restart: status {done.returncode}: {message}')
        names = '|'.join(re.escape(name) for name in [attempt.dir, *files])
        if not re.search(rf'(?<!\w)({names})(?!\w)', message):
            raise Verdict('wrong', f'refused without the name of a file: {message}')
        touched = differences(files, snapshot(attempt.dir))
        if touched:
            raise Verdict('wrong', f'refused ({message}), but {"; ".join(touched)}')
        now = node.generations(job), self.output(attempt)
        if self.state(job) == 'running' or now != known:
            raise Verdict('wrong', f'refused ({message}), but the job is not as it was')
        raise Verdict('refused', message)

    def compare(self, attempt, status, before=''):
        want = self.references[attempt.program, attempt.place]
        output = self.output(attempt)
        if status:
            raise Verdict('wrong', f'{before}status {status}: {output[1].strip()}')
        litter = LEFT_BY_A_CUT if attempt.cut else CUT_TAIL
        found = differences(want['files'], without(snapshot(attempt.dir), litter))
        found += [f'{name}: {first_difference(a, b)}' for name, a, b in
                  zip(('stdout', 'stderr'), want['output'], output) if a != b]
        if found:
            raise Verdict('wrong', before + '; '.join(found))

    # ------------------------------------------------------------ whole runs

    def judged(self, attempt, *parts):
        """Do @parts; the verdict if that was all, or one of them came to one."""
        try:
            for part in parts:
                part(attempt)
        except Verdict as e:
            attempt.verdict, attempt.why = e.verdict, e.why
        except (Failure, subprocess.TimeoutExpired, OSError, ValueError) as e:
            attempt.verdict, attempt.why = 'wrong', f'{type(e).__name__}: {e}'
        if attempt.verdict == 'wrong' and attempt.said:
            attempt.why += f'\nthe restart had said: {attempt.said}'
        return attempt

    def run_on(self, attempt):
        self.sleep(attempt, attempt.instants[1])

    def older(self, attempt):
        self.sleep(attempt, attempt.instants[2])
        self.checkpoint(attempt)

    def again(self, attempt):
        self.sleep(attempt, attempt.instants[2])
        self.crash(attempt)
        self.resume(attempt)

    def spoil(self, attempt):
        """Another first byte in each file, as if a restart had not put it back."""
        for name, at in snapshot(attempt.dir).items():
            if at.get('size'):
                with open(f'{attempt.dir}/{name}', 'r+b', buffering=0) as f:
                    byte = f.read(1)[0]
                    f.seek(0)
                    f.write(bytes([byte ^ 1]))

    def end(self, attempt):
        if self.spoils:
            self.spoil(attempt)
        self.compare(attempt, self.wait(attempt))
        raise Verdict('equal')

    def run(self, attempt):
        self.judged(attempt, self.first_checkpoint,
                    *([self.older] if attempt.kind == 'older' else []),
                    self.run_on, self.crash, self.resume,
                    *([self.again] if attempt.kind == 'twice' else []),
                    self.end)
        self.forget(attempt)
        return attempt

    def before_cut(self, attempt):
        return self.judged(attempt, self.first_checkpoint)

    def after_cut(self, attempt):
        if not attempt.verdict:
            self.judged(attempt, self.resume, self.end)
        self.forget(attempt)
        return attempt

    def forget(self, attempt):
        """Nothing of the run stays; a job that runs still is killed."""
        if attempt.job:
            self.ctl('kill', str(attempt.job), 'KILL')
            self.node.wait(attempt.job)
            self.ctl('rm', str(attempt.job))
            attempt.job = 0
        shutil.rmtree(attempt.dir, ignore_errors=True)


def kept(attempts):
    return [asdict(a) for a in attempts]
