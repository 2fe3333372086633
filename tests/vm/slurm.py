#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Batch jobs of Slurm that are saved, requeued and go on, as TAP.

    slurm.py --bin DIR --work DIR [--slow FACTOR] [--only WORD]

Runs as root in a test VM, with the Slurm of tests/slurm/bed. Each test has a ckptd of its own.
"""
import glob
import os
import re
import subprocess
import sys
import time

import daemon
from daemon import Failure, check, equal, test, wait_for

daemon.TESTS.clear()

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '../..'))
BIN = f'{TOP}/build/bin'
BED = f'{TOP}/tests/slurm/bed'
ALICE = 4242
# until there is a file "stop" beside its output; the number of the step is its argument
COUNT = ('i=0; while ! [ -e stop ]; do echo $0n$i; i=$((i+1)); sleep 0.1; done; '
         'echo $0end; exit 7')
RUN = 'ckpt-slurm-run --look 1s'


class Batch:
    """A directory of alice's, and what she does in it."""

    def __init__(self, node):
        node.leave()
        node.name = 's1'		# as Slurm calls it
        daemon.ARGS.bin = BIN		# with all that an MPI job needs beside it
        node.start()
        self.node = node
        self.dir = f'{node.base}/alice'
        os.mkdir(self.dir)
        os.chown(self.dir, ALICE, ALICE)
        self.env = {'PATH': f'{BIN}:/usr/bin:/bin:/usr/sbin', 'HOME': self.dir, 'USER': 'alice',
                    'TMPDIR': self.dir, 'CKPTD_SOCKET': node.socket}

    def alice(self, *argv, check_status=True):
        done = subprocess.run(['setpriv', '--reuid', str(ALICE), '--regid', str(ALICE),
                               '--clear-groups', '--', *argv], cwd=self.dir, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300 * daemon.ARGS.slow)
        if check_status and done.returncode:
            raise Failure(f'{argv}: {done.returncode}: {done.stderr}')
        return done

    def submit(self, script, *opts, name='out'):
        """The number of the batch job, whose output is appended to files NAME and NAME.err."""
        with open(f'{self.dir}/{name}.sh', 'w') as f:
            f.write(f'#!/bin/bash\n{script}\n')
        return self.alice('sbatch', '--parsable', '-o', name, '-e', f'{name}.err',
                          '--open-mode=append', *opts, f'{name}.sh').stdout.strip()

    def read(self, name='out'):
        try:
            with open(f'{self.dir}/{name}') as f:
                return f.read()
        except FileNotFoundError:
            return ''

    def touch(self, name):
        with open(f'{self.dir}/{name}', 'w'):
            pass

    def show(self, job):
        """What scontrol shows of a job, by its names."""
        text = self.alice('scontrol', '-o', 'show', 'job', job).stdout
        return dict(re.findall(r'(\w+)=(\S*)', text))

    def wait(self, what, seconds, f):
        """As wait_for(); a failure has what Slurm knows and what the scripts have said."""
        try:
            return wait_for(what, seconds, f)
        except Failure as failure:
            said = [self.alice('squeue', '-a', check_status=False).stdout]
            for path in sorted(glob.glob(f'{self.dir}/*.err')):
                said.append(f'{os.path.basename(path)}:\n{self.read(os.path.basename(path))}')
            raise Failure('\n'.join([str(failure), *said])) from failure

    def wait_state(self, job, *states, seconds=120):
        return self.wait(f'job {job} is {states}', seconds,
                         lambda: self.show(job)['JobState'] in states and self.show(job))

    def grows(self, name='out', lines=10):
        """Wait for more output."""
        before = self.read(name).count('\n')
        self.wait(f'output {name}', 60, lambda: self.read(name).count('\n') >= before + lines)

    def preempt(self, job):
        """A job that needs the whole machine comes and goes; the other one runs again after it."""
        restarts = int(self.show(job)['Restarts'])
        began = time.monotonic()
        high = self.alice('sbatch', '--parsable', '--exclusive', '-p', 'high', '-o', 'high',
                          '--wrap', 'sleep 0.5').stdout.strip()
        self.wait_state(high, 'RUNNING', 'COMPLETED')
        print(f'# the high job began after {time.monotonic() - began:.1f} s', flush=True)
        self.wait_state(high, 'COMPLETED')
        now = self.wait_state(job, 'RUNNING')
        equal(int(now['Restarts']), restarts + 1, 'how often it was requeued')

    def cancel_all(self):
        self.alice('scancel', '-u', 'alice', check_status=False)


