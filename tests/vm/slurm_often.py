#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Many preemptions of one batch job of Slurm, and daemons killed in them, as TAP.

    slurm_often.py --bin DIR --work DIR [--slow FACTOR] [--only WORD] [--preemptions N]
                   [--kills N] [--seed N]

Runs as root in a test VM, with the Slurm of tests/slurm/bed. The seed of the kills is printed, and
gives the same victims and pauses again, though not the same moments of a busy machine.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import time

import daemon
import slurm
from daemon import Failure, check, equal, test, wait_for
from slurm import COUNT, RUN, Batch, counted

daemon.TESTS.clear()

COUNTS = argparse.Namespace(preemptions=20, kills=50, seed=0)
VICTIMS = ('ckptd', 'slurmctld', 'slurmd', 'munged')
ROUND_S = 300		# for a job to run again after its preemption


@test
def in_a_row(node):
    """a serial job is preempted again and again: no line of its output twice or lost"""
    batch = Batch(node)
    job = batch.submit(f"{RUN} -- sh -c '{COUNT}' ''")
    for _ in range(COUNTS.preemptions):
        batch.grows()
        batch.preempt(job)
    batch.grows()
    batch.touch('stop')
    batch.wait_state(job, 'FAILED')
    counted(batch.read())
    equal(batch.read('out.err').count('and batch job'), COUNTS.preemptions, 'saves')
    print(f'# {COUNTS.preemptions} preemptions', flush=True)


@test
def ranks_in_a_row(node):
    """two ranks of MPICH are preempted again and again: output as without"""
    slurm.poisson(Batch(node), 'mpich', COUNTS.preemptions)
    print(f'# {COUNTS.preemptions} preemptions', flush=True)


# ---------------------------------------------------------------- kills

def pid_of(victim):
    with open({'munged': '/run/munge/munged.pid'}.get(victim, f'/run/{victim}.pid')) as f:
        return int(f.read())


def kill(node, victim):
    if victim == 'ckptd':
        node.kill()
        return
    pid = pid_of(victim)
    os.kill(pid, 9)
    wait_for(f'the end of {victim}', 10, lambda: not daemon.alive(pid))


