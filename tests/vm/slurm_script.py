#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Batch scripts of Slurm that are jobs themselves (sbatch --ckpt=script), as TAP.

    slurm_script.py --bin DIR --work DIR [--slow FACTOR] [--only WORD]

Runs as root in a test VM, with the Slurm of tests/slurm/bed.
"""
import glob
import os
import subprocess
import sys

import daemon
import slurm
from daemon import check, equal, test, wait_for
from slurm import COUNT, TOP, Batch, counted

daemon.TESTS.clear()

# $1 lines, each with the label $0
SOME = 'i=0; while [ $i -lt $1 ]; do echo $0$i; i=$((i+1)); sleep 0.1; done'
LOOK = '1s'


class Script(Batch):
    """A directory of alice's, whose scripts are jobs of ckptd."""

    def __init__(self, node):
        super().__init__(node)
        self.env['STILLPOINT_CKPT_LOOK'] = LOOK

    def script(self, text, *opts, **named):
        return self.submit(text, '--ckpt=script', *opts, **named)

    def wait_line(self, line, name='out'):
        wait_for(f'the line {line} in {name} ({self.read("out.err")})', 120,
                 lambda: line in self.read(name).split('\n'))

    def ended(self, job, state='COMPLETED'):
        self.wait_state(job, state, seconds=300)
        left = os.listdir(f'/var/spool/stillpoint-slurm/{slurm.ALICE}')
        equal([f for f in left if '.script' in f], [], 'directories of scripts that are over')


def some(label, count):
    return [f'{label}{i}' for i in range(count)]


@test
def three_programs(node):
    """a program, a pipeline and a program: preempted in each, variables and output are kept"""
    batch = Script(node)
    job = batch.script(f"""
        told=secret; declare -a seen=(a b)
        sh -c '{SOME}' one 60; told=$told-$?
        sh -c '{SOME}' two 60 | sed -u s/two/pipe/ | cat; told=$told-${{PIPESTATUS[*]}}
        seen+=(c)
        srun -n1 sh -c '{SOME}; exit 5' three 60; told=$told-$?
        echo $told ${{seen[*]}} $1
        exit 4""", name='out')
    for line in ('one10', 'pipe10', 'three10'):
        batch.wait_line(line)
        batch.preempt(job)
    batch.ended(job, 'FAILED')
    equal(batch.show(job)['ExitCode'], '4:0', "the script's status")
    equal(batch.read().split('\n'), some('one', 60) + some('pipe', 60) + some('three', 60) +
          ['secret-0-0 0 0-5 a b c', ''], 'output')
    equal(len(node.jobs('--all')), 1, 'jobs of ckptd')


@test
def launches(node):
    """ranks of MPI that the script has launched, in a pipe, are saved before it; Slurm's variables
    are those of the run, and the hook is told"""
    batch = Script(node)
    program = glob.glob(f'{TOP}/build/examples/poisson.slurm_script.*.mpich')[0]
    want = subprocess.run(['mpiexec.mpich', '-n', '2', program, '64', '240'], check=True,
                          capture_output=True, text=True).stdout
    with open(f'{batch.dir}/hook', 'w') as f:
        f.write('#!/bin/sh\necho "$1 $SLURM_RESTART_COUNT" >>hook.out\n')
    os.chmod(f'{batch.dir}/hook', 0o755)
    job = batch.script(f"""
        told=kept
        mpirun -n 2 {program} 64 240 60 | tee copy | sed -u s/^/:/
        echo $told ${{PIPESTATUS[0]}}
        srun -n1 bash -c 'echo $SLURM_RESTART_COUNT $SLURM_PROCID'
        mpirun -n 1 false; echo $?""", '-n', '2', f'--ckpt-hook={batch.dir}/hook')
    for _ in range(2):
        batch.grows(lines=20)
        batch.preempt(job)
    batch.ended(job)
    lines = batch.read().split('\n')
    equal(lines[-4:], ['kept 0', '2 0', '1', ''], 'last lines')
    equal(lines[:-4], [f':{line}' for line in want.split('\n')[:-1]], 'output')
    check(batch.read('copy') == want, 'the copy differs: ' + batch.read('copy')[-300:])
    equal(batch.read('hook.out'), 'save \nrestart 1\nsave 1\nrestart 2\n', 'calls of the hook')
    equal(len(node.jobs('--all')), 3, 'jobs of ckptd')