def in_step(job):
    """Processes in the control groups of a batch job."""
    pids = []
    for path, _, files in os.walk('/sys/fs/cgroup/system.slice'):
        if f'/job_{job}/' in path + '/' and 'cgroup.procs' in files:
            with open(f'{path}/cgroup.procs') as f:
                pids += f.read().split()
    return pids


def counted(text, label=''):
    """Check that the output is 0, 1, 2, … and the end."""
    lines = text.split()
    equal(lines, [f'{label}n{i}' for i in range(len(lines) - 1)] + [f'{label}end'], 'output')


@test
def in_the_step(node):
    """a job of ckptctl run is in its batch step: accounted for, and ended by scancel"""
    batch = Batch(node)
    job = batch.submit(f"ckptctl run -- sh -c '{COUNT}' ''")
    batch.grows()
    init = next(iter(node.jobs().values()))['init_pid']
    check(str(init) in in_step(job), f'{init} is not in the step: {in_step(job)}')
    with open(f'/proc/{init}/task/{init}/children') as f:
        check(set(f.read().split()) <= set(in_step(job)), 'a process is outside of the step')
    # a job of hers is none of root's
    equal(node.ctl('resume', '--name', 'sh', '--', 'echo', 'mine').stdout, b'mine\n', 'resume')
    shown = batch.alice('sstat', '-a', '-n', '-P', '-j', job, '--format=JobID,AveCPU').stdout
    check(shown.startswith(f'{job}.batch|'), f'sstat: {shown!r}')
    batch.alice('scancel', job)
    batch.wait_state(job, 'CANCELLED')
    wait_for('its processes to go', 30, lambda: not in_step(job))
    check(not os.path.exists(f'/proc/{init}'), 'the job runs on')
    equal(node.jobs(), {}, 'jobs')


@test
def preempted(node):
    """a serial job is preempted five times in a row: no line of its output twice or lost"""
    batch = Batch(node)
    job = batch.submit(f"{RUN} -- sh -c '{COUNT}' ''; echo status $? >&2; exit 3")
    for _ in range(5):
        batch.grows()
        batch.preempt(job)
    batch.grows()
    batch.touch('stop')
    equal(batch.wait_state(job, 'FAILED')['ExitCode'], '3:0', "the script's status")
    counted(batch.read())
    check(batch.read('out.err').endswith('status 7\n'), batch.read('out.err'))
    equal(batch.read('out.err').count('and batch job'), 5, 'saves: ' + batch.read('out.err'))
    equal(len(node.jobs('--all')), 1, 'jobs of ckptd')


def poisson(batch, kind, times):
    """An MPI job that knows nothing of us, by mpirun of the plugin."""
    program = glob.glob(f'{TOP}/build/examples/poisson.slurm*.*.{kind}')[0]
    arguments = ['64', str((times + 1) * 120), '40']
    want = subprocess.run([f'mpiexec.{kind}', *(['--oversubscribe', '--allow-run-as-root']
                                                if kind == 'openmpi' else []),
                           '-n', '2', program, *arguments[:2]], capture_output=True, text=True,
                          env={**os.environ, 'OMPI_MCA_oob_tcp_if_include': 'lo'})
    equal(want.returncode, 0, f'the program alone: {want.stderr}')
    job = batch.submit(f'mpirun -n 2 {program} {" ".join(arguments)}', '--ckpt=yes', '-n', '2')
    for _ in range(times):
        batch.grows(lines=20)
        batch.preempt(job)
    batch.wait_state(job, 'COMPLETED', seconds=300)
    check(batch.read() == want.stdout, f'the output differs:\n{batch.read()[-300:]}')