def start(node, victim):
    if victim == 'ckptd':
        node.start()
        return
    command = {
        'slurmctld': 'exec slurmctld',
        'slurmd': 'echo $$ >/sys/fs/cgroup/system.slice/slurmd-start/cgroup.procs; exec slurmd',
        'munged': 'exec setpriv --reuid munge --regid munge --clear-groups munged --force',
    }[victim]
    done = subprocess.run(['sh', '-c', command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    equal(done.returncode, 0, f'{victim}: {done.stderr}')


class Tough(Batch):
    """A batch job that is preempted while a daemon is killed."""

    def known(self, job):
        """What scontrol shows of a job; {}: nothing, at the moment."""
        try:
            return self.show(job)
        except Failure:
            return {}

    def numbers(self):
        return [int(n) for n in re.findall(r'^n([0-9]+)$', self.read(), re.M)]

    def saved_by_hand(self, job):
        """Take a checkpoint; a number that the job had reached before."""
        reached = self.numbers()[-1]

        def taken():
            # none while Slurm has started the script and the restart is not done
            jobs = self.node.jobs()
            return jobs and self.node.ctl('checkpoint', str(max(jobs)), check=False).returncode == 0
        self.wait('a checkpoint', 120, taken)
        return reached

    def high(self):
        """A job that needs the whole machine, once Slurm takes it."""
        return wait_for('the high job to be taken', 60, lambda: self.alice(
            'sbatch', '--parsable', '--exclusive', '-p', 'high', '-o', 'high', '--wrap',
            'sleep 0.5', check_status=False).stdout.strip())

    def administer(self, job, state):
        """As the site would: a held job is released, a node that Slurm has drained used again."""
        if 'held' in state.get('Reason', '').lower():
            print(f'# job {job} is released: {state.get("Reason")}', flush=True)
            subprocess.run(['scontrol', 'release', job], capture_output=True)
        nodes = subprocess.run(['sinfo', '-h', '-o', '%T %E'], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True).stdout
        if 'drain' in nodes or 'down' in nodes:
            print(f'# the node is resumed: {nodes.split(chr(10))[0]}', flush=True)
            subprocess.run(['scontrol', 'update', 'NodeName=s1', 'State=RESUME'],
                           capture_output=True)

    def forgotten(self, job, state):
        """Requeue a saved job whose script slurmctld has had ended for a requeue that it forgot
        when it was killed (KI-297): then Slurm calls the job failed."""
        if (state.get('JobState'), state.get('ExitCode')) != ('FAILED', '0:15') or \
                not self.read('out.err').rstrip().endswith('trying again') or \
                [j['state'] for j in self.node.jobs('--all').values()][-1:] != ['saved']:
            return False
        print(f'# job {job} is requeued by hand: {state.get("Reason")}', flush=True)
        subprocess.run(['scontrol', 'requeue', job], capture_output=True)
        return True

    def goes_on(self, job, high, lines):
        """Wait until the low job has written behind the first lines, and the high one is over."""
        def over():
            state = self.known(job)
            check(self.forgotten(job, state) or state.get('JobState') not in
                  ('COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT', 'OUT_OF_MEMORY'),
                  f'{state} {self.read("out.err")[-1500:]}')
            self.administer(job, state)
            self.administer(high, self.known(high))
            return (self.known(high).get('JobState') in (None, 'COMPLETED') and
                    state.get('JobState') == 'RUNNING' and len(self.numbers()) >= lines + 5 and
                    state)
        return wait_for(f'job {job} to go on ({self.known(job)})', ROUND_S, over)


def went_back(numbers, first, reached):
    """Check the numbers from the first on: a step back is one to a checkpoint, and none is lost."""
    back = False
    for before, now in zip(numbers[first - 1:], numbers[first:]):
        if now == before + 1:
            continue
        check(reached <= now <= before, f'{before} is followed by {now}, of a job that was saved '
                                        f'when it had reached {reached}')
        back = True
    return back


@test
def away_at_the_requeue(node):
    """munged, then slurmctld is away when a saved job is to be requeued: asked for again"""
    batch = Tough(node)
    job = batch.submit(f"{RUN} -- sh -c '{COUNT}' ''")
    for victim in ('munged', 'slurmctld'):
        batch.grows()
        saves = batch.read('out.err').count(': saving')
        high = batch.high()
        wait_for('the save', 60, lambda: batch.read('out.err').count(': saving') > saves)
        kill(node, victim)
        wait_for('the job to be saved', 60, lambda: not node.jobs())
        lines = len(batch.numbers())
        time.sleep(3)
        start(node, victim)
        batch.goes_on(job, high, lines)
    batch.touch('stop')
    batch.wait_state(job, 'FAILED')
    counted(batch.read())
    print(f'# {batch.read("out.err").count("trying again")} times asked again', flush=True)


@test
def killed_daemons(node):
    """daemons are killed at random in preemptions: the job goes on from its newest checkpoint"""
    batch = Tough(node)
    chance = random.Random(COUNTS.seed)
    print(f'# seed {COUNTS.seed}', flush=True)
    seen = {victim: [0, 0, 0] for victim in VICTIMS}	# kills, preemptions, steps back
    job = batch.submit(f"{RUN} -- sh -c '{COUNT}' ''")
    batch.grows()
    for number in range(COUNTS.kills):
        victim = chance.choice(VICTIMS)
        before, after = chance.uniform(0, 5), chance.uniform(0, 4)
        restarts = int(batch.known(job)['Restarts'])
        reached = batch.saved_by_hand(job)
        first = len(batch.numbers())
        high = batch.high()
        time.sleep(before)
        kill(node, victim)
        time.sleep(after)
        start(node, victim)
        now = batch.goes_on(job, high, first)
        back = went_back(batch.numbers(), first, reached)
        seen[victim][0] += 1
        seen[victim][1] += int(now['Restarts']) > restarts
        seen[victim][2] += back
        print(f'# kill {number + 1}: {victim} after {before:.1f} s, for {after:.1f} s: '
              f'{int(now["Restarts"]) - restarts} requeues{", went back" if back else ""}',
              flush=True)
    batch.touch('stop')
    batch.wait_state(job, 'FAILED')
    equal(batch.read().split('\n')[-2:], ['end', ''], 'last line')
    for victim, (kills, preempted, back) in seen.items():
        print(f'# {victim}: {kills} kills, {preempted} preemptions, {back} steps back to the '
              'checkpoint before', flush=True)


def main():
    parser = argparse.ArgumentParser(add_help=False)
    for name in vars(COUNTS):
        parser.add_argument(f'--{name}', type=int, default=getattr(COUNTS, name))
    _, rest = parser.parse_known_args(namespace=COUNTS)
    sys.argv[1:] = rest
    return slurm.main()


if __name__ == '__main__':
    sys.exit(main())