@test
def not_saved(node):
    """a script with a program that cannot be saved begins anew, and its launches go on"""
    batch = Script(node)
    job = batch.script(f"""
        python3 -c 'if True:
            import fcntl, time
            leased = open("leased", "w")
            fcntl.fcntl(leased, fcntl.F_SETLEASE, fcntl.F_WRLCK)	# is refused
            time.sleep(600)' &
        echo begins
        ckpt-slurm-run ckptctl run -- sh -c '{COUNT}' '' >>counted; echo $?
        kill $!""")
    batch.grows('counted')
    batch.preempt(job)
    batch.grows('counted')
    batch.touch('stop')
    batch.ended(job)
    counted(batch.read('counted'))
    equal(batch.read(), 'begins\nbegins\n7\n', 'output')
    check('the script cannot be saved' in batch.read('out.err'), batch.read('out.err'))


@test
def held(node):
    """a script whose restart is refused is held with the reason, and goes on when released"""
    batch = Script(node)
    with open(f'{batch.dir}/input', 'w') as f:
        f.write('x' * 1000)
    job = batch.script(f"exec 5<input; sh -c '{COUNT}' ''; wc -c <&5")
    batch.grows()
    node.ctl('checkpoint', '1')
    high = batch.alice('sbatch', '--parsable', '--exclusive', '-p', 'high', '-o', 'high', '--wrap',
                       'sleep 5').stdout.strip()
    batch.wait_state(high, 'RUNNING')
    with open(f'{batch.dir}/input', 'w') as f:
        f.write('y' * 900)
    wait_for(f'the job to be held ({batch.read("out.err")})', 180, lambda:
             'held' in batch.show(job)['Reason'].lower())
    check('trying 1' in batch.read('out.err'), batch.read('out.err'))
    text = batch.alice('scontrol', 'show', 'job', job).stdout
    check('Comment=stillpoint: held: job 1 does not go on' in text, text)
    with open(f'{batch.dir}/input', 'w') as f:
        f.write('x' * 1000)
    batch.alice('scontrol', 'release', job)
    batch.wait_state(job, 'RUNNING')
    batch.grows()
    batch.touch('stop')
    batch.ended(job)
    lines = batch.read().split('\n')
    equal(lines[-2:], ['1000', ''], 'last line')
    counted('\n'.join(lines[:-2]))


@test
def killed_first(node):
    """Slurm ends a script that is not saved: the next run goes on from the newest generation, and
    begins anew if there is none"""
    batch = Script(node)
    job = batch.script(f"sh -c '{COUNT}' ''")
    batch.grows()
    for begins in (2, 2):
        restarts = int(batch.show(job)['Restarts'])
        batch.alice('scontrol', 'requeue', job)
        wait_for('the requeue', 60, lambda: int(batch.show(job)['Restarts']) > restarts)
        batch.wait_state(job, 'RUNNING')
        batch.grows()
        equal(batch.read().split('\n').count('n0'), begins, 'begins')
        node.ctl('checkpoint', str(max(node.jobs())))
    batch.touch('stop')
    batch.ended(job, 'FAILED')


@test
def job_of_a_job(node):
    """a job that a script submits has no variable of that script's"""
    batch = Script(node)
    with open(f'{batch.dir}/second.sh', 'w') as f:
        f.write('#!/bin/bash\necho "[$STILLPOINT_SCRIPT$STILLPOINT_JOB$STILLPOINT_CKPT$BASH_ENV]"\n'
                'bash -c \'echo $SLURM_JOB_ID\'; mpirun -n 1 x\n')
    os.mkdir(f'{batch.dir}/bin')
    with open(f'{batch.dir}/bin/mpirun', 'w') as f:
        f.write('#!/bin/sh\necho own "$@"\n')
    os.chmod(f'{batch.dir}/bin/mpirun', 0o755)
    batch.env['PATH'] = f'{batch.dir}/bin:{batch.env["PATH"]}'
    job = batch.script('sbatch --ckpt=no --parsable -o second second.sh; sleep 30')
    second = wait_for('the second job', 60, lambda: batch.read().strip())
    batch.wait_state(second, 'COMPLETED')
    equal(batch.read('second').split('\n'), ['[]', second, 'own -n 1 x', ''],
          'output of the second')
    batch.ended(job)


@test
def unaware_step(node):
    """a preempted job that asked for no signal: its step lives on in the grace time, and the
    script alone is signalled"""
    batch = Script(node)
    job = batch.submit("""trap 'echo warned' URG
        srun sh -c 'trap "echo term; exit" TERM; while :; do echo step; sleep 0.2; done' &
        wait; wait""")
    batch.grows()
    batch.alice('sbatch', '--exclusive', '-p', 'high', '-o', 'high', '--wrap', 'true')
    wait_for('the signal', 60, lambda: 'warned' in batch.read())
    batch.grows()
    check('term' not in batch.read().split('\n'), 'the step was told to end')
    batch.alice('scancel', job)


def main():
    return slurm.main()


if __name__ == '__main__':
    sys.exit(main())