@test
def preempted_mpich(node):
    """mpirun with --ckpt: two ranks of MPICH are preempted five times; output as without"""
    poisson(Batch(node), 'mpich', 5)


@test
def preempted_open_mpi(node):
    """mpirun with --ckpt: two ranks of Open MPI are preempted; output as without"""
    poisson(Batch(node), 'openmpi', 1)


@test
def comment(node):
    """the comment of the batch job names the newest generation, but one of the user's own stays"""
    batch = Batch(node)
    every = 'ckpt-slurm-run --look 0.3s -- ckptctl run --every 2s --'
    jobs = [batch.submit(f"{every} sh -c '{COUNT}' ''", *options, name=name)
            for name, options in (('out', ()), ('mine', ('--comment', 'my own')))]

    def shown(job):
        text = batch.alice('squeue', '-h', '-j', job, '-o', '%k').stdout.strip()
        return re.fullmatch(r'stillpoint: job \d+ runs, generation ([0-9]+)', text)
    first = int(wait_for('a generation', 60, lambda: shown(jobs[0]))[1])
    wait_for('the next', 60, lambda: shown(jobs[0]) and int(shown(jobs[0])[1]) > first)
    equal(batch.alice('squeue', '-h', '-j', jobs[1], '-o', '%k').stdout, 'my own\n', 'comment')
    batch.touch('stop')
    for job in jobs:
        batch.wait_state(job, 'FAILED')


@test
def several_launches(node):
    """a script with one job that has ended and two side by side: only these two go on"""
    batch = Batch(node)
    job = batch.submit(f"{RUN} -- sh -c 'echo first; exit 4'; echo $?\n"
                       f"{RUN} -- sh -c '{COUNT}' a >a & {RUN} -- sh -c '{COUNT}' b >>b &\n"
                       'wait; wait', '-n', '2')
    for _ in range(2):
        batch.grows('a')
        batch.grows('b')
        # what the shell of the script makes anew is the script's own affair
        batch.preempt(job)
        batch.grows('b')
    batch.touch('stop')
    batch.wait_state(job, 'COMPLETED')
    counted(batch.read('b'), 'b')
    equal(batch.read(), 'first\n4\n4\n4\n', 'output of the first')
    check('not started again' in batch.read('out.err'), batch.read('out.err'))
    equal(len(node.jobs('--all')), 3, 'jobs of ckptd')


@test
def exchanged_launches(node):
    """two launches that differ in their files alone come in another order after the requeue: each
    goes on with its own output"""
    batch = Batch(node)
    job = batch.submit(f"run() {{ {RUN} -- sh -c '{COUNT}' '' >>$1; }}\n"
                       'set a b; [ "${SLURM_RESTART_COUNT:-0}" = 0 ] || set b a\n'
                       'run $1 & sleep 4; run $2 & wait; wait', '-n', '2')
    for _ in range(2):
        batch.grows('a')
        batch.grows('b')
        batch.preempt(job)
    batch.grows('a')
    batch.grows('b')
    batch.touch('stop')
    batch.wait_state(job, 'COMPLETED')
    counted(batch.read('a'))
    counted(batch.read('b'))
    equal(len(node.jobs('--all')), 2, 'jobs of ckptd')


@test
def skipped_step(node):
    """a script that skips what it has done: its second step is not taken for the first"""
    batch = Batch(node)
    job = batch.submit("for s in one two; do [ ! -e $s.done ] || continue\n"
                       f"echo $s >which; {RUN} -- sh -c 'w=$(cat which); i=0; "
                       'until [ -e stop.$w ]; do echo $w$i; i=$((i+1)); sleep 0.1; done\' >>$s\n'
                       'touch $s.done; done')
    batch.grows('one')
    batch.touch('stop.one')
    batch.grows('two')
    for _ in range(2):
        batch.preempt(job)
        batch.grows('two')
    batch.touch('stop.two')
    batch.wait_state(job, 'COMPLETED')
    for name in ('one', 'two'):
        lines = batch.read(name).split()
        equal(lines, [f'{name}{i}' for i in range(len(lines))], f'output of {name}')
    equal(len(node.jobs('--all')), 2, 'jobs of ckptd')


@test
def input_from_a_file(node):
    """a program that reads a file as its standard input goes on in the middle of that"""
    batch = Batch(node)
    want = ''.join(f'line {n}\n' for n in range(200))
    with open(f'{batch.dir}/input', 'w') as f:
        f.write(want)
    job = batch.submit(f"{RUN} -- sh -c 'while read l; do echo $l; sleep 0.1; done' <input")
    batch.grows(lines=30)
    batch.preempt(job)
    batch.wait_state(job, 'COMPLETED')
    equal(batch.read(), want, 'output')


@test
def images_not_mounted(node):
    """a saved job that is not in the image directory is held, also when it is released, until the
    directory is there again"""
    batch = Batch(node)
    job = batch.submit(f"{RUN} -- sh -c '{COUNT}' ''")
    batch.grows()
    high = batch.alice('sbatch', '--parsable', '--exclusive', '-p', 'high', '-o', 'high', '--wrap',
                       'sleep 10').stdout.strip()
    batch.wait_state(high, 'RUNNING')
    os.rename(f'{node.images}/1', f'{node.base}/kept')
    for _ in range(2):
        batch.wait('the job to be held', 240, lambda: 'held' in batch.show(job)['Reason'].lower())
        text = batch.alice('scontrol', 'show', 'job', job).stdout
        check('job 1 has checkpoints, and is not in the image directory' in text, text)
        restarts = batch.show(job)['Restarts']
        batch.alice('scontrol', 'release', job)
        batch.wait('the next run', 120, lambda: batch.show(job)['Restarts'] != restarts)
    batch.wait('the job to be held', 240, lambda: 'held' in batch.show(job)['Reason'].lower())
    os.rename(f'{node.base}/kept', f'{node.images}/1')
    batch.alice('scontrol', 'release', job)
    batch.wait_state(job, 'RUNNING')
    batch.grows()
    batch.touch('stop')
    batch.wait_state(job, 'FAILED')
    counted(batch.read())


@test
def job_array(node):
    """both jobs of an array are preempted together, and each goes on with its own output"""
    batch = Batch(node)
    job = batch.submit(f"{RUN} -- sh -c '{COUNT}' $SLURM_ARRAY_TASK_ID", '--array=0-1',
                       '-o', 'out%a')
    for _ in range(2):
        batch.grows('out0')
        batch.grows('out1')
        batch.preempt(f'{job}_0')
        batch.wait_state(f'{job}_1', 'RUNNING')
    batch.touch('stop')
    for n in ('0', '1'):
        equal(batch.wait_state(f'{job}_{n}', 'FAILED')['Restarts'], '2', f'restarts of {n}')
        counted(batch.read(f'out{n}'), n)
    equal(len(node.jobs('--all')), 2, 'jobs of ckptd')


@test
def array_not_requeued(node):
    """a job of an array that is saved and must not be requeued is ended alone"""
    batch = Batch(node)
    array = batch.submit(f"{RUN} -- sh -c '{COUNT}' ''; echo behind", '--array=0-1',
                         '--no-requeue', '-o', 'out%a')
    for name in ('out0', 'out1'):
        batch.grows(name)
    tasks = {batch.show(f'{array}_{n}')['JobId']: f'{array}_{n}' for n in (0, 1)}
    jobs = {job['name'].split('.')[0].split('-')[-1]: number
            for number, job in node.jobs().items()}
    equal(sorted(jobs), sorted(tasks), 'batch jobs')
    # one of the two has the number of the array
    for leader in (array, next(t for t in tasks if t != array)):
        node.ctl('checkpoint', '--kill', str(jobs[leader]))
        batch.wait_state(tasks[leader], 'CANCELLED')
        if leader == array:
            other = next(t for t in tasks if t != array)
            equal(batch.show(tasks[other])['JobState'], 'RUNNING', 'the other')
    check('behind' not in batch.read('out0') + batch.read('out1'), 'a script went on')


@test
def time_limit(node):
    """a job that is near its time limit is saved, requeued and goes on"""
    batch = Batch(node)
    job = batch.submit(f"{RUN} -- sh -c '{COUNT}' ''", '-t', '1')
    wait_for('the requeue', 150, lambda: batch.show(job)['Restarts'] == '1')
    batch.wait_state(job, 'RUNNING')
    batch.grows()
    batch.touch('stop')
    batch.wait_state(job, 'FAILED')
    counted(batch.read())
    check('the time limit is near' in batch.read('out.err'), batch.read('out.err'))


@test
def not_requeued(node):
    """a job that Slurm must not requeue is saved as well, and it is said how to go on; its script
    does not go on behind it"""
    batch = Batch(node)
    job = batch.submit(f"{RUN} -- sh -c '{COUNT}' ''; echo behind >&2", '--no-requeue')
    batch.grows()
    batch.alice('sbatch', '--exclusive', '-p', 'high', '-o', 'high', '--wrap', 'true')
    batch.wait_state(job, 'CANCELLED', 'PREEMPTED')
    check('behind' not in batch.read('out.err'), batch.read('out.err'))
    check('must not requeue it' in batch.read('out.err'), batch.read('out.err'))
    equal([j['state'] for j in node.jobs('--all').values()], ['saved'], 'state')
    batch.touch('stop')
    done = batch.alice('ckptctl', 'restart', '--attach', '1', check_status=False)
    equal(done.returncode, 7, done.stderr)
    counted(batch.read() + done.stdout)


@test
def no_daemon_at_preemption(node):
    """ckptd is not there when the job is preempted: Slurm does as without us, nothing hangs"""
    batch = Batch(node)
    job = batch.submit(f"{RUN} -- sh -c '{COUNT}' ''")
    batch.grows()
    node.leave()
    high = batch.alice('sbatch', '--parsable', '--exclusive', '-p', 'high', '-o', 'high', '--wrap',
                       'sleep 1').stdout.strip()
    batch.wait_state(high, 'RUNNING', 'COMPLETED')
    node.start()
    batch.wait_state(job, 'RUNNING')
    batch.grows()
    check('it is started anew' in batch.read('out.err'), batch.read('out.err'))
    batch.touch('stop')
    batch.wait_state(job, 'FAILED')


@test
def auto_without_daemon(node):
    """--ckpt=auto: a saved job is held where no ckptd answers, and goes on when it is released;
    one that no ckptd had is started by the library's own mpirun after a requeue as well"""
    batch = Batch(node)
    os.mkdir(f'{batch.dir}/bin')
    with open(f'{batch.dir}/bin/mpirun', 'w') as f:
        f.write('#!/bin/sh\necho own; exec sleep 600\n')
    os.chmod(f'{batch.dir}/bin/mpirun', 0o755)
    batch.env['PATH'] = f'{batch.dir}/bin:{batch.env["PATH"]}'
    job = batch.submit(f"mpirun -n 1 --mpi none sh -c '{COUNT}' ''", '--ckpt=auto')
    batch.grows()
    high = batch.alice('sbatch', '--parsable', '--exclusive', '-p', 'high', '-o', 'high', '--wrap',
                       'sleep 10').stdout.strip()
    batch.wait_state(high, 'RUNNING')
    node.leave()
    batch.wait('the job to be held', 240, lambda: 'held' in batch.show(job)['Reason'].lower())
    other = batch.submit("mpirun -n 1 sh", '--ckpt=auto', name='other')
    batch.wait('the other', 60, lambda: batch.read('other') == 'own\n')
    batch.alice('scontrol', 'requeue', other)
    batch.wait('the other again', 180, lambda: batch.read('other') == 'own\n' * 2)
    batch.alice('scancel', other)
    node.start()
    batch.alice('scontrol', 'release', job)
    batch.wait_state(job, 'RUNNING')
    batch.grows()
    batch.touch('stop')
    batch.wait_state(job, 'FAILED')
    counted(batch.read())


@test
def controller_restarts(node):
    """slurmctld is killed and started while the job is saved: it is requeued all the same"""
    batch = Batch(node)
    job = batch.submit(f"{RUN} -- sh -c '{COUNT}' ''")
    time.sleep(8)		# slurmctld writes its state down every five seconds
    with open('/run/slurmctld.pid') as f:
        os.kill(int(f.read()), 9)
    time.sleep(3)
    check(len(in_step(job)) > 2, 'the job is gone')
    subprocess.run(['slurmctld'], check=True, capture_output=True)
    wait_for('slurmctld', 60, lambda: batch.alice('scontrol', 'ping', check_status=False)
             .returncode == 0)
    batch.preempt(job)
    batch.grows()
    batch.touch('stop')
    batch.wait_state(job, 'FAILED')
    counted(batch.read())


@test
def options_of_sbatch(node):
    """--ckpt: wrong values are refused at submission; no and auto without ckptd change nothing"""
    batch = Batch(node)
    for option, text in (('--ckpt=maybe', 'yes, no, auto or script'),
                         ('--ckpt-interval=soon', 'is a duration')):
        done = batch.alice('sbatch', option, '--wrap', 'true', check_status=False)
        check(done.returncode and text in done.stderr, f'{option}: {done.stderr!r}')
    os.mkdir(f'{batch.dir}/bin')
    with open(f'{batch.dir}/bin/mpirun', 'w') as f:
        f.write('#!/bin/sh\necho own "$@"\n')
    os.chmod(f'{batch.dir}/bin/mpirun', 0o755)
    batch.env['PATH'] = f'{batch.dir}/bin:{batch.env["PATH"]}'
    # as `module load` does, of which the fronts know nothing
    script = ('type -P mpirun; type -t mpirun; echo $STILLPOINT_CKPT; '
              f'PATH={batch.dir}/bin:$PATH; mpirun -n 1 "a  b"')
    for n, (options, front) in enumerate(((('--ckpt=no',), False), ((), False),
                                          (('--ckpt=auto',), True))):
        name = f'out{n}'
        if front:
            node.leave()
        job = batch.submit(script, *options, name=name)
        batch.wait_state(job, 'COMPLETED')
        lines = batch.read(name).split('\n')
        equal(lines[0].startswith(f'{TOP}/build/libexec/slurm/'), front, f'{options}: {lines}')
        equal(lines[1:], ['function' if front else 'file', 'auto' if front else '',
                          'own -n 1 a  b', ''], f'{options}')
    node.start()
    job = batch.submit(f'PATH={batch.dir}/bin:$PATH; mpirun -n 2 sleep 600', '--ckpt=yes',
                       '--ckpt-interval=2s', '-n', '2', name='out9')
    shown = wait_for('the job', 60, lambda: list(node.jobs().values()))[0]
    check(shown['name'].startswith('slurm-bed-'), f'name {shown["name"]}')
    equal(shown['auto']['every_ms'], 2000, f'{shown}')
    batch.alice('scancel', job)
    batch.wait_state(job, 'CANCELLED')


def main():
    work = sys.argv[sys.argv.index('--work') + 1] + '-bed'
    os.makedirs(work, exist_ok=True)
    slow = int(sys.argv[sys.argv.index('--slow') + 1]) if '--slow' in sys.argv else 1
    started = subprocess.run([BED, 'start', work], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, env={**os.environ, 'BED_GRACE': str(30 * slow)})
    if started.returncode:
        print('# ' + (started.stdout + started.stderr).replace('\n', '\n# '))
        print('not ok 1 - Slurm starts\n1..1')
        return 1
    try:
        return daemon.main()
    finally:
        subprocess.run(['scancel', '-u', 'alice'], capture_output=True)
        subprocess.run([BED, 'stop', work], capture_output=True)


if __name__ == '__main__':
    sys.exit(main())
